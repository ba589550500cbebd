"""What has happened on a stream: columns that entered and left the set, and alarms."""

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from featgrad._support import Floats, Indices
from featgrad._support.results import Result
from featgrad._support.wording import SHOWN, listed, name_of
from featgrad.estimates.estimate import Estimate
from featgrad.plan import HISTORY_LENGTH, TIMELINE_LENGTH


class Event(NamedTuple):
    """What happened after so many rows.

    Attributes
    ----------
    row : int
        Rows of the stream until then.
    kind : {"choice", "alarm", "shift"}
        Whether the set changed, predictions became worse, or the set has shifted beyond chance: the
        earlier one, fitted again, predicts worse than the present one.
    entered, left : tuple of int
        Columns that came into the set and went out of it; for an alarm, between it and the next
        one, or until now or a merge; for a shift, since the earlier set.
    """

    row: int
    kind: str
    entered: tuple[int, ...]
    left: tuple[int, ...]


class TimelinePoint(NamedTuple):
    """What was chosen after so many rows.

    Attributes
    ----------
    row : int
        Rows of the stream until then.
    features : ndarray of int
        Columns of the set.
    scores : ndarray of float
        Explained fraction that would be lost without each of them.
    learnability : Estimate
        Explained fraction of recent rows.
    """

    row: int
    features: Indices
    scores: Floats
    learnability: Estimate


class Timeline(Result, list[TimelinePoint]):
    """Sets over time, shown as a table of the last ones; `plot` draws all of them, and alarms.

    Parameters
    ----------
    points : iterable of TimelinePoint
        The sets.
    alarms : list of Event
        The alarms meanwhile.
    n_rows : int
        Rows of the stream until now.
    names : sequence of str or None
        Names of the features.
    """

    _display = "TimelineDisplay"

    def __init__(
        self, points: Iterable[TimelinePoint], alarms: list[Event], n_rows: int, names: Any = None
    ) -> None:
        super().__init__(points)
        self.alarms, self.n_rows, self.names = alarms, n_rows, names

    def _rows(self) -> list[tuple[str, ...]]:
        rows = [
            (f"{row:,}", str(known), listed([name_of(self.names, i) for i in features], 8))
            for row, features, _, known in self[-SHOWN:]
        ]
        return [("row", "explained", "features"), *rows]


class History:
    """The last events, older ones are forgotten; and decisions, of which fewer are kept in time."""

    def __init__(self) -> None:
        self.decisions: list[TimelinePoint] = []
        self._n_decisions, self._every = 0, 1
        # With the set before each of them; None where that of the next alarm does not matter.
        self._events: deque[tuple[Event, Indices | None]] = deque(maxlen=HISTORY_LENGTH)

    def add(self, row: int, kind: str, before: Indices, after: Indices) -> None:
        self._events.append((_difference(row, kind, before, after), before))

    def decided(self, decision: TimelinePoint) -> None:
        if self._n_decisions % self._every == 0:
            self.decisions.append(decision)
        self._n_decisions += 1
        if len(self.decisions) > TIMELINE_LENGTH:
            del self.decisions[1::2]
            self._every *= 2

    def merge(self, features: Indices, others: list[Event]) -> None:
        """Alarms and shifts of another stream; its choices were of another set."""
        alarms = [event for event in others if event.kind != "choice"]
        events = sorted([*self.events(features), *alarms], key=lambda event: event.row)
        self._events = deque(((event, None) for event in events), HISTORY_LENGTH)

    def events(self, features: Indices) -> list[Event]:
        found = []
        for event, before in reversed(self._events):
            if event.kind == "alarm" and before is not None:
                event, features = _difference(event.row, "alarm", before, features), before
            found.append(event)
        return found[::-1]


def _difference(row: int, kind: str, before: Indices, after: Indices) -> Event:
    entered, left = np.setdiff1d(after, before), np.setdiff1d(before, after)
    return Event(row, kind, tuple(entered.tolist()), tuple(left.tolist()))
