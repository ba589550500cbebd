"""A random sample of bounded size of all rows seen, which can be merged.

Each row has a random key, and those with the smallest keys stay. What stays of two parts together
is what stays of the union of what stays of each: samples of shards merge into that of all rows.
"""

from typing import Any

import numpy as np
from scipy import sparse

from featgrad import plan
from featgrad._support.types import Indices
from featgrad.dataset.sums import Rows

# Rows wait until they are this much more, since each cut copies all.
_SLACK = 1.5


class KeptRows:
    """Rows with the smallest keys, their places, among those added."""

    def __init__(self) -> None:
        # Whether all rows are still there, as of the last call of `rows`.
        self.complete = True
        self._parts: list[Rows] = []
        self._n_rows = self._entries = 0
        # No row with a larger key can stay.
        self._edge = np.inf

    def fit(self, more: Rows) -> bool:
        """Whether more rows can be kept without any having to go."""
        together = self._n_rows + len(more.places)
        return (
            together <= plan.FEWEST_KEPT
            or self._entries + int(_entries(more.X).sum()) <= plan.KEPT_ENTRIES
        )

    def add(self, more: Rows) -> None:
        stay = self._smallest(more)
        stay = stay[more.places[stay] <= self._edge]
        self.complete &= len(stay) == len(more.places)
        if len(stay):
            self._keep(more.take(stay))
        if self._entries > _SLACK * plan.KEPT_ENTRIES:
            self.rows()

    def merge(self, other: "KeptRows") -> None:
        self.complete &= other.complete
        for part in list(other._parts):
            self.add(part)

    def rows(self) -> Rows | None:
        """What stays, in the random order of the keys; None where there is nothing."""
        if not self._parts:
            return None
        joined = Rows.joined(self._parts)
        self._parts, self._n_rows, self._entries = [], 0, 0
        stay = self._smallest(joined)
        if len(stay) < len(joined.places):
            self.complete, self._edge = False, joined.places[stay[-1]]
        self._keep(joined.take(stay))
        return self._parts[0]

    def _keep(self, rows: Rows) -> None:
        self._parts.append(rows)
        self._n_rows += len(rows.places)
        self._entries += int(_entries(rows.X).sum())

    @staticmethod
    def _smallest(rows: Rows) -> Indices:
        """Places of the rows that stay among these, by rising key."""
        order = np.argsort(rows.places, kind="stable")
        room = int(
            np.searchsorted(np.cumsum(_entries(rows.X)[order]), plan.KEPT_ENTRIES, side="right")
        )
        return order[: max(room, plan.FEWEST_KEPT)]


def _entries(X: Any) -> Indices:
    """Of each row."""
    if sparse.issparse(X):
        return np.asarray(np.diff(X.indptr), np.intp) + 1
    return np.full(len(X), X.shape[1], np.intp)
