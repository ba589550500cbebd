"""How a file of separated values is written: found from its first bytes, or given."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featgrad.readers.tokens import Tokens

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
# Words for a missing value, besides the empty field; among texts the last two are values.
NA_WORDS = (
    "NA", "N/A", "n/a", "na", "#N/A", "#NA", "<NA>", "NaN", "nan", "null", "NULL", "Null",
    "None", "none", "?", "-", ".",
)  # fmt: skip
_VALUES_OF_TEXT = ("-", ".")
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Records that are looked at.
_RECORDS = 100
_HINT = "sep="


@dataclass(frozen=True)
class Given:
    """What the caller says; None is found from the file."""

    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    na_values: Sequence[str] = ()

    def check(self) -> None:
        if self.sep is not None and (len(self.sep) != 1 or not self.sep.isascii()):
            raise ValueError(f"sep={self.sep!r} cannot be used: give one character.")
        if self.decimal not in (None, ".", ",") or (self.decimal or "") == self.sep:
            raise ValueError(f"decimal={self.decimal!r} cannot be used: give '.' or ',', not sep.")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(
                    f"encoding={self.encoding!r} is unknown: use 'utf-8', say, or 'cp1252'."
                ) from None


@dataclass(frozen=True)
class Dialect:
    """Separator, decimal sign, missing words, and the lines before the data."""

    sep: str
    decimal: str
    names: tuple[str, ...]
    header_lines: int
    na_values: tuple[str, ...]

    def words(self, *, text: bool) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Missing words of columns of text or of others, as bytes and where each ends."""
        default = [word for word in NA_WORDS if not (text and word in _VALUES_OF_TEXT)]
        words = [word.encode() for word in (*default, *self.na_values)]
        edges = np.cumsum([0, *map(len, words)])
        return np.frombuffer(b"".join(words), np.uint8), edges

    @property
    def has_missing_numbers(self) -> bool:
        """Whether a number stands for a missing value."""
        return any(map(_is_number, self.na_values))

    def __str__(self) -> str:
        parts = [f"separated by {SEPARATORS.get(self.sep, repr(self.sep))}"]
        parts += ["decimal comma"] if self.decimal == "," else []
        if not self.header_lines:
            parts.append(f"no header: columns are named {self.names[0]} to {self.names[-1]}")
        return ", ".join(parts)


def encoding_of(head: bytes) -> str:
    """By its mark, its zeros, or because it is not UTF-8."""
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    even, odd = head[:200:2].count(0), head[1:200:2].count(0)
    if 5 * (even + odd) > len(head[:200]):
        return "utf-16-le" if odd > even else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def dialect_of(name: str, head: bytes, given: Given, columns: Sequence[str] | None) -> Dialect:
    """From the first lines, as UTF-8."""
    text = head.decode("utf-8", "replace")
    skipped, sep = 0, given.sep
    first_line = text.split("\n", 1)[0].strip()
    if first_line.lower().startswith(_HINT) and len(first_line) == len(_HINT) + 1:
        # The line that names the separator for Excel.
        skipped, sep, text = 1, sep or first_line[-1], text.split("\n", 1)[1]
    records, lines = _records(text, sep) if sep else ([], [])
    if sep is None:
        sep, records, lines = _separated(text)
    if not records:
        raise ValueError(f"{name} has no header with names of columns: it is empty.")
    decimal = given.decimal or _decimal(records, sep)
    header = given.header if columns is None else False
    if header is None:
        header = _has_header(records, decimal)
    if header:
        _check_header(name, records, skipped + lines[0])
    names = columns or [
        (name if header else "") or f"column{i}" for i, name in enumerate(records[0], start=1)
    ]
    header_lines = skipped + (lines[0] if header else 0)
    return Dialect(sep, decimal, tuple(names), header_lines, tuple(given.na_values))


def _separated(text: str) -> "tuple[str, list[list[str]], list[int]]":
    """The separator that splits most records into as many fields as the first, more than one.

    Of several such the one that leaves most numbers: decimal commas split records as well. Also the
    records, and the line on which each ends.
    """
    every = {sep: _records(text, sep) for sep in SEPARATORS}
    split = {sep: found for sep, (found, _) in every.items() if found and len(found[0]) > 1}

    def fitness(sep: str) -> tuple[float, float, int]:
        records = split[sep]
        count, fields = len(records[0]), [field for record in records for field in record]
        alike = sum(len(record) == count for record in records) / len(records)
        tokens = Tokens.from_bytes([field.encode() for field in fields])
        return alike, float(np.mean(tokens.are_numbers(".") | tokens.are_numbers(","))), count

    best = max(split, key=fitness) if len(split) > 1 else next(iter(split), ",")
    return best, *every[best]


def _records(text: str, sep: str) -> tuple[list[list[str]], list[int]]:
    """The first records, and the line on which each ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sep)
    records, lines = [], []
    # Text that is no CSV at all, or a quoted field beyond these lines.
    with suppress(csv.Error):
        for record in reader:
            if record:
                records.append(list(map(str.strip, record)))
                lines.append(reader.line_num)
            if len(records) == _RECORDS:
                break
    return records, lines


def _decimal(records: Sequence[Sequence[str]], sep: str) -> str:
    if not any("," in "".join(record) for record in records):
        return "."
    fields = [field for record in records for field in record if "," in field or "." in field]
    tokens = Tokens.from_bytes([field.encode() for field in fields])
    point, comma = (int(tokens.are_numbers(decimal).sum()) for decimal in ".,")
    if point != comma:
        return "." if point > comma else ","
    # Where every comma could also stand before thousands.
    both = [field for field, number in zip(fields, tokens.are_numbers(","), strict=True) if number]
    has = {sign: any(sign in field for field in both) for sign in ".,"}
    return "," if sep == ";" and has[","] and not has["."] else "."


def _has_header(records: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first record names the columns.

    It does if it holds no number, if it is 0, 1, 2 and so on, or if a word stands above numbers.
    """
    first, rest = records[0], records[1:]
    numbers = [_is_number(field.replace(decimal, ".")) for field in first]
    if not any(numbers):
        return True
    for start in "01":
        if list(first) == [str(int(start) + i) for i in range(len(first))]:
            return True
    for i, field in enumerate(first):
        below = [
            record[i] for record in rest if i < len(record) and record[i] not in ("", *NA_WORDS)
        ]
        is_word = not numbers[i] and field not in ("", *NA_WORDS)
        if is_word and below and all(_is_number(value.replace(decimal, ".")) for value in below):
            return True
    return False


def _check_header(name: str, records: Sequence[Sequence[str]], line: int) -> None:
    header, rest = records[0], records[1:]
    if "\ufffd" in "".join(header):
        raise ValueError(f"{name}: its header is not UTF-8: pass encoding='cp1252', say.")
    usual, times = Counter(map(len, rest)).most_common(1)[0] if rest else (len(header), 0)
    if usual > len(header) and 2 * times > len(rest):
        few = f"its header has {len(header)} fields where most lines have {usual}"
        raise ValueError(
            f"{name}, line {line}: {few}. Remove lines above the header, name every column, or "
            "pass sep if fields are separated by something else."
        )
    if len(header) == 1:
        raise ValueError(
            f"{name}, line {line}: only one column was found, {header[0][:40]!r}: pass sep if "
            "fields are separated by something other than a comma, semicolon, tab or bar."
        )


def _is_number(text: str) -> bool:
    # A letter begins no number but NaN and infinity: names are told without an exception.
    if text[:1].isalpha() and text[0] not in "nNiI":
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
