"""Least squares on some columns: what they explain beyond what chance would, and each one's part.

For weights that sum to one let z be a constant and the columns, whitened: ``sum w z z^T = I`` over
all rows, and made up for the part that a row itself has in that. Rows that a prediction p has not
seen leave residuals ``r = y - p``, of which the best linear model on the columns explains

    U = sum over pairs i != j of w_i w_j (z_i^T z_j) r_i r_j / sum over pairs of w_i w_j,

so that ``mean r^2 - U`` estimates the variance that it leaves on new rows, without bias for any p.
The better p is, the less noise it has. Rows may come in clusters, whose rows depend on each other:
pairs are then of rows of different clusters, and clusters take the place of rows in all errors.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from featgrad._support import Floats, Indices
from featgrad._support.array_api import namespace, placed_like, to_numpy

# Directions of less variance, relative to the largest, are rounding, and so is what a column
# deviates by, relative to its mean.
_ROUNDING = 1e-7
# Of a row that all but decides a direction by itself no more is made up for.
_LEAST_LEFT = 0.25


class Weighted(NamedTuple):
    """Columns, outputs and weights of rows, as arrays of one library."""

    values: Any
    outputs: Any
    weights: Any
    # A label per row, on the host; None where each row is a cluster by itself.
    clusters: Indices | None = None

    def take(self, rows: Indices) -> "Weighted":
        clusters = None if self.clusters is None else self.clusters[rows]
        values, outputs, weights = (part[placed_like(part, rows)] for part in self[:3])
        return Weighted(values, outputs, weights, clusters)

    @property
    def n_effective(self) -> float:
        """Rows of equal weight that would be as informative."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @property
    def n_independent(self) -> float:
        """Clusters of equal weight that would be as informative."""
        weights = _summed(self.weights, self.clusters)
        return float(weights.sum() ** 2 / (weights**2).sum())

    @property
    def variance(self) -> float:
        share = self.weights / self.weights.sum()
        centred = self.outputs - share @ self.outputs
        return float(share @ (centred**2).sum(1))

    def standardised(self, by: Indices) -> "Weighted":
        """Columns and outputs centred, and columns of variance 1, by some of the rows.

        Columns that are constant in them are only centred.
        """
        values, outputs, weights, _ = self.take(by)
        share = weights / weights.sum()
        mean = share @ values
        deviation = (share @ (values - mean) ** 2) ** 0.5
        constant = deviation <= _ROUNDING * abs(mean)
        scale = deviation * ~constant + constant
        return self._replace(
            values=(self.values - mean) / scale, outputs=self.outputs - share @ outputs
        )

    def normal_equations(self, ridge: float) -> tuple[Floats, Floats]:
        """``C + ridge I`` and covariances with the outputs; the ridge is a sum of squares."""
        share = self.weights[:, None] / self.weights.sum()
        covariance = to_numpy(self.values.T @ (share * self.values))
        covariance[np.diag_indices(len(covariance))] += ridge / self.n_effective
        return covariance, to_numpy(self.values.T @ (share * self.outputs))

    def whitened(self) -> "Weighted":
        """A constant and the columns, uncorrelated and of mean square 1, without dependent ones."""
        share = self.weights[:, None] / self.weights.sum()
        values = namespace(self.values).concat([0 * share + 1, self.values], axis=1)
        eigenvalues, axes = np.linalg.eigh(to_numpy(values.T @ (share * values)))
        used = eigenvalues > _ROUNDING * float(eigenvalues.max())
        to_one_variance = axes[:, used] / np.sqrt(eigenvalues[used])
        return self._replace(values=values @ placed_like(values, to_one_variance))

    def without_leverage(self) -> "Weighted":
        """Whitened columns as if no row, or no cluster, had had a part in whitening itself."""
        share = self.weights / self.weights.sum()
        if self.clusters is None:
            left = (1 - share * (self.values**2).sum(1)).clip(_LEAST_LEFT) / (1 - share)
            return self._replace(values=self.values / left[:, None] ** 0.5)
        z, root = to_numpy(self.values).copy(), np.sqrt(to_numpy(share))[:, None]
        order = np.argsort(self.clusters, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(self.clusters[order])) + 1):
            left, lengths, right = np.linalg.svd(root[rows] * z[rows], full_matrices=False)
            more = lengths / np.sqrt((1 - lengths**2).clip(_LEAST_LEFT)) - lengths
            z[rows] += left * more @ right / root[rows]
            z[rows] *= np.sqrt(1 - np.sum(root[rows] ** 2))
        return self._replace(values=placed_like(self.values, z))


