"""A random order of rows, of which nothing is kept: each pass draws it again."""

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from featgrad.arrays import Floats, Indices
from featgrad.plan import EXACT_ORDER_ROWS

_DRAWN_AT_ONCE = 1 << 20


class Places(NamedTuple):
    """Places of consecutive rows among many, drawn where they are needed."""

    rng: np.random.RandomState  # as it is before the first of them
    size: int
    n_rows: int  # all there are

    def drawn(self) -> Indices:
        keys = copy.deepcopy(self.rng).random_sample(self.size)
        return np.asarray(keys * self.n_rows, np.intp)


class RandomOrder:
    """Places from 0 up to the number of rows, as if rows were shuffled."""

    def __init__(self, rng: np.random.RandomState) -> None:
        self._rng, self._start = rng, copy.deepcopy(rng)
        self._keys: list[Floats] = []
        self._sorted: Floats = np.zeros(0)
        self.n_rows = 0

    def draw(self, count: int) -> Floats:
        """Keys of the next rows, between 0 and 1."""
        keys = self._rng.random_sample(count)
        self.n_rows += count
        self._keys = [*self._keys, keys] if self.n_rows <= EXACT_ORDER_ROWS else []
        return keys

    def skip(self, count: int) -> None:
        """Draw keys of rows that were seen before."""
        for start in range(0, count, _DRAWN_AT_ONCE):
            self.draw(min(_DRAWN_AT_ONCE, count - start))

    def settle(self) -> None:
        """All rows have come."""
        self._sorted = np.sort(np.concatenate([np.zeros(0), *self._keys]))
        self._keys = []

    def again(self) -> Callable[[int], Indices]:
        """A function that gives the places of the next rows, from the first one on."""
        rng = copy.deepcopy(self._start)

        def following(count: int) -> Indices:
            keys = rng.random_sample(count)
            if len(self._sorted):
                return np.searchsorted(self._sorted, keys)
            return (keys * self.n_rows).astype(np.intp)

        return following

    def runs(self, counts: Sequence[int]) -> list[Indices] | list[Places]:
        """Places of runs of so many rows, which are all there are: known, or to be drawn."""
        generators = []
        for count in counts:
            generators.append(copy.deepcopy(self._rng))
            self.skip(count)
        self.settle()
        if len(self._sorted):
            following = self.again()
            return [following(count) for count in counts]
        runs = zip(generators, counts, strict=True)
        return [Places(rng, count, self.n_rows) for rng, count in runs]
