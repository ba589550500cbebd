"""Rows of a matrix in memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from featgrad.arrays import Indices
from featgrad.dataset.base import Consumer, Dataset, S, Sample
from featgrad.dataset.prepare import Prepared
from featgrad.dataset.row_sums import Rows
from featgrad.math.targets import balanced, to_one_variance
from featgrad.moments.problem import Problem
from featgrad.plan import ESTIMATE_ROWS_IN_MEMORY
from featgrad.preprocess.present_means import present_means
from featgrad.preprocess.standardise import Standardiser
from featgrad.readers.block import canonical

# Entries of a dense block; sparse rows are one block.
_BLOCK_ENTRIES = 1 << 22
# Rows that the origins of columns are taken from.
_ORIGIN_ROWS = 1000


class InMemory(Dataset):
    """A dense or CSR matrix, whose missing entries count as their column's mean."""

    def __init__(self, X: Any, prepared: Prepared, preprocess: str, n_folds: int) -> None:
        self.prepared, self._preprocess = prepared, preprocess
        self.X = canonical(sparse.csr_array(X)) if sparse.issparse(X) else X
        rows, target = prepared.rows, prepared.target
        self.n_rows, self.n_features = len(rows), X.shape[1]
        self.n_outputs = target.outputs.shape[1]
        self.n_folds = min(n_folds, self.n_rows)
        self.task, self.filters = target.task, prepared.filters
        # By row of X; rows that are not in use have no weight and belong to no fold.
        self._weights = np.zeros(X.shape[0])
        self._outputs = np.zeros((X.shape[0], self.n_outputs))
        outputs = to_one_variance(target.outputs, prepared.weights)
        self._outputs[rows], self._weights[rows] = balanced(outputs, prepared.weights, self.task)
        self._folds = np.full(X.shape[0], -1)
        self._folds[rows] = np.arange(self.n_rows) * self.n_folds // self.n_rows
        fill = present_means(self.X, self._weights)
        # Rows that are not in use may hold anything.
        first = self.X[np.sort(rows[:_ORIGIN_ROWS])]
        self.standardiser = Standardiser.from_sample(first, fill, preprocess)

    def problem(self) -> Problem:
        return self.prepared.problem(self.X, self._preprocess)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        sums = start()
        n_rows = self.X.shape[0]
        step = n_rows if sparse.issparse(self.X) else max(1, _BLOCK_ENTRIES // self.n_features)
        for first in range(0, n_rows, step):
            rows = slice(first, first + step)
            X = self.X if step == n_rows else self.X[rows]
            sums.add(Rows(self._outputs[rows], self._weights[rows], self._folds[rows], X))
        return sums

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        for start in range(0, self.n_rows, batch_rows):
            rows = self.prepared.rows[start : start + batch_rows]
            X = self.standardiser.filled(self.X[rows])
            consumer.add(self._outputs[rows], self._weights[rows], X)

    def sample(self, columns: Indices) -> Sample:
        """Some columns of all rows, or of some from every fold if they are many."""
        target, step = self.prepared.target, -(-self.n_rows // ESTIMATE_ROWS_IN_MEMORY)
        rows, weights = self.prepared.rows[::step], self.prepared.weights[::step]
        is_sparse = sparse.issparse(self.X)
        X = self.X[:, columns][rows] if is_sparse else self.X[np.ix_(rows, columns)]
        weights = weights if step == 1 else weights / weights.sum()
        outputs, folds = target.outputs[::step], self._folds[rows]
        return self._sample_of(X, outputs, weights, target.variance, folds)
