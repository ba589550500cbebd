"""The report of a stream: which features mattered when, as one self-contained HTML file."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from featgrad.report.html import breakable, filled_page, write_page
from featgrad.report.plots import TimelineDisplay
from featgrad.report.svg import ALARMS, MAX_FEATURES, draw_timeline
from featgrad.report.text import counted, escape


def write_stream_report(
    selector: Any, path: str | os.PathLike[str], *, names: Sequence[str] | None = None
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

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import OnlineFeatureSelector
    >>> from featgrad.report import write_stream_report
    >>> X = np.random.default_rng(0).standard_normal((300, 4))
    >>> selector = OnlineFeatureSelector(1).partial_fit(X, X[:, 2])
    >>> write_stream_report(selector, "stream.html")  # doctest: +SKIP
    """
    display = TimelineDisplay.of(selector, names)
    names, features = display.names, selector.features_
    headline = f"{len(features)} of {counted(len(names), 'feature')} after "
    scores = selector.scores_[features]
    count = len(display.features)
    page = filled_page(
        "stream.html",
        headline + counted(selector.n_rows_seen_, "row"),
        explained=escape(str(selector.learnability_)),
        half_life=f"{selector.half_life:g}",
        timeline=draw_timeline(display),
        shown=f"{MAX_FEATURES} of {count} features are drawn." if count > MAX_FEATURES else "",
        alarms="\n".join(_alarm(event, names) for event in display.alarms) or _row(["none"]),
        rate=f"{1e6 * selector.alarm_rate:g}",
        chosen="\n".join(
            _row([names[features[i]], f"{scores[i]:.1%}"]) for i in np.argsort(-scores)
        ),
    )
    write_page(page, path)


def _alarm(event: Any, names: Sequence[str]) -> str:
    came, went = (", ".join(names[i] for i in own) for own in (event.entered, event.left))
    cells = {"Row": f"{event.row:,}", "What": ALARMS[event.kind], "Came": came, "Went": went}
    labelled = (f'<td data-label="{k}">{breakable(v)}</td>' for k, v in cells.items())
    return f"<tr>{''.join(labelled)}</tr>"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{breakable(cell)}</td>' for cell in cells)}</tr>"
