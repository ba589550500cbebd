"""The page of a stream: what was explained, by which features, and what changed when."""

import os
from collections.abc import Sequence
from datetime import date
from math import ceil, inf
from typing import Any

import numpy as np

from featgrad._support.wording import counted, percent, visible
from featgrad.report.html import drawn_estimate, tile
from featgrad.report.pages import filled_page, write_page
from featgrad.report.plots import TimelineDisplay
from featgrad.report.text import feature_names

# Features that are drawn, and times.
_MAX_FEATURES, _MAX_TIMES = 40, 120
# Half-lives after an alarm by which it has shown what changed, and the change that is listed.
_FOLLOWS, _LEAST_CHANGE = 2, 0.01


def write_stream_report(
    selector: Any,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    target: str | None = None,
) -> None:
    """Write what an `OnlineFeatureSelector` has seen, as a page for any browser.

    Parameters
    ----------
    selector : OnlineFeatureSelector
        One that has seen rows.
    path : str or path-like
        The HTML file; an existing one is replaced once the new one is complete.
    names : sequence of str, default=None
        Names of the features; None takes those that the selector has seen.
    target : str, default=None
        Name of the target.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import OnlineFeatureSelector
    >>> from featgrad.report import write_stream_report
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> selector = OnlineFeatureSelector(1).partial_fit(X, X[:, 2])
    >>> write_stream_report(selector, "stream.html")  # doctest: +SKIP
    """
    names = feature_names(selector) if names is None else names
    timeline, features, here = selector.timeline_, selector.features_, selector.learnability_
    display = TimelineDisplay(timeline, timeline.alarms, timeline.n_rows, names)
    named = "" if target is None else f"{target}: "
    headline = f"{named}{len(features)} of {counted(len(names), 'feature')} after "
    scores, count = selector.scores_[features], len(display.features)
    rows = counted(selector.n_rows_seen_, "row")
    low, high = here.interval
    tiles = [
        ("explained", "Explained now", percent(here.value), f"{percent(low)} to {percent(high)}"),
        ("now", "Features", f"{len(features)}", f"of {len(names):,}"),
        ("events", "Alarms", f"{len(display.alarms)}", f"in {rows}"),
    ]
    page = filled_page(
        "stream.html",
        headline + rows,
        ("draw.js", "stream.js"),
        date=date.today().isoformat(),
        tiles="\n".join(tile(*one) for one in tiles),
        half_life=f"{selector.half_life:,g}",
        shown=f"{_MAX_FEATURES} of {count} features are drawn." if count > _MAX_FEATURES else "",
        rate=f"{1e6 * selector.alarm_rate:g}",
        follows=f"{_FOLLOWS * selector.half_life:,.0f}",
        facts=_timeline(display)
        | {
            "events": _events(selector, names, display),
            "now": [[visible(names[features[i]]), float(scores[i])] for i in np.argsort(-scores)],
        },
    )
    write_page(page, path)


def _timeline(display: TimelineDisplay) -> dict[str, Any]:
    """Scores of the features that were chosen for longest, and estimates, at some of the times."""
    shown, n_times = display.longest(_MAX_FEATURES), display.scores.shape[1]
    starts = np.arange(0, n_times, ceil(n_times / _MAX_TIMES) or 1)  # no decision yet
    known = np.isfinite(display.scores)
    return {
        "names": [visible(display.names[i]) for i in display.features[shown]],
        "edges": display.edges[[*starts, n_times]].tolist(),
        "scores": [
            [float(f"{display.scores[i, j]:.4g}") if known[i, j] else None for j in starts]
            for i in shown
        ],
        "explained": [drawn_estimate(display.explained[i]) for i in starts],
    }


def _events(selector: Any, names: Sequence[str], display: TimelineDisplay) -> list[dict[str, Any]]:
    """Changes of the set by what entered and left, alarms by what matters more and less since."""
    found, later = [], inf
    for event in reversed(selector.history_):
        more, less = ([visible(names[i]) for i in own] for own in (event.entered, event.left))
        if event.kind == "alarm":
            end = min(later, event.row + _FOLLOWS * selector.half_life)
            more, less = _moved(display, event.row, end)
            later = event.row
        found.append({"row": event.row, "kind": event.kind, "more": more, "less": less})
    return found[::-1]


def _moved(display: TimelineDisplay, row: int, end: float) -> tuple[list[str], list[str]]:
    """Features that explain more at the end than at a row, and less, the largest change first."""
    times = np.searchsorted(display.edges[:-1], [row, end], side="right") - 1
    before, after = np.nan_to_num(display.scores)[:, np.maximum(times, 0)].T
    moved: tuple[list[str], list[str]] = [], []
    for i in np.argsort(-np.abs(after - before), kind="stable"):
        if abs(after[i] - before[i]) >= _LEAST_CHANGE:
            name = visible(display.names[display.features[i]])
            moved[int(after[i] < before[i])].append(
                f"{name} ({percent(before[i])} to {percent(after[i])})"
            )
    return moved
