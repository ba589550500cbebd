"""svmlight / libsvm text: ``label index:value index:value ... # comment``."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from featgrad.options import ON_MISSING
from featgrad.readers import kernels as errors
from featgrad.readers.block import MAX_FEATURES, Block, check_largest, csr
from featgrad.readers.kernels import MESSAGES
from featgrad.readers.kernels.numbers import (
    AT_0,
    AT_1,
    AT_2,
    AT_3,
    COLON,
    HASH,
    NEWLINE,
    POINT,
    RETURN,
    SPACE,
    TAB,
    compiled,
    number,
)
from featgrad.readers.lines import count_lines, line_chunks, parsed
from featgrad.readers.source import BaseSource, StoredRows


@compiled
def _is_blank(byte):
    return byte in (SPACE, TAB, RETURN)


@compiled
def _is_end(byte):
    return byte in (NEWLINE, HASH)


@compiled
def parse_rows(
    text, skip, first_index, max_index, max_value, missing, labels, indptr, indices, values
):
    """Parse whole lines ``label qid:n index:value ... # comment``.

    Stored indices start at 0. Returns the number of rows and of parsed lines, the error if the next
    line stopped the parser, the number of invalid lines, the smallest and the largest index.
    """
    i, size, line, rows, entries, invalid = AT_0, np.uintp(len(text)), -1, 0, 0, 0
    lowest, highest = max_index, np.int64(-1)
    indptr[0] = 0
    while i < size:
        line += 1
        error, start, low, high = errors.OK, entries, lowest, highest
        while _is_blank(text[i]):
            i += AT_1
        if not _is_end(text[i]):
            label, i, valid = number(text, i, size, POINT)
            if not (valid and np.isfinite(label) and (_is_blank(text[i]) or _is_end(text[i]))):
                error = errors.LABEL
            last = np.int64(-1)
            while error == errors.OK:
                while _is_blank(text[i]):
                    i += AT_1
                if _is_end(text[i]):
                    break
                if text[i] == 113 and text[i + AT_1] == 105 and text[i + AT_2] == 100:
                    i += AT_3
                    if text[i] != COLON or entries > start:
                        error = errors.QID
                        break
                    i += AT_1
                    digits = i
                    while 48 <= text[i] <= 57:
                        i += AT_1
                    if i == digits or not (_is_blank(text[i]) or _is_end(text[i])):
                        error = errors.QID
                    continue
                digits, index = i, np.int64(0)
                while 48 <= text[i] <= 57:
                    if index <= max_index:
                        index = 10 * index + np.int64(text[i]) - 48
                    i += AT_1
                if i == digits:
                    error = errors.INDEX
                elif text[i] != COLON:
                    error = errors.COLON if _is_blank(text[i]) or _is_end(text[i]) else errors.INDEX
                elif index < first_index:
                    error = errors.ZERO
                elif index > max_index:
                    error = errors.LARGE
                elif index <= last:
                    error = errors.ORDER
                if error != errors.OK:
                    break
                last = index
                value, i, valid = number(text, i + AT_1, size, POINT)
                if not (valid and (_is_blank(text[i]) or _is_end(text[i]))):
                    error = errors.VALUE
                elif abs(value) > max_value:
                    error = errors.INFINITE
                elif np.isnan(value) and missing == 0:
                    error = errors.NAN
                else:
                    low, high = min(low, index), max(high, index)
                    if not (np.isnan(value) and missing == 2):
                        indices[entries] = index - first_index
                        values[entries] = value
                        entries += 1
            if error == errors.OK:
                labels[rows] = label
                lowest, highest = low, high
                rows += 1
                indptr[rows] = entries
            else:
                invalid += 1
                entries = start
                if not skip:
                    return rows, line, error, invalid, lowest, highest
        while text[i] != NEWLINE:
            i += AT_1
        i += AT_1
    return rows, line + 1, errors.OK, invalid, lowest, highest


_MIN_ENTRY_BYTES = len(" 1:1")


def open_svmlight(path: Path, format: str, block_rows: int | None) -> StoredRows:
    return StoredRows(SvmlightSource, path, {"n_features": None, "zero_based": None})


class SvmlightSource(BaseSource):
    """Rows of one file.

    Without `n_features` or `zero_based` the file is read once to find them: indices start at 0 if a
    0 occurs, else at 1.
    """

    def __init__(
        self, path: Path, *, n_features: int | None, zero_based: bool | None, **common: Any
    ) -> None:
        super().__init__(**common)
        self._path = path
        self._invalid.locate = lambda line: f"line {line + 1}"
        self._first_index = 1 if zero_based is False else 0
        self.n_features = n_features or MAX_FEATURES
        if n_features is None or zero_based is None:
            self._scan(n_features, zero_based)

    def _chunks(self) -> Iterator[Block]:
        return (block for block, _, _ in self._parse(self.n_features + self._first_index - 1))

    def _scan(self, n_features: int | None, zero_based: bool | None) -> None:
        """Count rows and features, and find the first index."""
        lowest, highest, rows, entries = self.n_features, -1, 0, 0
        for block, low, high in self._parse(self.n_features):
            lowest, highest = min(lowest, low), max(highest, high)
            rows, entries = rows + len(block), entries + block.X.nnz
        if highest < 0:
            raise ValueError(f"{self._path} has no feature: is it svmlight text?")
        if zero_based is None:
            self._first_index = int(lowest > 0)
        if n_features is None:
            check_largest(str(self._path), highest, entries)
            self.n_features = highest + 1 - self._first_index
            self.n_rows = rows

    def _parse(self, max_index: int) -> Iterator[tuple[Block, int, int]]:
        """Blocks with their smallest and largest index."""
        self._invalid.skipped, line = 0, 0
        n_features = max(self.n_features, max_index + 1 - self._first_index)

        def parse_lines(text: bytes) -> tuple[Block, int, int, int, int, int]:
            n_lines, n_entries = count_lines(text), len(text) // _MIN_ENTRY_BYTES
            labels, indptr = np.empty(n_lines), np.empty(n_lines + 1, np.int32)
            indices, values = np.empty(n_entries, np.int32), np.empty(n_entries, self._dtype)
            rows, *found = parse_rows(
                np.frombuffer(text, np.uint8), self._invalid.skip, self._first_index, max_index,
                float(np.finfo(self._dtype).max), ON_MISSING.index(self._invalid.missing),
                labels, indptr, indices, values,
            )  # fmt: skip
            used = slice(indptr[rows])
            X = csr(values[used], indices[used], indptr[: rows + 1], n_features)
            return Block(X, labels[:rows]), *found

        chunks = parsed(self._path, line_chunks(self._path), parse_lines)
        for _, (block, n_parsed, error, skipped, low, high) in chunks:
            self._invalid.skipped += skipped
            line += n_parsed
            if error:
                self._invalid.report(line, MESSAGES[error])
            yield block, low, high
