"""Rows of a source, read again block by block in every pass.

Nothing of all rows stays in memory: targets and weights are read again with the features, and
places drawn again.
"""

import zlib
from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from featgrad.columns.extremes import Fences
from featgrad.columns.sample import KeyedSample, n_bytes
from featgrad.dataset.base import Consumer, S
from featgrad.dataset.checkpoint import NO_CHECKPOINT, Checkpoint
from featgrad.dataset.memory import Preparation
from featgrad.dataset.reread import FirstSums, Reread, used_rows
from featgrad.dataset.sums import Rows
from featgrad.plan import FENCE_BYTES
from featgrad.readers import Block, Source, prefetched
from featgrad.readers.block import rows_of


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
        self._checkpoint, self.n_features, self._passes = checkpoint, source.n_features, 0
        fences = self._fences(preparation) if preparation.preprocess == "robust" else None
        self._first = FirstSums(preparation.task, preparation.missing, fences)
        checkpoint.through("first", self._blocks(), self._first)
        self._learn(self._first, preparation, source.feature_names, balance)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        """Read the source once."""
        self._passes += 1
        sums = start()
        parts = ((rows,) for rows in self._rows())
        self._checkpoint.through(f"{self._passes} {name}", parts, sums)
        return sums

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        shares = self.whole.shares
        pieces = (
            (rows.outputs[own], weights[own], rows_of(rows.X, own.start, own.stop))
            for rows in self._rows()
            for weights in [rows.weights * shares[rows.cells]]
            for own in gen_batches(len(weights), batch_rows)
        )
        self._checkpoint.through(name, pieces, consumer)

    def _fences(self, preparation: Preparation) -> Fences:
        """From random rows; reads the source once."""
        sample = KeyedSample(FENCE_BYTES, n_bytes)
        for block in used_rows(self._source):
            sample.add(block)
        rows = sample.rows()
        return Fences.of(rows.X, rows.y, preparation.task)

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
        blocks = (block for block, _ in self._blocks())
        return self._encoder.rows("source", blocks, 0, self.n_rows, self._layout.folds)


def checksum(block: Block, *, whole: bool) -> int:
    """Of targets, or of whole rows: the same in a later pass where they are."""
    X, y = block.X, block.y
    total = zlib.crc32(repr(y.tolist()).encode() if y.dtype.kind == "O" else y.tobytes())
    entries = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    for array in [*entries, block.weight] if whole else []:
        if array is not None:
            # In the order of memory, which is the same each time: a copy only where there are gaps.
            total = zlib.crc32(array.ravel(order="K").view(np.uint8).data, total)
    return total
