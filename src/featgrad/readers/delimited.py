"""Separated values. Quoted fields may contain separators and newlines.

Kernels of our own and not a library's: they are no slower, and they name the line of a value that
is not a number, which neither pyarrow nor polars does (``python -m benchmarks.csv_readers``).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featgrad._support.types import Flags
from featgrad.readers.columns import Chunk, Chunks, check_names, not_of_kind
from featgrad.readers.dialect import NA_WORDS, Given, dialect_of, encoding_of
from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.kernels import everyday
from featgrad.readers.kernels.delimited import parse_plain, split
from featgrad.readers.kernels.errors import FIELDS, MESSAGES
from featgrad.readers.lines import Text, count_lines, line_chunks, parsed, read_head
from featgrad.readers.tokens import Tokens

# Each column of a chunk has a fixed cost, so that chunks should not have fewer lines.
_MIN_LINES = 64
# A quoted field that is not closed within this many bytes is invalid.
_MAX_RECORD_BYTES = 1 << 20
# First lines that tell how a file is written: so many bytes, and at least so many lines.
_FIRST_BYTES, _FIRST_LINES = 1 << 18, 5
_COMMA_TO_POINT = bytes.maketrans(b",", b".")
_TEXT = len(everyday.KINDS)
_BOOLEANS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})


class DelimitedTable:
    """Columns of one file, named by its header unless `columns` is given."""

    n_rows: int | None = None

    def __init__(
        self, name: str, text: Text, given: Given, columns: Sequence[str] | None = None
    ) -> None:
        given.check()
        self.name, self._text = name, text
        head = read_head(text)
        self._encoding = given.encoding or encoding_of(head)
        self._returns = b"\r" in head and b"\n" not in head
        first = next(self._lines(), b"")
        # A single zero may be a damaged byte.
        if first[:_FIRST_BYTES].count(0) > 1 + len(first[:_FIRST_BYTES]) // 100:
            raise ValueError(f"{name} is not text: pass its format, or save it as CSV.")
        end = _FIRST_BYTES
        while first[:end].count(b"\n") < _FIRST_LINES and end < len(first):
            end *= 2
        self.dialect = dialect_of(name, first[: first.rfind(b"\n", 0, end) + 1], given, columns)
        self.columns: Sequence[str] = self.dialect.names
        check_names(name, self.columns)
        self._places = {column: place for place, column in enumerate(self.columns)}
        found, names = self._find_kinds(), (*everyday.KINDS, "text")
        self.kinds: Mapping[str, str] = {
            column: names[kind] for column, kind in zip(self.columns, found.tolist(), strict=True)
        }
        # Text that is to be read as numbers is parsed as such.
        self._codes = np.where(found == _TEXT, everyday.NUMBER, found)
        self.notes: Sequence[str] = self._notes()

    def _notes(self) -> list[str]:
        """How the file is written, where it is not plain CSV."""
        usual = {"utf-8": "", "utf-8-sig": ""}
        encoding = usual.get(self._encoding, f", encoding {self._encoding}")
        text = f"{self.dialect}{encoding}"
        return [] if text in ("separated by comma", "separated by tab") else [f"read as {text}"]

    def chunks(self, numbers: Sequence[str], texts: Sequence[str], invalid: InvalidRows) -> Chunks:
        parse = partial(self._parse, self._wanted(numbers, texts), invalid.skip)
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

    def _wanted(self, numbers: Sequence[str], texts: Sequence[str]) -> "_Wanted":
        places = np.array([self._places[name] for name in (*numbers, *texts)], np.intp)
        kinds = self._codes[places[: len(numbers)]]
        is_plain = not kinds.any() and not self.dialect.has_missing_numbers
        return _Wanted(numbers, texts, kinds, places, is_plain)

    def _parse(
        self, wanted: "_Wanted", skip: bool, content: bytes, at_end: bool = False
    ) -> "tuple[_Records, Chunk]":
        """Whole lines; a quoted field at their end may go on unless they are the last ones."""
        n_lines = count_lines(content)
        if wanted.may_be_plain and (chunk := self._plain(content, n_lines, wanted)):
            return _Records(np.arange(n_lines), len(content), n_lines, "", 0), chunk
        fields, found = self._split(
            content, wanted.places, 0 if at_end else _MAX_RECORD_BYTES, skip
        )
        return found, self._chunk(wanted, fields)

    def _split(
        self, content: bytes, columns: Any, max_bytes: int, skip: bool
    ) -> "tuple[_Fields, _Records]":
        """Fields of some columns in a chunk of text."""
        n_records = self._most_records(content, count_lines(content))
        starts, ends = np.empty((2, len(self.columns), n_records), np.int64)
        lines, escaped = np.empty(n_records, np.int64), np.empty(starts.shape, bool)
        text = np.frombuffer(content, np.uint8)
        rows, used, n_lines, code, n_fields, skipped = split(
            text, ord(self.dialect.sep), max_bytes, skip, starts, ends, escaped, lines
        )
        starts, ends = starts[columns, :rows], ends[columns, :rows]
        data = _unescaped(content, starts, ends, escaped[columns, :rows])
        error = MESSAGES[code]
        if code == FIELDS:
            error = f"it has {n_fields} fields where {len(self.columns)} belong"
        return _Fields(data, starts, ends), _Records(lines[:rows], used, n_lines, error, skipped)

    def _chunk(self, wanted: "_Wanted", fields: "_Fields") -> Chunk:
        data, starts, ends = fields
        count, decimal = len(wanted.numbers), ord(self.dialect.decimal)
        values = np.empty((count, starts.shape[1]))
        valid = np.ones(values.shape, bool)
        words = self.dialect.words(text=False)
        everyday.columns(
            data, starts[:count], ends[:count], wanted.kinds, decimal, *words, values, valid
        )
        reasons: dict[int, str] = {}
        for column, row in np.argwhere(~valid).tolist():
            field = data[starts[column, row] : ends[column, row]].tobytes()
            kind = everyday.KINDS[wanted.kinds[column]]
            reasons.setdefault(row, not_of_kind(wanted.numbers[column], field, kind))
        tokens = self._tokens(wanted.texts, data, starts[count:], ends[count:])
        return Chunk(values, tokens, reasons)

    def _tokens(
        self, names: Sequence[str], data: NDArray[np.uint8], starts: Any, ends: Any
    ) -> dict[str, Tokens]:
        words = self.dialect.words(text=True)
        tokens = {}
        for name, start, end in zip(names, starts, ends, strict=True):
            everyday.blank_missing(data, start, end, *words)
            tokens[name] = Tokens(data, start, end)
        return tokens

    def _plain(self, content: bytes, n_lines: int, wanted: "_Wanted") -> Chunk | None:
        """A chunk of plain numbers and text: the common case, much faster."""
        if n_lines == 0 or n_lines > self._most_records(content, n_lines):
            return None
        n_numbers, n_texts = len(wanted.numbers), len(wanted.texts)
        if self.dialect.decimal == ",":
            if n_texts or b"." in content or self.dialect.sep == ",":
                return None
            content = content.translate(_COMMA_TO_POINT)
        places = np.full(len(self.columns), -1)
        places[wanted.places] = np.r_[:n_numbers, -2 - np.arange(n_texts)]
        values = np.empty((n_lines, n_numbers))
        starts, ends = np.empty((2, n_texts, n_lines), np.int64)
        data = np.frombuffer(content, np.uint8)
        if not parse_plain(data, ord(self.dialect.sep), places, values, starts, ends):
            return None
        return Chunk(values.T, self._tokens(wanted.texts, data, starts, ends), {})

    def _most_records(self, content: bytes, n_lines: int) -> int:
        """Records that text of this length can hold: a byte ends each field. One may be invalid."""
        return min(n_lines, 1 + len(content) // len(self.columns))

    def _find_kinds(self) -> NDArray[np.int64]:
        """What most fields of each column in the first rows are; text if they are nothing else."""
        every = np.arange(len(self.columns))
        content = b""
        for read in self._data():
            content += read
            fields, found = self._split(content, every, _MAX_RECORD_BYTES, skip=True)
            # A quoted field of the first record may go on in the next chunk.
            if len(found.lines) or len(content) > _MAX_RECORD_BYTES:
                break
        else:
            fields, _ = self._split(content, every, 0, skip=True)
        counts = np.zeros((len(every), len(everyday.KINDS) + 1), np.int64)
        words, decimal = self.dialect.words(text=False), ord(self.dialect.decimal)
        everyday.census(*fields, decimal, *words, counts)
        best = counts[:, :-1].argmax(axis=1)
        best[2 * counts[every, best] < counts[:, -1]] = _TEXT
        for i in np.flatnonzero(best == everyday.BOOLEAN):
            if not _are_booleans(Tokens(fields.data, fields.starts[i], fields.ends[i])):
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


class _Wanted(NamedTuple):
    """Columns to read, and their places among all."""

    numbers: Sequence[str]
    texts: Sequence[str]
    kinds: NDArray[np.int64]
    places: NDArray[np.intp]
    may_be_plain: bool


class _Fields(NamedTuple):
    """Fields of some columns: bytes, and where each starts and ends."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class _Records(NamedTuple):
    """The line of each record, the bytes and lines parsed, what ended this, and records skipped."""

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
