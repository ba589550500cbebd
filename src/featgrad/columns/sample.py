"""A random sample of bounded size of all rows seen, which can be merged.

Each row has a random key, and those with the smallest keys stay. What stays of two parts together
is what stays of the union of what stays of each: samples of shards merge into that of all rows.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse

from featgrad._support import Floats, Indices
from featgrad.columns.sums import ArraySums
from featgrad.plan import FEWEST_KEPT

# Rows wait until they are this much more, since each cut copies all.
_SLACK = 1.5


def n_entries(X: Any, more: int = 0) -> Indices:
    """Of each row, and one more for each sparse row; with so many more besides its features."""
    if sparse.issparse(X):
        return np.asarray(np.diff(X.indptr), np.intp) + 1 + more
    return np.full(X.shape[0], X.shape[1] + more, np.intp)


def n_bytes(X: Any) -> Indices:
    """Memory of each row."""
    if sparse.issparse(X):
        return np.asarray(np.diff(X.indptr) * (X.data.itemsize + X.indices.itemsize), np.intp)
    return np.full(X.shape[0], X.shape[1] * X.dtype.itemsize, np.intp)


class KeyedSample(ArraySums):
    """Rows with the smallest keys among those added: as many as are no larger than `most`.

    At least 64 stay. Rows are blocks with features `X` that have `take` and `joined`; their size is
    that of their features. `n_rows` counts all that were added.
    """

    def __init__(self, most: int, size_of: Callable[[Any], Indices] = n_entries) -> None:
        self._most, self._size_of, self._rng = most, size_of, np.random.default_rng(0)
        self._parts: list[tuple[Any, Floats]] = []
        self.n_rows = self.size = self._n_kept = 0
        # No row with a larger key can stay.
        self._edge = np.inf

    @property
    def is_complete(self) -> bool:
        """Whether all rows that were added are kept."""
        return self._n_kept == self.n_rows and self._fits(0, 0)

    def fits(self, more: Any) -> bool:
        """Whether more rows can be kept without any having to go."""
        return self._fits(more.X.shape[0], int(self._size_of(more.X).sum()))

    def add(self, rows: Any, keys: Floats | None = None) -> None:
        keys = self._rng.random(rows.X.shape[0]) if keys is None else keys
        self.n_rows += len(keys)
        self._keep(rows, keys)
        if self.size > _SLACK * self._most:
            self._cut()

    def merge(self, other: Self) -> None:
        """Rows that another sample has; it stays as it is."""
        self.n_rows += other.n_rows
        for part in other._parts:
            self._keep(*part)

    def rows(self) -> Any:
        """What stays, in the order in which it came; None where there is nothing."""
        self._cut()
        return self._parts[0][0] if self._parts else None

    def _fits(self, n_rows: int, size: int) -> bool:
        return self._n_kept + n_rows <= FEWEST_KEPT or self.size + size <= self._most

    def _keep(self, rows: Any, keys: Floats) -> None:
        stay = np.flatnonzero(keys <= self._edge)
        if len(stay) < len(keys):
            rows, keys = rows.take(stay), keys[stay]
        if len(stay):
            self._parts.append((rows, keys))
            self._n_kept += len(stay)
            self.size += int(self._size_of(rows.X).sum())

    def _cut(self) -> None:
        if not self._parts:
            return
        blocks, parts = zip(*self._parts, strict=True)
        rows, keys = type(blocks[0]).joined(blocks), np.concatenate(parts)
        order = np.argsort(keys, kind="stable")
        fitting = np.searchsorted(np.cumsum(self._size_of(rows.X)[order]), self._most, side="right")
        stay = order[: max(int(fitting), FEWEST_KEPT)]
        if len(stay) < len(keys):
            self._edge, stay = keys[stay[-1]], np.sort(stay)
            rows, keys = rows.take(stay), keys[stay]
        self._parts, self._n_kept, self.size = [], 0, 0
        self._keep(rows, keys)
