"""Many columns: exact sums of each one with the target, and moments of a few from kept rows."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.dataset.accumulated.kept_rows import Rows
from featgrad.dataset.dealt import GROUPS, N_FOLDS
from featgrad.moments.folds import Fold, make_fold
from featgrad.preprocess.compression import Compression, CrossSums

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_GROUP_OF_FOLD = np.repeat(np.arange(len(GROUPS)), [len(group) for group in GROUPS])


class GroupSums:
    """Sums over groups of folds of each column times ``(1, outputs)``."""

    def __init__(self, n_features: int, n_outputs: int) -> None:
        self.columns = CrossSums(n_features, len(GROUPS) * (1 + n_outputs))
        self.squares = np.zeros(n_outputs)

    def add(
        self, compression: Compression, X: Any, outputs: Floats, weights: Floats, folds: Any
    ) -> None:
        """More rows; outputs are about standardised."""
        places = np.arange(len(weights))
        spread = np.zeros((len(weights), len(GROUPS), 1 + outputs.shape[1]))
        spread[places, _GROUP_OF_FOLD[folds]] = np.insert(outputs, 0, 1.0, axis=1)
        weighted = (spread * weights[:, None, None]).reshape(len(weights), -1)
        compression.add(self.columns, X, weights, weighted)
        self.squares += weights @ outputs**2

    def merge(self, other: GroupSums) -> None:
        for name in ("records", "outputs"):
            vars(self.columns)[name] += vars(other.columns)[name]
        self.columns.from_nothing |= other.columns.from_nothing
        self.squares += other.squares


class SampledColumns:
    """Columns as the search for k features sees them: sums of all rows, folds of the kept ones."""

    groups = GROUPS
    n_folds = N_FOLDS

    def __init__(
        self, sums: GroupSums, compression: Compression, rows: Rows, outputs: Floats
    ) -> None:
        self._rows = rows
        self.n_rows, self.n_outputs = outputs.shape
        self.n_features = rows.X.shape[1]
        of_outputs = sums.columns.outputs.reshape(len(GROUPS), -1).sum(axis=0)
        weight = of_outputs[0]
        self._mean = of_outputs[1:] / weight
        variance = sums.squares / weight - self._mean**2
        self._scale = np.sqrt(np.where(variance > 0, variance, 1.0))
        self._outputs = (outputs - self._mean) / self._scale
        shares = copy.copy(sums.columns)
        for name in ("records", "outputs"):
            vars(shares)[name] = vars(shares)[name] / weight
        self._compression = copy.copy(compression)
        self._cross = self._compression.cross(shares)

    def cross(self) -> Floats:
        """``sum_n w_n x_n y_n`` over groups of folds, shape (features, groups, outputs)."""
        sums = self._cross.reshape(self.n_features, len(GROUPS), -1)
        return np.asarray((sums[:, :, 1:] - self._mean * sums[:, :, :1]) / self._scale)

    def folds(self, indices: Indices) -> list[Fold]:
        """Some columns over the kept rows of all folds."""
        places = [np.flatnonzero(self._rows.folds == fold) for fold in range(N_FOLDS)]
        return [
            make_fold(
                self._compression.standardised(self._rows.X[rows][:, indices], indices),
                self._outputs[rows],
                self._rows.weights[rows],
            )
            for rows in places
        ]
