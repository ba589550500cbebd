"""Pages and their drawings, in HTML and SVG, and the page of a stream.

Names of features are untrusted: text is escaped, the script of a page writes text nodes only, and
the content security policy blocks all other scripts.
"""

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib.resources import files
from math import ceil, floor, isnan, log10
from string import Template
from typing import Any

import numpy as np

from featgrad._support import Floats
from featgrad._support.atomic import atomic_path
from featgrad._support.wording import counted
from featgrad.estimates.estimate import Estimate
from featgrad.report.plots import LOG_RATIO, TimelineDisplay
from featgrad.report.text import escape

_WIDTH = 640
# Of the curve; its margins leave space for letters of 20 pixels, which they have on a phone.
_HEIGHT = 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 40, 36, 56
_LETTER = 11
# Of a heat map.
_CELL, _MARGIN = 20, 28
# Of a timeline: features that are drawn, columns of time, and pixels of a feature and of its bar.
_MAX_FEATURES, _MAX_TIMES = 40, 120
_ROW, _BAR = 46, 16
_ALARMS = {"alarm": "predictions became worse", "shift": "the set had changed beyond chance"}

# Places in a name where a line may end.
_BREAKS = re.compile(r"(?<=[_=/:;&|+-])(?=[^_=/:;&|+\s-])|(?<=[.,])(?=[^\W\d_])")


