"""The last step where rows are many beside the chosen units: swap one for another while it pays.

For a set A with ``H = (C_AA + ridge I)^-1`` and ``B = H b_A``, leaving out j costs ``B_j^2 / H_jj``
and taking in m brings ``(b_m - C_mA B)^2 / (C_mm + ridge - C_mA H C_Am)``. Every pair is looked at,
the best swap is made, and so on until none brings more than chance would among so many columns:
``2 log(p)`` times the noise of one coefficient.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from featgrad.engines.folds import Folds
from featgrad.search.units import Units

Floats = NDArray[np.float64]

_RIDGE = 0.01


def swapped(folds: Folds, units: Units, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The set after all swaps that pay; kept units stay, units are single columns of cost 1."""
    covariance = folds.covariance() + _RIDGE * np.eye(folds.n_columns)
    cross = folds.cross()
    chosen = chosen.copy()
    for _ in range(int(np.count_nonzero(chosen))):
        best, swap = _chance(folds, covariance, cross, np.flatnonzero(chosen)), None
        for out in np.flatnonzero(chosen & ~units.kept):
            rest = np.flatnonzero(chosen & (np.arange(len(chosen)) != out))
            gains = _gains(covariance, cross, rest)
            gains[rest] = -np.inf
            ahead = gains - gains[out]
            into = int(np.argmax(ahead))
            if ahead[into] > best:
                best, swap = float(ahead[into]), (out, into)
        if swap is None:
            break
        chosen[swap[0]], chosen[swap[1]] = False, True
    return chosen


def _chance(folds: Folds, covariance: Floats, cross: Floats, chosen: NDArray[np.intp]) -> float:
    """The largest gain to expect from columns that bring nothing."""
    weights = np.linalg.solve(covariance[np.ix_(chosen, chosen)], cross[chosen])
    left = float(np.sum(folds.variance) - np.sum(weights * cross[chosen]))
    return 2 * math.log(folds.n_columns) * max(left, 0.0) / folds.n_rows


def _gains(covariance: Floats, cross: Floats, chosen: NDArray[np.intp]) -> Floats:
    """What each column would explain beyond the chosen ones."""
    inner = np.linalg.inv(covariance[np.ix_(chosen, chosen)])
    beside = covariance[:, chosen] @ inner
    left = cross - beside @ cross[chosen]
    own = np.diagonal(covariance) - np.sum(beside * covariance[:, chosen], axis=1)
    return np.asarray(np.sum(left**2, axis=1) / np.maximum(own, 1e-12))
