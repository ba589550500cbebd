"""Dense engine: any array-API matrix, standardised block by block and never copied whole.

For a block A of c rows, ``G = triud(A S A^T)`` and ``U = A S Z^T`` give the block's vectors by a
c x c recursion, and everything else is a matrix product too: BLAS on the CPU, the device's own
kernels elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.engines.array_api import on_cpu, to_numpy
from featgrad.engines.columns import DenseColumnMoments, inverse_variance

Floats = NDArray[np.float64]

# Rows per block: products within a block cost 4c operations per entry, so c is small where
# starting an operation is cheap (CPU) and large where it is not (accelerators, few columns).
_BLOCK_ROWS = 32
_BLOCK_ROWS_NARROW = 128
_NARROW = 128
_BLOCK_ROWS_DEVICE = 512
# Columns from which products are long enough for two threads to get past the interpreter lock.
_CONCURRENT = 2048
# Entries of a block that is only read through (statistics, products).
_PASS_ENTRIES = 1 << 20


@dataclass
class _Sums:
    """Running sums of one sweep; both sweeps of a pair share the blocks' Gram matrices."""

    ascending: bool
    order: int
    Z: Any  # (order * outputs, features)
    strength: Any
    root: Any
    gradient: Any
    grams: dict[int, Any] = field(repr=False)


