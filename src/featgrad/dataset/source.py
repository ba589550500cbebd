"""Rows of a source, read again block by block in every pass.

Nothing of all rows stays in memory: targets and weights are read again with the features, and
places drawn again.
"""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.columns.extremes import Fences, some_rows
from featgrad.columns.sample import KeyedSample, n_bytes
from featgrad.columns.sums import Standardiser, filled
from featgrad.dataset.base import Consumer, S
from featgrad.dataset.checkpoint import NO_CHECKPOINT, Arrays, Checkpoint, matrix_of, matrix_state
from featgrad.dataset.prepare import Preparation, RandomOrder
from featgrad.dataset.reread import FirstSums, Reread, entries_per_row, origin_rows, used_rows
from featgrad.dataset.sums import Rows
from featgrad.readers import Block, Source, prefetched
from featgrad.readers.block import rows_of

# Of the rows that fences are taken from.
_FENCE_BYTES = 1 << 24


class Streamed(Reread):
    """A source of blocks; making it reads the source once.

    Rows of weight zero count as absent. With `balance` two classes count alike.
    """

    def __init__(
        self,
        source: Source,
        preparation: Preparation,
        checkpoint: Checkpoint = NO_CHECKPOINT,
        balance: bool = True,
    ) -> None:
        self._source, self._name = prefetched(source), getattr(source, "name", "source")
        self._checkpoint, self.n_features = checkpoint, source.n_features
        fences = self._fences(preparation) if preparation.preprocess == "robust" else None
        first = FirstReading(self.n_features, preparation, fences)
        self._first = first
        checkpoint.through("first", self._blocks(), first.add_read, first)
        self._learn(first, preparation, balance)
        first.limits.check(source.feature_names)
        self._order = RandomOrder(preparation.rng, self.n_rows)
        self._n_entries = entries_per_row(first.first_rows)
        rows = filled(first.first_rows, first.means)
        self.standardiser = Standardiser.from_sample(rows, self._preprocess)
        self._passes = 0
        self._settle_task(first)
        self._learn_fill(first)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        """Read the source once."""
        self._passes += 1
        sums, parts = start(), ((rows.weights, rows) for rows in self._rows())
        name = f"{self._passes} {name}"
        self._checkpoint.through(name, parts, lambda _, rows: sums.add(rows), sums)
        return sums

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Read the source once."""
        shares = self.whole.shares
        pieces = (
            (rows.outputs[start:stop], weights[start:stop], rows_of(rows.X, start, stop))
            for rows in self._rows()
            for weights in [rows.weights * shares[rows.cells]]
            for start in range(0, len(weights), batch_rows)
            for stop in [start + batch_rows]
        )
        self._checkpoint.through(name, pieces, consumer.add, consumer)

    def _fences(self, preparation: Preparation) -> Fences:
        """From random rows; reads the source once."""
        sample = KeyedSample(_FENCE_BYTES, n_bytes)
        for block in used_rows(self._source):
            sample.add(block)
        rows = sample.rows()
        return Fences.of([some_rows(rows.X, rows.y)], preparation.task)

    def _blocks(self) -> Iterator[tuple[Block, int]]:
        """Blocks and their checksums: what was read before must still be the same."""
        seen = 0
        for i, block in enumerate(used_rows(self._source)):
            seen += len(block)
            found = checksum(block, whole=self._checkpoint.is_kept)
            if i < len(self._first.checksums) and found != self._first.checksums[i]:
                raise ValueError(
                    f"{self._name} is not what it was when it was first read, in rows "
                    f"{seen - len(block) + 1} to {seen}: leave it unchanged during the fit, and "
                    "remove the checkpoint if it was changed on purpose."
                )
            yield block, found

    def _rows(self) -> Iterator[Rows]:
        """The rows of each block."""
        seen, next_places = 0, self._order.again()
        for block, _ in self._blocks():
            seen += len(block)
            if seen > self.n_rows:
                continue
            folds = None if self._folds is None else self._folds[seen - len(block) : seen]
            yield self._encoder(block, next_places(len(block)), folds)
        if seen != self.n_rows:
            raise ValueError(
                f"source had {self.n_rows} rows of positive weight when it was first read and "
                f"{seen} when it was read again: leave it unchanged during the fit."
            )


class FirstReading(FirstSums):
    """Sums of targets and weights, the first rows, and checksums of all."""

    def __init__(self, n_features: int, preparation: Preparation, fences: Fences | None) -> None:
        super().__init__(n_features, preparation.task, preparation.missing, fences)
        self.first_rows: Any = None
        # Of each block.
        self.checksums: list[int] = []

    def add_read(self, block: Block, checksum: int) -> None:
        """More rows, and the checksum that shows whether they are the same in a later pass."""
        self.add(block)
        self.checksums.append(checksum)
        if self.first_rows is None:
            self.first_rows = origin_rows(block)

    def state(self) -> dict[str, NDArray[Any]]:
        checksums = np.array(self.checksums, np.uint32)
        return {"checksums": checksums, **matrix_state(self.first_rows), **super().state()}

    def restore(self, state: Arrays) -> None:
        super().restore(state)
        self.checksums, self.first_rows = state["checksums"].tolist(), matrix_of(state)


def checksum(block: Block, *, whole: bool) -> int:
    """Of targets, or of whole rows: the same in a later pass where they are."""
    y = block.y
    total = zlib.crc32(repr(y.tolist()).encode() if y.dtype.kind == "O" else y.tobytes())
    weights = [] if block.weight is None else [block.weight]
    for array in [*matrix_state(block.X).values(), *weights] if whole else []:
        # In the order of memory, which is the same each time: a copy only where there are gaps.
        total = zlib.crc32(array.ravel(order="K").view(np.uint8).data, total)
    return total
