"""Blocks of rows, and what everything that yields them promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.arrays import Flags, Floats

# More are believed of a file only when the caller says so: a garbled index must not make every
# vector over the features a gigabyte.
MAX_FEATURES = 1 << 27


@dataclass(frozen=True)
class Block:
    """Some rows: `X` (ndarray or CSR with sorted, unique indices), `y`, and weights if there are.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad.readers import Block
    >>> len(Block(np.zeros((3, 2)), np.zeros(3)))
    3
    """

    X: Any
    y: NDArray[Any]
    weight: Floats | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def rows(self, start: int, stop: int) -> Block:
        """The rows from `start` up to `stop`, as views."""
        if start == 0 and stop >= len(self):
            return self
        X = rows_of(self.X, start, stop)
        weight = None if self.weight is None else self.weight[start:stop]
        return Block(X, self.y[start:stop], weight)

    def only(self, keep: Flags) -> Block:
        """The rows where `keep` is true."""
        return Block(
            self.X[np.flatnonzero(keep)],
            self.y[keep],
            None if self.weight is None else self.weight[keep],
        )


class Source(Protocol):
    """A table of rows that can be read again and again, block by block.

    Every iteration starts at the first row and yields blocks of `block_rows` rows, the last one
    shorter. Nothing of a block is changed later.

    Attributes
    ----------
    name : str
        What errors call it: the path of a file.
    n_features : int
        Columns of every block's X.
    feature_names : sequence of str or None
        Their names.
    groups : ndarray of int or None
        The original column that each feature came from, where a column became several features.
    n_rows : int or None
        Rows in all, without skipped ones; None while unknown.
    block_rows : int
        Rows per block.
    skipped : int
        Rows left out by the latest iteration because they could not be used.
    """

    @property
    def name(self) -> str: ...
    @property
    def n_features(self) -> int: ...
    @property
    def feature_names(self) -> Sequence[str] | None: ...
    @property
    def groups(self) -> NDArray[np.int32] | None: ...
    @property
    def n_rows(self) -> int | None: ...
    @property
    def block_rows(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    def __iter__(self) -> Iterator[Block]: ...


def csr(values: Any, indices: Any, indptr: Any, n_features: int) -> Any:
    """A CSR matrix on these very arrays; its constructor would copy views of larger ones."""
    X = sparse.csr_array((len(indptr) - 1, n_features), dtype=values.dtype)
    X.data, X.indices, X.indptr = values, indices, indptr
    return X


def regroup(chunks: Iterable[Block], block_rows: int) -> Iterator[Block]:
    """The same rows in blocks of `block_rows`; a chunk of that size passes as it is."""
    held: list[Block] = []
    missing = block_rows
    for chunk in chunks:
        start = 0
        while len(chunk) - start >= missing:
            held.append(chunk.rows(start, start + missing))
            yield join(held)
            start, held, missing = start + missing, [], block_rows
        if start < len(chunk):
            held.append(chunk.rows(start, len(chunk)))
            missing -= len(chunk) - start
    if held:
        yield join(held)


def join(blocks: list[Block]) -> Block:
    """Blocks below each other."""
    if len(blocks) == 1:
        return blocks[0]
    matrices = [block.X for block in blocks]
    stack = sparse.vstack if sparse.issparse(matrices[0]) else np.concatenate
    y = np.concatenate([block.y for block in blocks])
    weights = [block.weight for block in blocks if block.weight is not None]
    return Block(stack(matrices), y, np.concatenate(weights) if weights else None)


def rows_of(X: Any, start: int, stop: int) -> Any:
    """The rows of a matrix from `start` up to `stop`, as views."""
    if not sparse.issparse(X):
        return X[start:stop]
    indptr = X.indptr[start : stop + 1]
    entries = slice(indptr[0], indptr[-1])
    return csr(X.data[entries], X.indices[entries], indptr - indptr[0], X.shape[1])
