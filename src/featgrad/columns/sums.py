"""The statistics of columns: sums over rows, on the host or a device, dense or CSR.

Everything here is a sum over blocks of rows. Dense columns are measured from an origin near their
median, so that no sum cancels, also where a few values are far off; sparse ones from 0, so that
nothing is densified. Missing entries can be left out, and count as the mean of the others then.
"""

import copy
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.sparse._sparsetools import csc_matvecs
from sklearn.utils import gen_batches
from sklearn.utils.sparsefuncs import mean_variance_axis

from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import dense, namespace, placed_like, to_numpy, zeros

# A column varies by rounding only where its deviation is this small relative to its mean, or, for
# sums that start from 0, its variance relative to its squared mean.
_ROUNDING = 1e-12
# The same relative to the mean square of sums in single precision, whose error is up to 2e-6, and
# in double precision.
SINGLE, _DOUBLE = 1e-5, 1e-14
_LEAST_VARIANCE = float(np.finfo(np.float32).tiny) ** 2
# Entries of a block that stays in the cache of a processor.
_BLOCK_ENTRIES = 1 << 20
# Columns from which on those that no row has are not stored.
_MANY = 1 << 12
# Rows whose medians are the origins of dense columns.
_ORIGIN_ROWS = 31


class ArraySums:
    """Sums over rows, arrays or made of arrays, which can be stored and added up."""

    # Names of arrays, lists and other sums that rows are added to; all attributes where it is
    # empty. What the sums are about, besides, is the same for all rows.
    _added: tuple[str, ...] = ()

    def added(self) -> Self:
        """A copy with nothing but what was added up: to be stored, sent and merged."""
        other, parts = copy.copy(self), vars(self)
        other.__dict__ = {
            name: parts[name].added() if isinstance(parts[name], ArraySums) else parts[name]
            for name in self._added or parts
        }
        return other

    def merge(self, other: Self) -> None:
        for name in self._added or vars(self):
            part = vars(self)[name]
            if hasattr(part, "merge"):
                part.merge(vars(other)[name])
            elif part is not None:
                vars(self)[name] += vars(other)[name]


class ColumnSums(ArraySums):
    """Sums over rows of ``x a`` and ``x^2 c`` for each column and some numbers a, c per row.

    They are kept where the array `like` is. Products of dense columns are in single precision. With
    `missing` they are in double precision, entries that are missing count as 0 from the origin, and
    what these have of the numbers a is `absent`.
    """

    def __init__(
        self,
        n_features: int,
        n_linear: int,
        n_squared: int = 0,
        *,
        like: Any = None,
        missing: bool = False,
    ) -> None:
        self.linear, self.squared = (zeros((n_features, n), like) for n in (n_linear, n_squared))
        self.of_linear = zeros(n_linear, like)
        self.absent = zeros((n_features if missing else 0, n_linear), like)
        # How many blocks have missing entries.
        self.n_missing = zeros(1, like)

    def __getstate__(self) -> dict[str, Any]:
        """Sums of many columns, most of which no row has, are stored without these."""
        if len(self.linear) < _MANY or 2 * np.any(self.linear, 1).sum() > len(self.linear):
            return vars(self)
        stored = {name: sparse.csr_array(vars(self)[name]) for name in ("linear", "squared")}
        return {**vars(self), **stored}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restored = {name: dense(state[name]) for name in ("linear", "squared")}
        vars(self).update({**state, **restored})

    def add(self, X: Any, origin: Any, linear: Any, squared: Any = None) -> None:
        """More rows; the origin of sparse columns is 0."""
        squared = linear[:, :0] if squared is None else squared
        if sparse.issparse(X):
            self._add_csr(X, linear, squared)
        elif hasattr(X, "products"):  # sparse columns on a device
            self._add_products(X, linear, squared)
        else:
            self._add_dense(X, origin, linear, squared)
        self.of_linear += namespace(linear).sum(linear, axis=0)

    def means(self) -> Any:
        """Of the entries that are there, from origin 0, for each of the numbers a: (a, columns).

        Where these have no entry of a column, it is the mean over all of them, or 0.
        """
        xp, there = namespace(self.linear), self.of_linear - self.absent
        total, present = xp.sum(self.linear, axis=1), xp.sum(there, axis=1)
        one = xp.ones_like(self.n_missing)
        overall = xp.where(present > 0, total / xp.where(present > 0, present, one), 0 * one)
        means = self.linear / xp.where(there > 0, there, one)
        return xp.where(there > 0, means, overall[:, None]).T

    def fetch(self) -> None:
        """Bring the sums to the host."""
        vars(self).update({name: to_numpy(array) for name, array in vars(self).items()})

    def _add_csr(self, X: Any, linear: Floats, squared: Floats) -> None:
        data = X.data
        if len(self.absent) and has_missing(X):
            missing = np.isnan(data)
            self.n_missing += 1
            add_along(X, missing, linear, self.absent)
            data = np.where(missing, 0.0, data)
        add_along(X, data, linear, self.linear)
        add_along(X, np.square(data, dtype=np.float64), squared, self.squared)

    def _add_products(self, X: Any, linear: Any, squared: Any) -> None:
        products, absent = X.products(linear, squared, bool(len(self.absent)))
        self.linear += products[:, : linear.shape[1]]
        self.squared += products[:, linear.shape[1] :]
        if len(self.absent):
            self.absent += absent
            self.n_missing += absent.any()

    def _add_dense(self, X: Any, origin: Any, linear: Any, squared: Any) -> None:
        xp, n_rows = namespace(X), linear.shape[0]
        may_miss = self.absent.shape[0] > 0
        dtype = xp.float64 if may_miss else xp.float32
        is_here = isinstance(X, np.ndarray)
        step = _BLOCK_ENTRIES // max(1, X.shape[1]) or 1 if is_here else n_rows
        for rows in gen_batches(n_rows, step):
            values, own = measured(X[rows, :], origin, dtype), xp.astype(linear[rows, :], dtype)
            # On a device it takes longer to ask whether something is missing.
            if may_miss and not (is_here and not has_missing(values)):
                missing = xp.isnan(values)
                self.n_missing += xp.astype(xp.any(missing, keepdims=True)[0, :], dtype)
                self.absent += xp.astype(missing, dtype).T @ own
                values = xp.where(missing, xp.zeros_like(values), values)
            self.linear += values.T @ own
            if squared.shape[1]:
                values *= values
                self.squared += values.T @ xp.astype(squared[rows, :], dtype)


