"""The last step where rows are many relative to the set: swap one unit for another while it pays.

The best swap is made, and so on until none brings more than chance: what the best of so many
columns of noise would explain.

Smaller swaps follow the noise where many columns explain a little each, as words do. They are made
only if they end in a complete set: each of its columns explains more than chance, and no other
column does.

Where a part of the set is complete already, the rest of it would be columns that happen to fit the
noise. Those that explain most by themselves take their places: they do less harm.
"""

import math
from typing import NamedTuple

import numpy as np

from featgrad.arrays import Flags, Floats, Indices
from featgrad.moments.array_api import beside
from featgrad.moments.folds import Totals
from featgrad.plan import FILL_ROWS_PER_UNIT, SWAP_RIDGE, SWAP_ROWS_PER_UNIT
from featgrad.search.swaps import Swaps
from featgrad.search.units import Units

# A gain below this share of the variance is rounding.
_ROUNDING = 1e-9
# Entries of products from which an accelerator is faster than the host.
_LONG = 1 << 16


def refine(totals: Totals, units: Units, chosen: Flags) -> Flags:
    """The set after all swaps that pay, without columns that fit noise only; kept units stay.

    Units that are not single columns of cost 1 are left as they are, and so are sets with few rows
    for each of their units.
    """
    count = int(np.count_nonzero(chosen))
    if not units.are_single_columns or count == units.count:
        return chosen
    if count * FILL_ROWS_PER_UNIT > totals.n_rows:
        return chosen
    # Columns in the order of their units.
    regression = _LeastSquares.of(totals.columns(np.argsort(units.of_column)))
    if can_swap(totals.n_rows, count):
        chosen = _swapped(regression, units, chosen)
    needed = units.kept | regression.significant(chosen)
    if not can_swap(totals.n_rows, int(np.count_nonzero(needed))) or not regression.leaves_noise(
        needed
    ):
        return chosen
    return units.best_within(np.where(needed, np.inf, regression.marginals), count)


def _swapped(regression: "_LeastSquares", units: Units, chosen: Flags) -> Flags:
    careful = regression.swapped(chosen, units.kept, careful=True)
    free = regression.swapped(careful, units.kept, careful=False)
    complete = np.array_equal(regression.significant(free), free) and regression.leaves_noise(free)
    return free if complete else careful


def can_swap(n_rows: int, count: int) -> bool:
    """Whether rows are many enough for least squares on so many units."""
    return count * SWAP_ROWS_PER_UNIT <= n_rows


def swap_ridge(totals: Totals) -> float:
    """A small ridge, relative to the mean variance of columns: 1 unless these are only centred."""
    return SWAP_RIDGE * (float(np.mean(np.diagonal(totals.covariance))) or 1.0)


class _Fit(NamedTuple):
    """Least squares on some columns: ``H``, ``B`` and the variance of what they leave."""

    members: Indices
    inverse: Floats
    coefficients: Floats
    residual: float


class _LeastSquares(Totals):
    """Least squares on columns whose covariance has a small ridge."""

    @classmethod
    def of(cls, totals: Totals) -> "_LeastSquares":
        ridge = swap_ridge(totals) * np.eye(len(totals.cross))
        return cls(*totals._replace(covariance=totals.covariance + ridge))

    def swapped(self, chosen: Flags, kept: Flags, careful: bool) -> Flags:
        """The set after all swaps that pay; careful ones bring more than chance."""
        members = np.flatnonzero(chosen)
        place = self.place if len(self.cross) * len(members) >= _LONG else None
        covariance, cross = beside(place, self.covariance), beside(place, self.cross)
        swaps = Swaps(covariance, cross, members, kept)
        for _ in range(len(swaps.members)):
            gain, into, out = swaps.best()
            needed = 0.0
            if careful:
                needed = self._chance(self._residual(swaps.explained, len(swaps.members)))
            if gain <= needed + _ROUNDING * self.variance:
                break
            swaps.swap(into, out)
        found = np.zeros_like(chosen)
        found[swaps.members] = True
        return found

    @property
    def marginals(self) -> Floats:
        """What each column explains by itself."""
        return np.asarray(np.sum(self.cross**2, axis=1) / np.diagonal(self.covariance))

    def significant(self, chosen: Flags) -> Flags:
        """Chosen columns that explain more than chance beyond the other ones."""
        fit = self._fit(chosen)
        found = chosen.copy()
        found[fit.members] = _losses(fit) > self._chance(fit.residual)
        return found

    def leaves_noise(self, chosen: Flags) -> bool:
        """Whether no other column explains more than chance beyond the chosen ones."""
        fit = self._fit(chosen)
        shared = self.covariance[:, fit.members]
        own = np.diagonal(self.covariance) - np.sum((shared @ fit.inverse) * shared, axis=1)
        unexplained = self.cross - shared @ fit.coefficients
        brought = np.sum(unexplained**2, axis=1) / np.maximum(own, 1e-12)
        return bool(np.all(brought[~chosen] <= self._chance(fit.residual)))

    def _fit(self, chosen: Flags) -> _Fit:
        members = np.flatnonzero(chosen)
        inverse = np.linalg.inv(self.covariance[np.ix_(members, members)]).astype(np.float64)
        coefficients = inverse @ self.cross[members]
        explained = float(np.sum(coefficients * self.cross[members]))
        residual = self._residual(explained, len(members))
        return _Fit(members, inverse, coefficients, residual)

    def _residual(self, explained: float, count: int) -> float:
        """Variance of what so many columns leave, by the rows that they leave free."""
        return max(self.variance - explained, 0.0) * self.n_rows / (self.n_rows - count)

    def _chance(self, residual: float) -> float:
        """What the best of p columns of noise explains of C outputs.

        A bound of the largest of p chi-squares: with ``L = log(p)`` and ``d = C - 1``,
        ``d + 2 sqrt(d L) + 2 L`` times the variance of one coefficient.
        """
        n_columns, n_outputs = self.cross.shape
        others, log = n_outputs - 1, math.log(n_columns)
        quantile = others + 2 * math.sqrt(others * log) + 2 * log
        return float(quantile / n_outputs / self.n_rows * residual)


def _losses(fit: _Fit) -> Floats:
    """Explained variance that would be lost without each member."""
    return np.asarray(np.sum(fit.coefficients**2, axis=1) / np.diagonal(fit.inverse))
