"""As many rows of a source as fit into some memory."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from featgrad.arrays import Floats
from featgrad.readers.block import Block, join

# So many are held however wide they are.
_MIN_ROWS = 64


class Sample:
    """All rows while they are few, a random half of them each time they become too many.

    Parameters
    ----------
    max_bytes : int
        Memory that the features of the rows may take, if more than some rows then fit.
    seed : int
        Of the draw.

    Attributes
    ----------
    n_rows : int
        Rows seen.
    n_bytes : int
        Memory that the features of the rows held take.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad.readers import Block
    >>> from featgrad.readers.sample import Sample
    >>> sample = Sample(max_bytes=8000, seed=0)
    >>> for _ in range(3):
    ...     sample.add(Block(np.zeros((100, 4)), np.zeros(100)))
    >>> sample.n_rows, sample.is_complete, len(sample.rows()) <= 250
    (300, False, True)
    """

    def __init__(self, max_bytes: int, seed: int) -> None:
        self._most, self._rng = max_bytes, np.random.default_rng(seed)
        self._parts: list[tuple[Block, Floats]] = []
        self.n_bytes, self._held, self._share = 0, 0, 1.0
        self.n_rows = 0

    @property
    def is_complete(self) -> bool:
        """Whether all rows that were seen are held."""
        return self._share == 1.0

    def add(self, block: Block) -> None:
        self.n_rows += len(block)
        self._hold(block, self._rng.random(len(block)))
        while self.n_bytes > self._most and self._held > 2 * _MIN_ROWS:
            self._share /= 2
            parts, self._parts = self._parts, []
            self.n_bytes = self._held = 0
            for part in parts:
                self._hold(*part)

    def rows(self) -> Block:
        """What is held, in the order in which it was seen."""
        rows = join([block for block, _ in self._parts])
        if sparse.issparse(rows.X):
            return rows
        # Tables come column by column, from which single rows are slow to take.
        return Block(np.ascontiguousarray(rows.X), rows.y, rows.weight)

    def _hold(self, block: Block, keys: Floats) -> None:
        drawn = keys < self._share
        if not drawn.all():
            block, keys = block.only(drawn), keys[drawn]
        if len(block):
            self._parts.append((block, keys))
            self.n_bytes += _size(block)
            self._held += len(block)


def _size(block: Block) -> int:
    if sparse.issparse(block.X):
        return int(block.X.data.nbytes + block.X.indices.nbytes)
    return int(block.X.nbytes)
