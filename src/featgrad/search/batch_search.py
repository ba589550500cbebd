"""Searches over all columns whose rows are streamed in batches, one step each."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from featgrad._support.types import Floats
from featgrad.dataset.base import Storage
from featgrad.dataset.checkpoint import Arrays
from featgrad.moments.running import RunningSums


class BatchSearch(ABC):
    """A search that adds rows to running sums and takes a step whenever a batch is full."""

    _sums: RunningSums

    def __init__(self, dataset: Storage, batch_rows: int) -> None:
        self._dataset = dataset
        self._batch_rows = min(batch_rows, dataset.n_rows)
        self._waiting = 0
        self._stopped = False

    @abstractmethod
    def _step(self) -> None:
        """Move the mask along the gradient; sets whether to stop."""

    def add(self, outputs: Floats, weights: Floats, X: Any) -> None:
        """Rows, not more than make a batch."""
        if self._stopped:
            return
        self._sums.add(X, outputs, weights)
        self._waiting += len(weights)
        if self._waiting >= self._batch_rows:
            self._finish_batch()

    def elsewhere(self) -> RunningSums:
        """Running sums for a batch of rows that is added up in other processes."""
        return self._sums.elsewhere()

    def take(self, sums: RunningSums) -> None:
        """What they have received of a batch."""
        if not self._stopped:
            self._sums.merge(sums)
            self._finish_batch()

    def state(self) -> Arrays:
        """All that changes while rows are streamed."""
        return {"batch": np.array([self._waiting, self._stopped]), **self._sums.state()}

    def restore(self, state: Arrays) -> None:
        waiting, stopped = state["batch"].tolist()
        self._waiting, self._stopped = int(waiting), bool(stopped)
        self._sums.restore(state)

    def _run(self, name: str, n_epochs: int) -> None:
        """Stream all rows; the last step takes what is left over."""
        for epoch in range(n_epochs):
            self._dataset.stream(f"{name}, epoch {epoch}", self._batch_rows, self)
        if self._waiting:
            self._finish_batch()

    def _finish_batch(self) -> None:
        self._waiting = 0
        self._step()


def raw_scales(dataset: Storage) -> tuple[Floats, Floats]:
    """Means and scales of columns as they are streamed; after `Storage.cross`."""
    factor = dataset.standardiser.factor
    return dataset.standardiser.mean, 1 / np.where(factor > 0, factor, 1.0)
