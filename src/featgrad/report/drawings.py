"""SVG drawings: learnability against the number of features, correlations among features."""

from collections.abc import Callable
from math import floor, isnan, log, log10

import numpy as np

from featgrad.estimate import Estimate
from featgrad.report.facts import Facts, Redundancy
from featgrad.report.plots import LOG_RATIO

_WIDTH, _HEIGHT = 640, 300
# Room for letters of 20 pixels, which they have on a phone.
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 40, 36, 56
_LETTER = 11

# Of a heat map.
_CELL, _MARGIN = 20, 28

Scale = Callable[[float], float]


def draw_curve(facts: Facts) -> str:
    """One circle with its interval per size; the script of the page highlights one by position."""
    x, y = _x_scale(facts), _y_scale(facts)
    sizes = facts.sizes
    estimates = [point.learnability for point in sizes]
    band = [(x(p.size), y(p.learnability.interval[1])) for p in sizes]
    band += [(x(p.size), y(p.learnability.interval[0])) for p in reversed(sizes)]
    line = [(x(p.size), y(_known(p.learnability))) for p in sizes]
    chosen = x(facts.selection.size)
    low, high = min(map(_known, estimates)), max(map(_known, estimates))
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" class="curve" aria-label="Learnability '
        f"against the number of features: from {100 * low:.1f} to {100 * high:.1f} per cent over "
        f'{len(sizes)} sizes">',
        *_vertical_axis(facts, y),
        *_horizontal_axis(facts, x),
        _everything(facts, y),
        f'<polygon class="band" points="{_points(band)}"/>',
        f'<polyline class="line" points="{_points(line)}"/>',
        f'<line class="chosen" x1="{chosen:.1f}" x2="{chosen:.1f}" y1="{_TOP}" '
        f'y2="{_HEIGHT - _BOTTOM}"/>',
        '<g id="points">',
    ]
    for point, (cx, cy) in zip(sizes, line, strict=True):
        bottom, top = (y(end) for end in point.learnability.interval)
        parts.append(
            f'<g><line x1="{cx:.1f}" x2="{cx:.1f}" y1="{bottom:.1f}" y2="{top:.1f}"/>'
            f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="4"><title>{point.size}: '
            f"{point.learnability}</title></circle></g>"
        )
    return "\n".join([*parts, "</g>", "</svg>"])


def _known(estimate: Estimate) -> float:
    """The estimate, 0 where there is none."""
    return 0.0 if isnan(estimate.value) else estimate.value


def _x_scale(facts: Facts) -> Scale:
    first, last = _place(facts.sizes[0].size), _place(facts.sizes[-1].size)
    span = _WIDTH - _LEFT - _RIGHT
    if first == last:
        return lambda size: _LEFT + span / 2
    if last / first >= LOG_RATIO:
        return lambda size: _LEFT + 12 + (span - 24) * log(_place(size) / first) / log(last / first)
    return lambda size: _LEFT + 12 + (span - 24) * (_place(size) - first) / (last - first)


def _place(size: float) -> float:
    """No features at all have a place on a logarithmic scale, too."""
    return max(size, 0.5)


def _y_scale(facts: Facts) -> Scale:
    return lambda value: float(np.interp(value, _range(facts), (_HEIGHT - _BOTTOM, _TOP)))


def _range(facts: Facts) -> tuple[float, float]:
    """From 0, or the lowest interval, to slightly above the highest interval."""
    ends = [end for point in facts.sizes for end in point.learnability.interval]
    ends += [_known(facts.everything)]
    return max(-1.0, min(0.0, *ends)), min(1.05, max(0.05, *ends) * 1.05)


def _vertical_axis(facts: Facts, y: Scale) -> list[str]:
    bottom, top = _range(facts)
    step = _nice((top - bottom) / 5)
    ticks = [step * i for i in range(-int(-bottom // step), int(top / step) + 1)]
    return [
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(tick):.1f}" '
        f'y2="{y(tick):.1f}"/><text x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" '
        f'text-anchor="end">{100 * tick:.3g} %</text>'
        for tick in ticks
    ]


def _horizontal_axis(facts: Facts, x: Scale) -> list[str]:
    """The chosen size and as many others as have room."""
    places: list[tuple[float, float]] = []
    parts = []
    for size in [facts.selection.size, *(point.size for point in facts.sizes)]:
        half = _LETTER * (len(f"{size:,}") + 1) / 2
        if any(abs(x(size) - place) < half + other for place, other in places):
            continue
        places.append((x(size), half))
        parts.append(
            f'<text x="{x(size):.1f}" y="{_HEIGHT - _BOTTOM + 22}" text-anchor="middle">'
            f"{size:,}</text>"
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    label = f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">number of features</text>'
    return [*parts, label]


def _everything(facts: Facts, y: Scale) -> str:
    """A line across the plot, where the estimate is known; its label stands above it."""
    is_known = not isnan(facts.everything.value)
    label = f"all {facts.everything.n_features:,}{'' if is_known else ': unknown'}"
    next_to_it = _LEFT + 74 + _LETTER * len(label)
    height = y(_known(facts.everything))
    across = f'x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{height:.1f}" y2="{height:.1f}"'
    return (
        (f'<line class="everything" {across}/>' if is_known else "")
        + f'<line class="everything" x1="{_LEFT}" x2="{_LEFT + 36}" y1="12" '
        f'y2="12"/><text x="{_LEFT + 44}" y="17">{label}</text>'
        f'<line class="chosen" x1="{next_to_it}" x2="{next_to_it + 36}" y1="12" y2="12"/>'
        f'<text x="{next_to_it + 44}" y="17">chosen: {facts.selection.size:,}</text>'
    )


def _nice(step: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten that is not smaller."""
    power: float = 10.0 ** floor(log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step)


def _points(pairs: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def draw_heatmap(redundancy: Redundancy) -> str:
    """One square per pair: its colour is the sign of the correlation, its opacity the size."""
    count = len(redundancy.features)
    side = _MARGIN + _CELL * count
    parts = [
        f'<svg viewBox="0 0 {side} {side}" role="img" class="heatmap" width="{side}" '
        f'aria-label="Correlations among {count} features">'
    ]
    for i in range(count):
        middle = _MARGIN + _CELL * (i + 0.5)
        replaced = "" if redundancy.replaced_by[i] < 0 else ' class="replaced"'
        parts.append(
            f'<text x="{_MARGIN - 5}" y="{middle + 4:g}" text-anchor="end"{replaced}>{i + 1}</text>'
            f'<text x="{middle:g}" y="{_MARGIN - 7}" text-anchor="middle"{replaced}>{i + 1}</text>'
        )
        parts += [_cell(i, j, redundancy.correlations[i, j]) for j in range(count)]
    return "\n".join([*parts, "</svg>"])


def _cell(i: int, j: int, correlation: float) -> str:
    x, y = _MARGIN + _CELL * j, _MARGIN + _CELL * i
    sign = "minus" if correlation < 0 else "plus"
    return (
        f'<rect x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" class="{sign}" '
        f'fill-opacity="{abs(correlation):.2f}"><title>{i + 1} and {j + 1}: {correlation:.2f}'
        "</title></rect>"
    )
