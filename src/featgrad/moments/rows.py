"""Rows of a matrix in a fixed order, centred and scaled when they are used, without a full copy."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from featgrad._support import Floats, Indices
from featgrad._support.array_api import namespace, placed_like, to_numpy
from featgrad.columns.sums import statistics

# Entries of a block for products.
_BLOCK_ENTRIES = 1 << 20
# Columns without zeros of a sparse matrix are shifted to mean 0 if the ratio of mean to standard
# deviation is larger. Implicit centring of columns with zeros loses little precision.
_FAR_FROM_ZERO = 8.0
# Types whose numbers single precision represents exactly.
_SMALL = ("float16", "float32", "bool", "int8", "uint8", "int16", "uint16")


@dataclass(frozen=True)
class StandardisedRows:
    """Some rows of a dense matrix of any array library, or of a CSR matrix, in a fixed order.

    Missing entries count as the mean of their column.
    """

    X: Any
    rows: Indices  # of X
    mean: Floats
    # 1 / variance of each column ("zscore") or 1 ("center"); 0 for constant columns.
    inverse_variance: Floats
    has_missing: bool = False

    @classmethod
    def of(cls, X: Any, rows: Indices, weights: Floats, preprocess: str) -> "StandardisedRows":
        """Standardised by the weighted rows; those of a CSR matrix are copied."""
        if not sparse.issparse(X):
            found = statistics(X, weights, rows)
            return cls(X, rows, found.mean, found.inverse_variance(preprocess), found.has_missing)
        X = sparse.csr_array(X)[rows]
        X.sum_duplicates()
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        found = statistics(X, weights)
        mean, variance = found.mean, found.variance
        missing = np.isnan(X.data)
        X.data[missing] = mean[X.indices[missing]]
        is_full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
        is_far = (np.abs(mean) > _FAR_FROM_ZERO * np.sqrt(variance)) & (variance > 0)
        shift = np.where(is_full & is_far, mean, 0.0)
        if np.any(shift):
            X.data -= shift[X.indices].astype(np.float64)
        inverse = found.inverse_variance(preprocess)
        return cls(X, np.arange(X.shape[0]), mean - shift, inverse)

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.X))

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @property
    def n_features(self) -> int:
        return len(self.mean)

    @cached_property
    def dtype(self) -> Any:
        """Of products of rows: single precision if it represents the data exactly, else double."""
        xp = namespace(self.X)
        return xp.float32 if str(self.X.dtype).rpartition(".")[2] in _SMALL else xp.float64

    def take(self, rows: Indices) -> "StandardisedRows":
        if self.is_sparse:
            return replace(self, X=self.X[rows], rows=np.arange(len(rows)))
        return replace(self, rows=self.rows[rows])

    def columns(self, columns: Indices) -> "StandardisedRows":
        X = self.X[:, columns] if self.is_sparse else _taken(self.X, columns, axis=1)
        mean, inverse = self.mean[columns], self.inverse_variance[columns]
        return replace(self, X=X, mean=mean, inverse_variance=inverse)

    def centred(self, start: int, stop: int) -> Any:
        """A dense run of rows less the means of their columns, where the matrix is."""
        if self.is_sparse:
            return self.X[start:stop].toarray() - self.mean
        xp = namespace(self.X)
        values = _taken(self.X, self.rows[start:stop], axis=0)
        values = xp.astype(values, self.dtype, copy=False)
        for part in self._parts_of_mean:
            values -= part
        if self.has_missing:
            values = xp.where(xp.isnan(values), xp.zeros_like(values), values)
        return values

    def values(self) -> Any:
        """All rows, dense and in double precision, with the variance that they are brought to."""
        values = self.centred(0, self.n_rows)
        values = namespace(values).astype(values, namespace(values).float64, copy=False)
        return values * placed_like(values, np.sqrt(self.inverse_variance))

    def covariance_product(self, vectors: Floats, weights: Floats) -> Floats:
        """``X^T W X V`` over centred rows, for a vector or a few columns V."""
        V = vectors.reshape(self.n_features, -1)
        if self.is_sparse:
            along = weights[:, None] * (self.X @ V - self.mean @ V)
            product = self.X.T @ along - np.multiply.outer(self.mean, along.sum(axis=0))
            return np.asarray(product.reshape(vectors.shape))
        total = np.zeros(V.shape)
        V, w = self.array(V), self.array(weights[:, None])
        for rows in gen_batches(self.n_rows, max(1, _BLOCK_ENTRIES // self.n_features)):
            A = self.centred(rows.start, rows.stop)
            total += to_numpy(A.T @ (w[rows, :] * (A @ V)))
        return total.reshape(vectors.shape)

    @cached_property
    def _parts_of_mean(self) -> tuple[Any, ...]:
        """The mean in the type of products, and its rounding error if that matters.

        A difference x - mean is exact to the last bit of x only if no bit of the mean is lost.
        """
        high = self.array(self.mean)
        low = self.mean - to_numpy(high)
        accuracy = float(namespace(self.X).finfo(self.dtype).eps)
        matters = low**2 * self.inverse_variance > accuracy**2
        return (high, self.array(low)) if np.any(matters) else (high,)

    def array(self, values: Floats) -> Any:
        """Numbers where the matrix is, in the type of products."""
        xp = namespace(self.X)
        return xp.astype(placed_like(self.X, np.ascontiguousarray(values)), self.dtype)


def _taken(X: Any, places: Indices, axis: int) -> Any:
    return namespace(X).take(X, placed_like(X, places), axis=axis)
