"""Sums over a stream that forgets: of all columns and of the working set, of which they choose.

The weight of a row doubles with every half-life that it comes later. Sums of weighted rows then
need no decay: a new row is added, whatever their number of columns. Before weights become too
large, all sums are divided by the same number.

The price of a column is its covariance with the residuals of the model of the day, which was fitted
before the row came: what the column would have added to predictions of rows not yet seen.

Moments of the working set are exact. With ``z = (1, outputs, columns)`` of a row, about an origin,
``sum w z z^T`` holds all that ridge regression, elimination and swaps need. A column that enters
has these sums over recent rows; in older ones it counts as a column of noise about its mean, with
the variance it had there. All moments stay those of one set of rows, hence positive; what the
column is worth grows as older rows are forgotten.

The ridge is a share of the largest eigenvalue, however many rows there are: what a set explains of
past rows by small directions, a model that follows the stream does not find again in the next ones.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from featgrad._support import Flags, Floats, Indices
from featgrad.columns.sums import ColumnSums
from featgrad.dataset.sums import Prices
from featgrad.moments.folds import Totals
from featgrad.moments.spectrum import top_of_covariance
from featgrad.plan import ONLINE_RIDGE, candidates_of
from featgrad.search.elimination import Candidates, eliminate
from featgrad.search.units import Units, best_first


class PricedColumns(ColumnSums):
    """Weighted sums of each column, of its products with the residuals and of its squares.

    Against cancellation columns are taken about an origin, which is learned from the first rows:
    the mean of dense columns, the smallest entry of sparse ones that vary too little.
    """

    _added = "linear", "squared", "of_linear", "_residual_squares", "_squared_weight"

    def __init__(self, n_features: int, n_outputs: int, origin: Floats | None, is_sparse: bool):
        # In double precision: streams may move far away from their origin.
        super().__init__(n_features, 1 + n_outputs, 1, missing=not is_sparse)
        self._residual_squares = np.zeros((n_outputs, n_outputs))
        self._squared_weight, self.origin = 0.0, origin

    @property
    def weight(self) -> float:
        return float(self.of_linear[0])

    @property
    def n_rows(self) -> float:
        """Rows of the same weight that would be as informative."""
        return self.weight**2 / max(self._squared_weight, 1e-300)

    def learn(self, X: Any, weights: Floats, residuals: Floats) -> None:
        weighted = weights[:, None] * np.insert(residuals, 0, 1.0, axis=1)
        self.add(X, 0.0, weighted, weights[:, None])
        self._residual_squares += weighted[:, 1:].T @ residuals
        self._squared_weight += float(weights @ weights)

    def rescale(self, factor: float) -> None:
        for name in self._added:
            vars(self)[name] *= factor
        self._squared_weight *= factor

    def merge(self, other: Self) -> None:
        """Rows of other sums, whose origin may be another one."""
        super().merge(other)
        if self.origin is not None or other.origin is not None:
            none = np.zeros(len(self.linear))
            here, there = (none if one.origin is None else one.origin for one in (self, other))
            shift = (there - here)[:, None]
            self.squared += shift * (2 * other.linear[:, :1] + other.weight * shift)
            self.linear += shift * other.of_linear

    def grow(self, n_features: int) -> None:
        """More columns, which were zero so far."""
        if more := n_features - len(self.linear):
            empty = (0, more), (0, 0)
            self.linear, self.squared = np.pad(self.linear, empty), np.pad(self.squared, empty)
            self.origin = None if self.origin is None else np.pad(self.origin, (0, more))

    def centres(self) -> Floats:
        means = self.linear[:, 0] / self.weight
        return np.asarray(means if self.origin is None else means + self.origin)

    def spread(self) -> Floats:
        """Weighted sum of squares of each column about its mean; exactly 0 if it is constant."""
        squares = self.squared[:, 0]
        spread = squares - self.linear[:, 0] ** 2 / self.weight
        return np.where(spread > 1e-12 * squares, spread, 0.0)

    def prices(self) -> Prices:
        """Of columns of variance 1, in units of the outputs' squares; 0 for constant columns."""
        mean, spread = self.of_linear[1:] / self.weight, self.spread()
        covariance = self._residual_squares / self.weight - np.multiply.outer(mean, mean)
        noise = np.asarray(np.linalg.eigvalsh(covariance) / self.n_rows, np.float64)
        along = self.linear[:, 1:] - self.linear[:, :1] * mean
        values, varies = np.zeros(len(spread)), spread > 0
        squared = np.einsum("dc,dc->d", along, along)[varies]
        found = squared / (spread[varies] * self.weight) - float(noise.sum())
        values[varies] = np.where(found == 0, 1e-300, found)
        return Prices(values, noise)


