"""What the first pass over a source gathers: sums of targets and weights, and random rows."""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.arrays import Floats
from featgrad.checks import check_missing, check_raw_weights
from featgrad.dataset.checkpoint import Arrays, Group, matrix_of, matrix_state
from featgrad.dataset.random_order import RandomOrder
from featgrad.math.target_sums import TargetSums
from featgrad.preprocess.magnitude import Limits
from featgrad.preprocess.present_means import PresentMeans
from featgrad.readers import Block

# Entries of the first rows, which the origins of columns are taken from.
_ORIGIN_ENTRIES = 1 << 22


class FirstReading:
    """Sums of targets and weights, the random order of all rows, and the first rows."""

    def __init__(
        self, n_features: int, task: str, missing: str, rng: np.random.RandomState
    ) -> None:
        self._missing = missing
        self._means = PresentMeans(n_features)
        self.order = RandomOrder(rng)
        self.first_rows: Any = None
        self.targets = TargetSums(task)
        self.limits = Limits()
        self._group = Group([self._means, self.targets, self.limits])
        self.weight = np.zeros(1)
        # Of each block.
        self.checksums: list[int] = []

    def add(self, block: Block, checksum: int) -> None:
        check_missing(block.X, self._missing)
        weights = check_raw_weights(block.weight, len(block))
        if self._missing == "mean":
            self._means.add(block.X, weights)
        self.targets.add(block.y, weights)
        self.limits.add(block.X)
        self.weight += weights.sum()
        self.checksums.append(checksum)
        self.order.draw(len(block))
        if self.first_rows is None:
            count = max(1, _ORIGIN_ENTRIES // block.X.shape[1])
            self.first_rows = block.X[:count]

    @property
    def means(self) -> Floats | None:
        """What missing entries count as; None where nothing is missing."""
        return self._means.means()

    def state(self) -> Arrays:
        # The random order is drawn again.
        return {
            "weight": self.weight,
            "drawn": np.array([self.order.n_rows]),
            "checksums": np.array(self.checksums, np.uint32),
            **matrix_state(self.first_rows),
            **self._group.state(),
        }

    def restore(self, state: Arrays) -> None:
        self.weight, self.checksums = state["weight"], state["checksums"].tolist()
        self.order.skip(int(state["drawn"][0]))
        self.first_rows = matrix_of(state)
        self._group.restore({name: array for name, array in state.items() if "." in name})


def checksum(block: Block, *, whole: bool) -> int:
    """Tells whether targets, or whole rows, are the same when they are read again."""
    y = block.y
    total = zlib.crc32(repr(y.tolist()).encode() if y.dtype.kind == "O" else y.tobytes())
    arrays: list[NDArray[Any]] = []
    if whole:
        arrays = [
            *matrix_state(block.X).values(),
            *([] if block.weight is None else [block.weight]),
        ]
    for array in arrays:
        # In the order of memory, which is the same each time: a copy only where there are gaps.
        total = zlib.crc32(array.ravel(order="K").view(np.uint8).data, total)
    return total
