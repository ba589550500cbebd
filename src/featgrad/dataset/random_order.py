"""A random order of rows, of which nothing is kept: each pass draws it again."""

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from featgrad._support.types import Floats, Indices
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

    def __init__(self, rng: np.random.RandomState, n_rows: int) -> None:
        self._start, self._n_rows = copy.deepcopy(rng), n_rows
        # Each row has a key between 0 and 1; of few rows the keys' order is that of the places.
        self._sorted: Floats = np.zeros(0)
        if n_rows <= EXACT_ORDER_ROWS:
            self._sorted = np.sort(rng.random_sample(n_rows))
        else:
            _skip(rng, n_rows)

    def again(self) -> Callable[[int], Indices]:
        """A function that gives the places of the next rows, from the first one on."""
        rng = copy.deepcopy(self._start)

        def following(count: int) -> Indices:
            keys = rng.random_sample(count)
            if len(self._sorted):
                return np.searchsorted(self._sorted, keys)
            return (keys * self._n_rows).astype(np.intp)

        return following

    def runs(self, counts: Sequence[int]) -> list[Indices] | list[Places]:
        """Places of runs of so many rows, which are all there are: known, or to be drawn."""
        if len(self._sorted):
            following = self.again()
            return [following(count) for count in counts]
        rng, runs = copy.deepcopy(self._start), []
        for count in counts:
            runs.append(Places(copy.deepcopy(rng), count, self._n_rows))
            _skip(rng, count)
        return runs


def _skip(rng: np.random.RandomState, count: int) -> None:
    """Draw so many keys, which are not needed here."""
    for start in range(0, count, _DRAWN_AT_ONCE):
        rng.random_sample(min(_DRAWN_AT_ONCE, count - start))
