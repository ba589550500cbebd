"""The last step where rows are many relative to the set: swap one unit for another while it pays.

For a set A let ``H = (C_AA + ridge I)^-1``, ``B = H b_A`` and ``M = C_:A H``; column m leaves
``l_m = b_m - C_mA B`` of the target and ``o_m = C_mm - M_m C_Am`` of itself unexplained. With j out
of A these become ``l_m + M_mj B_j / H_jj`` and ``o_m + M_mj^2 / H_jj``, and m explains
``l_m^2 / o_m`` beyond the rest; j itself explains ``B_j^2 / H_jj``. All pairs come out at once. The
best swap is made, and so on until none brings more than the best of so many columns of noise would,
``2 log(p)`` times the variance of one coefficient.
"""

import math

import numpy as np

from featgrad.arrays import Flags, Floats, Indices
from featgrad.moments.folds import Folds
from featgrad.plan import SWAP_CAUTION, SWAP_RIDGE, SWAP_ROWS_PER_UNIT
from featgrad.search.units import Units

# A gain below this share of the variance is rounding.
_ROUNDING = 1e-9


def refine(folds: Folds, units: Units, chosen: Flags) -> Flags:
    """The set after all swaps that pay; kept units stay.

    Units that are not single columns of cost 1 are left as they are, and so are sets with few rows
    for each of their units.
    """
    count = int(np.count_nonzero(chosen))
    if not units.are_single_columns or count == units.count:
        return chosen
    if not can_swap(folds, count):
        return chosen
    # Columns in the order of their units.
    folds = folds.columns(np.argsort(units.of_column))
    cross, variance = folds.cross(), float(np.sum(folds.variance))
    covariance = folds.covariance() + swap_ridge(folds) * np.eye(len(cross))
    chance = SWAP_CAUTION * 2 * math.log(len(cross)) / folds.n_rows
    chosen = chosen.copy()
    for _ in range(count):
        members = np.flatnonzero(chosen)
        H = np.linalg.inv(covariance[np.ix_(members, members)]).astype(np.float64)
        B = H @ cross[members]
        gains = _gains(covariance, cross, members, H, B)
        gains[members] = -np.inf
        gains[:, units.kept[members]] = -np.inf
        residual = max(variance - float(np.sum(B * cross[members])), 0.0)
        into, out = np.unravel_index(int(np.argmax(gains)), gains.shape)
        if gains[into, out] <= _ROUNDING * variance + chance * residual:
            break
        chosen[members[out]], chosen[into] = False, True
    return chosen


def can_swap(folds: Folds, count: int) -> bool:
    """Whether rows are many enough for least squares on so many units."""
    return count * SWAP_ROWS_PER_UNIT <= folds.n_rows


def swap_ridge(folds: Folds) -> float:
    """A small ridge, relative to the mean variance of columns: 1 unless these are only centred."""
    return SWAP_RIDGE * (float(np.mean(folds.column_variances())) or 1.0)


def _gains(covariance: Floats, cross: Floats, members: Indices, H: Floats, B: Floats) -> Floats:
    """What each column in place of each member brings, shape (columns, members)."""
    shared = covariance[:, members]
    M = shared @ H
    inverse = 1 / np.diagonal(H)
    own = np.diagonal(covariance) - np.sum(M * shared, axis=1)
    own = own[:, None] + M**2 * inverse
    brought = np.zeros_like(M)
    for left, coefficients in zip((cross - shared @ B).T, B.T, strict=True):
        brought += (left[:, None] + M * (coefficients * inverse)) ** 2
    losses = np.sum(B**2, axis=1) * inverse
    return np.asarray(brought / np.maximum(own, 1e-12) - losses)
