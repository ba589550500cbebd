"""The report of a stream: which features mattered when, as one self-contained HTML file."""

import os
from collections.abc import Iterable, Sequence
from math import ceil
from string import Template
from typing import Any

import numpy as np

from featgrad._support.atomic import atomic_path
from featgrad.report.html import asset, breakable, escape, page_head
from featgrad.report.plots import TimelineDisplay
from featgrad.report.text import counted, feature_names

# Features that are drawn, columns of time, and pixels of the plot.
_MAX_FEATURES, _MAX_TIMES = 40, 120
_WIDTH, _LINE, _BAR = 640, 46, 16
_KINDS = {"alarm": "predictions became worse", "shift": "the set had changed beyond chance"}


def write_stream_report(
    selector: Any, path: str | os.PathLike[str], *, names: Sequence[str] | None = None
) -> None:
    """Write what an `OnlineFeatureSelector` has seen, to be opened in any browser.

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
    with atomic_path(path) as temporary:
        temporary.write_text(render_stream(selector, names), encoding="utf-8")


def render_stream(selector: Any, names: Sequence[str] | None = None) -> str:
    names = feature_names(selector) if names is None else names
    display = TimelineDisplay.of(selector, names)
    features = selector.features_
    headline = f"{len(features)} of {counted(len(names), 'feature')} after "
    scores = selector.scores_[features]
    count = len(display.features)
    return Template(asset("stream.html")).substitute(
        head=page_head(headline + counted(selector.n_rows_seen_, "row")),
        explained=escape(str(selector.learnability_)),
        half_life=f"{selector.half_life:g}",
        timeline=draw_timeline(display),
        shown=f"{_MAX_FEATURES} of {count} features are drawn." if count > _MAX_FEATURES else "",
        alarms="\n".join(_alarm(event, names) for event in display.alarms) or _row(["none"]),
        rate=f"{1e6 * selector.alarm_rate:g}",
        chosen="\n".join(
            _row([names[features[i]], f"{scores[i]:.1%}"]) for i in np.argsort(-scores)
        ),
    )


def draw_timeline(display: TimelineDisplay) -> str:
    """A name and a bar per feature, whose opacity is its score at the time."""
    shown = display.longest(_MAX_FEATURES)
    n_times = display.scores.shape[1]
    starts = np.arange(0, n_times, ceil(n_times / _MAX_TIMES))
    scores, edges = display.scores[np.ix_(shown, starts)], display.edges[[*starts, n_times]]
    x = _WIDTH * edges / edges[-1]
    height = _LINE * len(shown)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height + _LINE}" role="img" class="curve" '
        f'aria-label="{counted(len(shown), "feature")} over {counted(int(edges[-1]), "row")}">'
    ]
    strongest = np.nanmax(scores, initial=1e-300)
    for line, place in enumerate(shown.tolist()):
        name = display.names[display.features[place]]
        parts.append(_text(0, _LINE * line, "start", name))
        parts += [
            f'<rect x="{x[time]:.1f}" y="{_LINE * (line + 1) - _BAR}" '
            f'width="{x[time + 1] - x[time]:.1f}" height="{_BAR}" class="plus" '
            f'fill-opacity="{0.1 + 0.9 * score / strongest:.2f}">'
            f"<title>{escape(name)}, row {edges[time]:,}: {score:.1%}</title></rect>"
            for time, score in enumerate(scores[line])
            if np.isfinite(score)
        ]
    for alarm in display.alarms:
        at = _WIDTH * alarm.row / edges[-1]
        parts.append(
            f'<line class="chosen" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height}">'
            f"<title>row {alarm.row:,}: {_KINDS[alarm.kind]}</title></line>"
        )
    for row, anchor, at in ((0, "start", 0), (int(edges[-1]), "end", _WIDTH)):
        parts.append(_text(at, height, anchor, f"row {row:,}"))
    return "\n".join([*parts, "</svg>"])


def _text(x: int, top: int, anchor: str, text: str) -> str:
    return f'<text x="{x}" y="{top + 18}" text-anchor="{anchor}">{escape(text)}</text>'


def _alarm(event: Any, names: Sequence[str]) -> str:
    came, went = (", ".join(names[i] for i in own) for own in (event.entered, event.left))
    cells = {"Row": f"{event.row:,}", "What": _KINDS[event.kind], "Came": came, "Went": went}
    labelled = (f'<td data-label="{k}">{breakable(v)}</td>' for k, v in cells.items())
    return f"<tr>{''.join(labelled)}</tr>"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{breakable(cell)}</td>' for cell in cells)}</tr>"
