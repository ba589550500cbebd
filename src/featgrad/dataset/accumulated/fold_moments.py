"""Few columns: exact moments of all of them over folds of rows, and nothing of the rows.

With ``z = (1, outputs, columns)`` of a row, ``sum w z z^T`` over a fold holds its weight, all sums,
squares and products. Means and deviations are put in at the end: an affine map of z.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.dataset.checkpoint import Arrays
from featgrad.dataset.dealt import GROUPS, N_FOLDS
from featgrad.moments.folds import Fold
from featgrad.moments.threads import one_blas_thread
from featgrad.preprocess.compression import Compression

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Entries of all folds' moments together.
_MOST_ENTRIES = 1 << 24
_BLOCK_ENTRIES = 1 << 20


def fit_into_memory(n_features: int, n_outputs: int) -> bool:
    return N_FOLDS * (1 + n_outputs + n_features) ** 2 <= _MOST_ENTRIES


class FoldMoments:
    """Moments over folds, which add up over parts of the rows."""

    def __init__(self, n_features: int, n_outputs: int) -> None:
        size = 1 + n_outputs + n_features
        self.sums = np.zeros((N_FOLDS, size, size))
        self.n_rows = np.zeros(N_FOLDS, np.int64)

    def add(
        self, compression: Compression, X: Any, outputs: Floats, weights: Floats, folds: Any
    ) -> None:
        """More rows; columns and outputs are about standardised."""
        first = 1 + outputs.shape[1]
        step = max(N_FOLDS, _BLOCK_ENTRIES // X.shape[1])
        for start in range(0, len(weights), step):
            rows = start + np.argsort(folds[start : start + step], kind="stable")
            root = np.sqrt(weights[rows])
            z = np.empty((len(rows), len(self.sums[0])), np.float32)
            z[:, 0], z[:, 1:first] = root, outputs[rows] * root[:, None]
            if sparse.issparse(X):
                here = np.arange(len(rows))
                compression.standardise_into(z[:, first:], X[rows].toarray(), here, root)
            else:
                compression.standardise_into(z[:, first:], X, rows, root)
            edges = np.searchsorted(folds[rows], np.arange(N_FOLDS + 1))
            with one_blas_thread():
                for fold in np.flatnonzero(np.diff(edges)):
                    part = z[edges[fold] : edges[fold + 1]]
                    self.sums[fold] += part.T @ part
            self.n_rows += np.diff(edges)

    def state(self) -> Arrays:
        return {"sums": self.sums, "n_rows": self.n_rows}

    def restore(self, state: Arrays) -> None:
        self.sums, self.n_rows = state["sums"], state["n_rows"]

    def merge(self, other: FoldMoments) -> None:
        self.sums += other.sums
        self.n_rows += other.n_rows


class MomentColumns:
    """Columns as the search for k features sees them, from moments alone."""

    groups = GROUPS
    n_folds = N_FOLDS

    def __init__(
        self, moments: FoldMoments, compression: Compression, n_outputs: int, preprocess: str
    ) -> None:
        self._moments, self._first = moments, 1 + n_outputs
        self.n_outputs = n_outputs
        self.n_features = moments.sums.shape[1] - self._first
        self.n_rows = int(moments.n_rows.sum())
        total = moments.sums.sum(axis=0)
        self._weight = total[0, 0]
        self._mean = total[0] / self._weight
        variance = np.diagonal(total) / self._weight - self._mean**2
        columns = slice(self._first, None)
        varies = variance > 0
        varies[columns] &= compression.varies(self._mean[columns], variance[columns])
        self._varies = varies[columns]
        self._mean[0], self._scale = 0.0, np.sqrt(np.where(varies, variance, 1.0))
        if preprocess == "center":
            self._scale[columns] = 1.0

    def cross(self) -> Floats:
        """``sum_n w_n x_n y_n`` over groups of folds, shape (features, groups, outputs)."""
        everything = np.arange(self.n_features)
        sums = [self._moments.sums[group.start : group.stop].sum(axis=0) for group in GROUPS]
        cross = [self._standardised(part, everything)[self._first :, 1 : self._first]
                 for part in sums]  # fmt: skip
        return np.where(self._varies[:, None, None], np.stack(cross, axis=1), 0.0)

    def folds(self, indices: Indices) -> list[Fold]:
        """Some columns over all folds."""
        return [
            self._fold(self._standardised(sums, indices), int(n_rows))
            for sums, n_rows in zip(self._moments.sums, self._moments.n_rows, strict=True)
        ]

    def _fold(self, sums: Floats, n_rows: int) -> Fold:
        first = self._first
        return Fold(
            weight=float(sums[0, 0]),
            n_rows=n_rows,
            cross=sums[first:, 1:first],
            squares=np.diagonal(sums)[1:first],
            rows=None,
            gram=sums[first:, first:].astype(np.float32),
        )

    def _standardised(self, sums: Floats, indices: Indices) -> Floats:
        """``A sums A^T`` for the map ``z -> A z`` to mean 0 and variance 1 over all rows."""
        used = np.concatenate([np.arange(self._first), self._first + indices])
        sums, mean, scale = sums[np.ix_(used, used)], self._mean[used], self._scale[used]
        lifted = np.multiply.outer(mean, sums[0])
        centred = sums - lifted - lifted.T + sums[0, 0] * np.multiply.outer(mean, mean)
        return np.asarray(centred / np.multiply.outer(scale, scale) / self._weight)
