"""Pictures of held-out rows: the ROC of classes and what is mixed up, predicted against actual."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from featgrad._support import Floats
from featgrad.estimates.estimate import PathPoint, Predictions
from featgrad.report.profiles import Series

# Rows from which there is a picture, points of a curve, and points of a plot.
_FEWEST, _CURVE, _POINTS = 20, 100, 1000
# Classes of a confusion matrix; of more, the pairs that are mixed up most are listed.
_CLASSES, _PAIRS = 10, 8


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
    if not curves:
        return None
    mixed_up = _confusion(predictions, target.classes) if target.classes else {}
    return {"rows": len(values), "curves": curves, **mixed_up}


def _confusion(predictions: Predictions, classes: Sequence[str]) -> dict[str, Any]:
    """Rows of each class by the class that they are taken for.

    Of two classes as many rows are taken for each as there are, as at the threshold of the curve.
    """
    values, outputs = predictions
    if len(classes) == 2:
        actual, predicted = (outputs[:, 0] > 0).astype(int), np.zeros(len(values), int)
        predicted[np.argsort(-values[:, 0], kind="stable")[: actual.sum()]] = 1
    else:
        shares = -outputs.min(axis=0)  # outputs are 0 and 1 less these
        actual, predicted = ((part + shares).argmax(axis=1) for part in (outputs, values))
    counts = np.zeros((len(classes), len(classes)), int)
    np.add.at(counts, (actual, predicted), 1)
    if len(classes) <= _CLASSES:
        return {"classes": list(classes), "counts": counts.tolist()}
    totals, right = counts.sum(axis=1), int(np.trace(counts))
    np.fill_diagonal(counts, 0)
    most = np.argsort(-counts, axis=None, kind="stable")[:_PAIRS]
    pairs = [
        [classes[i], classes[j], int(counts[i, j]), int(totals[i])]
        for i, j in zip(*np.unravel_index(most, counts.shape), strict=True)
        if counts[i, j]
    ]
    return {"pairs": pairs, "right": right}


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
