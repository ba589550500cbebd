"""Pictures of held-out rows: the ROC of classes, predicted against actual numbers."""

from typing import Any

import numpy as np

from featgrad._support import Floats
from featgrad.estimates.estimate import PathPoint
from featgrad.report.profiles import Series

# Rows from which there is a picture, points of a curve, and points of a plot.
_FEWEST, _CURVE, _POINTS = 20, 100, 1000


def picture(chosen: PathPoint, target: Series, task: str) -> dict[str, Any] | None:
    """What the script draws of the chosen set; None without features or held-out rows."""
    predictions = chosen.predictions
    if chosen.size == 0 or predictions is None or len(predictions.values) < _FEWEST:
        return None
    values, outputs = (part[:, target.places].astype(float) for part in predictions)
    if task in ("regression", "ordinal"):
        if task == "ordinal":
            values, outputs = (part.sum(axis=1, keepdims=True) for part in (values, outputs))
        level = float(np.average(target.values[:, 0], weights=target.weights))
        step = -(-len(values) // _POINTS)
        pairs = level + np.column_stack([values[::step, 0], outputs[::step, 0]])
        name = target.names[0].removeprefix("mean of ")
        return {"name": name, "points": [[float(f"{x:.5g}") for x in pair] for pair in pairs]}
    curves = [
        {"name": name.removeprefix("share of ")} | _curve(values[:, k], outputs[:, k] > 0)
        for k, name in enumerate(target.names)
        if 0 < np.count_nonzero(outputs[:, k] > 0) < len(outputs)
    ]
    return {"rows": len(values), "curves": curves} if curves else None


def _curve(scores: Floats, positive: Any) -> dict[str, Any]:
    """Shares of a class and of all others above each threshold, in thousandths.

    At the threshold that as many rows are above as are of the class, so many are found.
    """
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    found, false = np.cumsum(positive[order]), np.cumsum(~positive[order])
    count = int(found[-1])
    shown = np.unique(ends[np.linspace(0, len(ends) - 1, _CURVE).round().astype(int)])
    x, y = (
        np.append(0, 1000 * part[shown] / part[-1]).round().astype(int) for part in (false, found)
    )
    return {"x": x.tolist(), "y": y.tolist(), "count": count, "found": int(found[count - 1])}
