"""CSV and TSV text: fields may be quoted, and quoted ones hold separators and line ends."""

from __future__ import annotations

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
from featgrad.readers.kernels.delimited import by_column, count_lines, plain_numbers, split
from featgrad.readers.kernels.errors import FIELDS, MESSAGES
from featgrad.readers.lines import line_chunks
from featgrad.readers.tables import Chunk
from featgrad.readers.tokens import Tokens

# Each column of a chunk takes some time, however few lines there are.
_MIN_LINES = 64
# A quote that does not close within as many bytes is a mistake.
_MAX_RECORD_BYTES = 1 << 20


class DelimitedTable:
    """Columns of one file; its first line names them unless `columns` does."""

    n_rows: int | None = None

    def __init__(self, path: Path, delimiter: str, columns: Sequence[str] | None) -> None:
        self._path, self._delimiter, self.name = path, delimiter, str(path)
        self._header_lines = 0
        self.columns: Sequence[str] = self._header() if columns is None else list(columns)

    def text_columns(self) -> Collection[str]:
        """Columns whose fields in the first rows are not numbers."""
        bad = InvalidRows(self.name, "skip", "nan")
        first = next(self.chunks(self.columns, frozenset(self.columns), bad), {})
        return [name for name, tokens in first.items() if not _are_numbers(tokens)]

    def chunks(
        self, columns: Sequence[str], text: Collection[str], bad: InvalidRows
    ) -> Iterator[Chunk]:
        places = [self.columns.index(name) for name in columns]
        row, line, rest = 0, self._header_lines, b""
        for read in chain(self._below_header(), [b""]):
            content = rest + read
            n_lines = count_lines(np.frombuffer(content, np.uint8))
            if not text and (plain := self._plain(content, n_lines)):
                bad.place = partial(_place, line + np.arange(n_lines), row)
                yield {name: plain[name] for name in columns}
                row, line, rest = row + n_lines, line + n_lines, b""
                continue
            starts, ends = np.empty((2, len(self.columns), n_lines), np.int64)
            lines, doubled = np.empty(n_lines, np.int64), np.empty(starts.shape, bool)
            data = np.frombuffer(content, np.uint8)
            rows, used, passed, reason, fields, n_bad = split(
                data, ord(self._delimiter), _MAX_RECORD_BYTES if read else 0, bad.skip,
                starts, ends, doubled, lines,
            )  # fmt: skip
            bad.skipped += n_bad
            if rows:
                bad.place = partial(_place, line + lines, row)
                starts, ends = starts[places, :rows], ends[places, :rows]
                together = by_column(data, starts, ends, doubled[places, :rows], rows)
                yield _chunk(columns, text, together, starts, ends)
            if reason:
                bad.place = partial(_place, [line + passed], 0)
                bad.report(0, self._explain(reason, fields))
            row, line, rest = row + rows, line + passed, content[used:]

    def _plain(self, content: bytes, n_lines: int) -> Chunk:
        """Columns of numbers, where there is nothing else: the usual case, and much faster."""
        values = np.empty((n_lines, len(self.columns)))
        delimiter, data = ord(self._delimiter), np.frombuffer(content, np.uint8)
        if n_lines == 0 or not plain_numbers(data, delimiter, values):
            return {}
        return dict(zip(self.columns, values.T, strict=True))

    def _below_header(self) -> Iterator[bytes]:
        """The file's text from the first row on."""
        lines = self._header_lines
        for number, read in enumerate(line_chunks(self._path, _MIN_LINES)):
            text = read if number else read.removeprefix(codecs.BOM_UTF8)
            while lines and text:
                text, lines = text[text.index(b"\n") + 1 :], lines - 1
            yield text

    def _explain(self, reason: int, fields: int) -> str:
        if reason == FIELDS:
            return f"it has {fields} fields where {len(self.columns)} belong"
        return MESSAGES[reason]

    def _header(self) -> list[str]:
        try:
            text = next(line_chunks(self._path), b"").decode("utf-8-sig", "replace")
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter)
            names = next(row for row in reader if row)
        except (StopIteration, csv.Error):
            raise ValueError(f"{self.name} has no first line with the names of columns.") from None
        if any("\ufffd" in name for name in names):
            raise ValueError(f"{self.name}: its first line, the names of columns, is not UTF-8.")
        self._header_lines = reader.line_num
        return names


def _chunk(
    columns: Sequence[str], text: Collection[str], data: Any, starts: Any, ends: Any
) -> Chunk:
    """Columns of text, and numbers where all fields are; parsed at once, there may be many."""
    numeric = [column for column, name in enumerate(columns) if name not in text]
    fields = Tokens(data, starts[numeric].ravel(), ends[numeric].ravel())
    values, valid = (flat.reshape(-1, starts.shape[1]) for flat in fields.numbers())
    whole = np.asarray(valid.all(axis=1))
    parsed = {column: values[k] for k, column in enumerate(numeric) if whole[k]}
    return {
        name: parsed[column] if column in parsed else Tokens(data, starts[column], ends[column])
        for column, name in enumerate(columns)
    }


def _place(lines: Any, first_row: int, row: int) -> str:
    return f"line {lines[row - first_row] + 1}"


def _are_numbers(tokens: Any) -> bool:
    """Whether most of the fields that are not empty are numbers: a few may be mistakes."""
    _, valid = tokens.numbers()
    return bool(2 * np.sum(valid & tokens.present) >= np.sum(tokens.present))
