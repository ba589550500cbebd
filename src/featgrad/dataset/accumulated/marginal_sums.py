"""Many columns of rows in chunks: exact sums of each with the target, a sample for the rest."""

import copy
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from featgrad.arrays import Floats
from featgrad.dataset.in_memory import InMemory
from featgrad.dataset.row_sums import Prices, Rows
from featgrad.preprocess.standardise import ArraySums, ColumnSums, Standardiser


class MarginalSums(ArraySums):
    """Sums over all rows of each column times ``(1, outputs)``, and of its square."""

    def __init__(self, n_features: int, n_outputs: int) -> None:
        self.columns = ColumnSums(n_features, 1 + n_outputs, 1)
        self.products = np.zeros((n_outputs, n_outputs))
        self.noise = np.zeros((n_outputs, n_outputs))

    def add(self, standardiser: Standardiser, rows: Rows) -> None:
        """More rows; outputs are about standardised."""
        weights = rows.weights[:, None]
        weighted = weights * rows.outputs
        X = standardiser.filled(rows.X)
        linear = np.concatenate([weights, weighted], axis=1)
        self.columns.add(X, standardiser.origin, linear, weights)
        self.products += rows.outputs.T @ weighted
        self.noise += weighted.T @ weighted

    def prices(self, standardiser: Standardiser) -> Prices:
        """What each column explains by itself, judged by all rows."""
        sums = self.columns
        total = sums.of_linear[0]
        exact = copy.copy(standardiser)
        exact.learn(sums.linear[:, 0] / total, sums.squared[:, 0] / total)
        mean = sums.of_linear[1:] / total
        deviation = np.sqrt(np.maximum(np.diagonal(self.products) / total - mean**2, 1e-300))
        along = exact.centred(sums.linear[:, 1:], sums.of_linear[1:]) / total / deviation
        noise = self.noise / total**2 / np.multiply.outer(deviation, deviation)
        values = np.sum(along**2, axis=1) - np.trace(noise)
        n_outputs = len(mean)
        values = np.where(exact.factor > 0, values, 0.0) / n_outputs
        return Prices(values, np.linalg.eigvalsh(noise) / n_outputs)


class SampledChunks(InMemory):
    """A sample of the rows, with marginals of all rows."""

    exact: Prices

    def take_folds(self, folds: NDArray[np.int8]) -> None:
        """Put rows into the folds that exact sums over all rows have put them into."""
        rows = self._prepared.rows
        self._folds[rows] = folds[rows]

    def marginals(self, shares: Sequence[Floats]) -> list[Prices]:
        """Those of all rows where all folds have a say."""
        found = super().marginals(shares)
        return [
            self.exact if share.all() else prices
            for share, prices in zip(shares, found, strict=True)
        ]
