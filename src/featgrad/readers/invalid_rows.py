"""Invalid rows: the first one raises an error, or all of them are skipped and counted."""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.readers.block import Block

_NOTHING: Mapping[int, str] = MappingProxyType({})


class InvalidRows:
    """What to do with the invalid rows of one source, chunk by chunk."""

    def __init__(self, name: str, on_bad_rows: str, missing: str) -> None:
        self.name, self.missing = name, missing
        self.skip = on_bad_rows == "skip"
        self.restart()

    def restart(self) -> None:
        """Before the first chunk."""
        self.skipped, self._n_before = 0, 0
        self.at_lines(None)

    def at_lines(self, lines: Any) -> None:
        """The lines of text that the rows of the next chunk begin on, the first one 0."""
        self._lines = lines

    def report(self, reasons: Mapping[int, str], n_rows: int) -> None:
        """Raise an error for the first invalid row of a chunk of so many, or count them all."""
        if reasons and not self.skip:
            row, place = min(reasons), f"row {self._n_before + min(reasons) + 1}"
            if self._lines is not None:
                place = f"line {self._lines[row] + 1}"
            raise ValueError(
                f"{self.name}, {place}: {reasons[row]}. Correct the row, or pass "
                "on_bad_rows='skip' to leave such rows out and count them."
            )
        self.skipped += len(reasons)
        self._n_before += n_rows

    def clean(self, block: Block, reasons: Mapping[int, str] = _NOTHING) -> Block:
        """The block without rows that hold invalid numbers, or are invalid for other reasons."""
        values = block.X.data if sparse.issparse(block.X) else block.X
        if not (_all_finite(values) and _all_finite(block.y) and _all_finite(block.weight)):
            if self.missing == "zero":
                block = replace(block, X=_without_nan(block.X))
            reasons = {**self._reasons(block), **reasons}
        self.report(reasons, len(block))
        if not reasons:
            return block
        keep = np.ones(len(block), bool)
        keep[list(reasons)] = False
        return block.only(keep)

    def _reasons(self, block: Block) -> dict[int, str]:
        reasons = dict.fromkeys(_rows_where(np.isinf, block.X), "a value is infinite")
        if self.missing == "error":
            advice = "pass missing='nan' or missing='zero' to keep such rows"
            missing = f"a value is missing: {advice}"
            reasons |= dict.fromkeys(_rows_where(np.isnan, block.X), missing)
        for name, column in (("target", block.y), ("weight", block.weight)):
            if not _all_finite(column):
                rows = _rows_where(lambda values: ~np.isfinite(values), column)
                reasons |= dict.fromkeys(rows, f"the {name} is missing or infinite")
        return reasons


def raise_unreadable(name: str, error: Exception) -> NoReturn:
    """Report that a file could not be read."""
    # pyarrow names the file once more.
    text = re.sub(r"^Could not open .* source '.*': (Invalid: )?", "", str(error))
    detail = (text or type(error).__name__).splitlines()[0].rstrip(".")
    raise ValueError(
        f"{name} cannot be read: {detail}. Is the file complete and of the format of its name?"
    ) from error


def _all_finite(values: Any) -> bool:
    if values is None or values.dtype.kind not in "fc":
        return True
    # A finite sum has finite terms only; a test of each term takes another array.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64))) or bool(np.isfinite(values).all())


def _rows_where(test: Any, X: Any) -> list[int]:
    if sparse.issparse(X):
        entries = np.flatnonzero(test(X.data))
        rows: NDArray[Any] = np.unique(np.searchsorted(X.indptr, entries, side="right") - 1)
    else:
        rows = np.flatnonzero(test(X).reshape(len(X), -1).any(axis=1))
    return rows.tolist()  # type: ignore[no-any-return]


def _without_nan(X: Any) -> Any:
    if not sparse.issparse(X):
        return np.where(np.isnan(X), X.dtype.type(0), X)
    X = X.copy()
    X.data[np.isnan(X.data)] = 0
    X.eliminate_zeros()
    return X
