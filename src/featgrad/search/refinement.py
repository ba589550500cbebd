"""The last step where rows are many relative to the set: swap one unit for another while it pays.

For a set A let ``H = (C_AA + ridge I)^-1``, ``B = H b_A`` and ``M = C_:A H``; column m leaves
``l_m = b_m - C_mA B`` of the target and ``o_m = C_mm - M_m C_Am`` of itself unexplained. With j out
of A these become ``l_m + M_mj B_j / H_jj`` and ``o_m + M_mj^2 / H_jj``, and m explains
``l_m^2 / o_m`` beyond the rest; j itself explains ``B_j^2 / H_jj``. All pairs come out at once. The
best swap is made, and so on until none brings more than chance: what the best of so many columns of
noise would explain.

Smaller swaps follow the noise where many columns explain a little each, as words do. They are made
only if they end in a complete set: each of its columns explains more than chance, and no other
column does.

Where a part of the set is complete already, the rest of it would be columns that happen to fit the
noise. Those that explain most by themselves take their places: they do less harm.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from featgrad.arrays import Flags, Floats, Indices
from featgrad.moments.array_api import beside, namespace, to_numpy
from featgrad.moments.folds import Folds
from featgrad.plan import FILL_ROWS_PER_UNIT, SWAP_RIDGE, SWAP_ROWS_PER_UNIT
from featgrad.search.units import Units

# A gain below this share of the variance is rounding.
_ROUNDING = 1e-9


def refine(folds: Folds, units: Units, chosen: Flags) -> Flags:
    """The set after all swaps that pay, without columns that fit noise only; kept units stay.

    Units that are not single columns of cost 1 are left as they are, and so are sets with few rows
    for each of their units.
    """
    count = int(np.count_nonzero(chosen))
    if not units.are_single_columns or count == units.count:
        return chosen
    if count * FILL_ROWS_PER_UNIT > folds.n_rows:
        return chosen
    # Columns in the order of their units.
    regression = _LeastSquares.of(folds.columns(np.argsort(units.of_column)))
    if can_swap(folds, count):
        chosen = _swapped(regression, units, chosen)
    needed = units.kept | regression.significant(chosen)
    if not can_swap(folds, int(np.count_nonzero(needed))) or not regression.leaves_noise(needed):
        return chosen
    return units.best_within(np.where(needed, np.inf, regression.marginals), count)


def _swapped(regression: "_LeastSquares", units: Units, chosen: Flags) -> Flags:
    careful = regression.swapped(chosen, units.kept, careful=True)
    free = regression.swapped(careful, units.kept, careful=False)
    complete = np.array_equal(regression.significant(free), free) and regression.leaves_noise(free)
    return free if complete else careful


def can_swap(folds: Folds, count: int) -> bool:
    """Whether rows are many enough for least squares on so many units."""
    return count * SWAP_ROWS_PER_UNIT <= folds.n_rows


def swap_ridge(folds: Folds) -> float:
    """A small ridge, relative to the mean variance of columns: 1 unless these are only centred."""
    return SWAP_RIDGE * (float(np.mean(folds.column_variances())) or 1.0)


class _Fit(NamedTuple):
    """Least squares on some columns: ``H``, ``B`` and the variance of what they leave."""

    members: Indices
    inverse: Floats
    coefficients: Floats
    residual: float


@dataclass(frozen=True)
class _LeastSquares:
    """Covariances of columns and outputs, the outputs' variance, and the number of rows."""

    covariance: Floats
    cross: Floats
    variance: float
    n_rows: int
    there: tuple[Any, Any]  # the same covariances where the folds are, for long products

    @classmethod
    def of(cls, folds: Folds) -> "_LeastSquares":
        covariance, cross = there = folds.normal_equations(swap_ridge(folds))
        variance = float(np.sum(folds.variance))
        return cls(to_numpy(covariance), to_numpy(cross), variance, folds.n_rows, there)

    def swapped(self, chosen: Flags, kept: Flags, careful: bool) -> Flags:
        """The set after all swaps that pay; careful ones bring more than chance."""
        chosen = chosen.copy()
        for _ in range(int(np.count_nonzero(chosen))):
            fit = self._fit(chosen)
            gains = self._gains(fit)
            gains[fit.members] = -np.inf
            gains[:, kept[fit.members]] = -np.inf
            into, out = np.unravel_index(int(np.argmax(gains)), gains.shape)
            needed = self._chance(fit) if careful else 0.0
            if gains[into, out] <= needed + _ROUNDING * self.variance:
                break
            chosen[fit.members[out]], chosen[into] = False, True
        return chosen

    @property
    def marginals(self) -> Floats:
        """What each column explains by itself."""
        return np.asarray(np.sum(self.cross**2, axis=1) / np.diagonal(self.covariance))

    def significant(self, chosen: Flags) -> Flags:
        """Chosen columns that explain more than chance beyond the other ones."""
        fit = self._fit(chosen)
        found = chosen.copy()
        found[fit.members] = _losses(fit) > self._chance(fit)
        return found

    def leaves_noise(self, chosen: Flags) -> bool:
        """Whether no other column explains more than chance beyond the chosen ones."""
        fit = self._fit(chosen)
        shared = self.covariance[:, fit.members]
        own = np.diagonal(self.covariance) - np.sum((shared @ fit.inverse) * shared, axis=1)
        unexplained = self.cross - shared @ fit.coefficients
        brought = np.sum(unexplained**2, axis=1) / np.maximum(own, 1e-12)
        return bool(np.all(brought[~chosen] <= self._chance(fit)))

    def _fit(self, chosen: Flags) -> _Fit:
        members = np.flatnonzero(chosen)
        inner = self.there[0][members[:, None], members]
        inverse = to_numpy(namespace(inner).linalg.inv(inner)).astype(np.float64)
        coefficients = inverse @ self.cross[members]
        explained = float(np.sum(coefficients * self.cross[members]))
        residual = max(self.variance - explained, 0.0) * self.n_rows / (self.n_rows - len(members))
        return _Fit(members, inverse, coefficients, residual)

    def _chance(self, fit: _Fit) -> float:
        """What the best of p columns of noise explains of C outputs.

        A bound of the largest of p chi-squares: with ``L = log(p)`` and ``d = C - 1``,
        ``d + 2 sqrt(d L) + 2 L`` times the variance of one coefficient.
        """
        n_columns, n_outputs = self.cross.shape
        others, log = n_outputs - 1, math.log(n_columns)
        quantile = others + 2 * math.sqrt(others * log) + 2 * log
        return float(quantile / n_outputs / self.n_rows * fit.residual)

    def _gains(self, fit: _Fit) -> Floats:
        """What each column in place of each member brings, shape (columns, members)."""
        covariance, cross = self.there
        H, B, losses = (
            beside(cross, part) for part in (fit.inverse, fit.coefficients, _losses(fit))
        )
        shared = covariance[:, fit.members]
        M = shared @ H
        inverse = 1 / H.diagonal()
        own = covariance.diagonal() - (M * shared).sum(1)
        own = own[:, None] + M**2 * inverse
        brought = 0 * M
        for left, coefficients in zip((cross - shared @ B).T, B.T, strict=True):
            brought += (left[:, None] + M * (coefficients * inverse)) ** 2
        return to_numpy(brought / own.clip(1e-12) - losses)


def _losses(fit: _Fit) -> Floats:
    """Explained variance that would be lost without each member."""
    return np.asarray(np.sum(fit.coefficients**2, axis=1) / np.diagonal(fit.inverse))
