"""Pictures of constructed features: the target over the columns that each is made of."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from featgrad._support import Floats, Indices
from featgrad._support.array_api import dense
from featgrad._support.wording import visible
from featgrad.report.profiles import Series, binned, drawn_rows
from featgrad.report.text import number_text

# Points of a curve, and cells of a map along each column.
_POINTS, _CELLS = 20, 6


def pictures(
    X: Any, target: Series, made: Mapping[int, Sequence[int]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Of columns that are functions of one or two others, what the script draws.

    The first output is drawn over these; with a function of one column the line that it makes of
    the target, and with functions of the same two columns one map.
    """
    rows = drawn_rows(target)
    target = target.take(rows)
    found: dict[Any, dict[str, Any]] = {}
    for feature, parts in made.items():
        key, name = tuple(parts) if len(parts) == 2 else feature, visible(names[feature])
        if key in found:
            found[key]["names"].append(name)
            continue
        columns = np.asarray(dense(X[rows][:, [*parts, feature]]), float)
        known = ~np.isnan(columns).any(axis=1)
        draw = _curve if len(parts) == 1 else _map
        drawn = draw(columns[known].T, target.take(known))
        named = {"names": [name], "parts": [visible(names[i]) for i in parts]}
        found[key] = named | {"target": target.names[0]} | drawn
    return list(found.values())


def _curve(columns: Floats, target: Series) -> dict[str, Any]:
    x, z = columns
    order, (low, high) = np.argsort(x, kind="stable"), np.quantile(x, [0.01, 0.99])
    grid = np.linspace(low, high, 100)
    groups = np.array_split(order, max(1, min(_POINTS, len(x) // 8)))
    inside = np.array([np.isin(np.arange(len(x)), group) for group in groups]).T
    profile = binned([], inside, target)
    # The line of the target on the constructed values.
    w, y = target.weights / target.weights.sum(), target.values[:, 0]
    centred = z - w @ z
    slope = float((w * y) @ centred / max(float(w @ centred**2), 1e-300))
    shape = w @ y + slope * np.interp(grid, x[order], centred[order])
    return {
        "x": _plain([x[group].mean() for group in groups]),
        "means": _plain(profile.means[:, 0]),
        "errors": _plain(profile.errors[:, 0]),
        "grid": _plain(grid),
        "shape": _plain(shape),
    }


def _map(columns: Floats, target: Series) -> dict[str, Any]:
    cells, edges = zip(*map(_cut, columns[:2]), strict=True)
    shape = [len(ends) - 1 for ends in edges]
    cell = cells[0] * shape[1] + cells[1]
    profile = binned([], cell[:, None] == np.arange(shape[0] * shape[1]), target)
    return {
        "edges": [[number_text(end, ends[-1] - ends[0], 2) for end in ends] for ends in edges],
        "counts": profile.counts.reshape(shape).tolist(),
        "means": [_plain(row) for row in profile.means[:, 0].reshape(shape)],
    }


def _cut(x: Floats) -> tuple[Indices, Floats]:
    """Cells of about as many rows each, and their ends."""
    values = np.unique(x)
    ends = np.unique(np.quantile(x, np.linspace(0, 1, _CELLS + 1)))
    if len(values) <= 2:
        ends = np.array([values[0], values.mean(), values[-1]])
    return np.clip(np.searchsorted(ends, x, side="right") - 1, 0, len(ends) - 2), ends


def _plain(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else float(f"{value:.5g}") for value in values]
