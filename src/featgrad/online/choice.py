"""Which columns of the working set are chosen.

While the stream is young, and after an alarm, the set is chosen anew by elimination at every
decision. Later it changes only for what is beyond chance: columns may enter that explain more of
what the set leaves than noise does, by the rule of Benjamini & Hochberg (1995), and elimination
leaves out the ones that matter least. One column needs much to enter; several that gain at the same
time, as in a gradual change, need less each.

The ridge is a share of the largest eigenvalue, however many rows there are: what a set explains of
past rows by small directions, a model that follows the stream does not find again in the next ones.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from featgrad.arrays import Flags, Floats, Indices
from featgrad.moments.folds import Totals
from featgrad.moments.spectrum import top_of_covariance
from featgrad.plan import FILL_ROWS_PER_UNIT, ONLINE_DECISION, ONLINE_NOISE, ONLINE_RIDGE
from featgrad.search.elimination import eliminate, remaining
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
    noise : float
        Mean gain of a column of noise.
    """

    losses: Floats
    gains: Floats
    noise: float


def chosen_anew(totals: Totals, size: int) -> Flags:
    """The best set of a size, whatever was chosen before."""
    return eliminate(totals, _single(len(totals.cross)), size, _ridge(totals))


def exchanged(totals: Totals, chosen: Flags, size: int, n_features: int) -> Flags:
    """The set after columns have entered that explain more than chance."""
    entering = _entering(totals, chosen, n_features)
    if len(entering) == 0:
        return chosen
    candidates = np.union1d(np.flatnonzero(chosen), entering)
    kept = chosen_anew(totals.columns(candidates), size)
    found = np.zeros(len(chosen), bool)
    found[candidates[kept]] = True
    return found


def _entering(totals: Totals, chosen: Flags, n_features: int) -> Indices:
    """Columns that explain more than noise, of which a share at most is noise."""
    count, n_outputs = int(np.count_nonzero(chosen)), totals.cross.shape[1]
    if count * FILL_ROWS_PER_UNIT > totals.n_rows:
        return np.zeros(0, np.intp)
    fitted = fit(totals, chosen)
    levels = chdtrc(n_outputs, n_outputs * fitted.gains / max(fitted.noise, 1e-300))
    others = np.flatnonzero(~chosen)
    order = others[np.argsort(levels[others], kind="stable")][:count]
    # The set is looked at several times before its rows are forgotten.
    n_tests = (n_features - count) * max(1.0, totals.n_rows / ONLINE_DECISION)
    passed = levels[order] * n_tests <= ONLINE_NOISE * np.arange(1, len(order) + 1)
    return order[: np.max(np.flatnonzero(passed), initial=-1) + 1]


def fit(totals: Totals, chosen: Flags) -> Fitted:
    """Ridge regression on the chosen columns, and what all others would add to it."""
    ridge = _ridge(totals)
    found = remaining(totals, _single(len(totals.cross)), chosen, ridge)
    inverse, cross, covariance = found.inverse, totals.cross, totals.covariance
    beta = inverse @ cross[found.columns]
    variance = max(totals.variance, 1e-300)
    shared = covariance[:, found.columns]
    own = np.diagonal(covariance) + ridge - np.sum((shared @ inverse) * shared, axis=1)
    gains = np.sum((cross - shared @ beta) ** 2, axis=1) / np.maximum(own, 1e-12)
    explained = float(np.sum(beta * cross[found.columns])) / variance
    freedom = max(totals.n_rows - len(found.columns), 1)
    return Fitted(found.losses / variance, gains / variance, max(1 - explained, 0.0) / freedom)


def coefficients(totals: Totals) -> Floats:
    """Ridge regression on all columns of variance 1, shape (columns, outputs)."""
    everything = np.ones(len(totals.cross), bool)
    found = remaining(totals, _single(len(totals.cross)), everything, _ridge(totals))
    return np.asarray(found.inverse @ totals.cross)


def _ridge(totals: Totals) -> float:
    # Where no column has varied yet, any ridge will do.
    return ONLINE_RIDGE * (top_of_covariance(totals) or 1.0)


def _single(count: int) -> Units:
    return Units(np.arange(count), np.ones(count), np.zeros(count, bool))
