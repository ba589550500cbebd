"""The published search while rows pass: a mask of natural size, over all columns of a source.

The objective, the penalty and Adam are those of `penalised`; the gradient is that of the running
engine, which each batch of rows improves, where the published one comes from a batch alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.data.checkpoint import Arrays
from featgrad.data.dealt import RowColumns
from featgrad.engines.running import RunningSums
from featgrad.search.penalised import Descent
from featgrad.search.progress import Found
from featgrad.search.units import Indices

Floats = NDArray[np.float64]

# Batches after which rows are all but forgotten.
_REMEMBERED = 20


class NaturalSearch:
    """A search whose penalty decides the size.

    Parameters
    ----------
    columns : RowColumns
        The features.
    outputs : ndarray of shape (rows, outputs)
        Centred target of variance 1 each, by position.
    weights : ndarray of shape (rows,)
        Positive weights that sum to one, by position.
    coefficients : ndarray
        The filter.
    descent : Descent
        The mask and how it moves.
    batch_rows : int
        Rows per step.
    n_epochs : int
        How often the rows pass.
    max_iter : int
        Largest number of steps.
    """

    def __init__(
        self,
        columns: RowColumns,
        outputs: Floats,
        weights: Floats,
        *,
        coefficients: Floats,
        descent: Descent,
        batch_rows: int,
        n_epochs: int,
        max_iter: int,
    ) -> None:
        self._columns, self._outputs, self._weights = columns, outputs, weights
        self._descent = descent
        self._batch_rows = min(batch_rows, len(weights))
        self._n_epochs, self._max_iter = n_epochs, max_iter
        cross = columns.cross(outputs, [slice(0, len(weights))])[:, 0]
        # Columns that do not vary have no spectrum; any scale will do.
        top = columns.top_eigenvalue(np.arange(columns.n_features)) or 1.0
        self._sums = RunningSums(cross, *columns.standardisers(), coefficients, top)
        self._sums.look_through(descent.mask)
        self._waiting = 0
        self._stopped = False

    def found(self) -> Found:
        """The logits, after all rows have passed."""
        for epoch in range(self._n_epochs):
            self._columns.let_pass(f"natural size, epoch {epoch}", self._batch_rows, self)
        if self._waiting and not self._stopped:
            self._step()
        return self._descent.found

    def add(self, at: Indices, X: Any) -> None:
        """Rows that pass, not more than make a batch."""
        if self._stopped:
            return
        self._sums.add(X, self._outputs[at], self._weights[at])
        self._waiting += len(at)
        if self._waiting >= self._batch_rows:
            self._step()

    def state(self) -> Arrays:
        """All that changes while rows pass."""
        numbers = np.array([self._waiting, self._stopped])
        return {"numbers": numbers, **self._descent.state(), **self._sums.state()}

    def restore(self, state: Arrays) -> None:
        waiting, stopped = state["numbers"].tolist()
        self._waiting, self._stopped = int(waiting), bool(stopped)
        self._descent.restore(state)
        self._sums.restore(state)

    def _step(self) -> None:
        self._waiting = 0
        ended = self._descent.step(self._sums.mask, *self._sums.value_and_gradient())
        self._stopped = ended or len(self._descent.found.steps) == self._max_iter
        self._sums.look_through(self._descent.mask, 1 - 1 / _REMEMBERED)
