"""Separated values. Quoted fields may contain separators and newlines.

The kernels are our own. In place of them pyarrow.csv and DuckDB were tried on the sniffed dialect:
of 77 everyday files they read 60 and 59 right, in 2.5 and 2.9 times the time, the first refuses a
whole file for one value, and neither comes with the package. About 300 lines would go: money,
thousands, dates, per cent, encodings and compression are not theirs (`benchmarks.csv_readers`).
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time, timedelta
from functools import partial
from importlib.util import find_spec
from itertools import chain, islice, pairwise, zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad._support import Flags
from featgrad.readers.block import InvalidRows, Strays, raise_unreadable
from featgrad.readers.columns import Chunk, Chunks, check_names
from featgrad.readers.dialect import are_blanks, check_dialect, decimal_of, dialect_of, encoding_of
from featgrad.readers.lines import Text, count_lines, line_chunks, parsed, read_head, read_tail
from featgrad.readers.record_kernels import FIELDS, UNCLOSED, split_records
from featgrad.readers.tokens import NA_TEXTS, NA_WORDS, Tokens, is_utf8, kinds_of

# Each column of a chunk has a fixed cost, so that chunks should not have fewer lines.
_MIN_LINES = 64
# A quoted field that is not closed within this many bytes is invalid.
_MAX_RECORD_BYTES = 1 << 20
# First lines that show how a file is written: so many bytes, and at least so many lines.
_FIRST_BYTES, _FIRST_LINES = 1 << 18, 5
# First rows of a sheet, which show the same, and all that a sheet can have.
_FIRST_ROWS, _MOST_ROWS = 100, 1 << 20


def open_delimited(
    data: Any, format: str, block_rows: int | None, **given: Any
) -> "DelimitedTable":
    """CSV, TSV, or a sheet of an Excel file."""
    if format == "tsv":
        given = {"sep": "\t"} | given
    name, text, transpose, which = str(data), data, given.pop("transpose", False), ""
    if format == "xlsx":
        text, given["decimal"], which = _sheet_as_csv(
            data, given.get("decimal"), given.pop("sheet", None)
        )
        name += f" ({which})" if which else ""
        given |= {"sep": "\t", "encoding": "utf-8"}
    table = DelimitedTable(name, text, **given)
    if transpose:
        given = {k: v for k, v in given.items() if k in ("header", "columns", "na_values")}
        given |= {"sep": "\t", "encoding": "utf-8", "decimal": table.dialect.decimal}
        table = DelimitedTable(name, table.transposed(), **given)
    table.notes = [f"read from {which}", *table.notes] if which else table.notes
    return table


class DelimitedTable:
    """Columns of one file, named by its header unless `columns` is given."""

    n_rows: int | None = None

    def __init__(
        self, name: str, text: Text, *, columns: Sequence[str] | None = None,
        sep: str | None = None, decimal: str | None = None, encoding: str | None = None,
        header: bool | None = None, na_values: Sequence[str] = (), skip_rows: int | None = None,
    ) -> None:  # fmt: skip
        sep = check_dialect(sep, decimal, encoding)
        self.name, self._text, self.is_live = name, text, not isinstance(text, Path | bytes)
        head = read_head(text)
        self._encoding = encoding or encoding_of(head)
        self._returns = b"\r" in head and b"\n" not in head
        self._is_blank_separated = sep is None and are_blanks(head)
        sep = "\t" if self._is_blank_separated else sep
        first = next(_enough(self._lines()), b"")
        # A single zero may be a damaged byte.
        if first[:_FIRST_BYTES].count(0) > 1 + len(first[:_FIRST_BYTES]) // 100:
            raise ValueError(f"{name} is not text: pass format, or save it as CSV.")
        end = _FIRST_BYTES
        while first[:end].count(b"\n") < _FIRST_LINES and end < len(first):
            end *= 2
        head = first[: first.rfind(b"\n", 0, end) + 1]
        self.dialect = dialect_of(name, head, columns, sep, decimal, header, na_values, skip_rows)
        self.problem, self.columns = self.dialect.problem, self.dialect.names
        self._places = dict(zip(self.columns, range(len(self.columns)), strict=True))
        if len(self._places) < len(self.columns):
            check_names(name, self.columns)
        given = self.dialect.na_values
        self._missing, self._missing_texts = (*given, *NA_WORDS), (*given, *NA_TEXTS)
        words = Tokens.from_bytes([word.encode() for word in given])
        # As the file writes numbers, or as programs do.
        (values, valid), (plain, _) = words.numbers("number", self.dialect.decimal), words.numbers()
        values = np.where(valid, values, plain)
        self._missing_numbers = values[~np.isnan(values)]
        # Lines that are no rows: the header where it comes again, and the last ones.
        top = head.split(b"\n")[self.dialect.title_lines : self.dialect.header_lines]
        self._header = next((line + b"\n" for line in top if line.strip()), b"")
        is_whole = len(first) < _FIRST_BYTES
        # The last lines, where they can be had without all others; not of a pipe.
        tail = first if is_whole else read_tail(text)
        last = tail.decode("utf-8" if is_whole else self._encoding, "replace")
        last = last if is_whole else last.partition("\n")[2]
        self._n_last, cut = self.dialect.footers(last, is_whole=is_whole)
        fields = self._first_fields()
        self._kinds = kinds_of(fields, self.columns, self.dialect.decimal)
        self.kinds = dict(zip(self.columns, self._kinds, strict=True))
        self.remarks = {n: kind.remark for n, kind in self.kinds.items() if kind.remark}
        # Of a table whose rows should be columns.
        self.row_names = fields.take(np.arange(len(fields) // len(self.columns)))
        self.notes: Sequence[str] = [*self._how_written(), *self.dialect.notes, *cut]

    def _how_written(self) -> list[str]:
        """Where the file is not plain CSV."""
        text = str(self.dialect)
        if self._is_blank_separated:
            text = text.replace("separated by tab", "separated by blanks")
        if self._encoding not in ("utf-8", "utf-8-sig"):
            text += f", encoding {self._encoding}"
        return [] if text in ("separated by comma", "separated by tab") else [f"read as {text}"]

    def transposed(self) -> bytes:
        """Its text with rows in place of columns, separated by tabs."""
        text = b"".join(self._lines()).decode("utf-8", "replace")
        lines = text.split("\n", self.dialect.title_lines)[-1]
        rows = csv.reader(io.StringIO(lines, newline=""), delimiter=self.dialect.sep)
        columns, written = zip_longest(*filter(any, rows), fillvalue=""), io.StringIO()
        csv.writer(written, "excel-tab", lineterminator="\n").writerows(columns)
        return written.getvalue().encode()

    def chunks(self, numbers: Sequence[str], texts: Sequence[str], invalid: InvalidRows) -> Chunks:
        # Text that is to be read as numbers is parsed as such. Of millions of columns no dict is
        # made, and none is asked twice.
        places, numbered = np.full(len(self.columns), -1), [self._places[name] for name in numbers]
        kinds = {
            self.columns[place]: kind
            for place in numbered
            if (kind := self._kinds[place]) not in ("number", "text") or kind.unit or kind.decimal
        }
        fields = [*kinds, *texts]
        places[numbered] = np.arange(len(numbers))
        places[[self._places[name] for name in fields]] = -2 - np.arange(len(fields))
        parse = partial(self._parse, places, numbers, kinds, fields, invalid.skip)
        line, rest = self.dialect.header_lines, b""
        for read, parts in parsed(self._text, chain(self._data(), [b""]), parse):
            found, chunk, strays = parse(rest + read, at_end=not read) if rest else parts
            invalid.skipped += found.skipped
            if len(found.lines):
                invalid.at_lines(line + found.lines)
                invalid.take_strays(strays, self.kinds, len(found.lines), chunk.reasons)
                yield chunk
            line += found.n_lines
            if found.error:
                invalid.at_lines([line])
                invalid.report({0: found.error}, 1)
            rest = (rest + read)[found.used :]

    def _parse(
        self, places: NDArray[np.int64], names: Sequence[str], kinds: Mapping[str, str],
        fields: Sequence[str], skip: bool, content: bytes, at_end: bool = False,
    ) -> tuple[Any, Chunk, Strays]:  # fmt: skip
        """Whole lines; a quoted field at their end may go on unless they are the last ones."""
        found = self._split(content, places, len(names), 0 if at_end else _MAX_RECORD_BYTES, skip)
        strays, decimal = Strays(dict), self.dialect.decimal
        rows, columns, starts, ends = found.others.T
        others = self._trimmed(Tokens(found.data, starts.copy(), ends.copy()), self._missing)
        found.values[rows, columns], valid = others.numbers("number", decimal)
        for i in np.flatnonzero(~valid).tolist():
            strays[names[columns[i]]][int(rows[i])] = others.token(i)
        for number in self._missing_numbers:
            found.values[found.values == number] = np.nan
        texts, is_text = {}, is_utf8(content)
        for name, start, end in zip(fields, found.starts, found.ends, strict=True):
            tokens = Tokens(found.data, start, end, is_text)
            if name in kinds:
                tokens = self._trimmed(tokens, self._missing)
                values, words = tokens.numbers_and_strays(kinds[name], decimal)
                found.values[:, names.index(name)] = values
                strays[name] |= words
            else:
                is_there = self._trimmed(tokens, self._missing_texts).present
                texts[name] = replace(tokens, ends=np.where(is_there, end, start))
        return found, Chunk(found.values.T, texts, {}), strays

    def _split(
        self, content: bytes, places: NDArray[np.int64], n_numbers: int, max_bytes: int, skip: bool
    ) -> Any:
        """Records as `split_records` finds them in text, their lines, and what ended this."""
        sep, decimal, n_texts = *map(ord, self.dialect[:2]), int(np.count_nonzero(places < -1))
        # A byte ends each field; one record may be invalid.
        n_records = min(1 + count_lines(content), 1 + len(content) // len(places))
        values, lines = np.empty((n_records, n_numbers)), np.empty(n_records, np.int64)
        others = np.empty((n_records * n_numbers, 4), np.int64)
        starts, ends = np.empty((2, n_texts, n_records), np.int64)
        escaped = np.empty(starts.shape, bool)
        rows, n_others, used, n_lines, code, n_fields, skipped = split_records(
            np.frombuffer(content, np.uint8), sep, 0 if decimal == sep else decimal,
            max_bytes, skip, places, values, others, starts, ends, escaped, lines,
        )  # fmt: skip
        starts, ends = starts[:, :rows], ends[:, :rows]
        reasons = {UNCLOSED: "a quoted field is not closed, or text follows it",
                   FIELDS: f"it has {n_fields} fields where {len(places)} belong"}  # fmt: skip
        return SimpleNamespace(
            values=values[:rows], others=others[:n_others], lines=lines[:rows], used=used,
            data=_unescaped(content, starts, ends, escaped[:, :rows]), starts=starts, ends=ends,
            n_lines=n_lines, error=reasons.get(code, ""), skipped=skipped,
        )  # fmt: skip

    def _first_fields(self) -> Tokens:
        """The fields of the first rows, one column after the other."""
        places, content = -2 - np.arange(len(self.columns)), b""
        for content in _enough(self._data()):
            found = self._split(content, places, 0, _MAX_RECORD_BYTES, skip=True)
            # A quoted field of the first record may go on in the next chunk.
            if len(found.lines) or len(content) > _MAX_RECORD_BYTES:
                break
        else:
            found = self._split(content, places, 0, 0, skip=True)
        fields = Tokens(found.data, found.starts.ravel(), found.ends.ravel())
        return self._trimmed(fields, self._missing)

    def _trimmed(self, tokens: Tokens, missing: Sequence[str]) -> Tokens:
        """Without blanks; empty where a word stands for none, or a number however it is written."""
        tokens = tokens.trimmed(missing)
        if not len(self._missing_numbers):
            return tokens
        values, _ = tokens.numbers("number", self.dialect.decimal)
        is_missing = np.isin(values, self._missing_numbers)
        return replace(tokens, ends=np.where(is_missing, tokens.starts, tokens.ends))

    def _lines(self) -> Iterator[bytes]:
        chunks = line_chunks(self._text, _MIN_LINES, self._encoding, returns=self._returns)
        return map(_tab_separated, chunks) if self._is_blank_separated else chunks

    def _data(self) -> Iterator[bytes]:
        """The text of the file after the header, without lines that are no rows."""
        lines, again = self.dialect.header_lines, b"\n" + self._header
        chunks = self._lines()
        for text in _without_last(chunks, self._n_last) if self._n_last else chunks:
            while lines and text:
                text, lines = text[text.index(b"\n") + 1 :], lines - 1
            if self._header and self._header in text:
                # A blank line keeps the numbers of the others.
                text = (b"\n" + text).replace(again, b"\n\n")[1:]
            yield text


def _enough(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The first chunks joined, once they show how the text is written, and then with one more."""
    content, is_shown = b"", False
    for chunk in chunks:
        content, is_shown = content + chunk, False
        if len(content) >= _FIRST_BYTES and content.count(b"\n") >= _FIRST_LINES:
            is_shown = True
            yield content
    if content and not is_shown:
        yield content


