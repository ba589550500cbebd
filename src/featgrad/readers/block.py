"""Blocks of rows, and what is done with invalid ones: an error, or they are skipped and counted."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support import Flags, Floats, Indices, Keys
from featgrad.math.targets import is_missing
from featgrad.plan import FEW_STRAYS, MOST_TEXTS, STRAY_SHARE

# Default number of rows per block; of a table, its entries and its fewest rows.
BLOCK_ROWS = 4096
_BLOCK_ENTRIES, _MIN_BLOCK_ROWS = 1 << 22, 64
# Limit on the number of features found in a file.
MAX_FEATURES = 1 << 27


@dataclass(frozen=True)
class Block:
    """Some rows: `X` (ndarray or CSR with sorted, unique indices), `y` and optional columns.

    `groups` are the same for rows that belong together, `time` orders the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad.readers import Block
    >>> len(Block(np.zeros((3, 2)), np.zeros(3)))
    3
    """

    X: Any
    y: NDArray[Any]
    weight: Floats | None = None
    groups: Keys | None = None
    time: Floats | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def rows(self, start: int, stop: int) -> "Block":
        """The rows from `start` up to `stop`, as views."""
        if start == 0 and stop >= len(self):
            return self
        return self._take(rows_of(self.X, start, stop), slice(start, stop))

    def only(self, keep: Flags) -> "Block":
        """The rows where `keep` is true."""
        return self.take(np.flatnonzero(keep))

    def take(self, rows: Indices) -> "Block":
        """Some rows, in the given order."""
        return self._take(self.X[rows], rows)

    @staticmethod
    def joined(blocks: "Sequence[Block]") -> "Block":
        """One after the other, row by row: blocks of tables lie column by column."""
        rows = concatenate(list(blocks))
        return rows if sparse.issparse(rows.X) else replace(rows, X=np.ascontiguousarray(rows.X))

    def in_order(self) -> "Block":
        """Rows by their time, where they have one; equal ones stay as they are."""
        if self.time is None or np.all(np.diff(self.time) >= 0):
            return self
        return self.take(np.argsort(self.time, kind="stable"))

    def _take(self, X: Any, rows: Any) -> "Block":
        others = (self.weight, self.groups, self.time)
        return Block(X, self.y[rows], *(None if part is None else part[rows] for part in others))


def rows_per_block(n_columns: int) -> int:
    """Default for a table of so many columns."""
    return max(_MIN_BLOCK_ROWS, min(BLOCK_ROWS, _BLOCK_ENTRIES // max(1, n_columns)))


def csr(values: Any, indices: Any, indptr: Any, n_features: int) -> Any:
    """CSR matrix that shares these arrays; the constructor of scipy would copy views."""
    X = sparse.csr_array((len(indptr) - 1, n_features), dtype=values.dtype)
    X.data, X.indices, X.indptr = values, indices, indptr
    return X


def regroup(chunks: Iterable[Block], block_rows: int) -> Iterator[Block]:
    """The same rows in blocks of `block_rows`; a chunk of that size is not copied."""
    buffer: list[Block] = []
    missing = block_rows
    for chunk in chunks:
        start = 0
        while len(chunk) - start >= missing:
            yield concatenate([*buffer, chunk.rows(start, start + missing)])
            start, buffer, missing = start + missing, [], block_rows
        if start < len(chunk):
            buffer.append(chunk.rows(start, len(chunk)))
            missing -= len(chunk) - start
    if buffer:
        yield concatenate(buffer)


def concatenate(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    columns: Any = [
        [part for part in (getattr(block, name) for block in blocks) if part is not None]
        for name in ("y", "weight", "groups", "time")
    ]
    joined: Any = (np.concatenate(column) if column else None for column in columns)
    return Block(stack_rows([block.X for block in blocks]), *joined)


def stack_rows(parts: Sequence[Any]) -> Any:
    """Dense or CSR matrices, one below the other; of a stream, sparse ones may become wider."""
    if sparse.issparse(parts[0]):
        for X in parts:
            X.resize(X.shape[0], max(other.shape[1] for other in parts))
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def canonical(X: Any) -> Any:
    """A CSR matrix whose rows have sorted, unique columns."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def rows_of(X: Any, start: int, stop: int) -> Any:
    """The rows of a matrix from `start` up to `stop`, as views."""
    if not sparse.issparse(X):
        return X[start:stop]
    indptr = X.indptr[start : stop + 1]
    entries = slice(indptr[0], indptr[-1])
    return csr(X.data[entries], X.indices[entries], indptr - indptr[0], X.shape[1])


