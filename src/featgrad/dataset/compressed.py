"""Columns of a matrix in memory as the search for k features sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.dataset.dealt import of_one_variance
from featgrad.dataset.passing import Onlooker
from featgrad.dataset.prepare import build_engine
from featgrad.moments.folds import Fold, make_fold
from featgrad.moments.spectrum import top_eigenvalue
from featgrad.preprocess.compression import SAMPLE_ROWS, Compression, CrossSums
from featgrad.preprocess.present_means import present_means

Floats = NDArray[np.float64]


class CompressedColumns:
    """Compressed columns of a dense or CSR matrix.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The features; missing entries count as their column's mean.
    rows : ndarray
        Rows in use, in the order that the search visits them.
    weights : ndarray
        Their weights, which sum to one.
    outputs : ndarray of shape (rows in use, outputs)
        Their centred targets; brought to variance 1.
    preprocess : {"zscore", "center"}
        Whether columns are compressed and brought to one variance, or only centred.
    """

    def __init__(
        self, X: Any, rows: NDArray[np.intp], weights: Floats, outputs: Floats, preprocess: str
    ) -> None:
        self._rows, self._preprocess = rows, preprocess
        self.n_features, (self.n_rows, self.n_outputs) = X.shape[1], outputs.shape
        self._outputs = of_one_variance(outputs, weights)
        self._weights = np.zeros(X.shape[0])
        self._weights[rows] = weights
        self._X = _canonical(X) if sparse.issparse(X) else X
        fill = present_means(self._X, self._weights)
        self._compression = Compression(self._X[rows[:SAMPLE_ROWS]], fill, preprocess)

    def cross(self, groups: Sequence[slice]) -> Floats:
        """``sum_n w_n x_n y_n`` over each group of rows, shape (features, groups, outputs).

        The first call also takes the columns' means and variances.
        """
        spread = np.zeros((len(self._weights), len(groups), self.n_outputs))
        for g, span in enumerate(groups):
            rows = self._rows[span]
            spread[rows, g] = self._weights[rows, None] * self._outputs[span]
        flat = spread.reshape(len(spread), -1)
        sums = CrossSums(self.n_features, flat.shape[1])
        self._compression.add(sums, self._X, self._weights, flat)
        return self._compression.cross(sums).reshape(self.n_features, *spread.shape[1:])

    def folds(self, spans: Sequence[slice], indices: NDArray[np.intp]) -> list[Fold]:
        """Some columns over runs of rows, standardised."""
        return [self._fold(self._rows[span], indices, self._outputs[span]) for span in spans]

    def standardisers(self) -> tuple[Floats, Floats]:
        """Mean and scale of the raw columns that pass; after `cross`."""
        return self._compression.standardisers(sparse.issparse(self._X))

    def top_eigenvalue(self, indices: NDArray[np.intp]) -> float:
        """Of the covariance of some standardised columns."""
        weights = self._weights[self._rows]
        engine = build_engine(self._X[:, indices], self._rows, weights, self._preprocess)
        return top_eigenvalue(engine, np.ones(len(indices)), weights)

    def let_pass(self, name: str, rows_at_once: int, onlooker: Onlooker) -> None:
        """Show outputs, weights and raw columns of all rows."""
        for start in range(0, self.n_rows, rows_at_once):
            some = slice(start, start + rows_at_once)
            rows = self._rows[some]
            raw = self._compression.raw(self._X[rows])
            onlooker.add(self._outputs[some], self._weights[rows], raw)

    def _fold(self, rows: NDArray[np.intp], indices: NDArray[np.intp], outputs: Floats) -> Fold:
        values = self._compression.standardised(self._X[rows][:, indices], indices)
        return make_fold(values, outputs, self._weights[rows])


def _canonical(X: Any) -> Any:
    """Rows with sorted, unique columns."""
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