class Left(NamedTuple):
    """Variance that the best linear model on some columns leaves, and how uncertain that is."""

    value: float  # mean r^2 - U
    influences: Floats  # how much each row moves it, or each cluster in the order of their labels
    # What squared influences overstate the variance by: that of a sum over pairs of noise.
    excess: float


def ridge_coefficients(rows: Weighted, ridge: float) -> Floats:
    return np.asarray(np.linalg.solve(*rows.normal_equations(ridge)))


def adjusted(white: Weighted) -> float:
    """Adjusted R^2 of least squares on whitened columns."""
    left, variances = _left_and_variances(white)
    return float(1 - left.sum() / variances.sum())


def each_explained(columns: Weighted, by: Weighted) -> Floats:
    """Adjusted R^2, at least 0, of each column by least squares on others of the same rows."""
    left, variances = _left_and_variances(by.whitened()._replace(outputs=columns.values))
    return np.asarray(np.clip(1 - left / np.maximum(variances, 1e-300), 0.0, 1.0))


def _left_and_variances(white: Weighted) -> tuple[Floats, Floats]:
    """Variance of each output, and what least squares leave of it with as many columns."""
    n, k = white.n_independent, white.values.shape[1] - 1
    share = white.weights / white.weights.sum()
    centred = white.outputs - share @ white.outputs
    explained = to_numpy(((white.values.T @ (share[:, None] * centred)) ** 2).sum(0))
    variances = to_numpy(share @ centred**2)
    return (variances - explained) * (n - 1) / max(n - 1 - k, 1.0), variances


def variance_left(white: Weighted) -> Left:
    """What whitened columns leave of outputs, which are residuals of a model of other rows."""
    z, r, w, clusters = white
    total, weights = float(w.sum()), _summed(w, clusters)
    if len(weights) == 1:
        # There are no pairs: what a model of other rows leaves is all that is known. Rows that
        # depend on each other may have a level of their own, which no column explains.
        spread = white.variance
        return Left(spread, np.array([spread]), 0.0)
    squares = float((weights**2).sum())
    along = z.T @ (w[:, None] * r)
    own, pair_squares = _products(white)
    inside = float((along**2).sum() - own.sum())
    through = 2 * (_summed(w * ((z @ along) * r).sum(1), clusters) - own)
    pairs = max(total**2 - squares, 1e-300)
    by_row = w * (r**2).sum(1)
    mean, missed = float(by_row.sum()) / total, inside / pairs
    mean_without = _quotient(total * mean - _summed(by_row, clusters), total - weights, mean)
    others = (total - weights) ** 2 - (squares - weights**2)
    influences = (mean - missed) - (mean_without - _quotient(inside - through, others, missed))
    return Left(mean - missed, to_numpy(influences), 2 / pairs**2 * pair_squares)


def _quotient(dividend: Any, divisor: Any, otherwise: float) -> Any:
    """The quotient where something is left to divide by."""
    known = divisor > _ROUNDING * float(divisor.max())
    return dividend * known / (divisor + 1.0 * ~known) + otherwise * ~known


def _products(white: Weighted) -> tuple[Any, float]:
    """Squared sums ``s_g = sum of w z r`` of rows or clusters, and ``sum of (s_g^T s_h)^2``.

    The latter is over pairs and, with several outputs, as if those did not depend on each other;
    without clusters residuals are taken as independent of the columns then.
    """
    z, r, w, clusters = white
    if clusters is None and r.shape[1] > 1:
        weights = w**2
        pairs = max(float(weights.sum() ** 2 - (weights**2).sum()), 1e-300)
        product = _distinct_pairs(z, weights) * _distinct_pairs(r, weights) / pairs
        return weights * (z**2).sum(1) * (r**2).sum(1), product
    own, product = 0.0 * _summed(w, clusters), 0.0
    for residual in (w[:, None] * r).T:
        sums = _summed(z * residual[:, None], clusters)
        own = own + (sums**2).sum(1)
        product += _distinct_pairs(sums, 0 * own + 1)
    return own, product


