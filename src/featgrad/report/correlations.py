"""Statistics of columns and correlations between them, in blocks of rows and of columns."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.types import Floats, Indices
from featgrad.columns.sums import statistics
from featgrad.moments.least_squares import Weighted, ridge_coefficients
from featgrad.plan import JUDGE_RIDGE

# Correlation from which a chosen feature replaces a rejected one.
REDUNDANT = 0.7
_BLOCK_ENTRIES = 1 << 20
# Number of chosen columns whose products with all candidates are in memory at once.
_BLOCK_COLUMNS = 64
# Number of rows for correlations: their standard error is then at most 0.01.
_ROWS = 10_000


def count_constant(X: Any) -> int:
    return int(np.count_nonzero(statistics(X).inverse_variance() == 0))


def count_missing(X: Any) -> Indices:
    if X.dtype.kind != "f":
        return np.zeros(X.shape[1], dtype=np.intp)
    if sparse.issparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    counts = (np.count_nonzero(np.isnan(X[rows]), axis=0) for rows in row_blocks(X))
    return np.asarray(sum(counts))


def effects(X: Any, output: Floats, weights: Floats, columns: Indices) -> Floats:
    """Coefficients of some standardised columns in a ridge model of one output."""
    used = np.flatnonzero(weights)
    used = used[:: -(-len(used) // _ROWS)]
    chosen, output, weights = X[used][:, columns], output[used], weights[used]
    found = statistics(chosen)
    values = _filled(chosen, found.mean) * np.sqrt(found.inverse_variance())
    values -= np.average(values, axis=0, weights=weights)
    rows = Weighted(values, output - np.average(output, axis=0, weights=weights), weights)
    return np.asarray(ridge_coefficients(rows, JUDGE_RIDGE)[:, 0])


def correlations(X: Any, columns: Indices) -> Floats:
    """Correlations among some columns; missing entries count as the mean."""
    chosen = X[:: -(-X.shape[0] // _ROWS)][:, columns]
    mean = statistics(chosen).mean
    centred = _filled(chosen, mean)
    norms = np.sqrt(np.sum(centred**2, axis=0))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    return np.asarray(np.clip(scale[:, None] * (centred.T @ centred) * scale, -1, 1))


def nearest_chosen(X: Any, sets: Sequence[Indices]) -> list[tuple[Indices, Floats]]:
    """For each set of columns: the member that every column correlates with most, and how much.

    A member of the set is compared with the other members; the position is -1 if there is no
    correlation. The additional memory is linear in the rows and in the columns of X.
    """
    X = _sampled(X)
    n_columns = X.shape[1]
    found_columns = statistics(X)
    mean, scale = found_columns.mean, np.sqrt(found_columns.inverse_variance() / X.shape[0])
    found = [(np.full(n_columns, -1), np.zeros(n_columns)) for _ in sets]
    union = np.unique(np.concatenate(sets))
    for start in range(0, len(union), _BLOCK_COLUMNS):
        block = union[start : start + _BLOCK_COLUMNS]
        correlation = _products(X, _filled(X[:, block], mean[block]), mean)
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
    if sparse.issparse(X) and count_missing(X).any():
        X = X.astype(np.float64)
        mean = statistics(X).mean
        X.data = np.where(np.isnan(X.data), mean[X.indices], X.data)
    return X


def _filled(X: Any, mean: Floats) -> Floats:
    """The columns around their means, 0 where an entry is missing."""
    dense = X.toarray() if sparse.issparse(X) else X
    return np.asarray(np.nan_to_num(dense.astype(np.float64) - mean))


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