class RecentBlock(NamedTuple):
    """Rows of the buffer from which columns that enter the working set have their past."""

    X: Any  # in single precision, about an origin
    origin: Floats | None
    outputs: Floats
    weights: Floats


class WorkingMoments:
    """Columns of the working set, rising, and their moments."""

    def __init__(self, output_origin: Floats) -> None:
        self.columns = np.zeros(0, np.intp)
        self._output_origin, self._first = output_origin, 1 + len(output_origin)
        self._origin = np.zeros(0)
        self._sums = np.zeros((self._first, self._first))

    def places(self, columns: Indices) -> Indices:
        """Where columns stand in the working set."""
        return np.searchsorted(self.columns, columns)

    def values(self, X: Any, origin: Floats | None = None) -> Floats:
        """The columns of some rows, about their origin; another one is taken off them already."""
        left = self._origin if origin is None else self._origin - origin[self.columns]
        if not sparse.issparse(X):
            return np.asarray(X[:, self.columns] - left, np.float64)
        # Indexing by columns would take time for every column of X.
        places, values = self.places(X.indices), np.zeros((X.shape[0], len(self.columns)))
        found = np.flatnonzero(np.append(self.columns, -1)[places] == X.indices)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        values[rows[found], places[found]] = X.data[found]
        return values - left

    def centred(self, values: Floats) -> Floats:
        return np.asarray(values - self._sums[0, self._first :] / self._sums[0, 0])

    def add(self, values: Floats, outputs: Floats, weights: Floats) -> None:
        # Single precision will do for one block, relative to its largest weight.
        largest = weights.max()
        root = np.sqrt(weights / largest)[:, None]
        z = (self._joined(values, outputs) * root).astype(np.float32)
        self._sums += largest * (z.T @ z).astype(np.float64)

    def rescale(self, factor: float) -> None:
        self._sums *= factor

    def merge(self, other: "WorkingMoments") -> None:
        """Moments of the same columns over other rows."""
        lift = np.eye(len(self._sums))
        lift[1:, 0] = np.append(other._output_origin, other._origin)
        lift[1:, 0] -= np.append(self._output_origin, self._origin)
        self._sums += lift @ other._sums @ lift.T

    def enter(
        self, columns: Indices, means: Floats, spread: Floats, recent: Iterable[RecentBlock]
    ) -> None:
        """Columns with their means and weighted sums of squares about these."""
        before, after = len(self._sums), len(self._sums) + len(columns)
        order = np.argsort(np.append(self.columns, columns))
        self.columns = np.append(self.columns, columns)[order]
        self._origin = np.append(self._origin, means)[order]
        place = np.append(np.arange(self._first), self._first + np.argsort(order))
        old, new = place[:before], place[before:]
        sums = np.zeros((after, after))
        sums[np.ix_(old, old)] = self._sums
        for block in recent:
            z = self._joined(self.values(block.X, block.origin), block.outputs)
            sums[new] += (z[:, new] * block.weights[:, None]).T @ z
        sums[:, new] = sums[new].T
        sums[new, new] = np.maximum(sums[new, new], spread)
        self._sums = sums

    def keep(self, places: Indices) -> None:
        """Let all other columns go."""
        self._sums = self._of(places)
        self._origin, self.columns = self._origin[places], self.columns[places]

    def output_means(self) -> Floats:
        return np.asarray(self._sums[0, 1 : self._first] / self._sums[0, 0] + self._output_origin)

    def totals(self, n_rows: float, places: Indices | None = None) -> tuple[Totals, Floats, Floats]:
        """Moments of columns of variance 1; their means about the origin, and deviations."""
        first, sums = self._first, self._sums if places is None else self._of(places)
        sums = sums / sums[0, 0]
        centred = sums - np.multiply.outer(sums[0], sums[0])
        squares = np.diagonal(centred)
        varies = squares > 1e-12 * np.diagonal(sums)
        scale = np.sqrt(np.where(varies, squares, 1.0))
        scale[:first] = 1.0
        centred *= np.where(varies, 1 / scale, 0.0)
        centred *= np.where(varies, 1 / scale, 0.0)[:, None]
        variance = float(np.trace(centred[1:first, 1:first]))
        covariance, cross = centred[first:, first:], centred[first:, 1:first]
        return Totals(covariance, cross, variance, n_rows), sums[0, first:], scale[first:]

    def _of(self, places: Indices) -> Floats:
        """Sums of the outputs and of some columns."""
        used = np.append(np.arange(self._first), self._first + places)
        return self._sums[np.ix_(used, used)]

    def _joined(self, values: Floats, outputs: Floats) -> Floats:
        ones = np.ones((len(outputs), 1))
        return np.concatenate([ones, outputs - self._output_origin, values], axis=1)


