"""What the first pass over a source gathers: sums of targets and weights, and random rows."""

import zlib
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from featgrad.arrays import Floats
from featgrad.checks import check_missing, check_raw_weights
from featgrad.dataset.checkpoint import Arrays, matrix_of, matrix_state
from featgrad.dataset.random_order import RandomOrder
from featgrad.math.target_sums import TargetSums
from featgrad.preprocess.magnitude import Limits
from featgrad.preprocess.present_means import PresentMeans
from featgrad.preprocess.standardise import ArraySums
from featgrad.readers import Block

# Of the rows that the origins of columns are taken from.
_ORIGIN_ENTRIES = 1 << 22


class FirstSums(ArraySums):
    """Sums of targets and weights."""

    def __init__(self, n_features: int, task: str, missing: str) -> None:
        self._missing = missing
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

    def merge(self, other: Self) -> None:
        super().merge(other)
        self.n_rows += other.n_rows

    def _parts(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("_means", "targets", "limits", "weight")}

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
        # Of each block.
        self.checksums: list[int] = []

    def add_read(self, block: Block, checksum: int) -> None:
        """More rows, and what tells whether they are the same when they are read again."""
        self.add(block)
        self.checksums.append(checksum)
        self.order.draw(len(block))
        if self.first_rows is None:
            self.first_rows = origin_rows(block)

    def state(self) -> dict[str, NDArray[Any]]:
        # The random order is drawn again.
        return {
            "drawn": np.array([self.order.n_rows]),
            "checksums": np.array(self.checksums, np.uint32),
            **matrix_state(self.first_rows),
            **super().state(),
        }

    def restore(self, state: Arrays) -> None:
        super().restore(state)
        self.checksums, self.n_rows = state["checksums"].tolist(), int(state["drawn"][0])
        self.order.skip(self.n_rows)
        self.first_rows = matrix_of(state)


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
