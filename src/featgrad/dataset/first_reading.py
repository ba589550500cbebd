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

# Of the rows that the origins of columns are taken from.
_ORIGIN_ENTRIES = 1 << 22


class FirstSums:
    """Sums of targets and weights."""

    def __init__(self, n_features: int, task: str, missing: str) -> None:
        self.n_features, self._missing = n_features, missing
        self._means, self.targets = PresentMeans(n_features), TargetSums(task)
        self.limits = Limits()
        self.weight, self.n_rows = np.zeros(1), 0

    def add(self, block: Block) -> None:
        check_missing(block.X, self._missing)
        weights = check_raw_weights(block.weight, len(block))
        if self._missing == "mean":
            self._means.add(block.X, weights)
        self.targets.add(block.y, weights)
        self.limits.add(block.X)
        self.weight += weights.sum()
        self.n_rows += len(block)

    def merge(self, other: "FirstSums") -> None:
        """Rows that other sums have."""
        self._means.merge(other._means)
        self.targets.merge(other.targets)
        self.limits.merge(other.limits)
        self.weight += other.weight
        self.n_rows += other.n_rows

    @property
    def means(self) -> Floats | None:
        """What missing entries count as; None where nothing is missing."""
        return self._means.means()


class FirstReading(FirstSums):
    """Sums of targets and weights, the random order of all rows, and the first rows."""

    def __init__(
        self, n_features: int, task: str, missing: str, rng: np.random.RandomState
    ) -> None:
        super().__init__(n_features, task, missing)
        self.order = RandomOrder(rng)
        self.first_rows: Any = None
        self._group = Group([self._means, self.targets, self.limits])
        # Of each block.
        self.checksums: list[int] = []

    def add_read(self, block: Block, checksum: int) -> None:
        """More rows, and what tells whether they are the same when they are read again."""
        self.add(block)
        self.checksums.append(checksum)
        self.order.draw(len(block))
        if self.first_rows is None:
            self.first_rows = origin_rows(block)

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
        self.n_rows = int(state["drawn"][0])
        self.order.skip(self.n_rows)
        self.first_rows = matrix_of(state)
        self._group.restore({name: array for name, array in state.items() if "." in name})


def origin_rows(block: Block) -> Any:
    """The first rows of a block, which the origins of columns are taken from."""
    return block.X[: max(1, _ORIGIN_ENTRIES // block.X.shape[1])]


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
