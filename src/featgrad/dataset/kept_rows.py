"""A random sample of bounded size of all rows seen, which can be merged.

Each row has a random key, and those with the smallest keys stay. What stays of two parts together
is what stays of the union of what stays of each: samples of shards merge into that of all rows.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad import plan
from featgrad.arrays import Floats, Indices
from featgrad.readers.block import stacked

# KeyedRows wait until they are this much more, since each cut copies all.
_SLACK = 1.5


class KeyedRows(NamedTuple):
    """Some rows, with their folds and the keys that decide whether they stay."""

    keys: Floats
    folds: NDArray[np.int8]
    X: Any
    outputs: Floats
    weights: Floats

    def take(self, rows: Any) -> "KeyedRows":
        return KeyedRows(*(part[rows] for part in self))

    @property
    def sizes(self) -> Indices:
        """Entries of each row."""
        if sparse.issparse(self.X):
            return np.asarray(np.diff(self.X.indptr), np.intp) + 1
        return np.full(len(self.keys), self.X.shape[1], np.intp)


class KeptRows:
    """KeyedRows with the smallest keys among those added."""

    def __init__(self) -> None:
        # Whether all rows are still there, as of the last call of `rows`.
        self.complete = True
        self._parts: list[KeyedRows] = []
        self._n_rows = self._entries = 0
        # No row with a larger key can stay.
        self._edge = np.inf

    def fit(self, more: KeyedRows) -> bool:
        """Whether more rows can be kept without any having to go."""
        together = self._n_rows + len(more.keys)
        return (
            together <= plan.FEWEST_KEPT
            or self._entries + int(more.sizes.sum()) <= plan.KEPT_ENTRIES
        )

    def add(self, more: KeyedRows) -> None:
        stay = self._smallest(more)
        stay = stay[more.keys[stay] <= self._edge]
        self.complete &= len(stay) == len(more.keys)
        if len(stay):
            self._keep(more.take(stay))
        if self._entries > _SLACK * plan.KEPT_ENTRIES:
            self.rows()

    def merge(self, other: "KeptRows") -> None:
        self.complete &= other.complete
        for part in list(other._parts):
            self.add(part)

    def rows(self) -> KeyedRows | None:
        """What stays, in the random order of the keys; None where there is nothing."""
        if not self._parts:
            return None
        joined = KeyedRows(*(stacked(parts) for parts in zip(*self._parts, strict=True)))
        self._parts, self._n_rows, self._entries = [], 0, 0
        stay = self._smallest(joined)
        if len(stay) < len(joined.keys):
            self.complete, self._edge = False, joined.keys[stay[-1]]
        self._keep(joined.take(stay))
        return self._parts[0]

    def _keep(self, rows: KeyedRows) -> None:
        self._parts.append(rows)
        self._n_rows += len(rows.keys)
        self._entries += int(rows.sizes.sum())

    @staticmethod
    def _smallest(rows: KeyedRows) -> Indices:
        """Places of the rows that stay among these, by rising key."""
        order = np.argsort(rows.keys, kind="stable")
        room = int(np.searchsorted(np.cumsum(rows.sizes[order]), plan.KEPT_ENTRIES, side="right"))
        return order[: max(room, plan.FEWEST_KEPT)]
