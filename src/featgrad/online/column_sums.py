"""Sums over all columns: their means, variances, and prices.

The price of a column is its covariance with the residuals of the model of the day, which was fitted
before the row came: what the column would have added to predictions of rows not yet seen.
"""

from typing import Any

import numpy as np
from scipy import sparse

from featgrad._support.types import Floats
from featgrad.dataset.row_sums import Prices

# Columns whose prices are worked out at a time: they stay in a core's cache.
_BLOCK_ENTRIES = 1 << 15


class ColumnSums:
    """Weighted sums of each column, of its squares and of its products with the residuals.

    Dense columns are taken about an origin, their mean in the first rows, against cancellation.
    """

    def __init__(self, n_features: int, n_outputs: int, origin: Floats | None) -> None:
        self.total, self.squares = np.zeros(n_features), np.zeros(n_features)
        self.along = np.zeros((n_outputs, n_features))
        self.residual_total = np.zeros(n_outputs)
        self.residual_squares = np.zeros((n_outputs, n_outputs))
        self.weight = self.squared_weight = 0.0
        self.origin = origin

    @property
    def n_features(self) -> int:
        return len(self.total)

    @property
    def n_rows(self) -> float:
        """Rows of the same weight that would say as much."""
        return self.weight**2 / max(self.squared_weight, 1e-300)

    def add(self, X: Any, weights: Floats, residuals: Floats) -> None:
        weighted = weights[:, None] * residuals
        self.weight += float(weights.sum())
        self.squared_weight += float(weights @ weights)
        self.residual_total += weighted.sum(axis=0)
        self.residual_squares += weighted.T @ residuals
        if sparse.issparse(X):
            self._add_sparse(X, weights, weighted)
            return
        values = X - self.origin
        self.along += weighted.T @ values
        self.total += weights @ values
        self.squares += weights @ np.square(values)

    def _add_sparse(self, X: Any, weights: Floats, weighted: Floats) -> None:
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        np.add.at(self.total, X.indices, weights[rows] * X.data)
        np.add.at(self.squares, X.indices, weights[rows] * X.data**2)
        for along, output in zip(self.along, weighted.T, strict=True):
            np.add.at(along, X.indices, output[rows] * X.data)

    def rescale(self, factor: float) -> None:
        for sums in (self.total, self.squares, self.along):
            sums *= factor
        self.residual_total *= factor
        self.residual_squares *= factor
        self.weight *= factor
        self.squared_weight *= factor**2

    def grow(self, n_features: int) -> None:
        """More columns, which were zero so far."""
        more = n_features - self.n_features
        self.total, self.squares = (np.pad(sums, (0, more)) for sums in (self.total, self.squares))
        self.along = np.pad(self.along, ((0, 0), (0, more)))

    def merge(self, other: "ColumnSums") -> None:
        """Those of other rows, weighed by the same clock."""
        total, squares, along = other.total, other.squares, other.along
        if self.origin is not None and other.origin is not None:
            shift = other.origin - self.origin
            squares = squares + shift * (2 * total + other.weight * shift)
            total = total + other.weight * shift
            along = along + np.multiply.outer(other.residual_total, shift)
        self.total += total
        self.squares += squares
        self.along += along
        self.residual_total += other.residual_total
        self.residual_squares += other.residual_squares
        self.weight += other.weight
        self.squared_weight += other.squared_weight

    def means(self) -> Floats:
        """Mean of each column."""
        means = self.total / self.weight
        return means if self.origin is None else means + self.origin

    def spread(self) -> Floats:
        """Weighted sum of squares of each column about its mean; exactly 0 if it is constant."""
        spread = self.squares - self.total**2 / self.weight
        return np.where(spread > 1e-12 * self.squares, spread, 0.0)

    def prices(self) -> Prices:
        """Of columns of variance 1, in units of the outputs' squares; 0 for constant columns."""
        residual_mean = self.residual_total / self.weight
        mean_squares = np.multiply.outer(residual_mean, residual_mean)
        covariance = self.residual_squares / self.weight - mean_squares
        noise = np.asarray(np.linalg.eigvalsh(covariance) / self.n_rows, np.float64)
        values, expected = np.zeros(self.n_features), float(noise.sum())
        for start in range(0, self.n_features, _BLOCK_ENTRIES):
            own = slice(start, start + _BLOCK_ENTRIES)
            total, squares = self.total[own], self.squares[own]
            spread = squares - total**2 / self.weight
            varies = spread > 1e-12 * squares
            along = self.along[:, own] - np.multiply.outer(residual_mean, total)
            squared = np.einsum("cd,cd->d", along, along)
            found = squared[varies] / (spread[varies] * self.weight) - expected
            values[own][varies] = np.where(found == 0, 1e-300, found)
        return Prices(values, noise)
