"""Vowpal Wabbit text: ``label importance base 'tag |space name:value name ... |space ...``.

Features are hashed into `hash_dim` columns; the namespace is the seed of the hash.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from featgrad.options import ON_MISSING
from featgrad.readers.block import Block, csr
from featgrad.readers.kernels.vw import parse
from featgrad.readers.lines import count_lines, line_chunks, parsed
from featgrad.readers.tokens import Tokens, TokenSource, TopTokens

_MIN_ENTRY_BYTES = len(" a")


class VWSource(TokenSource):
    """Rows of one file."""

    def __init__(self, path: Path, *, hash_dim: int, signed: bool, **common: Any) -> None:
        super().__init__(**common)
        self._path, self._signed, self.n_features = path, signed, hash_dim
        self._invalid.locate = lambda line: f"line {line + 1}"

    def _count_tokens(self, top: TopTokens) -> None:
        """Names are ``space^name``."""
        for text, spans, *_, hashes, _ in self._parse():
            features = (hashes % np.uint32(self.n_features)).astype(np.int64)
            wanted = np.flatnonzero(top.wanted[features])
            names = [
                text[space:space_end] + b"^" + text[name:name_end]
                for space, space_end, name, name_end in spans[wanted].tolist()
            ]
            top.add(features[wanted], Tokens.from_bytes(names), np.arange(len(names)))

    def _chunks(self) -> Iterator[Block]:
        for _, _, labels, weights, indptr, hashes, values in self._parse():
            indices = (hashes % np.uint32(self.n_features)).astype(np.int32)
            if self._signed:
                values = np.where(hashes >> np.uint32(31), -values, values)
            X = csr(values, indices, indptr, self.n_features)
            X.sum_duplicates()
            yield Block(X, labels, weights)

    def _parse(self) -> Iterator[Any]:
        """Text, spans of names in it, labels, weights, row pointers, hashes and values."""
        self._invalid.skipped, line = 0, 0
        chunks = parsed(self._path, line_chunks(self._path), self._parse_lines)
        for text, (n_parsed, error, skipped, *arrays) in chunks:
            self._invalid.count(skipped, line + n_parsed, error)
            line += n_parsed
            yield text, *arrays

    def _parse_lines(self, text: bytes) -> tuple[Any, ...]:
        n_lines, n_entries = count_lines(text), len(text) // _MIN_ENTRY_BYTES
        labels, weights = np.empty(n_lines), np.empty(n_lines)
        indptr = np.empty(n_lines + 1, np.int32)
        hashes, values = np.empty(n_entries, np.uint32), np.empty(n_entries, self._dtype)
        spans = np.empty((n_entries, 4), np.int32)
        rows, *found = parse(
            np.frombuffer(text, np.uint8), self._invalid.skip,
            float(np.finfo(self._dtype).max), ON_MISSING.index(self._invalid.missing),
            labels, weights, indptr, hashes, values, spans,
        )  # fmt: skip
        used = slice(indptr[rows])
        return (
            *found, spans[used], labels[:rows], weights[:rows],
            indptr[: rows + 1], hashes[used], values[used],
        )  # fmt: skip
