"""Random sample of rows that fits into a given amount of memory."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from featgrad._support.types import Floats
from featgrad.readers.block import Block, concatenate

# The sample keeps this many rows, however wide they are.
_MIN_ROWS = 64


class Sample:
    """Keeps all rows while they fit, and a random half of them each time they do not.

    `max_bytes` limits the memory of the features of kept rows, `n_bytes`; at least 64 rows are
    kept. `n_rows` counts all rows added.
    """

    def __init__(self, max_bytes: int, seed: int) -> None:
        self._max_bytes, self._rng = max_bytes, np.random.default_rng(seed)
        self._blocks: list[tuple[Block, Floats]] = []
        self.n_bytes, self._n_kept, self._share = 0, 0, 1.0
        self.n_rows = 0

    @property
    def is_complete(self) -> bool:
        """Whether all added rows are kept."""
        return self._share == 1.0

    def add(self, block: Block) -> None:
        self.n_rows += len(block)
        self._keep(block, self._rng.random(len(block)))
        while self.n_bytes > self._max_bytes and self._n_kept > 2 * _MIN_ROWS:
            self._share /= 2
            blocks, self._blocks = self._blocks, []
            self.n_bytes = self._n_kept = 0
            for kept in blocks:
                self._keep(*kept)

    def rows(self) -> Block:
        """The kept rows in their original order."""
        rows = concatenate([block for block, _ in self._blocks])
        if sparse.issparse(rows.X):
            return rows
        # Blocks of tables are column-major, where access to single rows is slow.
        return replace(rows, X=np.ascontiguousarray(rows.X))

    def _keep(self, block: Block, keys: Floats) -> None:
        drawn = keys < self._share
        if not drawn.all():
            block, keys = block.only(drawn), keys[drawn]
        if len(block):
            self._blocks.append((block, keys))
            self.n_bytes += bytes_of(block)
            self._n_kept += len(block)


def bytes_of(block: Block) -> int:
    """Memory of the features."""
    if sparse.issparse(block.X):
        return int(block.X.data.nbytes + block.X.indices.nbytes)
    return int(block.X.nbytes)
