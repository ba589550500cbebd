"""Columns beside their curves: what the square of a column tells beyond the column itself.

Where rows are few beside columns, which columns tell something is hard to see, and a class is
often marked by values in the middle or at both ends of a column. A feature is then judged by two
columns, z and ``z^2 - 1 - skew z`` brought to variance 1. Where columns look normal every relation
to a latent target is linear, and where most entries are zero a square says what the entry says:
there curves would be noise, as they are where all of them together tell no more than chance would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.dataset.dealt import of_one_variance
from featgrad.moments.columns import inverse_variance
from featgrad.preprocess.present_means import present_means

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Entries up to which columns and curves are laid out side by side.
_MOST_ENTRIES = 1 << 24
# Share of entries other than zero from which columns are not sparse.
_DENSE = 0.25
# Mean over columns of the Jarque-Bera statistic, 2 for normal ones, from which they are not normal.
_NOT_NORMAL = 2.5
# A curve with less than this of the variance of a normal column's, 2, is rounding.
_ROUNDING = 1e-6
_BLOCK_ENTRIES = 1 << 20


def with_curves(X: Any, rows: NDArray[np.intp], weights: Floats, outputs: Floats) -> Singles | None:
    """Standardised columns over some rows, then their curves; None where curves would be noise.

    Weights sum to one, outputs are centred.
    """
    n_rows, n_columns = len(rows), X.shape[1]
    if n_rows >= n_columns or n_rows * n_columns > _MOST_ENTRIES or _is_sparse(X):
        return None
    values = _filled(X[rows].toarray() if sparse.issparse(X) else X[rows], weights)
    both = np.empty((n_rows, 2 * n_columns), np.float32)
    columns, curves = both[:, :n_columns], both[:, n_columns:]
    statistics = np.empty(n_columns)
    step = max(1, _BLOCK_ENTRIES // n_rows)
    for start in range(0, n_columns, step):
        some = slice(start, start + step)
        z = _standardised(values[:, some].astype(np.float64), weights)
        columns[:, some] = z
        curves[:, some], statistics[some] = _curve(z, weights)
    varies = columns.any(axis=0)
    if not varies.any() or statistics[varies].mean() <= _NOT_NORMAL:
        return None
    return both if _tell_something(curves, of_one_variance(outputs, weights), weights) else None


def _tell_something(curves: Singles, outputs: Floats, weights: Floats) -> bool:
    """Whether squared correlations are larger than those of noise, ``1 / (rows - 1)``, in mean."""
    bent = curves.any(axis=0)
    correlations = curves.T[bent] @ (weights[:, None] * outputs)
    return bool(bent.any() and np.mean(correlations**2) * (len(curves) - 1) > 1)


def _is_sparse(X: Any) -> bool:
    stored = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return bool(stored < _DENSE * X.shape[0] * X.shape[1])


def _filled(values: NDArray[Any], weights: Floats) -> NDArray[Any]:
    means = present_means(values, weights)
    return values if means is None else np.where(np.isnan(values), means, values)


def _standardised(block: Floats, weights: Floats) -> Floats:
    mean = weights @ block
    centred = block - mean
    scale = np.sqrt(inverse_variance(mean, weights @ centred**2, "zscore"))
    return np.asarray(centred * scale)


def _curve(z: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Curves of some columns, and the columns' Jarque-Bera statistics."""
    skew, kurtosis = weights @ z**3, weights @ z**4
    # var(z^2) = kurtosis - 1, of which skew^2 lies along z; nothing is left of two values.
    variance = kurtosis - 1 - skew**2
    scale = np.where(variance > 2 * _ROUNDING, 1 / np.sqrt(np.maximum(variance, 2 * _ROUNDING)), 0)
    statistics = len(z) / 6 * (skew**2 + (kurtosis - 3) ** 2 / 4)
    return (z**2 - 1 - skew * z) * scale, statistics
