"""How columns look to the search for k features: heavy tails drawn in, mean 0, variance 1.

A column whose values reach far out (counts, intensities, expression levels) is judged by few rows
if it is taken as it is. Its signed square root about the median keeps the order of the values and
lets all rows have a say. Columns without heavy tails are left alone; so are all columns where the
caller wants them only centred.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.readers.block import csr

Floats = NDArray[np.float64]

# Rows that tell where a column's middle is and how far it reaches.
SAMPLE_ROWS = 2048
# Excess kurtosis (3 for a Laplace distribution, 0 for a normal one) from which tails are heavy.
_HEAVY = 1.0
# How far from it what is done hardly matters, and the share of a column on one side of its supposed
# middle from which that is none.
_UNSURE = 1.0
_OFF_CENTRE = 0.6
_BLOCK_ENTRIES = 1 << 20
# Columns that are told together whether they are as most columns of sparse rows.
RUN = 64
# A column whose variance is this small beside its square mean varies by rounding only.
_ROUNDING = 1e-12


class CrossSums:
    """Sums over rows of compressed columns, their squares and their products with outputs."""

    def __init__(self, n_features: int, n_outputs: int) -> None:
        # Sum, square and products with outputs.
        self.records = np.zeros((n_features, 2 + n_outputs))
        self.outputs = np.zeros(n_outputs)
        # Whether sparse columns were summed by what they hold beside their zeros.
        self.from_nothing = False

    @property
    def total(self) -> Floats:
        return self.records[:, 0]

    @property
    def square(self) -> Floats:
        return self.records[:, 1]

    @property
    def cross(self) -> Floats:
        return self.records[:, 2:]

    def state(self) -> dict[str, NDArray[Any]]:
        return {name: np.asarray(value) for name, value in vars(self).items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        vars(self).update(state)
        self.from_nothing = bool(self.from_nothing)


class Compression:
    """What is done to each column, learned from a sample of rows and then from all.

    Parameters
    ----------
    sample : ndarray or CSR matrix
        Some rows, random ones.
    fill : ndarray or None
        What missing entries of each column count as; None where nothing is missing.
    preprocess : {"zscore", "center"}
        Whether columns are compressed and brought to one variance, or only centred.
    """

    def __init__(self, sample: Any, fill: Floats | None, preprocess: str) -> None:
        self.n_features = sample.shape[1]
        self._fill = fill
        self._standardise = preprocess == "zscore"
        if self._standardise:
            self._middle, kurtosis = _shape(self._filled(sample))
            self._heavy = kurtosis > _HEAVY
        else:
            self._middle, self._heavy = np.zeros(self.n_features), np.zeros(self.n_features, bool)
        self._mean, self._scale = np.zeros(self.n_features), np.ones(self.n_features)

    def suits(self, sample: Any) -> bool:
        """Whether other random rows, not too wide, ask for about the same compression."""
        if not self._standardise:
            return True
        values = self._filled(sample.toarray() if sparse.issparse(sample) else sample)
        _, kurtosis = _shape(values)
        alike = (self._heavy == (kurtosis > _HEAVY)) | (np.abs(kurtosis - _HEAVY) < _UNSURE)
        beside = np.maximum(
            np.mean(values < self._middle, axis=0), np.mean(values > self._middle, axis=0)
        )
        return bool(np.all(alike & (beside < _OFF_CENTRE)))

    def add(self, sums: CrossSums, X: Any, weights: Floats, weighted: Floats) -> None:
        """More rows, their weights, which sum to one in the end, and outputs times weights."""
        if sparse.issparse(X):
            # Zeros stay zeros: a constant off every entry of a column is lost on its mean.
            sums.from_nothing = True
            # Imported here: the compiler behind it takes longer to load than everything else.
            from featgrad.moments.sharing import shared
            from featgrad.preprocess import entry_kernels as kernels

            values = self.entries(X)
            parts = values.indptr, values.indices, values.data
            shared(kernels.add_moments, 2, *parts, weights, weighted, sums.records)
        else:
            step = max(1, _BLOCK_ENTRIES // self.n_features)
            for start in range(0, len(weights), step):
                rows = slice(start, start + step)
                values = self._compressed(X[rows])
                sums.records[:, 0] += weights[rows] @ values
                sums.records[:, 1] += weights[rows] @ values**2
                sums.records[:, 2:] += values.T @ weighted[rows]
        sums.outputs += weighted.sum(axis=0)

    def cross(self, sums: CrossSums) -> Floats:
        """``sum_n w_n x_n y_n`` of standardised columns, shape (features, outputs).

        Takes the columns' means and variances on the way.
        """
        offset = self._at_zero if sums.from_nothing else np.zeros(self.n_features)
        square = sums.square + 2 * offset * sums.total + offset**2
        total = sums.total + offset
        cross = sums.cross + np.multiply.outer(offset, sums.outputs)
        return self._centred(total, square, cross, sums.outputs, sums.from_nothing)

    def settle(self, X: Any, weights: Floats) -> None:
        """Take means and variances from some rows, with weights that sum to one."""
        sums = CrossSums(self.n_features, 0)
        self.add(sums, X, weights, np.zeros((len(weights), 0)))
        self.cross(sums)

    def entries(self, X: Any) -> Any:
        """A CSR matrix with compressed entries, less what its columns hold beside them."""
        # Imported here: the compiler behind it takes longer to load than everything else.
        from featgrad.moments.sharing import PIECES, shared
        from featgrad.preprocess import entry_kernels as kernels

        X = self._filled(X)
        data = X.data.astype(np.result_type(X.dtype, np.float32), copy=False)
        out = np.empty_like(data)
        told = self._usual, self._middle, self._heavy, self._at_zero
        shared(kernels.compress, PIECES, X.indices, data, *told, out)
        return csr(out, X.indices, X.indptr, self.n_features)

    def raw(self, X: Any) -> Any:
        """Compressed rows before they are standardised."""
        return self.entries(X) if sparse.issparse(X) else self._compressed(X)

    def standardisers(self, is_sparse: bool) -> tuple[Floats, Floats]:
        """Means and scales of such rows; after `cross`."""
        mean = self._mean - self._at_zero if is_sparse else self._mean
        return mean, self._scale

    def standardised(self, X: Any, indices: NDArray[np.intp]) -> NDArray[np.float32]:
        """Rows that hold some of the columns only, dense."""
        values = X.toarray() if sparse.issparse(X) else X
        values = self._compressed(values, indices)
        values -= self._mean[indices]
        values /= self._scale[indices]
        return values.astype(np.float32)

    def standardise_into(
        self, out: NDArray[np.float32], X: Any, rows: NDArray[np.intp], factors: Floats
    ) -> None:
        """All columns of some rows, each row times a factor."""
        # Imported here: the compiler behind it takes longer to load than everything else.
        from featgrad.preprocess.compression_kernels import standardise

        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        fill = self._mean if self._fill is None else self._fill
        columns = (fill, self._middle, self._heavy, self._mean, self._scale)
        standardise(X, rows, *columns, factors, out)

    def varies(self, mean: Floats, variance: Floats) -> NDArray[np.bool_]:
        """Whether columns vary by more than rounding, by moments of standardised values."""
        return self._usable(self._mean + self._scale * mean, self._scale**2 * variance, False)

    def _usable(self, mean: Floats, variance: Floats, from_nothing: bool) -> NDArray[np.bool_]:
        # A root brings up the entries' rounding, and sums of sparse columns start from nothing.
        lost = np.where(self._heavy | from_nothing, 1.0, _ROUNDING) * self._at_zero**2
        return np.asarray(variance > _ROUNDING * (variance + mean**2 + lost))

    def _centred(
        self, total: Floats, square: Floats, cross: Floats, outputs: Floats, from_nothing: bool
    ) -> Floats:
        """Take means and variances, and the means off the products."""
        variance = square - total**2
        usable = self._usable(total, variance, from_nothing)
        self._mean = total
        if self._standardise:
            self._scale = np.sqrt(np.where(usable, variance, 1.0))
        # The outputs' weighted mean is 0 over all rows but not over some of them.
        cross = cross - np.multiply.outer(total, outputs)
        return np.where(usable[:, None], cross / self._scale[:, None], 0.0)

    def _compressed(self, X: NDArray[Any], indices: Any = slice(None)) -> Floats:
        filled, middle = self._filled(X, indices), self._middle[indices]
        values: Floats = np.subtract(filled, middle, dtype=np.float64)
        heavy = self._heavy[indices]
        if heavy.all():
            return _signed_root(values)
        values[:, heavy] = _signed_root(values[:, heavy])
        return values

    @cached_property
    def _at_zero(self) -> Floats:
        """What a compressed column holds where the matrix holds nothing."""
        return self._compressed(np.zeros((1, self.n_features))).ravel()

    @cached_property
    def _usual(self) -> NDArray[np.bool_]:
        """Runs of columns of which all roots are taken as they are."""
        about_zero = self._heavy & (self._middle == 0)
        padded = np.append(about_zero, np.ones(-len(about_zero) % RUN, bool))
        return np.asarray(padded.reshape(-1, RUN).all(axis=1))

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


def _shape(sample: Any) -> tuple[Floats, Floats]:
    """Median and excess kurtosis of each column; 0 and infinite where it is mostly zero."""
    zeros = sample.shape[0] - sample.astype(bool).sum(axis=0)
    mostly_zero = np.asarray(zeros).ravel() * 2 > sample.shape[0]
    middle = np.zeros(sample.shape[1])
    kurtosis = np.full(sample.shape[1], np.inf)
    others = np.flatnonzero(~mostly_zero)
    step = max(1, _BLOCK_ENTRIES // sample.shape[0])
    for start in range(0, len(others), step):
        columns = others[start : start + step]
        values = sample[:, columns]
        values = values.toarray() if sparse.issparse(values) else values
        middle[columns] = np.median(values, axis=0)
        kurtosis[columns] = _kurtosis(values - middle[columns])
    return middle, kurtosis


def _kurtosis(values: Floats) -> Floats:
    """Excess kurtosis of columns; infinite where a column does not vary in these rows."""
    squares = (values - values.mean(axis=0)) ** 2
    variance = squares.mean(axis=0)
    varies = variance > 0
    fourth = (squares**2).mean(axis=0)
    ratio = np.divide(fourth, variance**2, out=np.full(len(variance), np.inf), where=varies)
    return np.asarray(ratio - 3)
