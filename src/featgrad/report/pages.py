"""Pages and their drawings, in HTML and SVG, and the page of a stream.

Names of features are untrusted: text is escaped, the script of a page writes text nodes only, and
the content security policy blocks all other scripts.
"""

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files
from math import ceil
from string import Template
from typing import Any

import numpy as np

from featgrad._support.atomic import atomic_path
from featgrad._support.wording import counted
from featgrad.report.plots import TimelineDisplay
from featgrad.report.text import escape

_WIDTH = 640
# Of a timeline: features that are drawn, columns of time, and pixels of a feature and of its bar.
_MAX_FEATURES, _MAX_TIMES = 40, 120
_ROW, _BAR = 46, 16
_ALARMS = {"alarm": "predictions became worse", "shift": "the set had changed beyond chance"}

# Places in a name where a line may end.
_BREAKS = re.compile(r"(?<=[_=/:;&|+-])(?=[^_=/:;&|+\s-])|(?<=[.,])(?=[^\W\d_])")


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def filled_page(name: str, headline: str, scripts: Sequence[str] = (), **parts: Any) -> str:
    """A page that may use its own style and these scripts, pictures that they make, nothing else.

    Its `facts` are what the scripts show, as JSON.
    """
    style, script = asset("page.css"), "".join(map(asset, scripts))
    policy = f"default-src 'none'; {_allowed('style', style)}"
    if scripts:
        policy += f"; {_allowed('script', script)}; img-src data:"
        parts |= {"facts": _json(parts["facts"]), "script": script}
    head = from_template("head.html", headline=escape(headline), style=style, policy=policy)
    return from_template(name, head=head.rstrip(), **parts)


def _allowed(kind: str, text: str) -> str:
    return f"{kind}-src 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _json(value: Any) -> str:
    """JSON that cannot close the script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def breakable(text: str) -> str:
    """For HTML, with lines that end between the words of names only, as in the script."""
    return "<wbr>".join(map(escape, _BREAKS.split(text)))


def from_template(name: str, **parts: Any) -> str:
    return Template(asset(name)).substitute(parts)


def asset(name: str) -> str:
    return (files("featgrad.report") / "page" / name).read_text(encoding="utf-8")


def draw_timeline(display: TimelineDisplay) -> str:
    """A name and a bar per feature, whose opacity is its score at the time."""
    shown = display.longest(_MAX_FEATURES)
    n_times = display.scores.shape[1]
    starts = np.arange(0, n_times, ceil(n_times / _MAX_TIMES) or 1)  # no decision yet
    scores, edges = display.scores[np.ix_(shown, starts)], display.edges[[*starts, n_times]]
    x = (_WIDTH * edges / edges[-1]).tolist()
    height = _ROW * len(shown)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height + _ROW}" role="img" class="chart" '
        f'aria-label="{counted(len(shown), "feature")} over {counted(int(edges[-1]), "row")}">'
    ]
    strongest = np.nanmax(scores, initial=1e-300)
    for line, feature in enumerate(display.features[shown].tolist()):
        name, y = display.names[feature], _ROW * (line + 1) - _BAR
        parts.append(_text(0, _ROW * line + 18, name, "start"))
        for time in np.flatnonzero(np.isfinite(scores[line])).tolist():
            place, score = (x[time], y, x[time + 1] - x[time], _BAR), scores[line, time]
            title = f"{escape(name)}, row {edges[time]:,}: {score:.1%}"
            parts.append(_bar(place, "plus", 0.1 + 0.9 * score / strongest, title))
    for alarm in display.alarms:
        at = float(_WIDTH * alarm.row / edges[-1])
        title = f"<title>row {alarm.row:,}: {_ALARMS[alarm.kind]}</title>"
        parts.append(_line(at, at, 0, height, "chosen", title))
    for row, anchor, at in ((0, "start", 0), (int(edges[-1]), "end", _WIDTH)):
        parts.append(_text(at, height + 18, f"row {row:,}", anchor))
    return "\n".join([*parts, "</svg>"])


def _line(x1: float, x2: float, y1: float, y2: float, kind: str = "", content: str = "") -> str:
    return _tag("line", content, class_=kind, x1=x1, x2=x2, y1=y1, y2=y2)


def _text(x: float, y: float, text: str, anchor: str = "", kind: str = "") -> str:
    return _tag("text", escape(text), x=x, y=y, text_anchor=anchor, class_=kind)


def _bar(place: Sequence[float], kind: str, opacity: float, title: str) -> str:
    """A rectangle: left, top, width and height."""
    x, y, width, height = place
    shown = {"class_": kind, "fill_opacity": f"{opacity:.2f}"}
    return _tag("rect", f"<title>{title}</title>", x=x, y=y, width=width, height=height, **shown)


def _tag(name: str, content: str, **attributes: Any) -> str:
    """An element, with one digit of numbers that are not whole, without empty attributes."""
    text = name
    for attribute, value in attributes.items():
        shown = f"{value:.1f}" if isinstance(value, float) else str(value)
        text += f' {attribute.rstrip("_").replace("_", "-")}="{shown}"' if shown else ""
    return f"<{text}>{content}</{name}>" if content else f"<{text}/>"


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
        shown=f"{_MAX_FEATURES} of {count} features are drawn." if count > _MAX_FEATURES else "",
        alarms="\n".join(_alarm(event, names) for event in display.alarms) or _row(["none"]),
        rate=f"{1e6 * selector.alarm_rate:g}",
        chosen="\n".join(
            _row([names[features[i]], f"{scores[i]:.1%}"]) for i in np.argsort(-scores)
        ),
    )
    write_page(page, path)


def _alarm(event: Any, names: Sequence[str]) -> str:
    came, went = (", ".join(names[i] for i in own) for own in (event.entered, event.left))
    cells = {"Row": f"{event.row:,}", "What": _ALARMS[event.kind], "Came": came, "Went": went}
    labelled = (f'<td data-label="{k}">{breakable(v)}</td>' for k, v in cells.items())
    return f"<tr>{''.join(labelled)}</tr>"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{breakable(cell)}</td>' for cell in cells)}</tr>"
