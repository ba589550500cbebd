"""Vowpal Wabbit text: ``label importance base 'tag |space name:value name ... |space ...``.

Features are hashed, the name seeded by its space, into one table of `hash_dim` columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.readers.block import Block, csr, regroup
from featgrad.readers.invalid_rows import MISSING, BaseSource, InvalidRows
from featgrad.readers.kernels.errors import MESSAGES
from featgrad.readers.kernels.vw import parse
from featgrad.readers.lines import line_chunks
from featgrad.readers.tokens import Tokens, TopTokens

_SHORTEST_ENTRY = len(" a")


class VWSource(BaseSource):
    """Rows of one file."""

    feature_names: Sequence[str] | None = None
    groups: NDArray[np.int32] | None = None
    n_rows: int | None = None

    def __init__(
        self,
        path: Path,
        *,
        hash_dim: int,
        signed: bool,
        block_rows: int,
        dtype: Any,
        bad: InvalidRows,
    ) -> None:
        self._path, self._signed, self._dtype, self._bad = path, signed, np.dtype(dtype), bad
        bad.place = lambda line: f"line {line + 1}"
        self.n_features, self.block_rows = hash_dim, block_rows

    def __iter__(self) -> Iterator[Block]:
        return regroup((self._block(*parsed) for _, _, *parsed in self._parsed()), self.block_rows)

    def tokens_of(self, buckets: Any, *, most: int = 3) -> dict[int, list[str]]:
        """The names ``space^name`` that fall most often into each of these features.

        Parameters
        ----------
        buckets : array-like of int
            Features.
        most : int, default=3
            Names per feature.

        Returns
        -------
        dict
            For each feature its names, the most frequent first.
        """
        heaviest = TopTokens(buckets, self.n_features)
        for text, places, *_, hashes, _ in self._parsed():
            features = (hashes % np.uint32(self.n_features)).astype(np.int64)
            asked = np.flatnonzero(heaviest.asked[features])
            names = [
                text[space:space_end] + b"^" + text[name:name_end]
                for space, space_end, name, name_end in places[asked].tolist()
            ]
            heaviest.add(features[asked], Tokens.from_bytes(names), np.arange(len(names)))
        return heaviest.tokens(most)

    def _parsed(self) -> Iterator[Any]:
        """Text, places of names, labels, weights, row pointers, hashes and values, in chunks."""
        self._bad.skipped, line = 0, 0
        for text in line_chunks(self._path):
            n_lines, n_entries = text.count(b"\n"), len(text) // _SHORTEST_ENTRY
            labels, weights = np.empty(n_lines), np.empty(n_lines)
            indptr = np.empty(n_lines + 1, np.int32)
            hashes, values = np.empty(n_entries, np.uint32), np.empty(n_entries, self._dtype)
            places = np.empty((n_entries, 4), np.int32)
            rows, passed, reason, bad = parse(
                np.frombuffer(text, np.uint8), self._bad.skip,
                float(np.finfo(self._dtype).max), MISSING.index(self._bad.missing),
                labels, weights, indptr, hashes, values, places,
            )  # fmt: skip
            self._bad.count(bad, line + passed, MESSAGES[reason])
            line += passed
            used = slice(indptr[rows])
            yield (
                text, places[used], labels[:rows], weights[:rows],
                indptr[: rows + 1], hashes[used], values[used],
            )  # fmt: skip

    def _block(self, labels: Any, weights: Any, indptr: Any, hashes: Any, values: Any) -> Block:
        indices = (hashes % np.uint32(self.n_features)).astype(np.int32)
        if self._signed:
            values = np.where(hashes >> np.uint32(31), -values, values)
        X = csr(values, indices, indptr, self.n_features)
        X.sum_duplicates()
        return Block(X, labels, weights)
