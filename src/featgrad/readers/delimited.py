"""Separated values. Quoted fields may contain separators and newlines.

The kernels are our own. In place of them pyarrow.csv and DuckDB were tried on the sniffed dialect:
of 77 everyday files they read 60 and 59 right, in 2.5 and 2.9 times the time, the first refuses a
whole file for one value, and neither comes with the package. About 300 lines would go: money,
thousands, dates, per cent, encodings and compression are not theirs (`benchmarks.csv_readers`).
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featgrad._support.types import Flags
from featgrad.readers.columns import Chunk, Chunks, check_names, not_of_kind
from featgrad.readers.dialect import NA_WORDS, check_dialect, dialect_of, encoding_of
from featgrad.readers.invalid_rows import InvalidRows, raise_unreadable
from featgrad.readers.kernels import FIELDS, MESSAGES
from featgrad.readers.kernels.numbers import BOOLEAN, KINDS, NUMBER, census
from featgrad.readers.kernels.records import parse_records
from featgrad.readers.lines import Text, count_lines, line_chunks, parsed, read_head
from featgrad.readers.tokens import Tokens, is_utf8

# Each column of a chunk has a fixed cost, so that chunks should not have fewer lines.
_MIN_LINES = 64
# A quoted field that is not closed within this many bytes is invalid.
_MAX_RECORD_BYTES = 1 << 20
# First lines that show how a file is written: so many bytes, and at least so many lines.
_FIRST_BYTES, _FIRST_LINES = 1 << 18, 5
_TEXT = len(KINDS)
_BOOLEANS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})


def open_delimited(
    data: Any, format: str, block_rows: int | None, **given: Any
) -> "DelimitedTable":
    """CSV, TSV, or the first sheet of an Excel file."""
    if format == "tsv":
        given = {"sep": "\t"} | given
    text = _sheet_as_csv(data) if format == "xlsx" else data
    return DelimitedTable(str(data), text, **given)


class DelimitedTable:
    """Columns of one file, named by its header unless `columns` is given."""

    n_rows: int | None = None

    def __init__(
        self, name: str, text: Text, *, columns: Sequence[str] | None = None,
        sep: str | None = None, decimal: str | None = None, encoding: str | None = None,
        header: bool | None = None, na_values: Sequence[str] = (),
    ) -> None:  # fmt: skip
        check_dialect(sep, decimal, encoding)
        self.name, self._text = name, text
        head = read_head(text)
        self._encoding = encoding or encoding_of(head)
        self._returns = b"\r" in head and b"\n" not in head
        first = next(self._lines(), b"")
        # A single zero may be a damaged byte.
        if first[:_FIRST_BYTES].count(0) > 1 + len(first[:_FIRST_BYTES]) // 100:
            raise ValueError(f"{name} is not text: pass its format, or save it as CSV.")
        end = _FIRST_BYTES
        while first[:end].count(b"\n") < _FIRST_LINES and end < len(first):
            end *= 2
        head = first[: first.rfind(b"\n", 0, end) + 1]
        self.dialect = dialect_of(name, head, columns, sep, decimal, header, na_values)
        self.columns: Sequence[str] = self.dialect.names
        check_names(name, self.columns)
        self._places = {column: place for place, column in enumerate(self.columns)}
        found, names = self._find_kinds(), (*KINDS, "text")
        self.kinds: Mapping[str, str] = {
            column: names[kind] for column, kind in zip(self.columns, found.tolist(), strict=True)
        }
        # Text that is to be read as numbers is parsed as such.
        self._codes = np.where(found == _TEXT, NUMBER, found)
        self.notes: Sequence[str] = self._notes()

    def _notes(self) -> list[str]:
        """How the file is written, where it is not plain CSV."""
        usual = {"utf-8": "", "utf-8-sig": ""}
        encoding = usual.get(self._encoding, f", encoding {self._encoding}")
        text = f"{self.dialect}{encoding}"
        return [] if text in ("separated by comma", "separated by tab") else [f"read as {text}"]

    def chunks(self, numbers: Sequence[str], texts: Sequence[str], invalid: InvalidRows) -> Chunks:
        wanted = np.array([self._places[name] for name in (*numbers, *texts)], np.intp)
        places = np.full(len(self.columns), -1)
        places[wanted] = [*range(len(numbers)), *(-2 - i for i in range(len(texts)))]
        kinds = self._codes[wanted[: len(numbers)]]
        parse = partial(self._parse, (numbers, texts, places, kinds), invalid.skip)
        row, line, rest = 0, self.dialect.header_lines, b""
        for read, (found, chunk) in parsed(self._text, chain(self._data(), [b""]), parse):
            if rest:
                found, chunk = parse(rest + read, at_end=not read)
            invalid.skipped += found.skipped
            if len(found.lines):
                invalid.locate = partial(_locate, line + found.lines, row)
                yield chunk
            if found.error:
                invalid.locate = partial(_locate, [line + found.n_lines], 0)
                invalid.report(0, found.error)
            row, line = row + len(found.lines), line + found.n_lines
            rest = (rest + read)[found.used :]

    def _parse(
        self, wanted: tuple[Any, ...], skip: bool, content: bytes, at_end: bool = False
    ) -> "tuple[_Records, Chunk]":
        """Whole lines; a quoted field at their end may go on unless they are the last ones."""
        numbers, texts, places, kinds = wanted
        found = self._split(content, places, kinds, 0 if at_end else _MAX_RECORD_BYTES, skip)
        reasons = {}
        for row in np.flatnonzero(found.wrong[:, 0] >= 0).tolist():
            place, start, end = found.wrong[row].tolist()
            reasons[row] = not_of_kind(numbers[place], content[start:end], KINDS[kinds[place]])
        is_text = bool(texts) and is_utf8(content)
        spans = zip(texts, found.starts, found.ends, strict=True)
        tokens = {name: Tokens(found.data, start, end, is_text) for name, start, end in spans}
        return found, Chunk(found.values.T, tokens, reasons)

    def _split(
        self, content: bytes, places: Any, kinds: Any, max_bytes: int, skip: bool
    ) -> "_Records":
        """Fields of a chunk of text."""
        n_texts = int(np.count_nonzero(places < -1))
        # A byte ends each field; one record may be invalid.
        n_records = min(count_lines(content), 1 + len(content) // len(places))
        values, wrong = np.empty((n_records, len(kinds))), np.empty((n_records, 3), np.int64)
        starts, ends = np.empty((2, n_texts, n_records), np.int64)
        lines, escaped = np.empty(n_records, np.int64), np.empty(starts.shape, bool)
        rows, used, n_lines, code, n_fields, skipped = parse_records(
            np.frombuffer(content, np.uint8), ord(self.dialect.sep), ord(self.dialect.decimal),
            max_bytes, skip, places, kinds, *self.dialect.missing,
            values, starts, ends, escaped, lines, wrong,
        )  # fmt: skip
        starts, ends = starts[:, :rows], ends[:, :rows]
        data = _unescaped(content, starts, ends, escaped[:, :rows])
        error = MESSAGES[code]
        if code == FIELDS:
            error = f"it has {n_fields} fields where {len(places)} belong"
        return _Records(
            values[:rows], data, starts, ends, wrong[:rows], lines[:rows], used, n_lines, error,
            skipped,
        )  # fmt: skip

    def _find_kinds(self) -> NDArray[np.int64]:
        """What most fields of each column in the first rows are; text if they are nothing else."""
        every, content = np.arange(len(self.columns)), b""
        as_texts = -2 - every, np.zeros(0, np.int64)
        for read in self._data():
            content += read
            found = self._split(content, *as_texts, _MAX_RECORD_BYTES, skip=True)
            # A quoted field of the first record may go on in the next chunk.
            if len(found.lines) or len(content) > _MAX_RECORD_BYTES:
                break
        else:
            found = self._split(content, *as_texts, 0, skip=True)
        counts = np.zeros((len(every), len(KINDS) + 1), np.int64)
        words, edges = self.dialect.missing[:2]
        fields = found.data, found.starts, found.ends
        census(*fields, ord(self.dialect.decimal), words, edges, counts)
        best = counts[:, :-1].argmax(axis=1)
        best[2 * counts[every, best] < counts[:, -1]] = _TEXT
        for i in np.flatnonzero(best == BOOLEAN):
            if not _are_booleans(Tokens(found.data, found.starts[i], found.ends[i])):
                best[i] = _TEXT
        return np.asarray(best)

    def _lines(self) -> Iterator[bytes]:
        return line_chunks(self._text, _MIN_LINES, self._encoding, returns=self._returns)

    def _data(self) -> Iterator[bytes]:
        """The text of the file after the header."""
        lines = self.dialect.header_lines
        for text in self._lines():
            while lines and text:
                text, lines = text[text.index(b"\n") + 1 :], lines - 1
            yield text


class _Records(NamedTuple):
    """Fields of records as numbers, and as bytes with their starts and ends.

    Also the first field of each record that is wrong, its line, the bytes and lines parsed, what
    ended this, and how many records were skipped.
    """

    values: NDArray[np.float64]
    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    wrong: NDArray[np.int64]
    lines: NDArray[np.int64]
    used: int
    n_lines: int
    error: str
    skipped: int


def _unescaped(content: bytes, starts: Any, ends: Any, escaped: Flags) -> NDArray[np.uint8]:
    """The text with unescaped fields after it, to which their starts and ends are moved."""
    parts, size = [content], len(content)
    for field in zip(*np.nonzero(escaped), strict=True):
        parts.append(content[starts[field] : ends[field]].replace(b'""', b'"'))
        starts[field], ends[field] = size, size + len(parts[-1])
        size = ends[field]
    return np.frombuffer(b"".join(parts), np.uint8)


def _are_booleans(tokens: Tokens) -> bool:
    """Whether both words of a pair occur and no other."""
    rows = np.flatnonzero(tokens.present)
    seen = {tokens.token(row).strip().lower().decode("utf-8", "replace") for row in rows.tolist()}
    return any(seen - {word.lower() for word in NA_WORDS} == pair for pair in _BOOLEANS)


def _locate(lines: Any, first_row: int, row: int) -> str:
    return f"line {lines[row - first_row] + 1}"


def _sheet_as_csv(path: Path) -> bytes:
    """The first sheet of an Excel file."""
    if find_spec("openpyxl") is None:
        raise ImportError(
            f"Reading {path} needs openpyxl: pip install 'featgrad[excel]', or save it as CSV."
        )
    from openpyxl import load_workbook

    try:
        book = load_workbook(path, read_only=True, data_only=True)
        sheet, text = book.worksheets[0], io.StringIO()
        # The file may state fewer rows and columns than it has.
        width, writer = sheet.max_column or 0, csv.writer(text, lineterminator="\n")
        sheet.reset_dimensions()
        for row in sheet.iter_rows(values_only=True):
            if any(cell is not None for cell in row):
                width = max(width, len(row))
                writer.writerow([*map(_field, row), *[None] * (width - len(row))])
        book.close()
    # Damaged archives and XML raise many kinds of errors.
    except Exception as error:
        raise_unreadable(str(path), error)
    return text.getvalue().encode()


def _field(cell: Any) -> Any:
    if isinstance(cell, timedelta):
        return cell / timedelta(days=1)
    return cell.isoformat() if isinstance(cell, date | time) else cell
