"""Columns brought to mean 0 and variance 1, and their products with numbers per row.

Everything here is a sum over blocks of rows. Dense columns are measured from an origin near their
median, so that no sum cancels, also where a few values are far off; sparse ones from 0, so that
nothing is densified.
"""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.types import Flags, Floats, Indices, Singles

# A column varies by rounding only where its deviation is this small relative to its mean, or, for
# sums that start from 0, its variance relative to its squared mean.
_ROUNDING = 1e-12
# The same relative to the mean square of sums in single precision, whose error is up to 2e-6.
SINGLE = 1e-5
_BLOCK_ENTRIES = 1 << 20
# Rows whose medians are the origins of dense columns.
_ORIGIN_ROWS = 31


class ArraySums:
    """Sums over rows, arrays or made of arrays, which can be stored, restored and added up."""

    def _parts(self) -> dict[str, Any]:
        """Arrays and other sums, by the names of their attributes."""
        return vars(self)

    def state(self) -> dict[str, NDArray[Any]]:
        state: dict[str, NDArray[Any]] = {}
        for name, part in self._parts().items():
            if isinstance(part, np.ndarray):
                state[name] = part
            else:
                state |= {f"{name}.{inner}": array for inner, array in part.state().items()}
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        for name, part in self._parts().items():
            if isinstance(part, np.ndarray):
                vars(self)[name] = state[name]
            else:
                own = [path for path in state if path.startswith(f"{name}.")]
                part.restore({path.removeprefix(f"{name}."): state[path] for path in own})

    def merge(self, other: Self) -> None:
        others = other._parts()
        for name, part in self._parts().items():
            if isinstance(part, np.ndarray):
                vars(self)[name] += others[name]
            else:
                part.merge(others[name])


