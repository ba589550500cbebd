"""svmlight / libsvm text: ``label index:value index:value ... # comment``."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from featgrad.readers.block import MAX_FEATURES, Block, csr
from featgrad.readers.lines import count_lines, line_chunks, parsed
from featgrad.readers.number_kernels import (
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
from featgrad.readers.source import BaseSource, StoredRows, read_names

_MESSAGES = (
    "",
    "the label is missing or not a finite number",
    "a qid is not an integer",
    "an index is not an integer of at least 0",
    "an index is not followed by a colon",
    "an index is 0 but indices start at 1",
    "an index is larger than the number of features allows",
    "indices do not increase",
    "a value is not a number",
)
# Codes of errors: their places among the messages.
_OK, _LABEL, _QID, _INDEX, _COLON, _ZERO, _LARGE, _ORDER, _VALUE = range(len(_MESSAGES))
_Q, _I, _D = (ord(c) for c in "qid")
_MIN_ENTRY_BYTES = len(" 1:1")
# Limit on the number of features found in a small file, for each of its entries, against garbled
# indices that would allocate gigabytes. The caller can pass more.
_FEW_FEATURES, _FEATURES_PER_ENTRY = 1 << 20, 16


@compiled
def _is_end(byte):
    return byte in (NEWLINE, HASH)


@compiled
def _is_blank(byte):
    return byte in (SPACE, TAB, RETURN)


@compiled
def _integer(text, i, most):
    """Digits from i on as a number, of which more than `most` is enough, and their end."""
    value = np.int64(0)
    while 48 <= text[i] <= 57:
        if value <= most:
            value = 10 * value + np.int64(text[i]) - 48
        i += AT_1
    return value, i


@compiled
def parse_rows(text, skip, first_index, max_index, labels, indptr, indices, values, lines):
    """Parse whole lines ``label qid:n index:value ... # comment``.

    Stored indices start at 0. Returns the number of rows and of parsed lines, the error if the next
    line stopped the parser, the number of invalid lines, the smallest and the largest index.
    """
    i, size, line, rows, entries, invalid = AT_0, np.uintp(len(text)), -1, 0, 0, 0
    lowest, highest = max_index, np.int64(-1)
    indptr[0] = 0
    while i < size:
        line += 1
        error, start, last, first = _OK, entries, np.int64(-1), max_index
        while _is_blank(text[i]):
            i += AT_1
        if not _is_end(text[i]):
            label, i, valid = number(text, i, size, POINT)
            if not (valid and np.isfinite(label) and (_is_blank(text[i]) or _is_end(text[i]))):
                error = _LABEL
            while error == _OK:
                while _is_blank(text[i]):
                    i += AT_1
                if _is_end(text[i]):
                    break
                is_qid = text[i] == _Q and text[i + AT_1] == _I and text[i + AT_2] == _D
                i += AT_3 + AT_1 if is_qid else AT_0
                index, after = _integer(text, i, max_index)
                if is_qid:
                    is_first = text[i - AT_1] == COLON and after > i and entries == start
                    if not is_first or not (_is_blank(text[after]) or _is_end(text[after])):
                        error = _QID
                    i = after
                    continue
                if after == i:
                    error = _INDEX
                elif text[after] != COLON:
                    is_over = _is_blank(text[after]) or _is_end(text[after])
                    error = _COLON if is_over else _INDEX
                elif index < first_index:
                    error = _ZERO
                elif index > max_index:
                    error = _LARGE
                elif index <= last:
                    error = _ORDER
                if error == _OK:
                    value, i, valid = number(text, after + AT_1, size, POINT)
                    if not (valid and (_is_blank(text[i]) or _is_end(text[i]))):
                        error = _VALUE
                    indices[entries], values[entries] = index - first_index, value
                    last, first, entries = index, min(first, index), entries + 1
            if error == _OK:
                labels[rows], lines[rows] = label, line
                lowest, highest = min(lowest, first), max(highest, last)
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
    return rows, line + 1, _OK, invalid, lowest, highest


def open_svmlight(path: Path, format: str, block_rows: int | None) -> StoredRows:
    return StoredRows(SvmlightSource, path, dict.fromkeys(("n_features", "zero_based", "names")))


class SvmlightSource(BaseSource):
    """Rows of one file.

    Without `n_features` or `zero_based` the file is read once to find them: indices start at 0 if a
    0 occurs, else at 1.
    """

    def __init__(
        self,
        path: Path,
        *,
        n_features: int | None,
        zero_based: bool | None,
        names: Any,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        found = read_names(names)
        n_features = len(found) if found and n_features is None else n_features
        self._path = path
        self._first_index = 1 if zero_based is False else 0
        self.n_features = n_features or MAX_FEATURES
        if n_features is None or zero_based is None:
            self._scan(n_features, zero_based)
        self._take_names(found)

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
            if highest >= max(_FEW_FEATURES, _FEATURES_PER_ENTRY * entries):
                raise ValueError(
                    f"The largest index in {self._path} is {highest:,}, but it has {entries:,} "
                    "entries: correct the index, or pass n_features, the number of features."
                )
            self.n_features = highest + 1 - self._first_index
            self.n_rows = rows

    def _parse(self, max_index: int) -> Iterator[tuple[Block, int, int]]:
        """Blocks with their smallest and largest index."""
        self._invalid.restart()
        line = 0
        n_features = max(self.n_features, max_index + 1 - self._first_index)

        def parse_lines(text: bytes) -> tuple[Any, ...]:
            n_lines, n_entries = count_lines(text), len(text) // _MIN_ENTRY_BYTES
            labels, lines = np.empty(n_lines), np.empty(n_lines, np.int64)
            indptr, indices = np.empty(n_lines + 1, np.int32), np.empty(n_entries, np.int32)
            values = np.empty(n_entries, self._dtype)
            rows, *found = parse_rows(
                np.frombuffer(text, np.uint8), self._invalid.skip, self._first_index, max_index,
                labels, indptr, indices, values, lines,
            )  # fmt: skip
            used = slice(indptr[rows])
            X = csr(values[used], indices[used], indptr[: rows + 1], n_features)
            return Block(X, labels[:rows]), lines[:rows], *found

        chunks = parsed(self._path, line_chunks(self._path), parse_lines)
        for _, (block, lines, n_parsed, error, skipped, low, high) in chunks:
            self._invalid.skipped += skipped
            self._invalid.at_lines(line + lines)
            yield self._invalid.clean(block), low, high
            line += n_parsed
            if error:
                self._invalid.at_lines([line])
                self._invalid.report({0: _MESSAGES[error]}, 1)
