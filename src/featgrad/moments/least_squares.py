"""Least squares on some columns: what they explain beyond what chance would, and each one's part.

For weights that sum to one let ``C = sum w x x^T`` over all rows and ``z = C^(-1/2) x``, divided by
``sqrt(1 - w |z|^2)`` for the part that a row itself has in C. Rows that a prediction p has not seen
leave residuals ``r = y - p``, whose own explained variance

    U = sum over pairs i != j of w_i w_j (z_i^T z_j) r_i r_j / sum over pairs of w_i w_j

is what p misses of the best linear model, without bias for any p: ``mean y^2 - mean r^2 + U``
estimates the variance that the best model on these columns explains on new rows. The better p is,
the less noise it has.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from featgrad.arrays import Flags, Floats, Indices
from featgrad.moments.array_api import placed_like, to_numpy

# Directions of less variance, relative to the largest, are rounding.
_ROUNDING = 1e-7
# Of a row that all but decides a direction by itself no more is made up for.
_LEAST_LEFT = 0.25


class Weighted(NamedTuple):
    """Standardised columns, centred outputs and weights of rows, as arrays of one library."""

    values: Any
    outputs: Any
    weights: Any

    def take(self, rows: Indices) -> "Weighted":
        return Weighted(*(part[placed_like(part, rows)] for part in self))

    @property
    def n_effective(self) -> float:
        """Rows of equal weight that would be as informative."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @property
    def variance(self) -> float:
        return float(self.weights @ (self.outputs**2).sum(1) / self.weights.sum())

    def normal_equations(self, ridge: float) -> tuple[Floats, Floats]:
        """``C + ridge I`` and covariances with the outputs; the ridge is a sum of squares."""
        share = self.weights[:, None] / self.weights.sum()
        covariance = to_numpy(self.values.T @ (share * self.values))
        covariance[np.diag_indices(len(covariance))] += ridge / self.n_effective
        return covariance, to_numpy(self.values.T @ (share * self.outputs))

    def whitened(self) -> "Weighted":
        """Uncorrelated columns of variance 1; as many as there are independent ones."""
        share = self.weights[:, None] / self.weights.sum()
        eigenvalues, axes = np.linalg.eigh(to_numpy(self.values.T @ (share * self.values)))
        used = eigenvalues > _ROUNDING * max(float(eigenvalues.max(initial=0.0)), 1e-300)
        to_one_variance = axes[:, used] / np.sqrt(eigenvalues[used])
        return self._replace(values=self.values @ placed_like(self.values, to_one_variance))

    def without_leverage(self) -> "Weighted":
        """Whitened columns as if no row had had a part in whitening itself."""
        leverage = self.weights / self.weights.sum() * (self.values**2).sum(1)
        left = (1 - leverage).clip(_LEAST_LEFT) ** 0.5
        return self._replace(values=self.values / left[:, None])


class Explained(NamedTuple):
    """Variance that the best linear model on some columns explains, and how uncertain that is."""

    value: float  # mean y^2 - mean r^2 + U
    influences: Floats  # how much each row moves it
    # What squared influences overstate the variance by: that of a sum over pairs of noise.
    excess: float


def ridge_coefficients(rows: Weighted, ridge: float) -> Floats:
    """Of a ridge model."""
    return np.asarray(np.linalg.solve(*rows.normal_equations(ridge)))


def adjusted(white: Weighted) -> float:
    """Adjusted R^2 of least squares on whitened columns."""
    n, k = white.n_effective, white.values.shape[1]
    share = white.weights / white.weights.sum()
    explained = float(((white.values.T @ (share[:, None] * white.outputs)) ** 2).sum())
    left = 1 - explained / white.variance
    return float(1 - left * (n - 1) / max(n - 1 - k, 1.0))


def explained(white: Weighted, predicted: Any) -> Explained:
    """What whitened columns explain, from a prediction that has not seen these rows."""
    z, y, w = white
    r = y - predicted
    total, squares = float(w.sum()), float((w**2).sum())
    along = z.T @ (w[:, None] * r)
    own = w**2 * (z**2).sum(1) * (r**2).sum(1)
    inside = float((along**2).sum() - own.sum())
    through = 2 * (w * ((z @ along) * r).sum(1) - own)
    pairs, others = total**2 - squares, (total - w) ** 2 - (squares - w**2)
    missed = inside / pairs
    missed_without = (inside - through) / others.clip(1e-300)
    by_row = (y**2 - r**2).sum(1)
    mean = float(w @ by_row / total)
    mean_without = (total * mean - w * by_row) / (total - w).clip(1e-300)
    influences = (mean - mean_without) + (missed - missed_without)
    excess = 2 / pairs**2 * _pair_squares(z, r, w)
    return Explained(mean + missed, to_numpy(influences), excess)