class RidgeFit(NamedTuple):
    """What columns of the working set are worth, by ridge regression on the chosen ones."""

    coefficients: Floats  # of chosen columns, of variance 1, shape (chosen, outputs)
    losses: Floats  # explained fraction that would be lost without each chosen column
    # Explained fraction that each column of the working set would add; of no meaning for chosen
    # ones.
    gains: Floats
    noise: float  # mean gain of a column of noise


def improved(totals: Totals, chosen: Flags, size: int, advantage: float, is_quick: bool) -> Flags:
    """The best set of a size, out of all columns or, to be quick, of those that would add most.

    Ridge regression on these and the present set leaves out what matters least. Columns of the
    present set have an advantage, which is added to the square roots of what is lost without them:
    another one takes the place of one of them only if it is worth more by so many standard errors,
    as rows that depend on each other allow.
    """
    if np.count_nonzero(chosen) < size:
        advantage = 0.0
    fitted = ridge_fit(totals, chosen)
    gains = np.where(chosen, np.inf, fitted.gains)
    candidates = np.sort(best_first(gains, candidates_of(size) if is_quick else len(chosen)))
    # What adds less than the advantage cannot make up for it.
    candidates = candidates[gains[candidates] >= advantage**2 * fitted.noise]
    if len(candidates) > size:
        own, count = totals.columns(candidates), len(candidates)
        units = Units(np.arange(count), np.ones(count), np.zeros(count, bool))
        more = advantage * np.sqrt(fitted.noise * totals.variance) * chosen[candidates]
        every = np.arange(count)
        [kept] = eliminate([Candidates(own, units, every, size, _ridge(own), more)])
        candidates = candidates[kept]
    return np.isin(np.arange(len(chosen)), candidates)


def ridge_fit(totals: Totals, chosen: Flags | None = None, *, predicts: bool = False) -> RidgeFit:
    """What the chosen columns are worth, all by default, and what others would add to them.

    The ridge of a model that predicts is that of Hoerl, Kennard & Baldwin (1975), where half of the
    variance is explained.
    """
    chosen = np.ones(len(totals.cross), bool) if chosen is None else chosen
    count = int(np.count_nonzero(chosen))
    if predicts:
        ridge = count / max(totals.n_effective, 1)
    else:
        ridge = _ridge(totals.columns(np.flatnonzero(chosen)))
    cross, variance = totals.cross, max(totals.variance, 1e-300)
    shared = totals.covariance[:, chosen]
    inverse = np.linalg.inv(shared[chosen] + ridge * np.eye(count))
    beta = inverse @ cross[chosen]
    losses = np.sum(beta**2, axis=1) / np.diagonal(inverse)
    own = np.diagonal(totals.covariance) + ridge - np.sum((shared @ inverse) * shared, axis=1)
    gains = np.sum((cross - shared @ beta) ** 2, axis=1) / np.maximum(own, 1e-12)
    unexplained = max(1 - float(np.sum(beta * cross[chosen])) / variance, 0.0)
    noise = unexplained / max(totals.n_effective - count, 1)
    return RidgeFit(beta, losses / variance, gains / variance, noise)


def _ridge(totals: Totals) -> float:
    # Where no column has varied yet, any ridge will do.
    return ONLINE_RIDGE * (top_of_covariance(totals) or 1.0)
