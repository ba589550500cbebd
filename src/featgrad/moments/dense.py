"""Dense engine: any array-API matrix, standardised block by block without a full copy.

For a block A of c rows, ``G = triud(A S A^T)`` and ``U = A S Z^T`` give the block's vectors by a
c x c recursion; everything else is a matrix product. For large NumPy matrices the loop over blocks
is compiled.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from featgrad._support.array_api import on_cpu, placed_like, to_numpy
from featgrad._support.types import Floats, Indices, Span
from featgrad.columns.sums import statistics

# Rows per block: products within a block cost 4c operations per entry, so c is small if launching
# an operation is cheap (CPU), and large if it is not (accelerators, few columns).
_BLOCK_ROWS = 64
_BLOCK_ROWS_WIDE = 32
# Columns from which products are long enough for two threads to run despite the interpreter lock.
_WIDE = 2048
_BLOCK_ROWS_NARROW = 128
_NARROW = 128
_BLOCK_ROWS_DEVICE = 1024
# Size from which sweeps are compiled, which takes seconds once, and columns from which the Gram
# matrices cached by compiled sweeps are small compared with X.
_COMPILED_ENTRIES = 1 << 22
_COMPILED_COLUMNS = 256
# Entries of a block for statistics and products.
_READ_ENTRIES = 1 << 20


@dataclass
class _Sums:
    """Running sums of one sweep; both sweeps of a pair share the Gram matrices of blocks."""

    ascending: bool
    order: int
    Z: Any  # (order * outputs, features)
    strength: Any
    gradient: Any
    grams: dict[int, Any]


class DenseEngine:
    """Rows of a dense matrix in a given order (see `featgrad.moments.sweeps.Engine`)."""

    def __init__(
        self, X: Any, xp: Any, rows: Indices, mean: Floats, inverse_variance: Floats, missing: bool
    ) -> None:
        self._X, self._xp, self._rows, self._mean = X, xp, rows, mean
        self._row_index = self._index(rows)
        self._has_missing = missing
        self.inverse_variance = inverse_variance
        self.n_rows, self.n_features = len(rows), X.shape[1]
        self._dtype = _compute_dtype(X, xp)
        self._kind = {"dtype": self._dtype, "device": X.device}
        self._mean_high, self._mean_low = self._split_mean()
        self._block = _block_rows(X)
        self._compiled = _is_worth_compiling(X)
        self.concurrent = self._compiled or (on_cpu(X) and self.n_features >= _WIDE)
        self._cache_grams = 8 * self._block <= self.n_features
        self._orders: dict[tuple[int, bool], Any] = {}

    @classmethod
    def from_array(cls, X: Any, xp: Any, rows: Indices, weights: Floats, preprocess: str) -> Self:
        """Compute column statistics over `rows`; missing entries count as the column's mean."""
        found = statistics(X, weights, rows)
        inverse = found.inverse_variance(preprocess)
        return cls(X, xp, rows, found.mean, inverse, found.has_missing)

    def take(self, rows: Indices) -> "DenseEngine":
        return self._with(self._X, self._rows[rows], slice(None))

    def columns(self, indices: Indices) -> "DenseEngine":
        X = self._xp.take(self._X, self._index(indices), axis=1)
        return self._with(X, self._rows, indices)

    def _with(self, X: Any, rows: Indices, columns: Any) -> "DenseEngine":
        mean, inverse = self._mean[columns], self.inverse_variance[columns]
        return DenseEngine(X, self._xp, rows, mean, inverse, self._has_missing)

    def begin(self, strength: Floats, order: int, n_outputs: int) -> tuple[_Sums, _Sums]:
        xp = self._xp
        grams: dict[int, Any] = {}
        typed = self._array(strength)

        def empty(ascending: bool) -> _Sums:
            Z = xp.zeros((order * n_outputs, self.n_features), **self._kind)
            gradient = xp.zeros(self.n_features, **self._kind)
            return _Sums(ascending, order, Z, typed, gradient, grams)

        return empty(True), empty(False)

    def sweep(
        self, sums: _Sums, span: Span, seeds: Floats, weights: Floats, partner: Floats | None = None
    ) -> Floats:
        xp, order, n_outputs = self._xp, sums.order, len(seeds)
        width = order * n_outputs
        V = xp.empty((order + 1, n_outputs, len(weights)), **self._kind)
        V[0, :, :] = self._array(seeds)
        w = self._array(weights)
        W = None if partner is None else self._array(partner.reshape(width, -1))
        if self._compiled:
            self._sweep_compiled(sums, span, V, w, W)
        else:
            self._sweep_blocks(sums, span, V, w, W)
        return self._numpy(V)

    def _sweep_blocks(self, sums: _Sums, span: Span, V: Any, w: Any, W: Any) -> None:
        xp = self._xp
        starts = range(span[0], span[1], self._block)
        for start in starts if sums.ascending else reversed(starts):
            stop = min(start + self._block, span[1])
            local = slice(start - span[0], stop - span[0])
            A = self.centred_rows(start, stop)
            before = self._before(stop - start, sums.ascending)
            G = self._gram(A, start, sums) * before
            vectors = self._vectors(sums, A, G, V[0, :, local], w[local])
            V[:, :, local] = xp.stack(vectors)
            R = xp.concat(vectors[:-1], axis=0)
            if W is not None:
                # Pairs with earlier rows, and within the block.
                partner = W[:, local].T
                pairs = partner @ sums.Z + ((partner @ R) * before) @ A
                sums.gradient += xp.sum(A * pairs, axis=0)
            sums.Z += R @ A

    def _vectors(self, sums: _Sums, A: Any, G: Any, seeds: Any, w: Any) -> list[Any]:
        """``r_(j+1) = w (U_j + G r_j)`` with ``U = Z S A^T``; all matrices are transposed."""
        U, n_outputs = (sums.Z * sums.strength) @ A.T, seeds.shape[0]
        vectors = [seeds]
        for j in range(0, U.shape[0], n_outputs):
            vectors.append((vectors[-1] @ G.T + U[j : j + n_outputs, :]) * w)
        return vectors

    def _sweep_compiled(self, sums: _Sums, span: Span, V: Any, w: Any, W: Any) -> None:
        from featgrad.moments import dense_kernels as kernels

        size, n_rows = kernels.BLOCK_ROWS, len(w)
        grams = sums.grams.pop(span[0], None)
        known = grams is not None
        if grams is None:
            grams = np.empty((-(-n_rows // size), size, size), self._dtype)
            sums.grams[span[0]] = grams
        low = np.zeros_like(self._mean_high) if self._mean_low is None else self._mean_low
        kernels.sweep(
            np.asarray(self._X), self._rows[slice(*span)], self._mean_high, low, sums.strength,
            sums.ascending, w, sums.Z, grams, known, V.reshape(-1, n_rows),
            np.empty((0, n_rows), self._dtype) if W is None else W, sums.gradient,
        )  # fmt: skip

    def overlap(self, left: _Sums, right: _Sums) -> Floats:
        xp, order = self._xp, left.order
        shape = (order, -1, self.n_features)
        a = xp.permute_dims(xp.reshape(left.Z * left.strength, shape), (1, 0, 2))
        b = xp.permute_dims(xp.reshape(right.Z, shape), (1, 2, 0))
        return self._numpy(xp.matmul(a, b))

    def cross(self, left: _Sums, right: _Sums, hankel: Floats) -> float:
        xp, order = self._xp, left.order
        mixed = self._array(hankel) @ xp.reshape(left.Z, (order, -1))
        crossing = xp.sum(xp.reshape(mixed, right.Z.shape) * right.Z, axis=0)
        left.gradient -= crossing
        return float(xp.sum(crossing * left.strength))

    def collected(self, left: _Sums, right: _Sums) -> Floats:
        return self._numpy(left.gradient + right.gradient)

    def covariance_product(self, vectors: Floats, weights: Floats) -> Floats:
        total = np.zeros((self.n_features, vectors[0].size))
        V, w = self._array(vectors.reshape(total.shape)), self._array(weights[:, None])
        step = max(self._block, _READ_ENTRIES // self.n_features)
        for start in range(0, len(weights), step):
            stop = min(start + step, len(weights))
            A = self.centred_rows(start, stop)
            total += self._numpy(A.T @ (w[start:stop, :] * (A @ V)))
        return total.reshape(vectors.shape)

    def values(self) -> Any:
        values = self._xp.astype(self.centred_rows(0, self.n_rows), self._xp.float64)
        return values * placed_like(values, np.sqrt(self.inverse_variance))

    def _gram(self, A: Any, start: int, sums: _Sums) -> Any:
        """``A S A^T`` of a block; cached for the second sweep if it is small."""
        cached = sums.grams.pop(start, None)
        if cached is not None:
            return cached
        G = (A * sums.strength) @ A.T
        if self._cache_grams:
            sums.grams[start] = G
        return G

    def _before(self, size: int, ascending: bool) -> Any:
        """Mask of the rows (columns) of a block that a sweep visits before each row."""
        if (size, ascending) not in self._orders:
            ones = self._xp.ones((size, size), **self._kind)
            before = self._xp.tril(ones, k=-1) if ascending else self._xp.triu(ones, k=1)
            self._orders[size, ascending] = before
        return self._orders[size, ascending]

    def centred_rows(self, start: int, stop: int) -> Any:
        """A run of rows, less the means of their columns."""
        xp = self._xp
        A = xp.take(self._X, self._row_index[start:stop], axis=0)
        if A.dtype != self._dtype:
            A = xp.astype(A, self._dtype)
        A -= self._mean_high
        if self._mean_low is not None:
            A -= self._mean_low
        if self._has_missing:
            A = xp.where(xp.isnan(A), xp.zeros_like(A), A)
        return A

    def _split_mean(self) -> tuple[Any, Any | None]:
        """The mean in the compute type, and the rounding error if it matters.

        A difference x - mean is exact to the last bit of x only if no bit of the mean is lost.
        """
        high = self._array(self._mean)
        low = self._mean - self._numpy(high)
        matters = low**2 * self.inverse_variance > float(self._xp.finfo(self._dtype).eps) ** 2
        return high, self._array(low) if np.any(matters) else None

    def _array(self, values: Floats) -> Any:
        return self._xp.asarray(np.ascontiguousarray(values), **self._kind)

    def _index(self, values: Indices) -> Any:
        return self._xp.asarray(values, device=self._X.device)

    def _numpy(self, values: Any) -> Floats:
        return to_numpy(values).astype(np.float64)


def _compute_dtype(X: Any, xp: Any) -> Any:
    """Single precision if it represents the data exactly, else double."""
    small = ("float16", "float32", "bool", "int8", "uint8", "int16", "uint16")
    return xp.float32 if str(X.dtype).rpartition(".")[2] in small else xp.float64


def _is_worth_compiling(X: Any) -> bool:
    fits = isinstance(X, np.ndarray) and X.dtype in (np.float32, np.float64)
    return fits and X.size >= _COMPILED_ENTRIES and X.shape[1] >= _COMPILED_COLUMNS


def _block_rows(X: Any) -> int:
    if not on_cpu(X):
        return _BLOCK_ROWS_DEVICE
    if X.shape[1] >= _WIDE:
        return _BLOCK_ROWS_WIDE
    return _BLOCK_ROWS if X.shape[1] > _NARROW else _BLOCK_ROWS_NARROW
