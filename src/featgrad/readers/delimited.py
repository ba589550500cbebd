"""CSV and TSV text. Quoted fields may contain delimiters and newlines."""

import codecs
import csv
import io
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.kernels.delimited import by_column, parse_numbers, split
from featgrad.readers.kernels.errors import FIELDS, MESSAGES
from featgrad.readers.lines import line_chunks
from featgrad.readers.tables import Chunk, Chunks
from featgrad.readers.tokens import Tokens

# Each column of a chunk has a fixed cost, so that chunks should not have fewer lines.
_MIN_LINES = 64
# A quoted field that is not closed within this many bytes is invalid.
_MAX_RECORD_BYTES = 1 << 20


class DelimitedTable:
    """Columns of one file, named by its header unless `columns` is given."""

    n_rows: int | None = None

    def __init__(self, path: Path, delimiter: str, columns: Sequence[str] | None) -> None:
        self._path, self._delimiter, self.name = path, delimiter, str(path)
        self._header_lines = 0
        self.columns: Sequence[str] = self._header() if columns is None else list(columns)

    def text_columns(self) -> Collection[str]:
        """Columns whose fields in the first rows are not numbers."""
        invalid = InvalidRows(self.name, "skip", "nan")
        first = next(self.chunks(self.columns, frozenset(self.columns), invalid), {})
        return [name for name, tokens in first.items() if not _are_numbers(tokens)]

    def chunks(self, columns: Sequence[str], text: Collection[str], invalid: InvalidRows) -> Chunks:
        places = {name: place for place, name in enumerate(self.columns)}
        indices = [places[name] for name in columns]
        row, line, rest = 0, self._header_lines, b""
        for read in chain(self._data(), [b""]):
            content = rest + read
            n_lines = content.count(b"\n")
            if not text and (numeric := self._numeric(content, n_lines)):
                invalid.locate = partial(_locate, line + np.arange(n_lines), row)
                yield {name: numeric[name] for name in columns}
                row, line, rest = row + n_lines, line + n_lines, b""
                continue
            n_records = self._most_records(content, n_lines)
            starts, ends = np.empty((2, len(self.columns), n_records), np.int64)
            lines, escaped = np.empty(n_records, np.int64), np.empty(starts.shape, bool)
            data = np.frombuffer(content, np.uint8)
            rows, used, n_parsed, error, n_fields, skipped = split(
                data, ord(self._delimiter), _MAX_RECORD_BYTES if read else 0, invalid.skip,
                starts, ends, escaped, lines,
            )  # fmt: skip
            invalid.skipped += skipped
            if rows:
                invalid.locate = partial(_locate, line + lines, row)
                starts, ends = starts[indices, :rows], ends[indices, :rows]
                data_by_column = by_column(data, starts, ends, escaped[indices, :rows], rows)
                yield _chunk(columns, text, data_by_column, starts, ends)
            if error:
                reason = MESSAGES[error]
                if error == FIELDS:
                    reason = f"it has {n_fields} fields where {len(self.columns)} belong"
                invalid.locate = partial(_locate, [line + n_parsed], 0)
                invalid.report(0, reason)
            row, line, rest = row + rows, line + n_parsed, content[used:]

    def _numeric(self, content: bytes, n_lines: int) -> Chunk:
        """Columns of a chunk of numbers only, else nothing: the common case, much faster."""
        if n_lines == 0 or n_lines > self._most_records(content, n_lines):
            return {}
        values = np.empty((n_lines, len(self.columns)))
        delimiter, data = ord(self._delimiter), np.frombuffer(content, np.uint8)
        if not parse_numbers(data, delimiter, values):
            return {}
        return dict(zip(self.columns, values.T, strict=True))

    def _most_records(self, content: bytes, n_lines: int) -> int:
        """Records that text of this length can hold: a byte ends each field. One may be invalid."""
        return min(n_lines, 1 + len(content) // len(self.columns))

    def _data(self) -> Iterator[bytes]:
        """The text of the file after the header."""
        lines = self._header_lines
        for number, read in enumerate(line_chunks(self._path, _MIN_LINES)):
            text = read if number else read.removeprefix(codecs.BOM_UTF8)
            while lines and text:
                text, lines = text[text.index(b"\n") + 1 :], lines - 1
            yield text

    def _header(self) -> list[str]:
        try:
            text = next(line_chunks(self._path), b"").decode("utf-8-sig", "replace")
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter)
            names = next(row for row in reader if row)
        except (StopIteration, csv.Error):
            raise ValueError(f"{self.name} has no header with names of columns.") from None
        if any("\ufffd" in name for name in names):
            raise ValueError(f"{self.name}: its header is not UTF-8.")
        self._header_lines = reader.line_num
        return names


def _chunk(
    columns: Sequence[str], text: Collection[str], data: Any, starts: Any, ends: Any
) -> Chunk:
    """Columns as numbers if all fields are valid numbers, else as text; parsed in one call."""
    numeric = [column for column, name in enumerate(columns) if name not in text]
    fields = Tokens(data, starts[numeric].ravel(), ends[numeric].ravel())
    values, valid = (flat.reshape(-1, starts.shape[1]) for flat in fields.numbers())
    all_valid = np.asarray(valid.all(axis=1))
    parsed = {column: values[k] for k, column in enumerate(numeric) if all_valid[k]}
    return {
        name: parsed[column] if column in parsed else Tokens(data, starts[column], ends[column])
        for column, name in enumerate(columns)
    }


def _locate(lines: Any, first_row: int, row: int) -> str:
    return f"line {lines[row - first_row] + 1}"


def _are_numbers(tokens: Any) -> bool:
    """Whether at least half of the fields that are not empty are numbers: some may be invalid."""
    _, valid = tokens.numbers()
    return bool(2 * np.sum(valid & tokens.present) >= np.sum(tokens.present))
