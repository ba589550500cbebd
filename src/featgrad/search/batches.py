"""Rows that pass in batches, each of which is one step of a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.dataset.checkpoint import Arrays
from featgrad.dataset.dealt import RowColumns
from featgrad.moments.running import RunningSums

Floats = NDArray[np.float64]


class BatchSearch(ABC):
    """A search that adds rows to running sums and takes a step whenever a batch is full.

    Parameters
    ----------
    columns : RowColumns
        The features, with weights that sum to one and outputs of the rows.
    batch_rows : int
        Rows per step.
    """

    _sums: RunningSums

    def __init__(self, columns: RowColumns, batch_rows: int) -> None:
        self._columns = columns
        self._batch_rows = min(batch_rows, columns.n_rows)
        self._waiting = 0
        self._stopped = False

    @abstractmethod
    def _step(self) -> None:
        """Move the mask by what the sums tell; sets whether to stop."""

    def add(self, outputs: Floats, weights: Floats, X: Any) -> None:
        """Rows that pass, not more than make a batch."""
        if self._stopped:
            return
        self._sums.add(X, outputs, weights)
        self._waiting += len(weights)
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
        return self._columns.cross([slice(0, self._columns.n_rows)])[:, 0]

    def _pass(self, name: str, n_epochs: int) -> None:
        """Let all rows pass; the last step takes what is left over."""
        for epoch in range(n_epochs):
            self._columns.let_pass(f"{name}, epoch {epoch}", self._batch_rows, self)
        if self._waiting:
            self._full()

    def _full(self) -> None:
        self._waiting = 0
        self._step()