def add_along(X: Any, data: Any, numbers: Any, total: Any) -> None:
    """Add ``X^T numbers`` to a total in place, where X has these entries in place of its own.

    SciPy's product would be one more array for all columns, however few of them a block has.
    """
    (n_rows, n_columns), (_, width) = X.shape, numbers.shape
    if width:
        entries = X.indptr, X.indices, data.astype(total.dtype, copy=False)
        numbers = np.ascontiguousarray(numbers, total.dtype)
        csc_matvecs(n_columns, n_rows, width, *entries, numbers.ravel(), total.reshape(-1))


def measured(X: Any, origin: Any, dtype: Any) -> Any:
    """``X - origin`` in single or double precision, taken off before it is rounded."""
    xp = namespace(X)
    if X.dtype == xp.float32 and dtype == xp.float32:
        return X - (xp.astype(origin, dtype) if hasattr(origin, "dtype") else origin)
    return xp.astype(xp.astype(X, xp.float64, copy=False) - origin, dtype, copy=False)


class Statistics(NamedTuple):
    """Of the columns of a whole matrix."""

    mean: Floats
    variance: Floats  # with missing entries at the mean
    has_missing: bool

    def inverse_variance(self, preprocess: str = "zscore") -> Floats:
        """1 / variance, or 1 for "center"; 0 for constant columns."""
        varies = self.variance > (_ROUNDING * np.abs(self.mean)) ** 2
        if preprocess == "center":
            return varies.astype(np.float64)
        return np.divide(1.0, self.variance, out=np.zeros_like(self.variance), where=varies)


def statistics(X: Any, weights: Floats | None = None, rows: Indices | None = None) -> Statistics:
    """Weighted means and variances in double precision, of all rows or of some with weights.

    X is CSR, or dense of any array library.
    """
    n_rows = X.shape[0] if rows is None else len(rows)
    weights = np.ones(n_rows) if weights is None else weights
    if sparse.issparse(X):
        X = X if rows is None else X[rows]
        # Only the data are converted: indices are shared.
        parts = X.data.astype(np.float64, copy=False), X.indices, X.indptr
        X = sparse.csr_array(parts, shape=X.shape)
        mean, variance, present = mean_variance_axis(X, 0, weights, return_sum_weights=True)
        variance = np.maximum(np.nan_to_num(variance), 0.0) * present / weights.sum()
        return Statistics(np.nan_to_num(mean), variance, has_missing(X))
    sums, origin = ColumnSums(X.shape[1], 1, 1, like=X, missing=True), None
    step = _BLOCK_ENTRIES // max(1, X.shape[1]) or 1
    for own in gen_batches(n_rows, step):
        at = None if rows is None else placed_like(X, rows[own])
        block = X[own, :] if at is None else namespace(X).take(X, at, axis=0)
        per_row = placed_like(X, weights[own, None])
        if origin is None:
            first = ColumnSums(X.shape[1], 1, like=X, missing=True)
            first.add(block, 0.0, per_row)
            origin = first.means()[0, :]
        sums.add(block, origin, per_row, per_row)
    sums.fetch()
    total = sums.of_linear[0]
    shift, square = sums.means()[0], sums.squared[:, 0]
    scatter = square - shift**2 * (total - sums.absent[:, 0])
    variance = np.where(scatter > _DOUBLE * square, scatter, 0.0) / total
    return Statistics(to_numpy(origin) + shift, variance, bool(sums.n_missing[0]))


