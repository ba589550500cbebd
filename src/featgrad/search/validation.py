"""Held-out rows decide: which strategy, and how many features.

Folds of rows are held out in groups. A strategy chooses among the columns that the other rows
suggest; ridge regression of those rows on the chosen columns then predicts the held-out ones. All
of it happens on the folds' moments: the correlation of prediction and target is
``w^T b / sqrt(w^T C w var(y))`` with the held-out b, C and var(y).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featgrad.moments.folds import Folds
from featgrad.search.progress import Found, go_on
from featgrad.search.strategies import Strategy
from featgrad.search.swaps import all_refined
from featgrad.search.units import Indices, Units

Floats = NDArray[np.float64]
# By division and budget.
Trials = Sequence[Sequence[Found]]

# Ridge of the judge, as a sum of squares: that of a logistic model with C = 1.
_JUDGE_RIDGE = 4.0
# Standard errors by which another strategy must beat the first.
_CLEARLY = 3.0


@dataclass(frozen=True)
class HeldOut:
    """One division of the folds, with the units that its training rows suggest."""

    training: Folds
    test: Folds
    units: Units


def divide(
    folds: Folds, units: Units, groups: Sequence[Sequence[int]], suggested: Sequence[Indices]
) -> list[HeldOut]:
    """One division for each group of folds; `suggested` are the units to choose from."""
    divisions = []
    for group, those in zip(groups, suggested, strict=True):
        rest = [i for i in range(len(folds.folds)) if i not in group]
        inner, columns = units.only(those)
        here = folds.columns(columns)
        divisions.append(HeldOut(here.only(rest), here.only(group), inner))
    return divisions


def tried(strategy: Strategy, divisions: Sequence[HeldOut], budgets: Sequence[float]) -> Trials:
    """What the strategy finds without the held-out rows."""
    return [strategy(division.training, division.units, budgets, go_on) for division in divisions]


def tried_with_swaps(
    trials: Trials,
    divisions: Sequence[HeldOut],
    budgets: Sequence[float],
    free: Collection[float],
) -> Trials:
    """What is found once swaps follow: free ones for some of the budgets."""
    return [
        all_refined(division.training, division.units, budgets, founds, free)
        for division, founds in zip(divisions, trials, strict=True)
    ]


def judged(trials: Trials, divisions: Sequence[HeldOut], budgets: Sequence[float]) -> Floats:
    """Correlation of prediction and target on held-out rows, shape (divisions, budgets)."""
    table = np.zeros((len(divisions), len(budgets)))
    for i, (division, founds) in enumerate(zip(divisions, trials, strict=True)):
        for j, (budget, found) in enumerate(zip(budgets, founds, strict=True)):
            chosen = division.units.best_within(found.scores, budget)
            table[i, j] = _judge(division, division.units.members(chosen))
    return table


def clear_winner(tables: Sequence[Floats]) -> int:
    """The first, unless others beat it by three standard errors: then the best of those."""
    first = tables[0].mean(axis=1)
    best, gain = 0, 0.0
    for place, table in enumerate(tables[1:], start=1):
        ahead = table.mean(axis=1) - first
        error = float(np.std(ahead, ddof=1)) / np.sqrt(len(ahead))
        if ahead.mean() > max(gain, _CLEARLY * error):
            best, gain = place, float(ahead.mean())
    return best


def smallest_good(table: Floats) -> int:
    """Index of the smallest budget within one standard error of the best."""
    means = table.mean(axis=0)
    best = int(np.argmax(means))
    error = float(np.std(table[:, best], ddof=1)) / np.sqrt(len(table))
    return int(np.argmax(means >= means[best] - error))


def _judge(division: HeldOut, columns: Indices) -> float:
    if len(columns) == 0:
        return 0.0
    training, test = division.training.columns(columns), division.test.columns(columns)
    ridge = _JUDGE_RIDGE / training.n_rows
    weights = np.linalg.solve(
        training.covariance() + ridge * np.eye(len(columns)), training.cross()
    )
    along = np.sum(weights * test.cross(), axis=0)
    spread = np.einsum("dc,de,ec->c", weights, test.covariance(), weights, optimize=True)
    square = spread * test.variance
    known = square > 0
    return float(np.mean(along[known] / np.sqrt(square[known]))) if known.any() else 0.0
