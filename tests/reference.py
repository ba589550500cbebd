"""The estimator transcribed from its definition in O(N^2 D), for the tests of every fast path."""

from __future__ import annotations

import numpy as np

from featgrad._support import Floats, Indices
from featgrad.math.formulas import tuple_weights


def standardise(X: Floats, weights: Floats, preprocess: str) -> Floats:
    """Centre, and for "zscore" divide by the standard deviation; constant columns become 0."""
    weights = weights / weights.sum()
    centred = X - weights @ X
    if preprocess == "center":
        return centred
    deviation = np.sqrt(weights @ centred**2)
    return np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0)


def moments(X: Floats, y: Floats, mask: Floats, weights: Floats, order: int) -> Floats:
    """``m_i = y^T T^(i+1) y / e_(i+2)(w)``, ``T = triud(X S X^T)``, rows scaled by ``sqrt(w)``."""
    root = np.sqrt(weights)[:, None]
    X, y = X * root, y * root
    T = np.triu((X * mask) @ X.T, 1)
    power, raw = y, []
    for _ in range(order):
        power = T @ power
        raw.append(np.sum(y * power))
    return np.array(raw) / tuple_weights(weights, order)


def value_and_gradient(
    X: Floats,
    y: Floats,
    mask: Floats,
    weights: Floats,
    coefficients: Floats,
    scale: float,
    parts: Indices | None = None,
) -> tuple[float, Floats]:
    """``z = sum_i a_i m_i`` of rows already centred, and ``dz/ds``.

    ``m_i = y^T T^(i+1) y / e_(i+2)(w)`` as above, and
    ``d(y^T T^(i+1) y)/ds_d = sum_(a+b=i) (T^T^a y)^T triud(x_d x_d^T) (T^b y)``. Where rows belong
    to rising parts, triud keeps pairs of rows from distinct parts and w are the weights of parts.
    """
    order = len(coefficients)
    weights = weights / weights.sum()
    parts = np.arange(len(X)) if parts is None else parts
    rising = parts[:, None] < parts
    root = np.sqrt(weights)[:, None]
    X, y = X * root / np.sqrt(scale), y * root
    T = (X * mask) @ X.T * rising
    alpha = coefficients / tuple_weights(np.bincount(parts, weights), order)
    left, right = [y], [y]
    for _ in range(order - 1):
        left.append(T.T @ left[-1])
        right.append(T @ right[-1])
    pairs = np.zeros_like(T)
    for i in range(order):
        for a in range(i + 1):
            pairs += alpha[i] * left[a] @ right[i - a].T
    pairs *= rising
    value = sum(alpha[i] * np.sum(y * (T @ right[i])) for i in range(order))
    return float(value), np.einsum("nd,nm,md->d", X, pairs, X, optimize=True)