class ColumnSums(ArraySums):
    """Sums over rows of ``x a`` and ``x^2 c`` for each column and some numbers a, c per row."""

    def __init__(
        self, n_features: int, n_linear: int, n_squared: int, zeros: Callable[..., Any] = np.zeros
    ) -> None:
        # One record per column: its sums share a cache line.
        self.records = zeros((n_features, n_linear + n_squared))
        self.of_linear, self.of_squared = zeros(n_linear), zeros(n_squared)

    def add(self, X: Any, origin: Floats, linear: Floats, squared: Floats) -> None:
        """More rows, without missing entries; the origin of sparse columns is 0."""
        if sparse.issparse(X):
            self._add_sparse(X, linear, squared)
        elif isinstance(X, np.ndarray):
            self._add_dense(X, origin, linear, squared)
        else:  # a block on a device
            along, own = X.products(origin, linear, squared)
            self.linear[:] += along
            self.squared[:] += own
        self.of_linear += linear.sum(0)
        self.of_squared += squared.sum(0)

    @property
    def linear(self) -> Any:
        return self.records[:, : len(self.of_linear)]

    @property
    def squared(self) -> Any:
        return self.records[:, len(self.of_linear) :]

    def _add_sparse(self, X: Any, linear: Floats, squared: Floats) -> None:
        # Imported here: the compiler behind it takes longer to load than everything else.
        from featgrad._support.compiled import shared
        from featgrad.columns.kernels import add_products

        parts = X.indptr, X.indices, X.data
        shared(add_products, 2, *parts, linear, squared, self.records)

    def _add_dense(self, X: Any, origin: Floats, linear: Floats, squared: Floats) -> None:
        width = linear.shape[1]
        step = max(1, _BLOCK_ENTRIES // X.shape[1])
        for start in range(0, len(linear), step):
            rows = slice(start, start + step)
            values = _centred(X[rows], origin)
            self.records[:, :width] += values.T @ linear[rows].astype(np.float32)
            if squared.shape[1]:
                self.records[:, width:] += (values * values).T @ squared[rows].astype(np.float32)


class Standardiser:
    """What is done to each column before the search sees it.

    `origin` holds numbers near the medians of dense columns, zeros for sparse ones.
    """

    def __init__(self, origin: Floats, preprocess: str, is_sparse: bool) -> None:
        self.origin = origin
        self._to_one_variance, self._is_sparse = preprocess != "center", is_sparse
        self.mean = origin.copy()
        # What a centred column is multiplied by; 0 switches constant columns off.
        self.factor = np.ones_like(origin)
        # Of standardised columns; 1 for constant ones.
        self.variance = np.ones_like(origin)

    @classmethod
    def from_sample(cls, sample: Any, preprocess: str) -> "Standardiser":
        """With some rows to take origins, and first means and deviations, from."""
        is_sparse = sparse.issparse(sample)
        weights = np.full((sample.shape[0], 1), 1 / sample.shape[0])
        origin = np.zeros(sample.shape[1])
        if not is_sparse:
            step = -(-len(sample) // _ORIGIN_ROWS)
            origin = np.median(sample[::step].astype(np.float64), axis=0)
        sums = ColumnSums(len(origin), 1, 1)
        sums.add(sample, origin, weights, weights)
        self = cls(origin, preprocess, is_sparse)
        self.learn(sums.linear[:, 0], sums.squared[:, 0])
        # A column that is constant in the sample may vary elsewhere.
        self.factor[self.factor == 0] = 1.0
        return self

    def learn(self, total: Floats, square: Floats) -> None:
        """Means and variances, from weighted sums of x and x^2, measured from the origin."""
        variance = np.maximum(square - total**2, 0.0)
        self.mean = self.origin + total
        varies = self._is_more_than_rounding(variance)
        # Sums of dense columns are in single precision.
        varies &= variance > (_ROUNDING if self._is_sparse else SINGLE) * square
        deviation = np.sqrt(np.where(varies, variance, 1.0)) if self._to_one_variance else 1.0
        self.factor = varies / deviation
        # A single number, however many columns there are, where all have the variance 1.
        self.variance = np.broadcast_to(1.0, variance.shape)
        if not self._to_one_variance:
            self.variance = np.where(varies, variance, 1.0)

    def centre(self, columns: Indices | slice = slice(None)) -> Floats:
        """What is taken off rows: the origin, which a few rows cannot move, or means far from 0."""
        mean, origin = self.mean[columns], self.origin[columns]
        if not self._is_sparse:
            return origin
        is_far = np.abs(mean) * self.factor[columns] > np.sqrt(self.variance[columns])
        return np.where(is_far, mean, origin)

    def of(self, columns: Indices) -> tuple[Floats, Flags]:
        """Variances of some standardised columns, and whether they vary."""
        return self.variance[columns], self.factor[columns] > 0

    def _is_more_than_rounding(self, variance: Floats) -> Flags:
        lost = _ROUNDING * self.mean**2
        return np.asarray(variance > (lost if self._is_sparse else _ROUNDING * lost))

    def __call__(self, X: Any, columns: Indices | slice = slice(None)) -> Singles:
        """Dense rows that hold some of the columns only, of variance 1 and about centred."""
        values = _centred(X.toarray() if sparse.issparse(X) else X, self.centre(columns))
        values *= self.factor[columns].astype(np.float32)
        return values

    def centred(self, sums: Floats, of_rows: Floats) -> Floats:
        """Sums of ``x a`` as those of standardised columns."""
        shift = self.mean - self.origin
        return np.asarray((sums - np.multiply.outer(shift, of_rows)) * self.factor[:, None])

    def centred_squares(self, squared: Floats, linear: Floats, of_rows: Floats) -> Floats:
        """Sums of ``x^2 c`` as those of standardised columns, given those of ``x c``."""
        shift = (self.mean - self.origin)[:, None]
        centred = squared - 2 * shift * linear + shift**2 * of_rows
        return np.asarray(np.maximum(centred, 0.0) * self.factor[:, None] ** 2)


def _centred(X: Any, mean: Floats) -> Singles:
    """``X - mean`` in single precision, taken off before it is rounded."""
    if X.dtype == np.float32:
        return np.asarray(X - mean.astype(np.float32))
    return np.asarray(np.subtract(X, mean, dtype=np.float64), np.float32)