def _summed(values: Any, clusters: Indices | None) -> Any:
    """Sums over rows of each cluster."""
    if clusters is None:
        return values
    _, labels = np.unique(clusters, return_inverse=True)
    rows = np.ones(len(labels)), (labels, np.arange(len(labels)))
    return placed_like(values, sparse.csr_array(rows) @ to_numpy(values))


def _distinct_pairs(vectors: Any, weights: Any) -> float:
    """``sum over pairs i != j of w_i w_j (v_i^T v_j)^2``."""
    products = vectors.T @ (weights[:, None] * vectors)
    own = (vectors**2).sum(1) ** 2
    return max(float((products**2).sum() - weights**2 @ own), 0.0)


class Gains(NamedTuple):
    """Explained fraction that held-out rows lose without each feature."""

    values: Any  # below 0 where they are better predicted without the feature
    standard_errors: Any


def best_linear(rows: Weighted) -> tuple[float, float]:
    """Adjusted R^2 of least squares and its standard error.

    The error is that of the jackknife, which does not take noise for the same everywhere: without
    a row of leverage h the squared residuals are less by ``r^2 / (1 - h)``.
    """
    white = rows.whitened()
    n, k = rows.n_effective, white.values.shape[1] - 1
    w = rows.weights / rows.weights.sum()
    y = rows.outputs - w @ rows.outputs
    residuals = y - white.values @ (white.values.T @ (w[:, None] * y))
    leverage = w * np.sum(white.values**2, axis=1)
    left, squares = w * np.sum(residuals**2, axis=1), w * np.sum(y**2, axis=1)
    without = left.sum() - left / np.maximum(1 - leverage, _LEAST_LEFT)
    ratios = without / (squares.sum() - squares / (1 - w))
    values = 1 - ratios * (n - 2) / max(n - 2 - k, 1.0)
    influences = (w @ values - values) * (1 - w)
    return adjusted(white), float(np.sqrt(np.sum(influences**2) * n / (n - 1)))


def losses_without(
    rows: Weighted,
    units: Indices,
    divisions: Sequence[tuple[Indices, Indices]],
    counted: Floats,
    ridge: float,
) -> Gains:
    """Explained fraction that test rows lose, in models of training rows, without each unit.

    What test rows of a division lose counts by `counted`, of shape (divisions, units). With
    ``H = (C + ridge I)^-1`` and coefficients B, those without the columns g are
    ``B - H_:g H_gg^-1 B_g``. The variance is that of the mean of rows or, if that is larger, of
    divisions, and once more that of rows, however they count: models share their rows (Nadeau &
    Bengio 2003), and what counts is uncertain, too.
    """
    total = sum(float(rows.weights[placed_like(rows.weights, test)].sum()) for _, test in divisions)
    parts = []
    for training, test in divisions:
        standardised = rows.standardised(training)
        outside = standardised.take(test)
        losses = _losses(standardised.take(training), outside, units, ridge)
        parts.append(outside._replace(values=losses, weights=outside.weights / total))
    counts = [placed_like(rows.values, each) for each in counted]
    counting = [p._replace(values=p.values * c) for p, c in zip(parts, counts, strict=True)]
    values, of_rows, of_divisions = _mean(counting)
    _, however, _ = _mean(parts)
    errors = np.sqrt(np.maximum(of_rows, of_divisions) + however)
    return Gains(values / rows.variance, errors / rows.variance)


def _mean(parts: Sequence[Weighted]) -> tuple[Floats, Floats, Floats]:
    """Mean over rows of all parts, and its variance by rows or clusters and by parts."""
    mean = sum(part.weights @ part.values for part in parts)
    off = [part.weights[:, None] * (part.values - mean) for part in parts]
    by_row = [_summed(each, part.clusters) for each, part in zip(off, parts, strict=True)]
    of_rows = to_numpy(sum((each**2).sum(0) for each in by_row))
    by_part = np.array([to_numpy(each.sum(0)) for each in off])
    return to_numpy(mean), of_rows, np.sum(by_part**2, axis=0) * len(off) / (len(off) - 1)


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
