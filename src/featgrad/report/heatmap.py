"""SVG heat map of the correlations among chosen features and those they replace."""

from featgrad.report.facts import Redundancy

_CELL, _MARGIN = 20, 28


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
