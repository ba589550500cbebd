"""Columns of extreme magnitude: squares of their entries must be numbers in single precision."""

from collections.abc import Sequence
from typing import Any, Self
from warnings import warn

import numpy as np
from scipy import sparse

from featgrad._support.types import Flags, Floats
from featgrad.columns.sums import ArraySums

# Largest entries of a column between these leave room for squares and for sums of them.
_SMALLEST, _LARGEST = 1e-12, 1e15
# A column that varies by no more than this share of its size counts as constant.
_LOST = 1e-11
_SHOWN = 5


def in_range(X: Any, preprocess: str, names: Any = None) -> Any:
    """The matrix, its extreme columns multiplied by powers of two, which changes nothing else."""
    if not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return X
    low, high = column_limits(X)
    largest = np.maximum(-low, high)
    extreme = _are_extreme(largest)
    _warn_of_offsets(low, high, largest, names)
    if not extreme.any():
        return X
    if preprocess == "center":
        _refuse(largest, extreme, names)
    exponents = np.where(extreme, -np.frexp(np.where(extreme, largest, 1.0))[1], 0)
    if not sparse.issparse(X):
        return np.ldexp(X.astype(np.float64), exponents)
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.data = np.ldexp(X.data, exponents[X.indices])
    return X


class Limits(ArraySums):
    """Smallest and largest entries of rows that come in blocks: of dense columns, or of all sparse
    ones together.
    """

    def __init__(self) -> None:
        self.low, self.high = np.zeros(0), np.zeros(0)

    def add(self, X: Any) -> None:
        self._widen(*column_limits(X.data[:, None] if sparse.issparse(X) else X))

    def merge(self, other: Self) -> None:
        if len(other.low):
            self._widen(other.low, other.high)

    def _widen(self, low: Floats, high: Floats) -> None:
        if len(self.low):
            low, high = np.minimum(self.low, low), np.maximum(self.high, high)
        self.low, self.high = low, high

    def check(self, names: Any) -> None:
        """Refuse columns of extreme magnitude."""
        largest = np.maximum(-self.low, self.high)
        names = names if names is None or len(largest) == len(names) else ["one of them"]
        _warn_of_offsets(self.low, self.high, largest, names)
        extreme = _are_extreme(largest)
        if extreme.any():
            _refuse(largest, extreme, names)


def are_huge(X: Any) -> bool:
    """Whether an entry is so large that its square would exceed sums over all other rows."""
    entries = X.data if sparse.issparse(X) else X
    return bool(max(entries.max(initial=0.0), -entries.min(initial=0.0)) > _LARGEST)


def refuse_huge(X: Any, names: Any) -> None:
    """Name the columns of a stream's rows that have such entries."""
    largest = np.maximum(*np.abs(column_limits(X)))
    _refuse(largest, largest > _LARGEST, names)


def column_limits(X: Any) -> tuple[Floats, Floats]:
    """Smallest and largest entry of each column; zeros of sparse columns count."""
    if not sparse.issparse(X):
        X = X.view(np.uint8) if X.dtype.kind == "b" else X
        nothing = np.zeros(X.shape[1])
        low, high = (f.reduce(X, axis=0) if len(X) else nothing for f in (np.fmin, np.fmax))
        # A column of missing values only has none.
        return np.nan_to_num(low.astype(np.float64)), np.nan_to_num(high.astype(np.float64))
    entries = np.nan_to_num(X.data, nan=0.0)
    # Of the type of the entries: NumPy is ten times as slow where it has to convert each of them.
    low, high = np.zeros((2, X.shape[1]), entries.dtype)
    np.minimum.at(low, X.indices, entries)
    np.maximum.at(high, X.indices, entries)
    return low.astype(np.float64), high.astype(np.float64)


def _are_extreme(largest: Floats) -> Flags:
    return np.asarray((largest > _LARGEST) | ((largest > 0) & (largest < _SMALLEST)))


def _warn_of_offsets(low: Floats, high: Floats, largest: Floats, names: Any) -> None:
    with np.errstate(over="ignore"):
        lost = (high > low) & (high - low <= _LOST * largest)
    if lost.any():
        warn(
            f"{_listed(lost, names)} varies too little relative to its size, and may count as "
            "constant: subtract its mean first.",
            stacklevel=2,
        )


def _refuse(largest: Floats, extreme: Flags, names: Any) -> None:
    first = int(np.flatnonzero(extreme)[0])
    raise ValueError(
        f"{_listed(extreme, names)} holds values of up to {largest[first]:.3g}: rescale it, to a "
        "standard deviation of 1, say, or leave out rows with fill values."
    )


def _listed(columns: Flags, names: Sequence[Any] | None) -> str:
    found = np.flatnonzero(columns)
    shown = [repr(i if names is None else str(names[i])) for i in found[:_SHOWN].tolist()]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"Column {', '.join(shown)}{more} of X"
