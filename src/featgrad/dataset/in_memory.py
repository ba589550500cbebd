"""Rows of a matrix in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from featgrad._support.types import Indices
from featgrad.columns.sums import Fill, Standardiser, has_missing
from featgrad.dataset.base import Consumer, Dataset, RowSample, S
from featgrad.dataset.prepare import Prepared
from featgrad.dataset.row_sums import PartMeans, Rows
from featgrad.math.targets import stratified, to_one_variance
from featgrad.moments.problem import Problem
from featgrad.plan import ESTIMATE_ROWS_IN_MEMORY
from featgrad.readers.block import canonical

# Entries of a dense block; sparse rows are one block.
_BLOCK_ENTRIES = 1 << 22
# Rows that the origins of columns are taken from.
_ORIGIN_ROWS = 1000


class InMemory(Dataset):
    """A dense or CSR matrix, whose missing entries count as their column's mean.

    It is the mean of the rows that a row is held out with.
    """

    def __init__(self, X: Any, prepared: Prepared, preprocess: str) -> None:
        self.prepared, self._preprocess = prepared, preprocess
        self.X = canonical(sparse.csr_array(X)) if sparse.issparse(X) else X
        rows, target = prepared.rows, prepared.target
        self.n_rows, self.n_features = len(rows), X.shape[1]
        self.n_outputs = target.outputs.shape[1]
        self.n_folds, self.splits = prepared.layout.n_folds, prepared.layout.splits
        self.held_out_by = prepared.layout.held_out_by
        self.task, self.filters = target.task, prepared.filters
        # By row of X; rows that are not in use have no weight and belong to no cell.
        self._weights = np.zeros(X.shape[0])
        self._outputs = np.zeros((X.shape[0], self.n_outputs))
        self._weights[rows] = prepared.weights
        self._take_folds(prepared.layout.folds)
        # Rows that are not in use may hold anything.
        some = np.sort(rows[:_ORIGIN_ROWS])
        first = self._filled(self.X[some], some)
        self.standardiser = Standardiser.from_sample(first, preprocess)

    def _take_folds(self, folds: Indices) -> None:
        """Put rows in use into folds, given in their random order."""
        rows, target = self.prepared.rows, self.prepared.target
        outputs = to_one_variance(target.outputs, self.prepared.weights)
        self._outputs[rows], classes = stratified(outputs, self.task)
        # All rows are of one class where no two have to count alike.
        classes = np.broadcast_to(classes, len(rows))
        n_classes = 2 if self.task == "binary" else 1
        shares = np.bincount(classes, self.prepared.weights, minlength=n_classes)
        self.class_shares = np.asarray(shares, np.float64)
        self._cells = np.full(self.X.shape[0], -1)
        self._cells[rows] = folds * len(self.class_shares) + classes
        self._fill: Fill | None = None
        if has_missing(self.X):
            parts = PartMeans(self.n_features, self._parts_of_cells)
            parts.add(Rows(self._outputs, self._weights, self._cells, self.X))
            self._fill = parts.fill()

    def problem(self) -> Problem:
        return self.prepared.problem(self.X, self._preprocess)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        sums = start()
        n_rows = self.X.shape[0]
        step = n_rows if sparse.issparse(self.X) else max(1, _BLOCK_ENTRIES // self.n_features)
        for first in range(0, n_rows, step):
            rows = slice(first, first + step)
            X = self._filled(self.X if step == n_rows else self.X[rows], rows)
            sums.add(Rows(self._outputs[rows], self._weights[rows], self._cells[rows], X))
        return sums

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        for start in range(0, self.n_rows, batch_rows):
            rows = self.prepared.rows[start : start + batch_rows]
            weights = self._weights[rows] * self.whole.shares[self._cells[rows]]
            consumer.add(self._outputs[rows], weights, self._filled(self.X[rows], rows))

    def sample(self, columns: Indices) -> RowSample:
        """Some columns of all rows, or of some from every fold if they are many."""
        target, step = self.prepared.target, -(-self.n_rows // ESTIMATE_ROWS_IN_MEMORY)
        rows, weights = self.prepared.rows[::step], self.prepared.weights[::step]
        is_sparse = sparse.issparse(self.X)
        X = self.X[:, columns][rows] if is_sparse else self.X[np.ix_(rows, columns)]
        X = self._filled(X, rows, columns)
        weights = weights if step == 1 else weights / weights.sum()
        folds, clusters = self._cells[rows] // len(self.class_shares), self.prepared.layout.clusters
        outputs = target.outputs[::step]
        sample = self._sample_of(X, outputs, weights, target.variance, folds, rows)
        return sample._replace(clusters=None if clusters is None else clusters[::step])

    def _filled(self, X: Any, rows: Any, columns: Any = slice(None)) -> Any:
        """Some columns of some rows without missing entries."""
        return X if self._fill is None else self._fill.only(columns)(X, self._cells[rows])