def _pair_squares(z: Any, r: Any, w: Any) -> float:
    """``sum over pairs of w_i^2 w_j^2 (z_i^T z_j)^2 (r_i^T r_j)^2``.

    With several outputs as if their residuals did not depend on the columns.
    """
    if r.shape[1] == 1:
        z, r = z * r, r * 0 + 1
    weights = w**2
    of_columns = _distinct_pairs(z, weights)
    of_outputs = _distinct_pairs(r, weights)
    return of_columns * of_outputs / max(float(weights.sum() ** 2 - (weights**2).sum()), 1e-300)


def _distinct_pairs(vectors: Any, weights: Any) -> float:
    """``sum over pairs i != j of w_i w_j (v_i^T v_j)^2``."""
    products = vectors.T @ (weights[:, None] * vectors)
    own = (vectors**2).sum(1) ** 2
    return max(float((products**2).sum() - weights**2 @ own), 0.0)


class Gains(NamedTuple):
    """Explained fraction that held-out rows lose without each feature.

    Attributes
    ----------
    values : ndarray
        What is lost; below 0 where held-out rows are better predicted without the feature.
    standard_errors : ndarray
        Their standard errors.
    """

    values: Any
    standard_errors: Any


def best_linear(rows: Weighted) -> tuple[float, float]:
    """Adjusted R^2 of least squares and its standard error."""
    white = rows.whitened()
    n, k, V = rows.n_effective, white.values.shape[1], rows.variance
    share = rows.weights / rows.weights.sum()
    value, correction = adjusted(white), (n - 1) / max(n - 1 - k, 1.0)
    coefficients = white.values.T @ (share[:, None] * rows.outputs)
    residuals = rows.outputs - white.values @ coefficients
    left, squares = np.sum(residuals**2, axis=1), np.sum(rows.outputs**2, axis=1)
    influences = share * (correction * left - (1 - value) * squares) / V
    # Products of noise along the columns. Residuals have lost their part in them, so that squared
    # influences leave them out; a part of them is in the target's variance, too, and counts twice.
    noise = residuals.T @ (share[:, None] * residuals) * correction / V
    products = 2 * k * np.sum(noise**2) / (n * max(n - k, 1.0))
    twice = 2 * (1 - value) * (1 - k / n)
    return value, float(np.sqrt(max(np.sum(influences**2) + (1 - twice) * products, products)))


def losses_without(
    rows: Weighted, units: Indices, held_out: Sequence[Indices], counted: Flags, ridge: float
) -> Gains:
    """Explained fraction that held-out rows lose, in models of the others, without each unit.

    Groups of rows are held out in turn; what those of a group lose counts where `counted`, of shape
    (groups, units), is true. With ``H = (C + ridge I)^-1`` and coefficients B, those without the
    columns g are ``B - H_:g H_gg^-1 B_g``. Errors are those of the mean of rows or, if these are
    larger, of groups.
    """
    parts = []
    for outside, counts in zip(held_out, counted, strict=True):
        inside = np.delete(np.arange(len(rows.weights)), outside)
        training, test = rows.take(inside), rows.take(outside)
        losses = _losses(training, test, units, ridge) * placed_like(rows.values, counts)
        parts.append((test.weights / rows.weights.sum(), losses))
    values = sum(share @ losses for share, losses in parts)
    of_rows = to_numpy(sum(share**2 @ (losses - values) ** 2 for share, losses in parts))
    off = np.array([to_numpy(share @ (losses - values)) for share, losses in parts])
    of_groups = np.sum(off**2, axis=0) * len(off) / (len(off) - 1)
    errors = np.sqrt(np.maximum(of_rows, of_groups))
    return Gains(to_numpy(values) / rows.variance, errors / rows.variance)


def _losses(training: Weighted, test: Weighted, units: Indices, ridge: float) -> Any:
    """More squared error of each row of `test` without each unit, shape (rows, units)."""
    covariance, cross = training.normal_equations(ridge)
    inverse = np.linalg.inv(covariance)
    coefficients = inverse @ cross
    changes = np.zeros((len(units), int(units.max()) + 1, cross.shape[1]))
    for unit in range(changes.shape[1]):
        own = np.flatnonzero(units == unit)
        changes[own, unit] = np.linalg.solve(inverse[np.ix_(own, own)], coefficients[own])
    residuals = test.outputs - test.values @ placed_like(test.values, coefficients)
    moved = test.values @ placed_like(test.values, inverse @ changes.reshape(len(units), -1))
    moved = moved.reshape(len(moved), *changes.shape[1:])
    return ((2 * residuals[:, None] + moved) * moved).sum(2)
