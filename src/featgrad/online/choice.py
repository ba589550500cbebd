"""Which columns of the working set are chosen.

Ridge regression on candidates, the present set and the columns that would add most to it, leaves
out what matters least. Columns of the present set have an advantage: another one takes the place of
one of them only if it is worth more by several standard errors, as rows that depend on each other
allow. While the stream is young there is none, after an alarm a small one.

The ridge is a share of the largest eigenvalue, however many rows there are: what a set explains of
past rows by small directions, a model that follows the stream does not find again in the next ones.
"""

from typing import NamedTuple

import numpy as np

from featgrad._support.types import Flags, Floats
from featgrad.moments.folds import Totals
from featgrad.moments.spectrum import top_of_covariance
from featgrad.plan import ONLINE_RIDGE, candidates_of
from featgrad.search.elimination import eliminate
from featgrad.search.units import Units, best_first


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

    Columns of the present one have an advantage in standard errors, which is added to the square
    roots of what is lost without them.
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
        candidates = candidates[eliminate(own, units, size, _ridge(own), more)]
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
    top = top_of_covariance(totals) if len(totals.cross) else 0.0
    return ONLINE_RIDGE * (top or 1.0)
