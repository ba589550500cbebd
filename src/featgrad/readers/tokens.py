"""Columns of text as bytes and offsets, and the one rule for what they hold."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad._support import Flags, Floats, Indices
from featgrad.readers import number_kernels as kernel

# What a token can stand for besides text; each counts as the first kind that it fits.
KINDS = ("number", "percent", "boolean", "date", "time")
# Words for a missing value, apart from the empty one; among texts the last two are values.
NA_WORDS = (
    "NA", "N/A", "n/a", "na", "#N/A", "#NA", "<NA>", "NaN", "nan", "null", "NULL", "Null",
    "None", "none", "?", "-", ".",
)  # fmt: skip
NA_TEXTS = NA_WORDS[:-2]
_BOOLEANS = ((b"true", b"false"), (b"yes", b"no"), (b"t", b"f"), (b"y", b"n"))
# Bytes of the longest boolean and of the longest date, and one more.
_BOOLEAN_BYTES, _DATE_BYTES = 6, 40
_MIDNIGHT = re.compile(rb"24:00(:00([.,]0+)?)?(?![\d:.,])")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Tokens:
    """One token per row, ``data[starts[i]:ends[i]]``; an empty token is a missing value.

    All are UTF-8 where `is_text`, else this has to be seen.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    is_text: bool = False

    def __post_init__(self) -> None:
        # Kernels are compiled for read-only arrays, as buffers of files are.
        for array in (self.data, self.starts, self.ends):
            array.flags.writeable = False

    @classmethod
    def from_bytes(cls, tokens: Sequence[bytes]) -> "Tokens":
        ends = np.zeros(len(tokens) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, tokens), np.int64, len(tokens)), out=ends[1:])
        return cls(np.frombuffer(b"".join(tokens), np.uint8), ends[:-1], ends[1:])

    def __len__(self) -> int:
        return len(self.starts)

    def token(self, row: int) -> bytes:
        return self.data[self.starts[row] : self.ends[row]].tobytes()

    def take(self, rows: Indices) -> "Tokens":
        return Tokens(self.data, self.starts[rows], self.ends[rows], self.is_text)

    @property
    def present(self) -> Flags:
        return self.ends > self.starts

    def is_utf8(self) -> Flags:
        if self.is_text:
            return np.ones(len(self), bool)
        return np.array([is_utf8(self.token(row)) for row in range(len(self))], bool)

    def trimmed(self, missing: Sequence[str] = NA_WORDS) -> "Tokens":
        """Without blanks around them; empty where they are words for a missing value."""
        words = sorted((word.encode() for word in missing if word), key=len, reverse=True)
        joined, edges = np.frombuffer(b"".join(words), np.uint8), np.cumsum([0, *map(len, words)])
        starts, ends = kernel.trim(self.data, self.starts, self.ends, joined, edges)
        return replace(self, starts=starts, ends=ends)

    def numbers(self, kind: str = "number", decimal: str = ".") -> tuple[Floats, Flags]:
        """The number that each token stands for, in days or fractions, and whether it is valid.

        A missing one is NaN, and valid. Tokens are trimmed.
        """
        values, valid = np.full(len(self), np.nan), ~self.present
        rows = np.flatnonzero(~valid)
        if kind == "number":
            kernel.parse_tokens(self.data, self.starts, self.ends, ord(decimal), values, valid)
        elif kind == "percent":
            rows = rows[self.data[self.ends[rows] - 1] == ord("%")]
            signs = replace(self.take(rows), ends=self.ends[rows] - 1)
            values[rows], valid[rows] = signs.numbers("number", decimal)
            values, valid[rows] = values / 100, valid[rows] & signs.present
        elif kind == "boolean":
            words = np.strings.lower(self._padded(rows, _BOOLEAN_BYTES))
            for value, same in zip((1, 0), zip(*_BOOLEANS, strict=True), strict=True):
                values[rows[np.isin(words, same)]] = value
            valid |= ~np.isnan(values)
        else:
            values[rows] = self._days(rows, is_clock=kind == "time")
            valid |= ~np.isnan(values)
        return values, valid

    def _padded(self, rows: Indices, most: int) -> NDArray[np.bytes_]:
        """The first bytes of some tokens, in an array of strings."""
        starts, ends = self.starts[rows, None], self.ends[rows, None]
        places = starts + np.arange(min(most, int(np.max(ends - starts, initial=1))))
        found = np.where(places < ends, self.data[np.minimum(places, ends - 1)], 0)
        return found.astype(np.uint8).view(f"S{places.shape[1]}")[:, 0]

    def _days(self, rows: Indices, *, is_clock: bool) -> Floats:
        """Dates ``yyyy-mm-dd``, perhaps with a time, as days since 1970, or times ``hh:mm``."""
        days, signs = np.full(len(rows), np.nan), ((2, ":"),) if is_clock else ((4, "-"), (7, "-"))
        lengths = self.ends[rows] - self.starts[rows]
        fit = np.flatnonzero((lengths >= (5 if is_clock else 10)) & (lengths < _DATE_BYTES))
        for place, sign in signs:
            fit = fit[self.data[self.starts[rows[fit]] + place] == ord(sign)]
        texts = self._padded(rows[fit], _DATE_BYTES)
        texts = (
            np.strings.add(b"1970-01-01T", texts) if is_clock else np.strings.rstrip(texts, b"zZ")
        )
        # NumPy warns of zones other than these.
        is_zoned = (np.strings.find(texts, b"+") > 0) | (np.strings.rfind(texts, b"-") > 7)
        try:
            days[fit[~is_zoned]] = as_days(texts[~is_zoned].astype("datetime64[us]"))
        except ValueError:
            is_zoned[:] = True
        days[fit[is_zoned]] = [_day(text) for text in texts[is_zoned].tolist()]
        return days

    def fingerprints(self) -> NDArray[np.uint64]:
        """64-bit hashes; tokens with equal fingerprints are treated as equal."""
        return np.asarray(kernel.fingerprints(self.data, self.starts, self.ends))

    def distinct(self, rows: Indices) -> Iterator[tuple[int, int]]:
        """A row and the number of occurrences of each distinct token in these rows."""
        prints = self.fingerprints()[rows]
        _, first, counts = np.unique(prints, return_index=True, return_counts=True)
        return zip(rows[first].tolist(), counts.tolist(), strict=True)