def group_keys(groups: Any, n_rows: int) -> Keys:
    """A number for each row, the same for rows of one group, wherever these are."""
    labels = np.asarray(groups)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim not in (1, 2) or len(labels) != n_rows:
        raise ValueError(
            f"groups has shape {labels.shape} but X has {n_rows} rows: give one label per row."
        )
    if labels.ndim == 2:
        return joined_keys([group_keys(column, n_rows) for column in labels.T])
    values, of_row = np.unique(labels.astype(str), return_inverse=True)
    return np.array([_digest(value) for value in values], np.uint64)[of_row]


def _digest(label: Any) -> int:
    return int.from_bytes(blake2b(repr(label).encode(), digest_size=8).digest(), "little")


def joined_keys(columns: Sequence[Keys]) -> Keys:
    """Rows that agree in all columns share a key."""
    keys, of_row = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return np.array([_digest(key.tolist()) for key in keys], np.uint64)[of_row.ravel()]


# Words where numbers belong, by their column and row.
Strays = defaultdict[str, dict[int, bytes]]


class InvalidRows:
    """What to do with the invalid rows of one source, chunk by chunk.

    Also counts what is not there: `strays` are words of each column that count as missing, and
    `without_target` is the number of rows that were left out for that.
    """

    def __init__(self, name: str, on_bad_rows: str, missing: str) -> None:
        self.name, self.missing = name, missing
        self.skip = on_bad_rows == "skip"
        self.restart()

    def restart(self) -> None:
        self.skipped = self.without_target = self._n_before = self._n_read = 0
        self.strays: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.at_lines(None)

    @property
    def notes(self) -> list[str]:
        """What counts as missing in the rows that were read, and which of them are left out."""
        notes = []
        for name, words in self.strays.items():
            shown = ", ".join(f"{word!r} ({n:,})" for word, n in words.most_common(5))
            more = f" and {len(words) - 5:,} other words" if len(words) > 5 else ""
            notes.append(f"{name}: {shown}{more} count as missing")
        if self.without_target:
            rows = f"{self.without_target:,} row{'s' * (self.without_target > 1)}"
            notes.append(f"left out: {rows} without a target")
        return notes

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

    def take_strays(
        self, words: Strays, kinds: Mapping[str, str], n_rows: int, reasons: dict[int, str]
    ) -> None:
        """Count words among numbers as missing; rows that have them are invalid if these are many.

        Of a chunk of so many rows; adds the reasons.
        """
        self._n_read += n_rows
        most = 0 if self.missing == "error" else max(FEW_STRAYS, STRAY_SHARE * self._n_read)
        advice = "name columns of text in categorical=, words for missing values in na_values="
        for name, found in words.items():
            for row, word in found.items():
                text, seen = word[:40].decode("utf-8", "replace"), self.strays[name]
                seen[text if text in seen or len(seen) < MOST_TEXTS else "other words"] += 1
                if seen.total() > most:
                    kind = kinds[name].replace("text", "number")
                    reason = f"column {name!r} holds {text!r}, which is not a {kind}"
                    reasons.setdefault(row, f"{reason} ({advice})")

    def clean(self, block: Block, reasons: Mapping[int, str] | None = None) -> Block:
        """The block without rows that hold invalid numbers, or are invalid for other reasons."""
        reasons, values = reasons or {}, block.X.data if sparse.issparse(block.X) else block.X
        keep = ~is_missing(block.y)
        if not (_all_finite(values) and _all_finite(block.y) and _all_finite(block.weight)):
            if self.missing == "zero":
                block = replace(block, X=_without_nan(block.X))
            reasons = {**self._reasons(block), **reasons}
        reasons = {row: reason for row, reason in reasons.items() if keep[row]}
        self.report(reasons, len(block))
        self.without_target += len(keep) - int(np.count_nonzero(keep))
        if not reasons and keep.all():
            return block
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
                what = "infinite" if name == "target" else "missing or infinite"
                reasons |= dict.fromkeys(rows, f"the {name} is {what}")
        return reasons


def raise_unreadable(name: str, error: Exception) -> NoReturn:
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
