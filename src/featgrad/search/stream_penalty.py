"""The published search on streamed rows: a mask of natural size, over all columns.

The objective, the penalty and Adam are those of `penalty`; the gradient is that of the running
engine, which each batch of rows improves, where the published one comes from a batch alone.
"""

import numpy as np

from featgrad._support.types import Floats
from featgrad.dataset.base import Storage
from featgrad.dataset.checkpoint import Arrays
from featgrad.moments.running import RunningSums
from featgrad.plan import PENALTY_WINDOW
from featgrad.search.batch_search import BatchSearch, raw_scales
from featgrad.search.penalty import Descent
from featgrad.search.progress import Found


class StreamPenaltySearch(BatchSearch):
    """A search whose penalty decides the size; the descent holds the mask."""

    def __init__(
        self,
        dataset: Storage,
        *,
        coefficients: Floats,
        descent: Descent,
        batch_rows: int,
        n_epochs: int,
        max_iter: int,
    ) -> None:
        super().__init__(dataset, batch_rows)
        self._descent = descent
        self._n_epochs, self._max_iter = n_epochs, max_iter
        cross = dataset.cross()
        # Columns that do not vary have no spectrum; any scale will do.
        top = dataset.top_eigenvalue(np.arange(dataset.n_features)) or 1.0
        self._sums = RunningSums(cross, *raw_scales(dataset), coefficients, top)
        self._sums.set_mask(descent.mask)

    def found(self) -> Found:
        """The logits, after all rows."""
        self._run("natural size", self._n_epochs)
        return self._descent.found

    def state(self) -> Arrays:
        return {**super().state(), **self._descent.state()}

    def restore(self, state: Arrays) -> None:
        super().restore(state)
        self._descent.restore(state)

    def _step(self) -> None:
        found = self._sums.value_and_gradient()
        ended = self._descent.step(self._sums.mask, found.value, found.gradient)
        self._stopped = ended or len(self._descent.found.steps) == self._max_iter
        self._sums.set_mask(self._descent.mask, 1 - 1 / PENALTY_WINDOW)