def kinds_of(columns: Tokens, n_columns: int, decimal: str) -> list[str]:
    """What most tokens of each column, one column after the other, are; "text" if nothing else."""
    n_rows = len(columns) // n_columns
    rows, names = np.flatnonzero(columns.present), (*KINDS, "text")
    present = np.bincount(rows // max(1, n_rows), minlength=n_columns)
    counts = np.zeros((len(KINDS), n_columns), np.int64)
    for kind, count in zip(KINDS, counts, strict=True):
        is_kind = columns.take(rows).numbers(kind, decimal)[1]
        count += np.bincount(rows[is_kind] // max(1, n_rows), minlength=n_columns)
        rows = rows[~is_kind]
    best = np.where(2 * counts.max(axis=0) < present, len(KINDS), counts.argmax(axis=0))
    for i in np.flatnonzero(best == KINDS.index("boolean")):
        column = columns.take(np.arange(i * n_rows, (i + 1) * n_rows))
        distinct = column.distinct(np.flatnonzero(column.present))
        # Both words of a pair occur, and no other.
        if {column.token(row).lower() for row, _ in distinct} not in map(set, _BOOLEANS):
            best[i] = len(KINDS)
    return [names[kind] for kind in best]


def as_days(times: NDArray[Any]) -> Floats:
    """Dates, in days since 1970, or durations; NaN where there is none.

    In their own unit: nanoseconds reach from 1677 to 2262 only.
    """
    return np.asarray((times - times.dtype.type(0, "D")) / np.timedelta64(1, "D"))


def _day(text: bytes) -> float:
    """A date with a zone in days since 1970; NaN for anything else."""
    # ISO 8601 has 24:00, the end of a day, and leap seconds, but not every version of Python.
    more = timedelta(days=bool(_MIDNIGHT.match(text, 11)), seconds=text[16:19] == b":60")
    if more:
        text = text[:11] + (b"00" + text[13:] if more.days else text[11:17] + b"59" + text[19:])
    try:
        when = datetime.fromisoformat(text.decode()) + more
    except (ValueError, OverflowError):
        return np.nan
    return (when.replace(tzinfo=when.tzinfo or UTC) - _EPOCH) / timedelta(days=1)


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
