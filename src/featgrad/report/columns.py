"""Statistics of columns and correlations between them, in blocks of rows and of columns."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from featgrad.arrays import Floats, Indices
from featgrad.moments.columns import DenseColumnMoments, inverse_variance

_BLOCK_ENTRIES = 1 << 20
# Number of chosen columns whose products with all candidates are in memory at once.
_BLOCK_COLUMNS = 64
# Number of rows for correlations: their standard error is then at most 0.01.
_ROWS = 10_000


def moments(X: Any) -> tuple[Floats, Floats]:
    """Mean and variance of each column without its missing entries."""
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X.astype(np.float64, copy=False), axis=0)
        return np.nan_to_num(mean), np.nan_to_num(variance)
    collected = DenseColumnMoments(X.shape[1])
    for rows in row_blocks(X):
        block = X[rows].astype(np.float64)
        collected.add(np, block, np.ones(len(block)))
    return collected.mean, collected.variance


def count_constant(X: Any) -> int:
    return int(np.count_nonzero(inverse_variance(*moments(X), "zscore") == 0))


def count_missing(X: Any) -> int:
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind != "f":
        return 0
    return sum(int(np.isnan(values[rows]).sum()) for rows in row_blocks(values))


def nearest_chosen(X: Any, sets: Sequence[Indices]) -> list[tuple[Indices, Floats]]:
    """For each set of columns: the member that every column correlates with most, and how much.

    A member of the set is compared with the other members; the position is -1 if there is no
    correlation. The additional memory is linear in the rows and in the columns of X.
    """
    X = _sampled(X)
    n_columns = X.shape[1]
    mean, variance = moments(X)
    scale = np.sqrt(inverse_variance(mean, variance, "zscore") / X.shape[0])
    found = [(np.full(n_columns, -1), np.zeros(n_columns)) for _ in sets]
    union = np.unique(np.concatenate(sets))
    for start in range(0, len(union), _BLOCK_COLUMNS):
        block = union[start : start + _BLOCK_COLUMNS]
        correlation = _products(X, _centred(X, block, mean), mean)
        correlation *= scale[:, None] * scale[block]
        correlation[block, np.arange(len(block))] = 0.0
        for columns, (nearest, best) in zip(sets, found, strict=True):
            _, of_block, position = np.intersect1d(block, columns, return_indices=True)
            if len(of_block):
                _improve(nearest, best, correlation[:, of_block], position)
    return found


def _improve(nearest: Indices, best: Floats, correlation: Floats, position: Indices) -> None:
    top = np.argmax(np.abs(correlation), axis=1)
    values = np.take_along_axis(correlation, top[:, None], axis=1)[:, 0]
    better = np.abs(values) > np.abs(best)
    nearest[better] = position[top[better]]
    best[better] = np.clip(values[better], -1, 1)


def _sampled(X: Any) -> Any:
    """Evenly spaced rows; missing entries of a sparse matrix are filled with column means."""
    X = X[:: -(-X.shape[0] // _ROWS)]
    if sparse.issparse(X) and count_missing(X):
        X = X.astype(np.float64)
        mean, _ = moments(X)
        X.data = np.where(np.isnan(X.data), mean[X.indices], X.data)
    return X


def _centred(X: Any, columns: Indices, mean: Floats) -> Floats:
    chosen = X[:, columns]
    dense = chosen.toarray() if sparse.issparse(chosen) else chosen
    return np.asarray(np.nan_to_num(dense.astype(np.float64) - mean[columns]))


def _products(X: Any, centred: Floats, mean: Floats) -> Floats:
    """Products of each column with each of the centred ones."""
    if sparse.issparse(X):
        return np.asarray(X.T @ centred)
    total = np.zeros((X.shape[1], centred.shape[1]))
    for rows in row_blocks(X):
        total += np.nan_to_num(X[rows].astype(np.float64) - mean).T @ centred[rows]
    return total


def row_blocks(X: NDArray[Any]) -> Iterator[slice]:
    step = max(1, _BLOCK_ENTRIES // max(1, X[:1].size))
    return (slice(start, start + step) for start in range(0, len(X), step))
