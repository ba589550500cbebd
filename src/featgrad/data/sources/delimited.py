"""CSV and TSV text, split into fields by pyarrow's streaming reader.

Fields come as bytes and become numbers here, so that a row that does not fit can be told or left
out by itself.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from featgrad.data.sources.arrow_files import reading
from featgrad.data.sources.arrow_tables import as_tokens
from featgrad.data.sources.bad_rows import BadRows, unreadable
from featgrad.data.sources.lines import UNREADABLE, first_lines, open_text
from featgrad.data.sources.tables import Piece

_BYTES_AT_ONCE = 1 << 22


class DelimitedTable:
    """Columns of one file; its first line names them unless `columns` does."""

    n_rows: int | None = None

    def __init__(self, path: Path, delimiter: str, columns: Sequence[str] | None) -> None:
        self._path, self._delimiter, self.name = path, delimiter, str(path)
        self._header_lines = 0
        self.columns = list(columns) if columns is not None else self._header()

    def text_columns(self) -> Collection[str]:
        """Columns whose fields in the first rows are not numbers."""
        first = next(self.pieces(self.columns, BadRows(self.name, "skip", "nan")), None)
        if first is None:
            raise ValueError(f"{self.name} has no rows below its first line.")
        return [name for name, tokens in first.items() if not _are_numbers(tokens)]

    def pieces(self, text: Collection[str], bad: BadRows) -> Iterator[Piece]:
        bad.place = self._place
        wrong: list[Any] = []
        try:
            with open_text(self._path) as file, reading(self.name):
                for batch in self._reader(file, wrong):
                    self._tell(wrong, bad)
                    yield {
                        name: as_tokens(column)
                        for name, column in zip(self.columns, batch.columns, strict=True)
                    }
            self._tell(wrong, bad)
        except UNREADABLE as error:
            unreadable(self.name, error)

    def _reader(self, file: Any, wrong: list[Any]) -> Any:
        import pyarrow as pa
        from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

        def put_aside(row: Any) -> str:
            wrong.append(row)
            return "skip"

        return open_csv(
            file,
            # One thread: with more, rows that do not fit are told without their number.
            ReadOptions(
                use_threads=False,
                block_size=_BYTES_AT_ONCE,
                column_names=self.columns,
                skip_rows=self._header_lines,
            ),
            ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                invalid_row_handler=put_aside,
            ),
            ConvertOptions(
                column_types=dict.fromkeys(self.columns, pa.binary()), strings_can_be_null=False
            ),
        )

    def _tell(self, wrong: list[Any], bad: BadRows) -> None:
        for row in wrong:
            number = row.number - 1 - self._header_lines
            bad.meet(
                number, f"it has {row.actual_columns} fields where {row.expected_columns} belong"
            )
        wrong.clear()

    def _header(self) -> list[str]:
        try:
            text = first_lines(self._path).decode("utf-8-sig", "replace")
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=self._delimiter)
            names = next(row for row in reader if row)
        except (StopIteration, csv.Error):
            raise ValueError(f"{self.name} has no first line with the names of columns.") from None
        if any("\ufffd" in name for name in names):
            raise ValueError(f"{self.name}: its first line, the names of columns, is not UTF-8.")
        self._header_lines = reader.line_num
        return names

    def _place(self, row: int) -> str:
        """The line of a row, found by reading the file up to it again."""
        with open_text(self._path) as file:
            lines = io.TextIOWrapper(file, encoding="latin-1", newline="")
            for _ in range(self._header_lines):
                next(lines)
            reader = csv.reader(lines, delimiter=self._delimiter)
            try:
                fields = next(islice((fields for fields in reader if fields), row, None))
            except (csv.Error, StopIteration):
                return f"row {row + 1}"
            within = sum(field.count("\n") for field in fields)
        return f"line {self._header_lines + reader.line_num - within}"


def _are_numbers(tokens: Any) -> bool:
    """Whether most of the fields that are not empty are numbers: a few may be mistakes."""
    _, right = tokens.numbers()
    present = tokens.present
    return bool(2 * np.sum(right & present) >= np.sum(present))
