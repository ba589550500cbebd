"""Sparse engine: compiled loops over CSR rows, centred and scaled implicitly."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.compiled import aligned
from featgrad._support.types import Floats, Indices, Span
from featgrad.columns.sums import statistics
from featgrad.moments import sparse_kernels as kernels

# Columns without zeros are shifted to mean 0 if the ratio of mean to standard deviation is larger.
# Implicit centring of columns with zeros loses little precision.
_FAR_FROM_ZERO = 8.0


@dataclass
class _Sums:
    """Running sums of one sweep over raw rows; H converts them to centred rows."""

    ascending: bool
    order: int
    n_outputs: int
    mean_norm: float  # mu^T S mu
    records: NDArray[Any]  # (features, 1 + chunks, 4), see `sparse_kernels`
    H: Floats
    q: Floats
    # The gradient is the sum over pairs + mu^2 mean_square_pairs.
    mean_square_pairs: float = 0.0

    @property
    def flat(self) -> NDArray[Any]:
        """Each feature's record on one axis."""
        return self.records.reshape(len(self.records), -1)

    def centred(self) -> Floats:
        """Sums Z over centred rows, shape (features, order, outputs)."""
        raw, mean = self.flat[:, kernels.CHUNK :][:, : len(self.H)], self.flat[:, kernels.MEAN]
        sums = raw - np.multiply.outer(mean, self.H)
        return np.asarray(sums.reshape(len(raw), self.order, self.n_outputs))


class SparseEngine:
    """Rows of a CSR matrix in a given order (see `featgrad.moments.sweeps.Engine`).

    Columns are sorted by decreasing frequency for locality; vectors over features are in this order
    inside the class and in the caller's order outside.
    """

    concurrent = True

    def __init__(
        self, X: Any, mean: Floats, inverse_variance: Floats, by_frequency: Indices
    ) -> None:
        self._X, self._mean, self._by_frequency = X, mean, by_frequency
        self._workspaces: dict[bool, NDArray[Any]] = {}
        self.inverse_variance = inverse_variance
        self.n_rows, self.n_features = X.shape
        kernels.compile_sweep(X.dtype, X.indices.dtype)

    @classmethod
    def from_csr(cls, X: Any, rows: Indices, weights: Floats, preprocess: str) -> "SparseEngine":
        """Copy the rows in the given order; missing entries count as the column's mean."""
        X = sparse.csr_array(X)[rows]
        X.sum_duplicates()
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        found = statistics(X, weights)
        mean, variance = found.mean, found.variance
        missing = np.isnan(X.data)
        X.data[missing] = mean[X.indices[missing]]
        shift = _shift(X, mean, variance)
        if np.any(shift):
            X.data -= shift[X.indices].astype(np.float64)
        by_frequency = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")
        X.indices = _inverse(by_frequency).astype(X.indices.dtype)[X.indices]
        inverse = found.inverse_variance(preprocess)
        return cls(X, (mean - shift)[by_frequency], inverse, by_frequency)

    def take(self, rows: Indices) -> "SparseEngine":
        return SparseEngine(self._X[rows], self._mean, self.inverse_variance, self._by_frequency)

    def columns(self, indices: Indices) -> "SparseEngine":
        inside = _inverse(self._by_frequency)[indices]
        X, inverse = self._X[:, inside].tocsr(), self.inverse_variance[indices]
        return SparseEngine(X, self._mean[inside], inverse, np.arange(len(indices)))

    def begin(self, strength: Floats, order: int, n_outputs: int) -> tuple[_Sums, _Sums]:
        chunks = -(-order * n_outputs // kernels.CHUNK)
        strength = strength[self._by_frequency]
        mean_norm = float(self._mean**2 @ strength)

        def empty(ascending: bool) -> _Sums:
            records = self._workspace(ascending, chunks)
            records[...] = 0
            H, q = np.zeros((2, order * n_outputs))
            sums = _Sums(ascending, order, n_outputs, mean_norm, records, H, q)
            sums.flat[:, kernels.STRENGTH], sums.flat[:, kernels.MEAN] = strength, self._mean
            return sums

        return empty(True), empty(False)

    def sweep(
        self, sums: _Sums, span: Span, seeds: Floats, weights: Floats, partner: Floats | None = None
    ) -> Floats:
        n_rows, width = len(weights), sums.order * sums.n_outputs
        padded = sums.flat.shape[1] - kernels.CHUNK
        vectors = np.zeros((n_rows, sums.n_outputs + padded))
        W = np.zeros((0 if partner is None else n_rows, padded))
        if partner is not None:
            W[:, :width] = partner.reshape(width, n_rows).T
        sums.mean_square_pairs = kernels.sweep(
            self._X.indptr, self._X.indices, self._X.data, *span, sums.ascending,
            np.ascontiguousarray(seeds), weights, sums.mean_norm, sums.records, sums.H, sums.q,
            vectors, W,
        )  # fmt: skip
        powers = vectors[:, : width + sums.n_outputs]
        return powers.reshape(n_rows, -1, sums.n_outputs).transpose(1, 2, 0)

    def overlap(self, left: _Sums, right: _Sums) -> Floats:
        masked = left.flat[:, kernels.STRENGTH, None, None] * right.centred()
        return np.asarray(left.centred().T @ masked.transpose(2, 0, 1))

    def cross(self, left: _Sums, right: _Sums, hankel: Floats) -> float:
        counts = np.pad(hankel, (0, -left.order % kernels.CHUNK))
        sums = left.flat, left.H, right.flat, right.H
        return float(kernels.cross(*sums, counts, left.order, left.n_outputs))

    def collected(self, left: _Sums, right: _Sums) -> Floats:
        gradient, both = np.empty(self.n_features), (left, right)
        pairs = sum(sums.flat[:, kernels.PAIRS] for sums in both)
        pairs = pairs + self._mean**2 * sum(sums.mean_square_pairs for sums in both)
        gradient[self._by_frequency] = pairs
        return gradient

    def covariance_product(self, vectors: Floats, weights: Floats) -> Floats:
        X = self._X if len(weights) == self.n_rows else self._X[: len(weights)]
        vectors = vectors[self._by_frequency]
        along = ((X @ vectors - self._mean @ vectors).T * weights).T
        product = np.empty(vectors.shape)
        product[self._by_frequency] = X.T @ along - np.multiply.outer(self._mean, along.sum(axis=0))
        return product

    def values(self) -> Floats:
        values = np.empty((self.n_rows, self.n_features))
        values[:, self._by_frequency] = self._X.toarray() - self._mean
        return values * np.sqrt(self.inverse_variance)

    def _workspace(self, ascending: bool, chunks: int) -> NDArray[Any]:
        """Memory that is reused between calls: new pages cost as much as the sweep."""
        workspace = self._workspaces.get(ascending)
        if workspace is None or workspace.shape[1] != 1 + chunks:
            workspace = aligned((self.n_features, 1 + chunks, kernels.CHUNK), self._X.dtype)
            self._workspaces[ascending] = workspace
        return workspace


def _shift(X: Any, mean: Floats, variance: Floats) -> Floats:
    far = np.abs(mean) > _FAR_FROM_ZERO * np.sqrt(variance)
    is_full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    return np.where(is_full & far & (variance > 0), mean, 0.0)


def _inverse(permutation: Indices) -> Indices:
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return inverse