def write_page(page: str, path: str | os.PathLike[str]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def filled_page(name: str, headline: str, script: str = "", **parts: Any) -> str:
    """A page that may use its own style and this script, and nothing else."""
    style = asset("page.css")
    allowed = {"script": script, "style": style} if script else {"style": style}
    digests = {kind: b64encode(sha256(text.encode()).digest()) for kind, text in allowed.items()}
    sources = "; ".join(f"{kind}-src 'sha256-{value.decode()}'" for kind, value in digests.items())
    policy = {"style": style, "policy": f"default-src 'none'; {sources}"}
    head = from_template("head.html", headline=escape(headline), **policy).rstrip()
    return from_template(name, head=head, script=script, **parts)


def breakable(text: str) -> str:
    """For HTML, with lines that end between the words of names only, as in the script."""
    return "<wbr>".join(map(escape, _BREAKS.split(text)))


def from_template(name: str, **parts: Any) -> str:
    return Template(asset(name)).substitute(parts)


def asset(name: str) -> str:
    return (files("featgrad.report") / "page" / name).read_text(encoding="utf-8")


def draw_curve(path: Sequence[Any], chosen: int, everything: Estimate) -> str:
    """One circle with its interval per size; the script of the page highlights one by position."""
    sizes, estimates = zip(*((point.size, point.learnability) for point in path), strict=True)
    ends = [_known(everything), *(end for estimate in estimates for end in estimate.interval)]
    low, high = max(-1.0, min(0.0, *ends)), min(1.05, max(0.05, *ends) * 1.05)

    def y(value: float) -> float:
        return float(np.interp(value, (low, high), (_HEIGHT - _BOTTOM, _TOP)))

    x, values = _across(sizes), [_known(estimate) for estimate in estimates]
    bottoms, tops = ([y(estimate.interval[i]) for estimate in estimates] for i in (0, 1))
    line = list(zip(x, map(y, values), strict=True))
    band = [*zip(x, tops, strict=True), *reversed(list(zip(x, bottoms, strict=True)))]
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" class="curve" aria-label="Learnability '
        f"against the number of features: from {100 * min(values):.1f} to {100 * max(values):.1f} "
        f'per cent over {len(sizes)} sizes">'
    ]
    # 1. Axes: from 0, or the lowest interval, to slightly above the highest one.
    step = _nice((high - low) / 5)
    for tick in (step * i for i in range(-int(-low // step), int(high / step) + 1)):
        label = _text(_LEFT - 6, y(tick) + 4, f"{100 * tick:.3g} %", "end")
        parts.append(_line(_LEFT, _WIDTH - _RIGHT, y(tick), y(tick), "grid") + label)
    parts += _size_labels(sizes, x, chosen)
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(_text(middle, _HEIGHT - 8, "number of features", "middle"))
    # 2. A line across the plot for all candidates, where their estimate is known, and a legend.
    is_known, height = not isnan(everything.value), y(_known(everything))
    label = f"all {everything.n_features:,}{'' if is_known else ': unknown'}"
    after = _LEFT + 74 + _LETTER * len(label)
    across = _line(_LEFT, _WIDTH - _RIGHT, height, height, "everything") if is_known else ""
    parts.append(
        across
        + _line(_LEFT, _LEFT + 36, 12, 12, "everything")
        + _text(_LEFT + 44, 17, label)
        + _line(after, after + 36, 12, 12, "chosen")
        + _text(after + 44, 17, f"chosen: {sizes[chosen]:,}")
    )
    # 3. The estimates.
    parts += [
        f'<polygon class="band" points="{_points(band)}"/>',
        f'<polyline class="line" points="{_points(line)}"/>',
        _line(x[chosen], x[chosen], _TOP, _HEIGHT - _BOTTOM, "chosen"),
        '<g id="points">',
    ]
    for i, (cx, cy) in enumerate(line):
        parts.append(
            f'<g>{_line(cx, cx, bottoms[i], tops[i])}<circle cx="{cx:.1f}" cy="{cy:.1f}" r="4">'
            f"<title>{sizes[i]}: {estimates[i]}</title></circle></g>"
        )
    return "\n".join([*parts, "</g>", "</svg>"])


def draw_heatmap(correlations: Floats, replaced_by: Sequence[int]) -> str:
    """One square per pair: its colour is the sign of the correlation, its opacity the size."""
    side = _MARGIN + _CELL * len(correlations)
    parts = [
        f'<svg viewBox="0 0 {side} {side}" role="img" class="heatmap" width="{side}" '
        f'aria-label="Correlations among {len(correlations)} features">'
    ]
    for i, row in enumerate(correlations):
        middle, kind = _MARGIN + _CELL * i + _CELL // 2, "replaced" if replaced_by[i] >= 0 else ""
        parts.append(
            _text(_MARGIN - 5, middle + 4, str(i + 1), "end", kind)
            + _text(middle, _MARGIN - 7, str(i + 1), "middle", kind)
        )
        for j, correlation in enumerate(row):
            place = _MARGIN + _CELL * j, _MARGIN + _CELL * i, _CELL - 1, _CELL - 1
            sign, title = "minus" if correlation < 0 else "plus", f"{i + 1} and {j + 1}"
            parts.append(_bar(place, sign, abs(correlation), f"{title}: {correlation:.2f}"))
    return "\n".join([*parts, "</svg>"])


def draw_timeline(display: TimelineDisplay) -> str:
    """A name and a bar per feature, whose opacity is its score at the time."""
    shown = display.longest(_MAX_FEATURES)
    n_times = display.scores.shape[1]
    starts = np.arange(0, n_times, ceil(n_times / _MAX_TIMES) or 1)  # no decision yet
    scores, edges = display.scores[np.ix_(shown, starts)], display.edges[[*starts, n_times]]
    x = (_WIDTH * edges / edges[-1]).tolist()
    height = _ROW * len(shown)
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height + _ROW}" role="img" class="curve" '
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


def _known(estimate: Estimate) -> float:
    """The estimate, 0 where there is none."""
    return 0.0 if isnan(estimate.value) else estimate.value


def _across(sizes: Sequence[int]) -> list[float]:
    """Sizes on a linear or logarithmic scale, on which no features at all have a place, too."""
    left, right = _LEFT + 12, _WIDTH - _RIGHT - 12
    places = np.maximum(sizes, 0.5)
    if places[-1] == places[0]:
        return [(left + right) / 2] * len(sizes)
    places = np.log(places) if places[-1] / places[0] >= LOG_RATIO else places
    return np.interp(places, places[[0, -1]], (left, right)).tolist()  # type: ignore[no-any-return]


def _size_labels(sizes: Sequence[int], x: Sequence[float], chosen: int) -> list[str]:
    """The chosen size and as many others as have space."""
    parts: list[str] = []
    taken: list[tuple[float, float]] = []
    for i in [chosen, *range(len(sizes))]:
        half = _LETTER * (len(f"{sizes[i]:,}") + 1) / 2
        if all(abs(x[i] - place) >= half + other for place, other in taken):
            taken.append((x[i], half))
            parts.append(_text(x[i], _HEIGHT - _BOTTOM + 22, f"{sizes[i]:,}", "middle"))
    return parts


def _nice(step: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten that is not smaller."""
    power: float = 10.0 ** floor(log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step)


def _points(pairs: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


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
