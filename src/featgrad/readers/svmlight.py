"""svmlight / libsvm text: ``label index:value index:value ... # comment``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from featgrad.readers.block import MAX_FEATURES, Block, csr
from featgrad.readers.lines import count_lines, line_chunks, parsed
from featgrad.readers.record_kernels import ROW_ERRORS, parse_rows
from featgrad.readers.source import BaseSource, StoredRows, read_names

_MIN_ENTRY_BYTES = len(" 1:1")
# Limit on the number of features found in a small file, for each of its entries, against garbled
# indices that would allocate gigabytes. The caller can pass more.
_FEW_FEATURES, _FEATURES_PER_ENTRY = 1 << 20, 16


def open_svmlight(path: Path, format: str, block_rows: int | None) -> StoredRows:
    return StoredRows(SvmlightSource, path, dict.fromkeys(("n_features", "zero_based", "names")))


class SvmlightSource(BaseSource):
    """Rows of one file.

    Without `n_features` or `zero_based` the file is read once to find them: indices start at 0 if a
    0 occurs, else at 1.
    """

    def __init__(
        self, path: Path, n_features: int | None, zero_based: bool | None, names: Any, **common: Any
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
                self._invalid.report({0: ROW_ERRORS[error]}, 1)
