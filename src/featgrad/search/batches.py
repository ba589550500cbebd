"""Rows that pass in batches, each of which is one step of a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.data.checkpoint import Arrays
from featgrad.data.dealt import RowColumns
from featgrad.engines.running import RunningSums
from featgrad.search.units import Indices

Floats = NDArray[np.float64]


class BatchSearch(ABC):
    """A search that adds rows to running sums and takes a step whenever a batch is full.

    Parameters
    ----------
    columns : RowColumns
        The features.
    outputs : ndarray of shape (rows, outputs)
        Centred target of variance 1 each, by position.
    weights : ndarray of shape (rows,)
        Positive weights that sum to one, by position.
    batch_rows : int
        Rows per step.
    """

    _sums: RunningSums

    def __init__(
        self, columns: RowColumns, outputs: Floats, weights: Floats, batch_rows: int
    ) -> None:
        self._columns, self._outputs, self._weights = columns, outputs, weights
        self._batch_rows = min(batch_rows, len(weights))
        self._waiting = 0
        self._stopped = False

    @abstractmethod
    def _step(self) -> None:
        """Move the mask by what the sums tell; sets whether to stop."""

    def add(self, at: Indices, X: Any) -> None:
        """Rows that pass, not more than make a batch."""
        if self._stopped:
            return
        self._sums.add(X, self._outputs[at], self._weights[at])
        self._waiting += len(at)
        if self._waiting >= self._batch_rows:
            self._full()

    def state(self) -> Arrays:
        """All that changes while rows pass."""
        return {"batch": np.array([self._waiting, self._stopped]), **self._sums.state()}

    def restore(self, state: Arrays) -> None:
        waiting, stopped = state["batch"].tolist()
        self._waiting, self._stopped = int(waiting), bool(stopped)
        self._sums.restore(state)

    def _cross(self) -> Floats:
        """``sum_n w_n x_n y_n`` over all rows, shape (features, outputs)."""
        return self._columns.cross(self._outputs, [slice(0, len(self._weights))])[:, 0]

    def _pass(self, name: str, n_epochs: int) -> None:
        """Let all rows pass; the last step takes what is left over."""
        for epoch in range(n_epochs):
            self._columns.let_pass(f"{name}, epoch {epoch}", self._batch_rows, self)
        if self._waiting:
            self._full()

    def _full(self) -> None:
        self._waiting = 0
        self._step()
