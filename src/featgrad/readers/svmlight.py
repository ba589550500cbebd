"""svmlight / libsvm text: ``label index:value index:value ... # comment``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from featgrad.options import ON_MISSING
from featgrad.readers.block import MAX_FEATURES, Block, check_largest, csr
from featgrad.readers.kernels import MESSAGES
from featgrad.readers.kernels.svmlight import parse_rows
from featgrad.readers.lines import count_lines, line_chunks, parsed
from featgrad.readers.source import BaseSource, StoredRows

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
