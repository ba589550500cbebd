"""The last step where rows are many beside the chosen units: swap one for another while it pays.

For a set A let ``H = (C_AA + ridge I)^-1``, ``B = H b_A`` and ``M = C_:A H``; column m leaves
``l_m = b_m - C_mA B`` of the target and ``o_m = C_mm - M_m C_Am`` of itself unexplained. With j out
of A these become ``l_m + M_mj B_j / H_jj`` and ``o_m + M_mj^2 / H_jj``, and m explains
``l_m^2 / o_m`` beyond the rest; j itself explains ``B_j^2 / H_jj``. All pairs come out at once. The
best swap is made, and so on until none brings more than is asked of it. A careful swap must bring
more than chance would among so many columns, ``2 log(p)`` times the noise of one coefficient: it
predicts better where many columns say nearly the same. A free one may bring anything: it finds the
true columns more often where there are such. Held-out rows tell where swaps may be free. Where few
rows tell two classes apart, free swaps go on by likelihood in place of squares.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from featgrad.moments.folds import Folds, Moments
from featgrad.search import likelihood
from featgrad.search.progress import Found
from featgrad.search.units import Units

Floats = NDArray[np.float64]

# What a swap must bring, in units of what chance would.
CAREFUL, FREE = 1.0, 0.0
_RIDGE = 0.01
# A gain below this share of the variance is rounding.
_ROUNDING = 1e-9
# How often the likelihood is looked at from the set that it led to.
_REWEIGHTED = 6
# Rows per chosen unit from which least squares can be trusted.
_ROWS_PER_UNIT = 20


def all_refined(
    folds: Folds,
    units: Units,
    budgets: Sequence[float],
    founds: Sequence[Found],
    free: Collection[float],
) -> list[Found]:
    """What was found for each budget, after free swaps for some of them and careful ones else."""
    return [
        refined(folds, units, budget, found, FREE if budget in free else CAREFUL)
        for budget, found in zip(budgets, founds, strict=True)
    ]


def refined(folds: Folds, units: Units, budget: float, found: Found, caution: float) -> Found:
    """What was found after all swaps that pay, where the rows are enough to tell."""
    chosen = units.best_within(found.scores, budget)
    count = int(np.count_nonzero(chosen))
    if not units.simple or count * _ROWS_PER_UNIT > folds.n_rows or count == units.count:
        return found
    after = swapped(folds.moments(), units, chosen, caution)
    if caution == FREE:
        after = by_likelihood(folds, units, after)
    # Those that come in take the scores of those that go.
    came, went = np.flatnonzero(after & ~chosen), np.flatnonzero(chosen & ~after)
    scores = found.scores.copy()
    scores[came], scores[went] = found.scores[went], found.scores[came]
    return Found(scores, found.steps)


def swapped(
    moments: Moments, units: Units, chosen: NDArray[np.bool_], caution: float
) -> NDArray[np.bool_]:
    """The set after all swaps that pay; kept units stay, units are single columns of cost 1."""
    covariance, cross, variance, n_rows = moments
    # Beside the variance of a column, which is 1 until rows are weighted anew.
    ridge = _RIDGE * (float(np.mean(np.diagonal(covariance))) or 1.0)
    covariance = covariance + ridge * np.eye(len(cross))
    chance = 2 * math.log(len(cross)) / n_rows
    asked = _ROUNDING * variance
    chosen = chosen.copy()
    for _ in range(int(np.count_nonzero(chosen))):
        members = np.flatnonzero(chosen)
        H = np.linalg.inv(covariance[np.ix_(members, members)]).astype(np.float64)
        B = H @ cross[members]
        ahead = _ahead(covariance, cross, members, H, B)
        ahead[members] = -np.inf
        ahead[:, units.kept[members]] = -np.inf
        left = variance - float(np.sum(B * cross[members]))
        into, out = np.unravel_index(int(np.argmax(ahead)), ahead.shape)
        if ahead[into, out] <= asked + caution * chance * max(left, 0.0):
            break
        chosen[members[out]], chosen[into] = False, True
    return chosen


def by_likelihood(folds: Folds, units: Units, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The set after free swaps that raise the likelihood, where few rows tell two classes."""
    rows = folds.rows()
    of_class = None if rows is None else likelihood.two_classes(rows)
    if rows is None or of_class is None:
        return chosen
    for _ in range(_REWEIGHTED):
        near = likelihood.moments(rows, of_class, np.flatnonzero(chosen))
        after = swapped(near, units, chosen, FREE)
        if np.array_equal(after, chosen):
            break
        chosen = after
    return chosen


def _ahead(
    covariance: Floats, cross: Floats, members: NDArray[np.intp], H: Floats, B: Floats
) -> Floats:
    """What each column in place of each member brings, shape (columns, members)."""
    beside = covariance[:, members]
    M = beside @ H
    inverse = 1 / np.diagonal(H)
    own = np.diagonal(covariance) - np.sum(M * beside, axis=1)
    own = own[:, None] + M**2 * inverse
    brought = np.zeros_like(M)
    for left, coefficients in zip((cross - beside @ B).T, B.T, strict=True):
        brought += (left[:, None] + M * (coefficients * inverse)) ** 2
    losses = np.sum(B**2, axis=1) * inverse
    return np.asarray(brought / np.maximum(own, 1e-12) - losses)