class Fill(NamedTuple):
    """What missing entries count as, by the part of the rows that a row belongs to."""

    means: Any  # shape (parts, features)
    part_of_cell: Any

    def only(self, columns: Any) -> "Fill":
        return self._replace(means=self.means[:, columns])

    def __call__(self, X: Any, cells: Any) -> Any:
        parts = self.part_of_cell[cells]
        if hasattr(X, "filled"):  # sparse columns on a device
            return X.filled(self.means, parts)
        if sparse.issparse(X):
            X = sparse.csr_array(X, copy=True)
            places = np.flatnonzero(np.isnan(X.data))
            rows = np.searchsorted(X.indptr, places, side="right") - 1
            X.data[places] = self.means[parts[rows], X.indices[places]]
            return X
        xp = namespace(X)
        rows, columns = xp.nonzero(xp.isnan(X))
        whole = xp.astype(X, xp.float64)
        whole[rows, columns] = self.means[parts[rows], columns]
        return whole


def filled(X: Any, means: Floats | None) -> Any:
    """Rows whose missing entries count as these means."""
    one_part = np.zeros(X.shape[0], np.intp)
    return X if means is None else Fill(means[None], one_part[:1])(X, one_part)


def has_missing(X: Any) -> bool:
    """Whether a matrix of any array library, or a sparse one, has NaN."""
    entries = X.data if sparse.issparse(X) else X
    xp = namespace(entries)
    # A sum is finite only if no term is NaN; looking at each entry takes a second array.
    with np.errstate(over="ignore", invalid="ignore"):
        is_float = xp.isdtype(entries.dtype, "real floating")
        suspect = is_float and not bool(xp.isfinite(xp.sum(entries)))
    return suspect and bool(xp.any(xp.isnan(entries)))


class ColumnPicker:
    """Takes some columns of blocks of rows; for sparse ones it makes its tables only once."""

    def __init__(self, columns: Any) -> None:
        self._columns = columns
        self._tables: tuple[Flags, Any] | None = None

    def __call__(self, X: Any) -> Any:
        if not sparse.issparse(X):
            return X[:, self._columns]
        if self._tables is None:
            self._tables = np.zeros(X.shape[1], bool), np.zeros(X.shape[1], np.int32)
            self._tables[0][self._columns] = True
            self._tables[1][self._columns] = np.arange(len(self._columns))
        is_picked, places = self._tables
        entries = np.flatnonzero(is_picked[X.indices])
        parts = X.data[entries], places[X.indices[entries]], np.searchsorted(entries, X.indptr)
        return sparse.csr_array(parts, (X.shape[0], len(self._columns)))


class Affine(NamedTuple):
    """What is taken off some columns, and what the rest is multiplied by."""

    centre: Any
    factor: Any

    def __call__(self, X: Any) -> Any:
        """Dense rows of these columns, in single precision."""
        xp, X = namespace(self.centre), dense(X)
        values = measured(X, self.centre, xp.float32)
        values *= self.factor
        return values


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
        varies = variance > (_ROUNDING if self._is_sparse else _ROUNDING**2) * self.mean**2
        # Sums of dense columns are in single precision.
        varies &= variance > (_ROUNDING if self._is_sparse else SINGLE) * square
        # What columns are multiplied by is a number in single precision.
        varies &= variance > _LEAST_VARIANCE
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

    def affine(self, columns: Indices | slice = slice(None), like: Any = None) -> Affine:
        """What makes columns of variance 1 and about centred, where another array is."""
        factor = self.factor[columns].astype(np.float32)
        return Affine(placed_like(like, self.centre(columns)), placed_like(like, factor))

    def centred(self, sums: Floats, of_rows: Floats) -> Floats:
        """Sums of ``x a`` as those of standardised columns."""
        shift = self.mean - self.origin
        return np.asarray((sums - np.multiply.outer(shift, of_rows)) * self.factor[:, None])

    def centred_squares(self, squared: Floats, linear: Floats, of_rows: Floats) -> Floats:
        """Sums of ``x^2 c`` as those of standardised columns, given those of ``x c``."""
        shift = (self.mean - self.origin)[:, None]
        centred = squared - 2 * shift * linear + shift**2 * of_rows
        return np.asarray(np.maximum(centred, 0.0) * self.factor[:, None] ** 2)
