"""Columns as the search for k features sees them: heavy tails drawn in, mean 0, variance 1.

A column whose values reach far out (counts, intensities, expression levels) is judged by few rows
if it is taken as it is. Its signed square root about the median keeps the order of the values and
lets all rows have a say. Columns without heavy tails are left alone; so are all columns where the
caller wants them only centred.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]

# Rows that tell where a column's middle is and how far it reaches.
_SAMPLE_ROWS = 2048
# Excess kurtosis (3 for a Laplace distribution, 0 for a normal one) from which tails are heavy.
_HEAVY = 0.0
_BLOCK_ENTRIES = 1 << 20
# A column whose variance is this small beside its square mean varies by rounding only.
_ROUNDING = 1e-12


class CompressedColumns:
    """Compressed columns of a dense or CSR matrix, read block by block.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The features; missing entries count as their column's mean.
    rows : ndarray
        Rows in use, in the order that the search visits them.
    weights : ndarray
        Their weights, which sum to one.
    preprocess : {"zscore", "center"}
        Whether columns are compressed and brought to one variance, or only centred.
    """

    def __init__(self, X: Any, rows: NDArray[np.intp], weights: Floats, preprocess: str) -> None:
        self._rows = rows
        self.n_rows, self.n_features = len(rows), X.shape[1]
        self._weights = np.zeros(X.shape[0])
        self._weights[rows] = weights
        self._sparse = sparse.issparse(X)
        self._X = sparse.csr_array(X) if self._sparse else X
        self._fill = _column_means(self._X, self._weights)
        sample = self._filled(self._X[rows[:_SAMPLE_ROWS]])
        if preprocess == "zscore":
            self._middle, self._heavy = _shape(sample)
        else:
            self._middle, self._heavy = np.zeros(self.n_features), np.zeros(self.n_features, bool)
        self._mean, self._scale = np.zeros(self.n_features), np.ones(self.n_features)
        self._standardise = preprocess == "zscore"

    def cross(self, outputs: Floats) -> Floats:
        """``sum_n w_n x_n y_n`` of standardised columns, shape (features, outputs).

        The first call also takes the columns' means and variances. `outputs` have weighted mean 0.
        """
        spread = np.zeros((len(self._weights), outputs.shape[1]))
        spread[self._rows] = outputs
        spread *= self._weights[:, None]
        total, square, cross = self._pass(spread)
        variance = square - total**2
        # A root brings up the entries' rounding, and sums of sparse columns start from nothing.
        lost = np.where(self._heavy | self._sparse, 1.0, _ROUNDING) * self._at_zero() ** 2
        self.usable = variance > _ROUNDING * (square + lost)
        self._mean = total
        deviation = np.sqrt(np.where(self.usable, variance, 1.0))
        self._scale = deviation if self._standardise else np.ones(self.n_features)
        # The outputs' weighted mean is 0 over all rows but not over some of them.
        cross = cross - np.multiply.outer(total, spread.sum(axis=0))
        return np.where(self.usable[:, None], cross / self._scale[:, None], 0.0)

    def block(self, span: slice, indices: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some columns of a run of rows, standardised."""
        values = self._filled(self._X[self._rows[span]][:, indices], indices)
        if self._sparse:
            values = values.toarray()
        values = self._compressed(values.astype(np.float64), indices)
        return ((values - self._mean[indices]) / self._scale[indices]).astype(np.float32)

    def _pass(self, spread: Floats) -> tuple[Floats, Floats, Floats]:
        """Weighted sums of compressed values, of their squares, and their products with y."""
        total, square = np.zeros((2, self.n_features))
        cross = np.zeros((self.n_features, spread.shape[1]))
        step = max(1, _BLOCK_ENTRIES // self.n_features)
        if self._sparse:
            # Zeros stay zeros: a constant off every entry of a column is lost on its mean.
            step = len(spread)
        for start in range(0, len(spread), step):
            rows = slice(start, start + step)
            weights = self._weights[rows]
            if self._sparse:
                values = self._compressed_entries()
                squares = values.power(2)
                total += values.T @ weights
                square += squares.T @ weights
            else:
                values = self._compressed(self._filled(self._X[rows]).astype(np.float64))
                total += weights @ values
                square += weights @ values**2
            cross += values.T @ spread[rows]
        if self._sparse:
            offset = self._at_zero()
            square += 2 * offset * total + offset**2
            total += offset
            cross += np.multiply.outer(offset, spread.sum(axis=0))
        return total, square, cross

    def _compressed(self, values: Floats, indices: Any = slice(None)) -> Floats:
        values = np.asarray(values - self._middle[indices])
        heavy = self._heavy[indices]
        if heavy.all():
            return _signed_root(values)
        values[:, heavy] = _signed_root(values[:, heavy])
        return np.asarray(values)

    def _at_zero(self) -> Floats:
        """What a compressed column holds where the matrix holds nothing."""
        nothing = np.zeros((1, self.n_features))
        return self._compressed(nothing).ravel()

    def _compressed_entries(self) -> Any:
        X = self._filled(self._X).astype(np.float64)
        values = X.data - self._middle[X.indices]
        heavy = self._heavy[X.indices]
        values[heavy] = _signed_root(values[heavy])
        X.data = values - self._at_zero()[X.indices]
        return X

    def _filled(self, values: Any, indices: Any = slice(None)) -> Any:
        """Missing entries as their column's mean."""
        if self._fill is None:
            return values
        fill = self._fill[indices]
        if sparse.issparse(values):
            values = sparse.csr_array(values, copy=True)
            values.data = np.where(np.isnan(values.data), fill[values.indices], values.data)
            return values
        return np.where(np.isnan(values), fill, values)


def _signed_root(values: Floats) -> Floats:
    return np.copysign(np.sqrt(np.abs(values)), values)


def _column_means(X: Any, weights: Floats) -> Floats | None:
    """Weighted means of what is there; None where nothing is missing."""
    entries = X.data if sparse.issparse(X) else X
    if entries.dtype.kind != "f" or not np.isnan(entries.sum()):
        return None
    if sparse.issparse(X):
        missing = X.copy()
        missing.data = np.isnan(X.data).astype(np.float64)
        present = X.copy()
        present.data = np.nan_to_num(X.data)
        total, absent = present.T @ weights, missing.T @ weights
    else:
        total, absent = weights @ np.nan_to_num(X), weights @ np.isnan(X)
    there = weights.sum() - absent
    return np.asarray(np.divide(total, there, out=np.zeros_like(total), where=there > 0))


def _shape(sample: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Median of each column, and whether it is mostly zero or reaches far out."""
    zeros = sample.shape[0] - sample.astype(bool).sum(axis=0)
    mostly_zero = np.asarray(zeros).ravel() * 2 > sample.shape[0]
    middle = np.zeros(sample.shape[1])
    heavy = mostly_zero.copy()
    others = np.flatnonzero(~mostly_zero)
    step = max(1, _BLOCK_ENTRIES // sample.shape[0])
    for start in range(0, len(others), step):
        columns = others[start : start + step]
        values = sample[:, columns]
        values = values.toarray() if sparse.issparse(values) else values
        middle[columns] = np.median(values, axis=0)
        heavy[columns] = _kurtosis(values - middle[columns]) > _HEAVY
    return middle, heavy


def _kurtosis(values: Floats) -> Floats:
    """Excess kurtosis of columns; infinite where a column does not vary in these rows."""
    squares = (values - values.mean(axis=0)) ** 2
    variance = squares.mean(axis=0)
    varies = variance > 0
    fourth = (squares**2).mean(axis=0)
    ratio = np.divide(fourth, variance**2, out=np.full(len(variance), np.inf), where=varies)
    return np.asarray(ratio - 3)