def _tab_separated(text: bytes) -> bytes:
    """Lines whose fields are separated by any number of blanks."""
    return b"\n".join(b"\t".join(line.split()) for line in text.split(b"\n"))


def _without_last(chunks: Iterator[bytes], n_lines: int) -> Iterator[bytes]:
    """Chunks without the last lines of the last one."""
    for text, following in pairwise(chain(chunks, [None])):
        text = text or b""
        yield text if following else b"".join(re.findall(b"[^\n]*\n", text)[:-n_lines])


def _unescaped(content: bytes, starts: Any, ends: Any, escaped: Flags) -> NDArray[np.uint8]:
    """The text with unescaped fields after it, to which their starts and ends are moved."""
    parts, size = [content], len(content)
    for field in zip(*np.nonzero(escaped), strict=True):
        parts.append(content[starts[field] : ends[field]].replace(b'""', b'"'))
        starts[field], ends[field] = size, size + len(parts[-1])
        size = ends[field]
    return np.frombuffer(b"".join(parts), np.uint8)


def _sheet_as_csv(
    path: Path, decimal: str | None, sheet: str | int | None
) -> tuple[bytes, str, str]:
    """A sheet of an Excel file, its numbers written as its texts write theirs, and which of them.

    Also returns the decimal sign.
    """
    if find_spec("openpyxl") is None:
        raise ImportError(
            f"Reading {path} needs openpyxl: pip install 'featgrad[excel]', or save it as CSV."
        )
    from openpyxl import load_workbook

    try:
        book = load_workbook(path, read_only=True, data_only=True)
        titles, text = [each.title for each in book.worksheets], io.StringIO()
        places = {**{str(i): title for i, title in enumerate(titles, 1)}, **{t: t for t in titles}}
        title = places.get(str(1 if sheet is None else sheet))
        if title is not None:
            decimal = _write_sheet(book[title], text, decimal)
        book.close()
    # Damaged archives and XML raise many kinds of errors.
    except Exception as error:
        raise_unreadable(str(path), error)
    others = ", ".join(map(repr, titles))
    if title is None:
        raise ValueError(f"sheet={sheet!r} is not in {path}, which has {others}.")
    which = f"sheet={title!r}, of {others}" if len(titles) > 1 else ""
    return text.getvalue().encode(), decimal or ".", which