class DenseEngine:
    """Rows of a dense matrix in a given order (see `featgrad.engines.sweeps.Engine`)."""

    def __init__(
        self,
        X: Any,
        xp: Any,
        rows: NDArray[np.intp],
        mean: Floats,
        inverse_variance: Floats,
        has_missing: bool,
    ) -> None:
        self._X, self._xp, self._rows, self._mean = X, xp, rows, mean
        self._has_missing = has_missing
        self.inverse_variance = inverse_variance
        self.n_rows, self.n_features = len(rows), X.shape[1]
        self._dtype = _compute_dtype(X, xp)
        self._kind = {"dtype": self._dtype, "device": X.device}
        self._mean_high, self._mean_low = self._split_mean()
        if on_cpu(X):
            self._block = _BLOCK_ROWS if self.n_features > _NARROW else _BLOCK_ROWS_NARROW
        else:
            self._block = _BLOCK_ROWS_DEVICE
        self.concurrent = on_cpu(X) and self.n_features >= _CONCURRENT
        self._keep_grams = 8 * self._block <= self.n_features
        self._orders: dict[tuple[int, bool], Any] = {}

    @classmethod
    def from_array(
        cls, X: Any, xp: Any, rows: NDArray[np.intp], weights: Floats, preprocess: str
    ) -> DenseEngine:
        """Take column statistics over `rows`; missing entries count as the column's mean."""
        moments = DenseColumnMoments(X.shape[1])
        step = max(1, _PASS_ENTRIES // X.shape[1])
        for start in range(0, len(rows), step):
            index = xp.asarray(rows[start : start + step], device=X.device)
            block = xp.astype(xp.take(X, index, axis=0), xp.float64)
            moments.add(xp, block, xp.asarray(weights[start : start + step], device=X.device))
        inverse = inverse_variance(moments.mean, moments.variance, preprocess)
        return cls(X, xp, rows, moments.mean, inverse, moments.has_missing)

    def take(self, rows: NDArray[np.intp]) -> DenseEngine:
        return self._with(self._X, self._rows[rows], slice(None))

    def columns(self, indices: NDArray[np.intp]) -> DenseEngine:
        X = self._xp.take(self._X, self._index(indices), axis=1)
        return self._with(X, self._rows, indices)

    def _with(self, X: Any, rows: NDArray[np.intp], columns: Any) -> DenseEngine:
        mean, inverse = self._mean[columns], self.inverse_variance[columns]
        return DenseEngine(X, self._xp, rows, mean, inverse, self._has_missing)

    def begin(self, strength: Floats, order: int, n_outputs: int) -> tuple[_Sums, _Sums]:
        xp, grams = self._xp, {}  # type: ignore[var-annotated]
        vector = self._array(strength)
        root = self._array(np.sqrt(strength))

        def empty(ascending: bool) -> _Sums:
            Z = xp.zeros((order * n_outputs, self.n_features), **self._kind)
            gradient = xp.zeros(self.n_features, **self._kind)
            return _Sums(ascending, order, Z, vector, root, gradient, grams)

        return empty(True), empty(False)

    def sweep(
        self,
        sums: _Sums,
        span: tuple[int, int],
        seeds: Floats,
        weights: Floats,
        partner: Floats | None = None,
    ) -> Floats:
        n_outputs = seeds.shape[1]
        width = sums.order * n_outputs
        vectors = self._xp.empty((len(seeds), width + n_outputs), **self._kind)
        vectors[:, :n_outputs] = self._array(seeds)
        w = self._array(weights[:, None])
        W = None if partner is None else self._array(partner.reshape(-1, width))
        starts = range(span[0], span[1], self._block)
        for start in starts if sums.ascending else reversed(starts):
            stop = min(start + self._block, span[1])
            local = slice(start - span[0], stop - span[0])
            A = self._centred(start, stop)
            before = self._before(stop - start, sums.ascending)
            # r_(j+1) = w (U_j + G r_j)
            G = self._gram(A, start, sums) * (before * w[local, :])
            U = w[local, :] * (A @ (sums.Z * sums.strength).T)
            V = vectors[local, :]
            for j in range(0, width, n_outputs):
                following = slice(j + n_outputs, j + 2 * n_outputs)
                V[:, following] = G @ V[:, j : j + n_outputs] + U[:, j : j + n_outputs]
            R = V[:, :width]
            if W is None:
                sums.Z += R.T @ A
            else:
                self._add_with_gradient(sums, A, R, W[local, :], before)
        return self._numpy(vectors).reshape(len(seeds), sums.order + 1, n_outputs)

    def overlap(self, left: _Sums, right: _Sums) -> Floats:
        xp, order = self._xp, left.order
        shape = (order, -1, self.n_features)
        a = xp.permute_dims(xp.reshape(left.Z * left.strength, shape), (1, 0, 2))
        b = xp.permute_dims(xp.reshape(right.Z, shape), (1, 2, 0))
        return self._numpy(xp.matmul(a, b))

    def crossing(self, left: _Sums, right: _Sums, hankel: Floats) -> Floats:
        xp, order = self._xp, left.order
        mixed = self._array(hankel) @ xp.reshape(left.Z, (order, -1))
        return self._numpy(xp.sum(xp.reshape(mixed, right.Z.shape) * right.Z, axis=0))

    def collected(self, sums: _Sums) -> Floats:
        return self._numpy(sums.gradient)

    def covariance_product(self, vectors: Floats, weights: Floats) -> Floats:
        total = np.zeros((self.n_features, vectors[0].size))
        V, w = self._array(vectors.reshape(total.shape)), self._array(weights[:, None])
        step = max(self._block, _PASS_ENTRIES // self.n_features)
        for start in range(0, len(weights), step):
            stop = min(start + step, len(weights))
            A = self._centred(start, stop)
            total += self._numpy(A.T @ (w[start:stop, :] * (A @ V)))
        return total.reshape(vectors.shape)

    def _add_with_gradient(self, sums: _Sums, A: Any, R: Any, W: Any, before: Any) -> None:
        """Pairs with rows passed earlier by their sums, pairs within the block one by one."""
        xp, width = self._xp, R.shape[1]
        both = xp.concat([R, W], axis=1).T @ A
        within = ((W @ R.T) * before) @ A
        within *= A
        sums.gradient += xp.sum(within, axis=0) + xp.sum(both[width:, :] * sums.Z, axis=0)
        sums.Z += both[:width, :]

    def _gram(self, A: Any, start: int, sums: _Sums) -> Any:
        """``A S A^T``; the sweep that comes second to a block finds it kept, if it is small."""
        kept = sums.grams.pop(start, None)
        if kept is not None:
            return kept
        scaled = A * sums.root
        G = scaled @ scaled.T
        if self._keep_grams:
            sums.grams[start] = G
        return G

    def _before(self, size: int, ascending: bool) -> Any:
        """Which row (column) of a block a sweep passes before which (row)."""
        if (size, ascending) not in self._orders:
            ones = self._xp.ones((size, size), **self._kind)
            lower, upper = self._xp.tril(ones, k=-1), self._xp.triu(ones, k=1)
            self._orders[size, ascending] = lower if ascending else upper
        return self._orders[size, ascending]

    def _centred(self, start: int, stop: int) -> Any:
        xp = self._xp
        A = xp.take(self._X, self._index(self._rows[start:stop]), axis=0)
        if A.dtype != self._dtype:
            A = xp.astype(A, self._dtype)
        A -= self._mean_high
        if self._mean_low is not None:
            A -= self._mean_low
        if self._has_missing:
            A = xp.where(xp.isnan(A), xp.zeros_like(A), A)
        return A

    def _split_mean(self) -> tuple[Any, Any | None]:
        """The mean as the compute type holds it, and the rest where that is felt.

        A difference x - mean is exact to the last bit of x only if no bit of the mean is lost.
        """
        high = self._array(self._mean)
        low = self._mean - self._numpy(high)
        felt = low**2 * self.inverse_variance > float(self._xp.finfo(self._dtype).eps) ** 2
        return high, self._array(low) if np.any(felt) else None

    def _array(self, values: Floats) -> Any:
        return self._xp.asarray(np.ascontiguousarray(values), **self._kind)

    def _index(self, values: NDArray[np.intp]) -> Any:
        return self._xp.asarray(values, device=self._X.device)

    def _numpy(self, values: Any) -> Floats:
        return to_numpy(values).astype(np.float64)


def _compute_dtype(X: Any, xp: Any) -> Any:
    """Single precision for data that it holds exactly, double for everything else."""
    if X.dtype == xp.float64:
        return xp.float64
    small = ("float16", "float32", "bool", "int8", "uint8", "int16", "uint16")
    return xp.float32 if str(X.dtype).rpartition(".")[2] in small else xp.float64
