"""Which columns of the working set are chosen.

While the stream is young, and after an alarm, the set is chosen anew whenever rows have doubled: by
elimination and swaps, as from any other rows. Later it changes only for what is beyond chance:
columns that explain more of what the set leaves than the best of all columns would if they were
noise may enter, and elimination leaves out the ones that matter least.
"""

import math
from typing import NamedTuple

import numpy as np

from featgrad.arrays import Flags, Floats
from featgrad.moments.folds import Totals
from featgrad.moments.spectrum import top_of_covariance
from featgrad.plan import FILL_ROWS_PER_UNIT, ONLINE_DECISION, ONLINE_ORDER, ROOM
from featgrad.search.elimination import eliminate, remaining
from featgrad.search.refinement import can_swap, refine, swap_ridge
from featgrad.search.units import Units


class Fitted(NamedTuple):
    """What columns of the working set are worth, by ridge regression on the chosen ones.

    Attributes
    ----------
    losses : ndarray of shape (chosen,)
        Explained fraction that would be lost without each column.
    gains : ndarray of shape (columns,)
        Explained fraction that each column of the working set would add; of no meaning for chosen
        ones.
    chance : float
        What the best of all columns would add if they were noise, at any choice from these rows.
    """

    losses: Floats
    gains: Floats
    chance: float


def chosen_anew(totals: Totals, size: int) -> Flags:
    """The best set of a size, whatever was chosen before."""
    units = _single(len(totals.cross))
    chosen = eliminate(totals, units, size, ridge_for(totals, size))
    return refine(totals, units, chosen)


def exchanged(totals: Totals, chosen: Flags, size: int, n_features: int) -> Flags:
    """The set after columns have entered that explain more than chance."""
    if np.count_nonzero(chosen) * FILL_ROWS_PER_UNIT > totals.n_rows:
        return chosen
    fitted = fit(totals, chosen, n_features)
    gains = np.where(chosen, 0.0, fitted.gains)
    entering = np.argsort(-gains, kind="stable")[:size]
    entering = entering[gains[entering] > fitted.chance]
    if len(entering) == 0:
        return chosen
    candidates = np.union1d(np.flatnonzero(chosen), entering)
    inner = totals.columns(candidates)
    kept = eliminate(inner, _single(len(candidates)), size, ridge_for(inner, size))
    found = np.zeros(len(chosen), bool)
    found[candidates[kept]] = True
    return found


def fit(totals: Totals, chosen: Flags, n_features: int) -> Fitted:
    """Ridge regression on the chosen columns, and what all others would add to it."""
    ridge = ridge_for(totals, int(np.count_nonzero(chosen)))
    found = remaining(totals, _single(len(totals.cross)), chosen, ridge)
    inverse, cross, covariance = found.inverse, totals.cross, totals.covariance
    beta = inverse @ cross[found.columns]
    variance = max(totals.variance, 1e-300)
    shared = covariance[:, found.columns]
    own = np.diagonal(covariance) + ridge - np.sum((shared @ inverse) * shared, axis=1)
    gains = np.sum((cross - shared @ beta) ** 2, axis=1) / np.maximum(own, 1e-12)
    explained = float(np.sum(beta * cross[found.columns])) / variance
    freedom = max(totals.n_rows - len(found.columns), 1)
    unexplained = max(1 - explained, 0.0) * totals.n_rows / freedom
    # The set is looked at several times before its rows are forgotten.
    n_looks = max(1.0, totals.n_rows / ONLINE_DECISION)
    chance = _chance(n_features * n_looks, cross.shape[1]) / totals.n_rows * unexplained
    return Fitted(found.losses / variance, gains / variance, chance)


def coefficients(totals: Totals) -> Floats:
    """Ridge regression on all columns of variance 1, shape (columns, outputs)."""
    everything = np.ones(len(totals.cross), bool)
    ridge = ridge_for(totals, len(totals.cross))
    found = remaining(totals, _single(len(totals.cross)), everything, ridge)
    return np.asarray(found.inverse @ totals.cross)


def ridge_for(totals: Totals, size: int) -> float:
    """Small where rows are many relative to the set, else that of the filter."""
    if len(totals.cross) == 0:
        # No column has varied yet; any ridge will do.
        return 1.0
    if can_swap(totals.n_rows, size):
        return swap_ridge(totals)
    return ROOM * (top_of_covariance(totals) or 1.0) / ONLINE_ORDER


def _chance(n_columns: float, n_outputs: int) -> float:
    """A bound of the largest of p chi-squares with C degrees of freedom, over C."""
    others, log = n_outputs - 1, math.log(max(n_columns, 2))
    return (others + 2 * math.sqrt(others * log) + 2 * log) / n_outputs


def _single(count: int) -> Units:
    return Units(np.arange(count), np.ones(count), np.zeros(count, bool))
