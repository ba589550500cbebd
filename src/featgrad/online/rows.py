"""Blocks of rows, dense or sparse: some of their columns, and the recent ones of a stream."""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from featgrad._support.types import Floats, Indices
from featgrad.online.clock import Clock
from featgrad.plan import RECENT_ENTRIES, RECENT_HALF_LIVES


class Block(NamedTuple):
    """Rows that came one after another from a time on."""

    time: float
    X: Any
    outputs: Floats

    @property
    def entries(self) -> int:
        return int(self.X.nnz if sparse.issparse(self.X) else self.X.size)


def joined(parts: list[tuple[Any, Floats]], n_features: int) -> tuple[Any, Floats]:
    """Rows and outputs of all parts; sparse ones may have had fewer columns."""
    Xs, outputs = zip(*parts, strict=True)
    if len(Xs) == 1:
        return Xs[0], outputs[0]
    if not sparse.issparse(Xs[0]):
        return np.concatenate(Xs), np.concatenate(outputs)
    # Faster than scipy's for many single rows.
    starts = np.cumsum([0] + [X.nnz for X in Xs])
    indptr = [X.indptr[:-1] + start for X, start in zip(Xs, starts, strict=False)]
    data, indices = (np.concatenate([getattr(X, name) for X in Xs]) for name in ("data", "indices"))
    pointers = np.append(np.concatenate(indptr), starts[-1])
    shape = (len(pointers) - 1, n_features)
    return sparse.csr_array((data, indices, pointers), shape), np.concatenate(outputs)


def pick(X: Any, columns: Indices, n_features: int) -> Floats:
    """Some columns as a dense array; columns that X does not have yet are zero."""
    if not sparse.issparse(X):
        return np.asarray(X[:, columns], np.float64)
    place = np.full(n_features, -1, np.intp)
    place[columns] = np.arange(len(columns))
    return pick_sparse(X, place, len(columns))


def pick_sparse(X: Any, place: Indices, count: int) -> Floats:
    """The columns whose place is not -1, in the order of their places."""
    places = place[X.indices]
    found = np.flatnonzero(places >= 0)
    values = np.zeros((X.shape[0], count))
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    values[rows[found], places[found]] = X.data[found]
    return values


class RecentRows:
    """The last rows, so that columns which enter the working set have a past."""

    def __init__(self, half_life: float) -> None:
        self._blocks: deque[Block] = deque()
        self._most_rows = RECENT_HALF_LIVES * half_life
        self._n_rows = self._n_entries = 0

    def add(self, block: Block) -> None:
        block = block._replace(X=block.X.astype(np.float32))
        self._blocks.append(block)
        self._n_rows += len(block.outputs)
        self._n_entries += block.entries
        while len(self._blocks) > 1 and self._are_too_many():
            oldest = self._blocks.popleft()
            self._n_rows -= len(oldest.outputs)
            self._n_entries -= oldest.entries

    def merge(self, other: "RecentRows", later: float) -> None:
        """Rows of another stream, whose clock is behind by so much."""
        moved = [block._replace(time=block.time + later) for block in other._blocks]
        blocks = sorted([*self._blocks, *moved], key=lambda block: block.time)
        self._blocks, self._n_rows, self._n_entries = deque(), 0, 0
        for block in blocks:
            self.add(block)

    def weighted(self, clock: Clock) -> Iterator[tuple[Block, Floats]]:
        """The blocks, and the weights of their rows."""
        for block in self._blocks:
            yield block, clock.weights(block.time, len(block.outputs))

    def _are_too_many(self) -> bool:
        return self._n_rows > self._most_rows or self._n_entries > RECENT_ENTRIES
