"""Columns of text as bytes and offsets, and the one rule for what they hold."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from featgrad._support import Flags, Floats, Indices
from featgrad.plan import STRAY_SHARE
from featgrad.readers import number_kernels as kernel
from featgrad.readers.dates import COMPACT, ORDERS, days_in

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
# A number with something behind it, which is neither a part of a date nor the end of a range.
_WITH_UNIT = re.compile(r"\D{0,4}\d[\d.,'\u2019\s]*(e[-+]?\d+)?([^\d\s/:.,'\u2019-].{0,15})", re.I)
_DATE_NAMES = re.compile("date|datum|day", re.I)
_DOTTED = re.compile(r"\d\d?\.\d\d?\.\d")
_SIGNS = ("<", ">", "~", "\u2264", "\u2265", "\u2248")
_FIRST_OF_SIGNS = [sign.encode()[0] for sign in _SIGNS]


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
        rows, decimal = np.flatnonzero(~valid), getattr(kind, "decimal", "") or decimal
        if kind == "number":
            unit = kind.unit.encode() if isinstance(kind, Kind) else b""
            ends = self.ends - len(unit) * self._end_with(unit) if unit else self.ends
            kernel.parse_tokens(self.data, self.starts, ends, ord(decimal), values, valid)
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
            rows = rows[self.ends[rows] - self.starts[rows] < _DATE_BYTES]
            order = kind.order if isinstance(kind, Kind) else "mdy"
            texts = self._padded(rows, _DATE_BYTES)
            values[rows] = days_in(texts, order, is_clock=kind == "time")
            valid |= ~np.isnan(values)
        return values, valid

    def numbers_and_strays(self, kind: str, decimal: str) -> tuple[Floats, dict[int, bytes]]:
        """The numbers, and the words among them by their rows."""
        values, valid = self.numbers(kind, decimal)
        return values, {row: self.token(row) for row in np.flatnonzero(~valid).tolist()}

    def is_pair(self) -> bool:
        """Whether both words of a pair of booleans occur, and no other."""
        rows = self.distinct(np.flatnonzero(self.present))
        return {self.token(row).lower() for row, _ in rows} in map(set, _BOOLEANS)

    def _end_with(self, unit: bytes) -> Flags:
        """Which tokens are longer than a unit and have it as their end."""
        found = np.asarray(self.ends - self.starts > len(unit))
        for place, byte in enumerate(unit):
            found[found] = self.data[self.ends[found] - len(unit) + place] == byte
        return found

    def _padded(self, rows: Indices, most: int) -> NDArray[np.bytes_]:
        """The first bytes of some tokens, in an array of strings."""
        starts, ends = self.starts[rows, None], self.ends[rows, None]
        places = starts + np.arange(min(most, int(np.max(ends - starts, initial=1))))
        found = np.where(places < ends, self.data[np.minimum(places, ends - 1)], 0)
        return found.astype(np.uint8).view(f"S{places.shape[1]}")[:, 0]

    def fingerprints(self) -> NDArray[np.uint64]:
        """64-bit hashes; tokens with equal fingerprints are treated as equal."""
        return np.asarray(kernel.fingerprints(self.data, self.starts, self.ends))

    def distinct(self, rows: Indices) -> Iterator[tuple[int, int]]:
        """A row and the number of occurrences of each distinct token in these rows."""
        prints = self.fingerprints()[rows]
        _, first, counts = np.unique(prints, return_index=True, return_counts=True)
        return zip(rows[first].tolist(), counts.tolist(), strict=True)


class Kind(str):
    """The name of what a column of text holds, and how it is written."""

    order: str  # of the digits of dates
    unit: str  # behind numbers
    decimal: str  # where it is not that of other columns
    remark: str  # what was made of the column, where this is not plain

    def __new__(
        cls, name: str, *, order: str = "mdy", unit: str = "", decimal: str = "", remark: str = ""
    ) -> "Kind":
        kind = super().__new__(cls, name)
        kind.order, kind.unit, kind.decimal, kind.remark = order, unit, decimal, remark
        return kind


def kinds_of(
    columns: Tokens, names: Sequence[str], decimal: str, *, is_text: bool = False
) -> list[Kind]:
    """What most tokens of each column, one column after the other, are; a few may differ.

    Eight digits are a date in a column of text, or where the name of the column says so.
    """
    n_rows, present = len(columns) // len(names), columns.present
    _, is_plain = columns.numbers("number", decimal)
    is_plain[present] &= ~np.isin(columns.data[columns.starts[present]], _FIRST_OF_SIGNS)
    has_eight = ~present | (columns.ends - columns.starts == len(COMPACT))
    flags = np.array([is_plain, has_eight]).reshape(2, len(names), n_rows)
    are_plain, have_eight = np.all(flags, axis=2)
    # Of millions of columns most are plain, and are not looked at one by one.
    kinds = [Kind("number")] * len(names)
    for i in np.flatnonzero(~are_plain | have_eight).tolist():
        rows = i * n_rows + np.flatnonzero(present[i * n_rows : (i + 1) * n_rows])
        may_be_compact = have_eight[i] and (is_text or _DATE_NAMES.search(names[i]) is not None)
        if may_be_compact or not are_plain[i]:
            kinds[i] = _kind_of(columns.take(rows), decimal, may_be_compact)
    return kinds


def _kind_of(column: Tokens, decimal: str, may_be_compact: bool) -> Kind:
    """What most tokens are, none of which is missing; "text" if more than a few differ."""
    best, most = Kind("number"), 0
    for kind in _ways(column, may_be_compact, decimal):
        count = int(column.numbers(kind, decimal)[1].sum())
        if count > most and (kind != "boolean" or column.is_pair()):
            best, most = kind, count
        if most == len(column):
            break
    strays = len(column) - most
    if strays <= max(1, STRAY_SHARE * len(column)) and strays <= most:
        written = {"order": best.order, "unit": best.unit, "decimal": best.decimal}
        return Kind(best, **written, remark=_remark(column, best, decimal))
    word = next(iter(column.numbers_and_strays(best, decimal)[1].values()))
    shown = f"{word[:40].decode(errors='replace')!r}"
    advice = "name words for missing values in na_values="
    remark = f"text, as {strays:,} of {len(column):,} values, {shown} say, are no {best} ({advice})"
    return Kind("text", remark=remark if strays <= most else "")


def _ways(column: Tokens, may_be_compact: bool, decimal: str) -> Iterator[Kind]:
    """How the tokens may be read, one way after the other."""
    if may_be_compact:
        yield Kind("date", order=COMPACT)
    yield from map(Kind, KINDS[:3])
    texts = [column.token(row).decode(errors="replace") for row in range(len(column))]
    other, is_number = "." if decimal == "," else ",", column.numbers("number", decimal)[1]
    usual = [texts[i] for i in np.flatnonzero(is_number)]
    # A few numbers with the other sign do not make thousands of those with the usual one.
    if sum(other in text for text in texts) > sum(decimal in text for text in usual):
        yield from (Kind(name, decimal=other) for name in KINDS[:2])
    is_dotted = any(map(_DOTTED.match, texts))
    orders = ("dmy", "mdy", "ymd") if is_dotted else ORDERS
    yield from (Kind("date", order=order) for order in orders)
    yield Kind("time")
    units = Counter(found[2] for found in map(_WITH_UNIT.fullmatch, texts) if found)
    for unit, count in units.most_common(1):
        if count >= (1 - STRAY_SHARE) * len(column):
            yield from (Kind("number", unit=unit, decimal=sign) for sign in ("", other))


def _remark(column: Tokens, kind: Kind, decimal: str) -> str:
    if kind == "date" and kind.order == COMPACT:
        return "dates without signs between year, month and day"
    if kind == "date":
        other = Kind("date", order="dmy" if kind.order == "mdy" else "mdy")
        days, others = (column.numbers(way, decimal)[0] for way in (kind, other))
        if np.array_equal(days, others, equal_nan=True):
            return ""
        is_open = np.array_equal(np.isnan(days), np.isnan(others))
        doubt = ", though nothing shows their order: write 2024-12-31 to be sure"
        return f"dates, {ORDERS[kind.order]} first{doubt if is_open else ''}"
    if kind != "number":
        return ""
    tokens = (column.token(row).decode(errors="replace") for row in range(len(column)))
    n_signs = sum(token.startswith(_SIGNS) for token in tokens)
    parts = [f"numbers in {kind.unit}"] if kind.unit else []
    parts += [f"numbers with {kind.decimal!r} before decimals"] if kind.decimal else []
    parts += [f"signs as in <5 are left out, {n_signs:,} in the first rows"] if n_signs else []
    return "; ".join(parts)


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
