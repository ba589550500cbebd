"""Rows of a matrix in memory."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from featgrad._support.types import Indices
from featgrad.columns.sums import Fill, Standardiser, has_missing
from featgrad.dataset.base import Consumer, RowSample, S, Storage
from featgrad.dataset.prepare import Prepared
from featgrad.dataset.sums import OutputSums, PartMeans, Rows
from featgrad.math.targets import stratified, to_one_variance
from featgrad.moments.cells import OutputMoments
from featgrad.moments.sweeps import RowMoments
from featgrad.plan import ESTIMATE_ROWS_IN_MEMORY
from featgrad.readers.block import canonical

# Entries of a dense block; sparse rows are one block.
_BLOCK_ENTRIES = 1 << 22
# Rows that the origins of columns are taken from.
_ORIGIN_ROWS = 1000


class InMemory(Storage):
    """A dense or CSR matrix, whose missing entries count as their column's mean.

    It is the mean of the rows that a row is held out with.
    """

    def __init__(self, X: Any, prepared: Prepared, preprocess: str) -> None:
        self.prepared, self._preprocess = prepared, preprocess
        self.X = canonical(sparse.csr_array(X)) if sparse.issparse(X) else X
        rows, target, layout = prepared.rows, prepared.target, prepared.layout
        self.n_rows, self.n_features = len(rows), X.shape[1]
        self.n_outputs = target.outputs.shape[1]
        self.n_folds, self.splits, self.held_out_by = (
            layout.n_folds, layout.splits, layout.held_out_by,
        )  # fmt: skip
        self.task, self.filters = target.task, prepared.filters
        # By row of X; rows that are not in use have no weight and belong to no cell.
        self._weights, self._cells = np.zeros(X.shape[0]), np.full(X.shape[0], -1)
        self._outputs = np.zeros((X.shape[0], self.n_outputs))
        self._weights[rows] = prepared.weights
        outputs = to_one_variance(target.outputs, prepared.weights)
        self._outputs[rows], classes = stratified(outputs, self.task)
        # All rows are of one class where no two have to count alike.
        classes = np.broadcast_to(classes, len(rows))
        n_classes = 2 if self.task == "binary" else 1
        shares = np.bincount(classes, prepared.weights, minlength=n_classes)
        self.class_shares = np.asarray(shares, np.float64)
        self._cells[rows] = layout.folds * n_classes + classes
        self._fill: Fill | None = None
        if self._has_missing():
            self._learn_fill()
        # Rows that are not in use may hold anything.
        first = self._rows(np.sort(rows[:_ORIGIN_ROWS]))
        self.standardiser = Standardiser.from_sample(first, preprocess)

    def row_moments(self) -> RowMoments:
        return self.prepared.row_moments(self.X, self._preprocess)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        sums = start()
        for rows in self._blocks():
            sums.add(rows)
        return sums

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        for start in range(0, self.n_rows, batch_rows):
            rows = self.prepared.rows[start : start + batch_rows]
            weights = self._weights[rows] * self.whole.shares[self._cells[rows]]
            consumer.add(self._outputs[rows], weights, self._rows(rows))

    def sample(self, columns: Indices) -> RowSample:
        """Some columns of all rows, or of some from every fold if they are many."""
        chosen, target = self._sampled(), self.prepared.target
        rows, weights = self.prepared.rows[chosen], self.prepared.weights[chosen]
        weights = weights if len(rows) == self.n_rows else weights / weights.sum()
        folds, clusters = self._cells[rows] // len(self.class_shares), self.prepared.layout.clusters
        X, outputs = self._columns_of(rows, columns), target.outputs[chosen]
        sample = self._sample_of(X, outputs, weights, target.variance, folds, rows)
        return sample._replace(clusters=None if clusters is None else clusters[chosen])

    def _outputs_by_cell(self) -> OutputMoments:
        sums = OutputSums(self.shape)
        sums.add(Rows(self._outputs, self._weights, self._cells, None))
        return sums.moments()

    def _has_missing(self) -> bool:
        return has_missing(self.X)

    def _learn_fill(self) -> None:
        start = partial(PartMeans, self.n_features, self._parts_of_cells)
        self._fill = self.visit("missing", start).fill()

    def _blocks(self) -> Iterator[Rows]:
        n_rows = self.X.shape[0]
        step = n_rows if sparse.issparse(self.X) else max(1, _BLOCK_ENTRIES // self.n_features)
        for first in range(0, n_rows, step):
            rows = slice(first, first + step)
            X = self.X if step == n_rows else self.X[rows]
            X = X if self._fill is None else self._fill(X, self._cells[rows])
            yield Rows(self._outputs[rows], self._weights[rows], self._cells[rows], X)

    def _rows(self, rows: Indices) -> Any:
        """Some rows on the host, without missing entries."""
        X = self.X[rows]
        return X if self._fill is None else self._fill(X, self._cells[rows])

    def _sampled(self) -> Any:
        """Places in the random order of the rows of a sample."""
        return slice(None, None, -(-self.n_rows // ESTIMATE_ROWS_IN_MEMORY))

    def _columns_of(self, rows: Indices, columns: Indices) -> Any:
        """Some columns of some rows, without missing entries."""
        is_sparse = sparse.issparse(self.X)
        X = self.X[:, columns][rows] if is_sparse else self.X[np.ix_(rows, columns)]
        return X if self._fill is None else self._fill.only(columns)(X, self._cells[rows])