def _write_sheet(sheet: Any, text: io.StringIO, decimal: str | None) -> str:
    """Write the rows of a sheet as separated values, and return their decimal sign."""
    # The file may state fewer rows and columns than it has, or more.
    sheet.reset_dimensions()
    rows = enumerate(map(_cells, sheet.iter_rows(values_only=True)))
    first = list(islice(rows, _FIRST_ROWS))
    width = max((len(row) for _, row in first), default=0)
    texts = [[cell for cell in row if isinstance(cell, str)] for _, row in first]
    decimal = decimal or decimal_of(texts, "\t")
    writer = csv.writer(text, "excel-tab", lineterminator="\n")
    for place, row in chain(first, rows):
        if place == _MOST_ROWS:
            raise ValueError(f"it has more rows than a sheet can have, {_MOST_ROWS:,}")
        row += [None] * (width - len(row)) if row else []
        writer.writerow([_field(cell, decimal) for cell in row])
    return decimal


def _cells(row: Sequence[Any]) -> list[Any]:
    """Without empty cells at the end."""
    n_cells = max((i for i, cell in enumerate(row, 1) if cell is not None), default=0)
    return list(row[:n_cells])


def _field(cell: Any, decimal: str) -> Any:
    cell = cell / timedelta(days=1) if isinstance(cell, timedelta) else cell
    if isinstance(cell, float):
        return str(cell).replace(".", decimal)
    return cell.isoformat() if isinstance(cell, date | time) else cell
