"""Correlations among columns, the direction of their effects, and what is missing in them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from featgrad._support.types import Floats, Indices
from featgrad.moments.least_squares import Weighted, ridge_coefficients
from featgrad.moments.rows import StandardisedRows
from featgrad.plan import JUDGE_RIDGE

# Correlation from which a chosen feature replaces a rejected one.
REDUNDANT = 0.7
# Number of chosen columns whose products with all candidates are in memory at once.
_BLOCK_COLUMNS = 64
# Number of rows for correlations: their standard error is then at most 0.01.
_ROWS = 10_000


def count_missing(X: Any) -> Indices:
    if X.dtype.kind != "f":
        return np.zeros(X.shape[1], dtype=np.intp)
    if sparse.issparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    return np.asarray(np.count_nonzero(np.isnan(X), axis=0))


def effects(X: Any, output: Floats, weights: Floats, columns: Indices) -> Floats:
    """Coefficients of some standardised columns in a ridge model of one output."""
    if len(columns) == 0:
        return np.zeros(0)
    rows = _some(np.flatnonzero(weights))
    values = StandardisedRows.of(X[:, columns], rows, weights[rows], "zscore").values()
    centred = output[rows] - np.average(output[rows], axis=0, weights=weights[rows])
    model = ridge_coefficients(Weighted(values, centred, weights[rows]), JUDGE_RIDGE)
    return np.asarray(model[:, 0])


def correlations(X: Any, columns: Indices) -> Floats:
    """Correlations among some columns; missing entries count as the mean."""
    rows = _some(np.arange(X.shape[0]))
    values = StandardisedRows.of(X[:, columns], rows, np.ones(len(rows)), "zscore").values()
    return np.asarray(np.clip(values.T @ values / len(rows), -1, 1))


def nearest_chosen(X: Any, sets: Sequence[Indices]) -> list[tuple[Indices, Floats]]:
    """For each set of columns: the member that every column correlates with most, and how much.

    A member of the set is compared with the other members; the position is -1 if there is no
    correlation. The additional memory is linear in the rows and in the columns of X.
    """
    n_columns, some = X.shape[1], _some(np.arange(X.shape[0]))
    weights = np.ones(len(some)) / len(some)
    rows = StandardisedRows.of(X, some, weights, "zscore")
    scale = np.sqrt(rows.inverse_variance)
    found = [(np.full(n_columns, -1), np.zeros(n_columns)) for _ in sets]
    union = np.unique(np.concatenate(sets))
    for start in range(0, len(union), _BLOCK_COLUMNS):
        block = union[start : start + _BLOCK_COLUMNS]
        own = block, np.arange(len(block))
        units = np.zeros((n_columns, len(block)))
        units[own] = scale[block]
        correlation = scale[:, None] * rows.covariance_product(units, weights)
        correlation[own] = 0.0
        for columns, (nearest, best) in zip(sets, found, strict=True):
            _, of_block, position = np.intersect1d(block, columns, return_indices=True)
            if len(of_block):
                top = np.argmax(np.abs(correlation[:, of_block]), axis=1)
                values = correlation[np.arange(n_columns), of_block[top]]
                better = np.abs(values) > np.abs(best)
                nearest[better] = position[top[better]]
                best[better] = np.clip(values[better], -1, 1)
    return found


def _some(rows: Indices) -> Indices:
    """Evenly spaced ones."""
    return rows[:: -(-len(rows) // _ROWS)]
