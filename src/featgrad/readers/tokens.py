"""Columns of text as bytes and offsets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featgrad._support.types import Flags, Floats, Indices
from featgrad.readers.kernels import numbers as kernel


@dataclass(frozen=True)
class Tokens:
    """One token per row, ``data[starts[i]:ends[i]]``; an empty token is a missing value.

    All are UTF-8 where `is_text`, else this has to be seen.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    is_text: bool = False

    def __post_init__(self) -> None:
        # Kernels are compiled for read-only arrays, as buffers of files are.
        for array in (self.data, self.starts, self.ends):
            array.flags.writeable = False

    @classmethod
    def from_bytes(cls, tokens: Sequence[bytes]) -> "Tokens":
        ends = np.cumsum([0, *(len(token) for token in tokens)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(tokens), np.uint8), ends[:-1], ends[1:])

    def __len__(self) -> int:
        return len(self.starts)

    def token(self, row: int) -> bytes:
        return self.data[self.starts[row] : self.ends[row]].tobytes()

    @property
    def present(self) -> Flags:
        return self.ends > self.starts

    def is_utf8(self) -> Flags:
        if self.is_text:
            return np.ones(len(self), bool)
        return np.array([is_utf8(self.token(row)) for row in range(len(self))], bool)

    def numbers(self, decimal: str = ".") -> tuple[Floats, Flags]:
        """Numbers as people write them, NaN for missing tokens, and which tokens are valid."""
        values, valid = np.empty(len(self)), np.ones(len(self), bool)
        nothing = np.zeros(0, np.uint8), np.zeros(1, np.int64)
        kernel.parse_tokens(
            self.data, self.starts, self.ends, ord(decimal), *nothing, values, valid
        )
        return values, valid

    def are_numbers(self, decimal: str) -> Flags:
        """Which tokens are numbers with this decimal sign."""
        return self.present & self.numbers(decimal)[1]

    def fingerprints(self) -> NDArray[np.uint64]:
        """64-bit hashes; tokens with equal fingerprints are treated as equal."""
        return np.asarray(kernel.fingerprints(self.data, self.starts, self.ends))

    def distinct(self, rows: Indices) -> Iterator[tuple[int, int]]:
        """A row and the number of occurrences of each distinct token in these rows."""
        prints = self.fingerprints()[rows]
        _, first, counts = np.unique(prints, return_index=True, return_counts=True)
        return zip(rows[first].tolist(), counts.tolist(), strict=True)


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
