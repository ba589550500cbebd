"""svmlight / libsvm text: ``label index:value index:value ... # comment``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.readers.block import MAX_FEATURES, Block, csr, regroup
from featgrad.readers.invalid_rows import MISSING, BaseSource, InvalidRows
from featgrad.readers.kernels.errors import MESSAGES
from featgrad.readers.kernels.svmlight import parse
from featgrad.readers.lines import line_chunks

_SHORTEST_ENTRY = len(" 1:1")


class SvmlightSource(BaseSource):
    """Rows of one file.

    Without `n_features` or `zero_based` the file is read once to find them: indices count from 0
    if a 0 occurs, else from 1.
    """

    feature_names: Sequence[str] | None = None
    groups: NDArray[np.int32] | None = None

    def __init__(
        self,
        path: Path,
        *,
        n_features: int | None,
        zero_based: bool | None,
        block_rows: int,
        dtype: Any,
        bad: InvalidRows,
    ) -> None:
        self._path, self._dtype, self._bad = path, np.dtype(dtype), bad
        bad.place = lambda line: f"line {line + 1}"
        self.block_rows = block_rows
        self.n_rows: int | None = None
        self._first_index = 1 if zero_based is False else 0
        self.n_features = n_features or MAX_FEATURES
        if n_features is None or zero_based is None:
            self._measure(n_features, zero_based)

    def __iter__(self) -> Iterator[Block]:
        largest = self.n_features + self._first_index - 1
        return regroup((block for block, _, _ in self._chunks(largest)), self.block_rows)

    def _measure(self, n_features: int | None, zero_based: bool | None) -> None:
        """Count rows and features, and find where indices start."""
        largest = self.n_features
        lowest, highest, rows = largest, -1, 0
        for block, low, high in self._chunks(largest):
            lowest, highest, rows = min(lowest, low), max(highest, high), rows + len(block)
        if highest < 0:
            raise ValueError(f"{self._path} has no feature: is it svmlight text?")
        if zero_based is None:
            self._first_index = int(lowest > 0)
        if n_features is None:
            self.n_features = highest + 1 - self._first_index
            self.n_rows = rows

    def _chunks(self, largest: int) -> Iterator[tuple[Block, int, int]]:
        """Blocks as they come, with their smallest and largest index."""
        self._bad.skipped, line = 0, 0
        for text in line_chunks(self._path):
            n_lines, n_entries = text.count(b"\n"), len(text) // _SHORTEST_ENTRY
            labels, indptr = np.empty(n_lines), np.empty(n_lines + 1, np.int32)
            indices, values = np.empty(n_entries, np.int32), np.empty(n_entries, self._dtype)
            rows, passed, reason, bad, low, high = parse(
                np.frombuffer(text, np.uint8), self._bad.skip, self._first_index, largest,
                float(np.finfo(self._dtype).max), MISSING.index(self._bad.missing),
                labels, indptr, indices, values,
            )  # fmt: skip
            self._bad.count(bad, line + passed, MESSAGES[reason])
            line += passed
            used = slice(indptr[rows])
            X = csr(
                values[used],
                indices[used],
                indptr[: rows + 1],
                max(self.n_features, largest + 1 - self._first_index),
            )
            yield Block(X, labels[:rows]), low, high
