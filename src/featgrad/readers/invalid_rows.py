"""Rows that cannot be used: the first one stops the reading, or all are counted and left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.readers.block import Block

ON_BAD_ROWS = ("error", "skip")
# What becomes of a missing value: its row is a bad one, it stays NaN, or it counts as 0.
MISSING = ("error", "nan", "zero")


class InvalidRows:
    """What to do with the bad rows of one source."""

    def __init__(self, name: str, on_bad_rows: str, missing: str) -> None:
        self.name, self.missing = name, missing
        self.skip = on_bad_rows == "skip"
        self.skipped = 0
        # How the place of a row is told; readers of text know its line.
        self.place: Callable[[int], str] = lambda row: f"row {row + 1}"

    def report(self, row: int, reason: str) -> None:
        """Stop at this row, or count it."""
        if not self.skip:
            raise ValueError(
                f"{self.name}, {self.place(row)}: {reason}. Mend the row, or pass "
                "on_bad_rows='skip' to leave such rows out and count them."
            )
        self.skipped += 1

    def count(self, bad: int, row: int, reason: str) -> None:
        """Count rows that a reader has skipped; if it stopped at one instead, tell of that."""
        if reason:
            self.report(row, reason)
        self.skipped += bad

    def drop(self, block: Block, faults: dict[int, str], first_row: int) -> Block:
        """The block without these rows, the first of which stops the reading if it must."""
        if not faults:
            return block
        for row in sorted(faults):
            self.report(first_row + row, faults[row])
        keep = np.ones(len(block), bool)
        keep[list(faults)] = False
        return block.only(keep)

    def clean(self, block: Block, first_row: int) -> Block:
        """The block without rows whose numbers cannot be used."""
        values = block.X.data if sparse.issparse(block.X) else block.X
        if _all_finite(values) and _all_finite(block.y) and _all_finite(block.weight):
            return block
        if self.missing == "zero":
            block = Block(_without_nan(block.X), block.y, block.weight)
        return self.drop(block, self._faults(block), first_row)

    def _faults(self, block: Block) -> dict[int, str]:
        faults = dict.fromkeys(_rows_where(np.isinf, block.X), "a value is infinite")
        if self.missing == "error":
            reason = "a value is missing: pass missing='nan' or missing='zero' to keep such rows"
            faults |= dict.fromkeys(_rows_where(np.isnan, block.X), reason)
        for name, column in (("target", block.y), ("weight", block.weight)):
            if not _all_finite(column):
                faults |= dict.fromkeys(
                    _rows_where(_not_finite, column), f"the {name} is missing or infinite"
                )
        return faults


class BaseSource:
    """A source that knows its bad rows, and by them its name."""

    _bad: InvalidRows

    @property
    def name(self) -> str:
        return self._bad.name

    @property
    def skipped(self) -> int:
        return self._bad.skipped


def unreadable(name: str, error: Exception) -> NoReturn:
    """Say of a file that its reader gave up on it."""
    detail = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    raise ValueError(
        f"{name} cannot be read: {detail}. Is the file complete and of the kind its name says?"
    ) from error


def _not_finite(values: Any) -> Any:
    return ~np.isfinite(values)


def _all_finite(values: Any) -> bool:
    if values is None or values.dtype.kind not in "fc":
        return True
    # A sum is finite only if every term is; looking at each takes a second array.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64))) or bool(np.isfinite(values).all())


def _rows_where(test: Any, X: Any) -> list[int]:
    if sparse.issparse(X):
        entries = np.flatnonzero(test(X.data))
        rows: NDArray[Any] = np.unique(np.searchsorted(X.indptr, entries, side="right") - 1)
    else:
        found = test(X)
        rows = np.flatnonzero(found if found.ndim == 1 else found.any(axis=1))
    return [int(row) for row in rows]


def _without_nan(X: Any) -> Any:
    if not sparse.issparse(X):
        return np.where(np.isnan(X), X.dtype.type(0), X)
    X = X.copy()
    X.data[np.isnan(X.data)] = 0
    X.eliminate_zeros()
    return X
