"""Sparse engine: CSR rows in compiled loops, centred and scaled without being densified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.engines import sparse_kernels as kernels
from featgrad.engines.columns import inverse_variance

Floats = NDArray[np.float64]

# Columns without zeros are shifted to mean 0 if their mean is this large beside their deviation:
# the implicit centring of the others cannot lose more than their own share of zeros.
_FAR_FROM_ZERO = 8.0


@dataclass
class _Sums:
    """Running sums of one sweep over raw rows; H turns them into those over centred rows."""

    ascending: bool
    order: int
    n_outputs: int
    strength: NDArray[Any]
    along_mean: Floats  # x_n^T S mu
    mean_norm: float  # mu^T S mu
    Z: NDArray[Any]  # (features, chunks, 4)
    H: Floats
    q: Floats
    # The gradient is the sum over pairs - mu mean_pairs + mu^2 mean_square_pairs.
    pairs: NDArray[Any]  # (features, 4)
    mean_pairs: NDArray[Any]
    mean_square_pairs: float = 0.0

    @property
    def flat(self) -> tuple[NDArray[Any], Floats]:
        """Z and H with the powers and outputs of a feature on one axis, without the padding."""
        width = self.order * self.n_outputs
        return self.Z.reshape(len(self.Z), -1)[:, :width], self.H.ravel()[:width]


class SparseEngine:
    """Rows of a CSR matrix, held in their order (see `featgrad.engines.sweeps.Engine`).

    Columns are held by falling popularity, so that what the sweeps touch most lies together; every
    vector over features is in the caller's order outside this class and in that one inside.
    """

    concurrent = True

    def __init__(
        self, X: Any, mean: Floats, inverse_variance: Floats, popular: NDArray[np.intp]
    ) -> None:
        self._X, self._mean, self._popular = X, mean, popular
        self._mean_typed = mean.astype(X.dtype)
        self._kept: dict[bool, tuple[NDArray[Any], ...]] = {}
        self.inverse_variance = inverse_variance
        self.n_rows, self.n_features = X.shape
        kernels.compile_sweep(X.dtype, X.indices.dtype)

    @classmethod
    def from_csr(
        cls, X: Any, rows: NDArray[np.intp], weights: Floats, preprocess: str
    ) -> SparseEngine:
        """Copy the rows into their order; missing entries count as the column's mean."""
        X = sparse.csr_array(X)[rows]
        X.sum_duplicates()
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        mean, variance = _statistics(X, weights)
        missing = np.isnan(X.data)
        X.data[missing] = mean[X.indices[missing]]
        shift = _shift(X, mean, variance)
        if np.any(shift):
            X.data -= shift[X.indices].astype(np.float64)
        popular = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")
        X.indices = _inverse(popular).astype(X.indices.dtype)[X.indices]
        inverse = inverse_variance(mean, variance, preprocess)
        return cls(X, (mean - shift)[popular], inverse, popular)

    def take(self, rows: NDArray[np.intp]) -> SparseEngine:
        return SparseEngine(self._X[rows], self._mean, self.inverse_variance, self._popular)

    def columns(self, indices: NDArray[np.intp]) -> SparseEngine:
        inside = _inverse(self._popular)[indices]
        return SparseEngine(
            self._X[:, inside].tocsr(),
            self._mean[inside],
            self.inverse_variance[indices],
            np.arange(len(indices)),
        )

    def begin(self, strength: Floats, order: int, n_outputs: int) -> tuple[_Sums, _Sums]:
        chunks = -(-order * n_outputs // kernels.CHUNK)
        strength = strength[self._popular]
        typed = strength.astype(self._X.dtype)
        along_mean = (self._X @ (typed * self._mean_typed)).astype(np.float64)
        mean_norm = float(self._mean @ (strength * self._mean))

        def empty(ascending: bool) -> _Sums:
            Z, pairs, mean_pairs = self._workspace(ascending, chunks)
            H, q = np.zeros((2, chunks, kernels.CHUNK))
            return _Sums(
                ascending, order, n_outputs, typed, along_mean, mean_norm, Z, H, q, pairs,
                mean_pairs,
            )  # fmt: skip

        return empty(True), empty(False)

    def sweep(
        self,
        sums: _Sums,
        span: tuple[int, int],
        seeds: Floats,
        weights: Floats,
        partner: Floats | None = None,
    ) -> Floats:
        vectors = np.empty((len(seeds), (sums.order + 1) * sums.n_outputs))
        W = np.zeros((0, *sums.H.shape), sums.Z.dtype)
        if partner is not None:
            W = self._chunked(partner, sums)
            # Rows passed before the middle meet every row of this half through -mu.
            Z = sums.Z.reshape(self.n_features, -1)
            sums.mean_pairs += Z @ W.reshape(len(W), -1).sum(axis=0)
        sums.mean_square_pairs += kernels.sweep(
            self._X.indptr, self._X.indices, self._X.data, *span, sums.ascending, seeds, weights,
            sums.strength, sums.along_mean, sums.mean_norm, sums.Z, sums.H, sums.q, vectors, W,
            sums.pairs, sums.mean_pairs,
        )  # fmt: skip
        return vectors.reshape(len(seeds), sums.order + 1, sums.n_outputs)

    def overlap(self, left: _Sums, right: _Sums) -> Floats:
        """Centred afterwards: ``Z~^T S Z~ = Z^T S Z - H (mu^T S Z)^T - .. + H H^T mu^T S mu``."""
        n = left.n_outputs
        weighted_mean = (self._mean * left.strength).astype(left.Z.dtype)
        (a, a_sum), (b, b_sum) = left.flat, right.flat
        a_mean, b_mean = weighted_mean @ a, weighted_mean @ b
        weighted = a * left.strength[:, None]
        centred = [
            weighted[:, c::n].T @ b[:, c::n]
            - np.outer(a_sum[c::n], b_mean[c::n])
            - np.outer(a_mean[c::n], b_sum[c::n])
            + np.outer(a_sum[c::n], b_sum[c::n]) * left.mean_norm
            for c in range(n)
        ]
        # Powers come first, outputs second: every n-th column belongs to one output.
        return np.stack(centred)

    def crossing(self, left: _Sums, right: _Sums, hankel: Floats) -> Floats:
        """Centred afterwards, as for `overlap`."""
        mix = np.kron(hankel, np.eye(left.n_outputs)).astype(left.Z.dtype)
        (a, a_sum), (b, b_sum) = left.flat, right.flat
        raw = np.einsum("dk,dk->d", a @ mix, b)
        through_mean = a @ (mix @ b_sum.astype(mix.dtype)) + b @ (mix @ a_sum.astype(mix.dtype))
        both = float(a_sum @ mix @ b_sum)
        return self._outside(raw - self._mean * through_mean + self._mean**2 * both)

    def collected(self, sums: _Sums) -> Floats:
        pairs = sums.pairs @ np.ones(kernels.CHUNK, sums.pairs.dtype)
        pairs = pairs - self._mean * sums.mean_pairs
        return self._outside(pairs + self._mean**2 * sums.mean_square_pairs)

    def covariance_product(self, vectors: Floats, weights: Floats) -> Floats:
        X = self._X if len(weights) == self.n_rows else self._X[: len(weights)]
        vectors = vectors[self._popular]
        along = ((X @ vectors - self._mean @ vectors).T * weights).T
        return self._outside(X.T @ along - np.multiply.outer(self._mean, along.sum(axis=0)))

    def _outside(self, inside: NDArray[Any]) -> Floats:
        """A vector over features in the caller's order."""
        outside = np.empty(inside.shape)
        outside[self._popular] = inside
        return outside

    def _workspace(self, ascending: bool, chunks: int) -> tuple[NDArray[Any], ...]:
        """Zeroed memory, kept between calls: fresh pages cost as much as the sweep itself."""
        kept = self._kept.get(ascending)
        if kept is None or kept[0].shape[1] != chunks:
            size = self.n_features
            shapes = (size, chunks, kernels.CHUNK), (size, kernels.CHUNK), size
            kept = tuple(np.zeros(shape, self._X.dtype) for shape in shapes)
            self._kept[ascending] = kept
        for array in kept:
            array.fill(0)
        return kept

    def _chunked(self, partner: Floats, sums: _Sums) -> NDArray[Any]:
        n_rows = len(partner)
        W = np.zeros((n_rows, *sums.H.shape), sums.Z.dtype)
        W.reshape(n_rows, -1)[:, : sums.order * sums.n_outputs] = partner.reshape(n_rows, -1)
        return W


def _statistics(X: Any, weights: Floats) -> tuple[Floats, Floats]:
    """Weighted mean over present entries and variance with missing ones at the mean."""
    n_features = X.shape[1]
    parts = X.indptr, X.indices, X.data, weights
    total, present, stored = kernels.column_sums(*parts, np.zeros(n_features), 1, n_features)
    whole = weights.sum()
    # Exactly 0 for a full column: a rounding error there would count against the mean's square.
    absent = np.where(_is_full(X), 0.0, whole - stored)
    known = present + absent
    mean = np.divide(total, known, out=np.zeros(n_features), where=known > 0)
    # A second pass from the mean: correct where the mean is large, and for rounding in it.
    first, _, _ = kernels.column_sums(*parts, mean, 1, n_features)
    second, _, _ = kernels.column_sums(*parts, mean, 2, n_features)
    drift = np.divide(first - absent * mean, known, out=np.zeros(n_features), where=known > 0)
    variance = (second + absent * mean**2) / whole - drift**2 * known / whole
    return mean + drift, np.maximum(variance, 0.0)


def _shift(X: Any, mean: Floats, variance: Floats) -> Floats:
    far = np.abs(mean) > _FAR_FROM_ZERO * np.sqrt(variance)
    return np.where(_is_full(X) & far & (variance > 0), mean, 0.0)


def _is_full(X: Any) -> NDArray[np.bool_]:
    return np.asarray(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])


def _inverse(permutation: NDArray[np.intp]) -> NDArray[np.intp]:
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(len(permutation))
    return inverse
