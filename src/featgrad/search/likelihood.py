"""Moments that stand for the likelihood of two classes where those over rows stand for squares.

Near the logistic model of the chosen columns, with scores e, probabilities p and ``v = p (1 - p)``,
the log-likelihood of any model is that of least squares with weights v and the target
``e + (y - p) / v``. Rows that the model is sure of hardly count then, while to least squares they
are errors: where classes are nearly told apart, that is most of what hides the true columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from featgrad.moments.folds import Moments, Rows

Floats = NDArray[np.float64]

# Penalty of squared coefficients beside the log-likelihood: scikit-learn's C = 1.
_RIDGE = 1.0
_NEWTON_STEPS = 20
_TOLERANCE = 1e-6
# Least p (1 - p) of a row.
_SURE = 1e-4


def two_classes(rows: Rows) -> NDArray[np.bool_] | None:
    """Which rows are of the one class where the target is one of two values; None otherwise."""
    if rows.outputs.shape[1] != 1:
        return None
    target = rows.outputs[:, 0]
    above = target > target.mean()
    return above if len(np.unique(target)) == 2 else None


def moments(rows: Rows, of_class: NDArray[np.bool_], chosen: NDArray[np.intp]) -> Moments:
    """Of all columns, near the logistic model of the chosen ones."""
    scores = _scores(rows, of_class, chosen)
    p = expit(scores)
    v = np.maximum(p * (1 - p), _SURE)
    weights = rows.weights * v / np.sum(rows.weights * v)
    target = scores + (of_class - p) / v
    target -= weights @ target
    centred = rows.values - weights @ rows.values
    weighted = centred * weights[:, None]
    return Moments(
        covariance=centred.T @ weighted,
        cross=(weighted.T @ target)[:, None],
        variance=float(weights @ target**2),
        n_rows=len(target),
    )


def _scores(rows: Rows, of_class: NDArray[np.bool_], chosen: NDArray[np.intp]) -> Floats:
    """Log-odds of each row by the penalised logistic model of some columns; Newton's method."""
    counts = rows.weights * (len(rows.weights) / rows.weights.sum())
    design = np.column_stack([np.ones(len(counts)), rows.values[:, chosen]])
    ridge = np.full(design.shape[1], _RIDGE)
    ridge[0] = 0.0
    signs = np.where(of_class, 1.0, -1.0)

    def loss(beta: Floats) -> float:
        return float(counts @ np.logaddexp(0, -signs * (design @ beta)) + ridge @ beta**2 / 2)

    beta = np.zeros(design.shape[1])
    before = loss(beta)
    for _ in range(_NEWTON_STEPS):
        p = expit(design @ beta)
        gradient = design.T @ (counts * (p - of_class)) + ridge * beta
        curvature = (design.T * (counts * p * (1 - p))) @ design + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        # Far from the optimum a whole step can overshoot.
        size = 1.0
        while (after := loss(beta - size * step)) > before and size > _TOLERANCE:
            size /= 2
        beta = beta - size * step
        if before - after <= _TOLERANCE * before:
            break
        before = after
    return np.asarray(design @ beta)
