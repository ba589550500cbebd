"""How a file of separated values is written: found from its first bytes, or given."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from typing import NamedTuple

import numpy as np

from featgrad.readers.tokens import NA_WORDS, Tokens

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
# Records that are looked at.
_RECORDS = 100
_HINT = "sep="
# In place of a carriage return, for the module csv.
_RETURN = "\ue000"


def check_dialect(sep: str | None, decimal: str | None, encoding: str | None) -> str | None:
    """The separator; raises an error for what cannot be used. None is found from the file."""
    sep = "\t" if sep in ("\\t", "tab") else sep
    if sep is not None and (len(sep) != 1 or not sep.isascii()):
        raise ValueError(f"sep={sep!r} cannot be used: give one character.")
    if decimal not in (None, ".", ",") or (decimal or "") == sep:
        raise ValueError(f"decimal={decimal!r} cannot be used: give '.' or ',', not sep.")
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise ValueError(
            f"encoding={encoding!r} is unknown: use 'utf-8', say, or 'cp1252'."
        ) from None
    return sep


class Dialect(NamedTuple):
    """Separator, decimal sign, missing words, and the lines before the data."""

    sep: str
    decimal: str
    names: tuple[str, ...]
    header_lines: int
    na_values: tuple[str, ...]

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


def dialect_of(
    name: str, head: bytes, columns: Sequence[str] | None, sep: str | None, decimal: str | None,
    header: bool | None, na_values: Sequence[str],
) -> Dialect:  # fmt: skip
    """From the first lines, as UTF-8; None is found."""
    text, skipped = head.decode("utf-8", "replace"), 0
    first_line = text.split("\n", 1)[0].strip(" \r")
    if first_line.lower().startswith(_HINT) and len(first_line) == len(_HINT) + 1:
        # The line that names the separator for Excel.
        skipped, sep, text = 1, sep or first_line[-1], text.split("\n", 1)[1]
    records, lines = _records(text, sep) if sep else ([], [])
    if sep is None:
        sep, records, lines = _separated(text, len(columns or ()))
    if not records:
        raise ValueError(f"{name} has no header with names of columns: it is empty.")
    decimal = decimal or decimal_of(records, sep)
    header = header if columns is None else False
    if header is None:
        header = _has_header(records, decimal)
    if header:
        _check_header(name, records, skipped + lines[0])
    names = columns or [
        (name if header else "") or f"column{i}" for i, name in enumerate(records[0], start=1)
    ]
    header_lines = skipped + (lines[0] if header else 0)
    return Dialect(sep, decimal, tuple(names), header_lines, tuple(na_values))


def _separated(text: str, n_columns: int) -> "tuple[str, list[list[str]], list[int]]":
    """The separator that splits most records into as many fields as the first, more than one.

    Of several such the one that leaves most numbers, and fewest fields that others would split:
    decimal commas split records as well. As many fields as there are names to give come first.
    Also the records, and the line on which each ends.
    """
    every = {sep: _records(text, sep) for sep in SEPARATORS}
    split = {sep: found for sep, (found, _) in every.items() if found and len(found[0]) > 1}

    def fitness(sep: str) -> tuple[bool, float, float, int]:
        records = split[sep]
        count, fields = len(records[0]), [field for record in records for field in record]
        alike = sum(len(record) == count for record in records) / len(records)
        are_numbers = _are_numbers(fields, ".", ",")
        are_whole = [
            is_number or not any(other in field for other in split)
            for field, is_number in zip(fields, are_numbers, strict=True)
        ]
        return count == n_columns, alike, float(np.mean(are_numbers) + np.mean(are_whole)), count

    best = max(split, key=fitness) if len(split) > 1 else next(iter(split), ",")
    return best, *every[best]


def _records(text: str, sep: str) -> tuple[list[list[str]], list[int]]:
    """The first records, and the line on which each ends."""
    # A carriage return within a line ends no record.
    text = text.replace("\r\n", "\n").replace("\r", _RETURN)
    reader = csv.reader(io.StringIO(text), delimiter=sep)
    records, lines = [], []
    # Text that is no CSV at all, or a quoted field beyond these lines.
    with suppress(csv.Error):
        for record in reader:
            if record:
                records.append([field.replace(_RETURN, "\r").strip() for field in record])
                lines.append(reader.line_num)
            if len(records) == _RECORDS:
                break
    return records, lines


def decimal_of(records: Sequence[Sequence[str]], sep: str) -> str:
    """The decimal sign that makes most fields numbers."""
    if not any("," in "".join(record) for record in records):
        return "."
    fields = [field for record in records for field in record if "," in field or "." in field]
    with_point, with_comma = (_are_numbers(fields, decimal) for decimal in ".,")
    if sum(with_point) != sum(with_comma):
        return "." if sum(with_point) > sum(with_comma) else ","
    # Where every comma could also stand before thousands.
    both = "".join(field for field, number in zip(fields, with_comma, strict=True) if number)
    return "," if sep == ";" and "," in both and "." not in both else "."


def _has_header(records: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first record names the columns.

    It does if it holds no number, if it is 0, 1, 2 and so on, or if a word stands above numbers.
    """
    first, *rest = records
    if not any(_are_numbers(first, decimal)):
        return True
    if list(first) in ([str(start + i) for i in range(len(first))] for start in (0, 1)):
        return True
    # Columns whose fields, where they are there, are all numbers, but the first one is a word.
    is_number = [_are_numbers(record, decimal) for record in records]
    for i, name in enumerate(first):
        below = [
            numbers[i]
            for record, numbers in zip(rest, is_number[1:], strict=True)
            if i < len(record) and record[i] not in ("", *NA_WORDS)
        ]
        is_word = not is_number[0][i] and name not in ("", *NA_WORDS)
        if is_word and below and all(below):
            return True
    return False


def _are_numbers(fields: Sequence[str], *decimals: str) -> list[bool]:
    """Which fields are numbers, or percentages, with one of these decimal signs."""
    tokens = Tokens.from_bytes([field.encode() for field in fields])
    kinds = product(("number", "percent"), decimals)
    found = [tokens.numbers(*kind)[1] & tokens.present for kind in kinds]
    return np.any(found, axis=0).tolist()  # type: ignore[no-any-return]


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
