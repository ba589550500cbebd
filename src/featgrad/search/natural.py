"""The published search while rows pass: a mask of natural size, over all columns of a source.

The objective, the penalty and Adam are those of `penalised`; the gradient is that of the running
engine, which each batch of rows improves, where the published one comes from a batch alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featgrad.dataset.checkpoint import Arrays
from featgrad.dataset.dealt import RowColumns
from featgrad.moments.running import RunningSums
from featgrad.search.batches import BatchSearch
from featgrad.search.penalised import Descent
from featgrad.search.progress import Found

Floats = NDArray[np.float64]

# Batches after which rows are all but forgotten.
_REMEMBERED = 20


class NaturalSearch(BatchSearch):
    """A search whose penalty decides the size.

    Parameters
    ----------
    columns, batch_rows
        As in `BatchSearch`.
    coefficients : ndarray
        The filter.
    descent : Descent
        The mask and how it moves.
    n_epochs : int
        How often the rows pass.
    max_iter : int
        Largest number of steps.
    """

    def __init__(
        self,
        columns: RowColumns,
        *,
        coefficients: Floats,
        descent: Descent,
        batch_rows: int,
        n_epochs: int,
        max_iter: int,
    ) -> None:
        super().__init__(columns, batch_rows)
        self._descent = descent
        self._n_epochs, self._max_iter = n_epochs, max_iter
        cross = self._cross()
        # Columns that do not vary have no spectrum; any scale will do.
        top = columns.top_eigenvalue(np.arange(columns.n_features)) or 1.0
        self._sums = RunningSums(cross, *columns.standardisers(), coefficients, top)
        self._sums.look_through(descent.mask)

    def found(self) -> Found:
        """The logits, after all rows have passed."""
        self._pass("natural size", self._n_epochs)
        return self._descent.found

    def state(self) -> Arrays:
        return {**super().state(), **self._descent.state()}

    def restore(self, state: Arrays) -> None:
        super().restore(state)
        self._descent.restore(state)

    def _step(self) -> None:
        told = self._sums.tell()
        ended = self._descent.step(self._sums.mask, told.value, told.gradient)
        self._stopped = ended or len(self._descent.found.steps) == self._max_iter
        self._sums.look_through(self._descent.mask, 1 - 1 / _REMEMBERED)
