"""Extreme values: columns of extreme magnitude, and values clipped at Tukey's outer fences.

Squares of entries must be numbers in single precision, and a few values that are far off must not
decide. Fences lie three interquartile ranges outside the quartiles of a column's entries other than
0: the zeros of counts and of sparse columns say nothing about how far entries spread. Columns of
which half of these entries are equal are left as they are.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self
from warnings import catch_warnings, simplefilter, warn

import numpy as np
from scipy import sparse

from featgrad import plan
from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import namespace, placed_like, to_numpy
from featgrad.columns.sums import ArraySums
from featgrad.math.targets import Encoding
from featgrad.math.tasks import RowsOf

# Largest entries of a column between these leave room for squares and for sums of them.
_SMALLEST, LARGEST_ENTRY = 1e-12, 1e15
_INEXACT = 2.0**24  # from here on single precision does not tell whole numbers apart
_SHOWN = 5


def in_range(X: Any, preprocess: str, names: Any = None) -> Any:
    """The matrix, its extreme columns multiplied by powers of two, which changes nothing else.

    From columns without zeros that vary too little relative to their size, their smallest entry is
    taken off, which is exact.
    """
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return X
    limits = Limits.of(X)
    if (shift := limits.shift()) is not None:
        X = less(X, shift)
        limits = Limits.of(X)
    largest = limits.largest
    extreme = _are_extreme(largest)
    if not extreme.any():
        return X
    if preprocess == "center":
        limits.refuse(names)
    exponents = np.where(extreme, -np.frexp(np.where(extreme, largest, 1.0))[1], 0)
    if not sparse.issparse(X):
        return np.ldexp(X.astype(np.float64), exponents)
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.data = np.ldexp(X.data, exponents[X.indices])
    return X


def less(X: Any, origin: Floats) -> Any:
    """``X - origin``; of sparse rows only columns whose origin is not 0 have more entries."""
    if not sparse.issparse(X):
        return X - origin
    columns = np.flatnonzero(origin)
    row = sparse.csr_array((origin[columns], columns, [0, len(columns)]), (1, X.shape[1]))
    return X - row[np.zeros(X.shape[0], np.intp)]


class Limits(ArraySums):
    """Smallest and largest entries of columns, over rows that come in blocks.

    Zeros of sparse columns that have any count, missing entries do not.
    """

    def __init__(self) -> None:
        # Of the type of the entries: NumPy is ten times as slow where it has to convert them.
        self._low, self._high = np.zeros((2, 0))
        self._counts: Any = None  # of entries of sparse columns
        self._n_rows = 0

    @classmethod
    def of(cls, X: Any) -> Self:
        """Those of a whole matrix."""
        self = cls()
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        self.add(X)
        return self

    def add(self, X: Any) -> None:
        """More rows, each entry of which is stored once."""
        is_sparse, kind = sparse.issparse(X), np.float32 if X.dtype == np.float32 else np.float64
        if not len(self._low):
            self._low, self._high = np.full((2, X.shape[1]), [[np.inf], [-np.inf]], kind)
            self._counts = np.zeros(X.shape[1], np.int32) if is_sparse else None
        self._n_rows += X.shape[0]
        if is_sparse:
            entries = X.data.astype(kind, copy=False)
            np.fmin.at(self._low, X.indices, entries)
            np.fmax.at(self._high, X.indices, entries)
            np.add.at(self._counts, X.indices, np.ones(X.nnz, np.int32))
        elif len(X):
            self._low = np.fmin(self._low, np.fmin.reduce(X, axis=0))
            self._high = np.fmax(self._high, np.fmax.reduce(X, axis=0))

    def merge(self, other: Self) -> None:
        if not len(self._low):
            vars(self).update(vars(other))
        elif len(other._low):
            self._low, self._high = np.fmin(self._low, other._low), np.fmax(self._high, other._high)
            self._counts = None if self._counts is None else self._counts + other._counts
            self._n_rows += other._n_rows

    def ends(self) -> tuple[Floats, Floats]:
        """Smallest and largest entry of each column; 0 if there is none."""
        is_full: Any = self._counts is None or self._counts >= self._n_rows
        low = np.where(is_full, self._low, np.fmin(self._low, 0))
        high = np.where(is_full, self._high, np.fmax(self._high, 0))
        return np.where(low > high, 0, low), np.where(low > high, 0, high)

    @property
    def largest(self) -> Floats:
        """Magnitude of the largest entry of each column."""
        low, high = self.ends()
        return np.maximum(-low, high)

    def shift(self) -> Floats | None:
        """What is taken off columns that vary by no more than a share of their size, if any do."""
        lost = self._lost(plan.LOST_SHARE if self._counts is None else plan.LOST_SHARE_SINGLE)
        return np.where(lost, self.ends()[0], 0.0) if lost.any() else None

    def _lost(self, share: float) -> Flags:
        low, high = self.ends()
        with np.errstate(over="ignore"):
            return np.asarray((high > low) & (high - low <= share * np.maximum(-low, high)))

    def warn(self, names: Any) -> None:
        """Warn of columns that vary so little that sums over rows may lose it."""
        is_single = self._low.dtype == np.float32
        is_exact = self._counts is None and not is_single
        lost = self._lost(plan.LOST_SHARE if is_exact else plan.LOST_SHARE_SINGLE)
        # What is one number in single precision may have been several.
        lost |= is_single & (self._low == self._high) & (self.largest >= _INEXACT)
        if lost.any():
            warn(
                f"{_listed(lost, names)} varies too little relative to its size, and may count as "
                "constant: subtract its mean first, in double precision.",
                stacklevel=2,
            )

    def out_of_range(self, names: Any, of: str = "X", least: float = _SMALLEST) -> str:
        """Which columns hold values whose squares are beyond single precision, if any do."""
        extreme = _are_extreme(self.largest, least)
        if not extreme.any():
            return ""
        return (
            f"{_listed(extreme, names, of)} holds values of up to {self.largest[extreme][0]:.3g}: "
            "rescale it, to a standard deviation of 1, say, or leave out rows with fill values."
        )

    def refuse(self, names: Any) -> None:
        if reason := self.out_of_range(names):
            raise ValueError(reason)


def refuse_huge(X: Any, names: Any, of: str = "X") -> None:
    """Refuse entries so large that their squares would exceed sums over all other rows."""
    entries = X.data if sparse.issparse(X) else X
    # Missing ones are not compared.
    ends = (end.reduce(entries, None, initial=0.0) for end in (np.fmin, np.fmax))
    if max(map(abs, ends)) > LARGEST_ENTRY:
        raise ValueError(Limits.of(X).out_of_range(names, of, least=0.0))


def _are_extreme(largest: Floats, least: float = _SMALLEST) -> Flags:
    return np.asarray((largest > LARGEST_ENTRY) | ((largest > 0) & (largest < least)))


def _listed(columns: Flags, names: Sequence[Any] | None, of: str = "X") -> str:
    found = np.flatnonzero(columns)
    shown = [repr(i if names is None else str(names[i])) for i in found[:_SHOWN].tolist()]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"Column {', '.join(shown)}{more} of {of}"


class Fences(NamedTuple):
    """Lowest and highest values of columns, and of outputs if they are numbers."""

    low: Floats
    high: Floats
    of_outputs: "Fences | None" = None

    @classmethod
    def of(cls, X: Any, y: Any, task: str, weights: Any = None) -> "Fences":
        """From the columns and targets of some rows of positive weight."""
        columns, some = _some_rows(X, weights)
        y = np.asarray(y)[some]
        with catch_warnings():  # the task of all rows is decided, and spoken of, later
            simplefilter("ignore")
            rows = RowsOf(columns.__getitem__, np.arange(len(y)))
            is_regression = Encoding.of(y, task, rows=rows).task == "regression"
        outputs = cls(*_limits(y.reshape(len(y), -1))) if is_regression else None
        return cls(*_limits(columns), outputs)

    def columns(self, X: Any) -> Any:
        """Clipped columns of any array library, or of CSR rows; missing entries stay so."""
        if not np.isfinite(self.low).any():
            return X
        if sparse.issparse(X):
            X = sparse.csr_array(X, copy=True)
            X.data = np.clip(X.data, self.low[X.indices], self.high[X.indices])
            return X
        kind = "float32" if "float32" in str(X.dtype) else "float64"
        low, high = (placed_like(X, limit.astype(kind)) for limit in self[:2])
        return namespace(X).clip(X, low, high)

    def target(self, y: Any) -> Any:
        """Numbers as they are clipped, classes as they are."""
        if self.of_outputs is None:
            return y
        clipped = self.of_outputs.columns(np.reshape(y, (len(y), -1)))
        return clipped.reshape(np.shape(y))

    def block(self, block: Any) -> Any:
        return replace(block, X=self.columns(block.X), y=self.target(block.y))


def _some_rows(
    X: Any, weights: Any = None, entries: int = plan.FENCE_ENTRIES
) -> tuple[Any, Indices]:
    """Evenly spaced rows of positive weight to learn from, on the host, and their places."""
    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    width = X.nnz // X.shape[0] + 1 if sparse.issparse(X) else X.shape[1]
    rows = rows[:: -(-len(rows) // max(plan.FENCE_ROWS, entries // width)) or 1]
    return X[rows] if sparse.issparse(X) else to_numpy(X[placed_like(X, rows)]), rows


def clipped(X: Any, y: Any, weights: Any, task: str) -> tuple[Any, Any]:
    """Columns and targets in memory, clipped at their own fences."""
    fences = Fences.of(X, y, task, weights)
    return fences.columns(X), fences.target(y)


def far_off(X: Any) -> dict[int, int]:
    """Columns of which a few cells make up most of the variance, and the number of these.

    Those that are mostly 0 are left out: rare words are far from the others by nature.
    """
    if sparse.issparse(X):
        often = np.flatnonzero(2 * np.bincount(X.indices, minlength=X.shape[1]) >= X.shape[0])
        counts = far_off(X[:, often].toarray()) if len(often) else {}
        return {int(often[column]): count for column, count in counts.items()}
    some, _ = _some_rows(X, entries=plan.FENCE_ENTRIES // 8)
    low, high = _limits(some, plan.FAR_REACH)
    lowest, highest = Limits.of(X).ends()
    suspects = np.flatnonzero((lowest < low) | (highest > high))
    columns, found = sparse.csc_array(X[:, suspects].astype(np.float64)), {}
    for i, column in enumerate(suspects.tolist()):
        entries = columns.data[columns.indptr[i] : columns.indptr[i + 1]]
        if 2 * len(entries) < X.shape[0]:
            continue
        is_far = (entries < low[column]) | (entries > high[column])
        squares = (entries - (low[column] + high[column]) / 2) ** 2
        count, is_one = int(np.count_nonzero(is_far)), len(np.unique(entries[is_far])) == 1
        share = plan.FAR_FILL_VARIANCE if count > 1 and is_one else plan.FAR_VARIANCE
        is_most = squares[is_far].sum() >= share * np.nansum(squares)
        if is_most and count <= plan.FAR_ROWS * X.shape[0]:
            found[column] = count
    return found


def _limits(X: Any, reach: float = plan.FENCE_REACH) -> tuple[Floats, Floats]:
    """So many interquartile ranges outside the quartiles of columns; infinite for range 0."""
    entries, first, counts = _by_column(X)
    last = np.maximum(counts - 1, 0)
    quartiles = [entries[first + np.rint(q * last).astype(np.intp)] for q in (0.25, 0.75)]
    lower, upper = np.where(counts > 0, quartiles, 0.0)
    with np.errstate(over="ignore"):  # infinite fences clip nothing
        width = reach * (upper - lower)
    zeros = np.where(counts < X.shape[0], 0.0, np.nan)
    low, high = np.fmin(lower - width, zeros), np.fmax(upper + width, zeros)
    return np.where(width > 0, low, -np.inf), np.where(width > 0, high, np.inf)


def _by_column(X: Any) -> tuple[Floats, Indices, Indices]:
    """Entries other than 0 of one column after the other, rising; their first places and counts."""
    if not sparse.issparse(X):
        values = X.T.astype(np.float64)
        values[(values == 0) | np.isnan(values)] = np.inf
        values.sort(axis=1)
        counts = np.count_nonzero(np.isfinite(values), axis=1)
        return values.ravel(), np.arange(len(values)) * X.shape[0], counts
    columns = sparse.csc_array(X, dtype=np.float64)
    columns.data = np.nan_to_num(columns.data, nan=0.0)
    columns.eliminate_zeros()
    counts = np.diff(columns.indptr)
    of_entry = np.repeat(np.arange(len(counts)), counts)
    entries = np.append(columns.data[np.lexsort((columns.data, of_entry))], 0.0)
    return entries, columns.indptr[:-1], counts
