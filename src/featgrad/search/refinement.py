"""The exact choice: elimination, then swaps of one column for another while they pay.

Swaps are made where rows are many relative to the set: the best one, and so on until none brings
more than chance, which is what the best of so many columns of noise would explain.

Smaller swaps follow the noise where many columns explain a little each, as words do. They are made
only if they end in a complete set: each of its columns explains more than chance, and no other
column does.

Where a part of the set is complete already, the rest of it would be columns that happen to fit the
noise. Those that explain most by themselves take their places: they do less harm.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from featgrad._support.array_api import is_foreign, placed_like, to_numpy
from featgrad._support.types import Flags, Floats, Indices
from featgrad.moments.folds import Totals, stacked
from featgrad.plan import CANDIDATES_FACTOR, FILL_ROWS_PER_UNIT, SWAP_RIDGE, SWAP_ROWS_PER_UNIT
from featgrad.search.elimination import Elimination
from featgrad.search.questions import Run
from featgrad.search.swaps import Swaps
from featgrad.search.units import Units

# A gain below this share of the variance is rounding.
_ROUNDING = 1e-9


def choose(
    totals: Totals, units: Units, candidates: Indices, budget: float, ridge: float
) -> Run[Flags]:
    """The best of the candidates within a budget, or what they are swapped for.

    Groups and columns of unequal costs are not swapped. A ridge, which takes copies of good columns
    for good ones, leaves them twice the budget, and least squares have the last word.
    """
    if units.are_single_columns:
        chosen = yield from _eliminated(totals, units, candidates, budget, ridge)
        return (yield from refine(totals, units, chosen))
    chosen = yield from _eliminated(totals, units, candidates, CANDIDATES_FACTOR * budget, ridge)
    if len(units.members(chosen)) * FILL_ROWS_PER_UNIT <= totals.n_effective:
        ridge = swap_ridge(totals)
    return (yield from _eliminated(totals, units, np.flatnonzero(chosen), budget, ridge))


def _eliminated(
    totals: Totals, units: Units, candidates: Indices, budget: float, ridge: float
) -> Run[Flags]:
    inner, columns = units.only(candidates)
    kept = yield Elimination(totals.columns(columns), inner, budget, ridge)
    chosen = np.zeros(units.count, bool)
    chosen[candidates[kept]] = True
    return chosen


def refine(totals: Totals, units: Units, chosen: Flags) -> Run[Flags]:
    """The set after all swaps that pay, without columns that fit noise only; kept units stay.

    Sets with few rows for each of their columns are left as they are. Asks for swaps.
    """
    count = int(np.count_nonzero(chosen))
    if count == units.count or count * FILL_ROWS_PER_UNIT > totals.n_effective:
        return chosen
    # From here on by column.
    of_column = units.of_column
    inside, kept = chosen[of_column], units.kept[of_column]
    if can_swap(totals.n_effective, count):
        careful, free = yield Swapping(totals, inside, kept, allowed=True)
        inside, significant, leaves_noise = free if free.is_complete else careful
    else:
        significant, leaves_noise = _significant(totals, inside), False
    needed, scores = kept | significant, inside.astype(float)
    if can_swap(totals.n_effective, int(np.count_nonzero(needed))):
        if not np.array_equal(needed, inside):
            (_, _, leaves_noise), _ = yield Swapping(totals, needed, kept, allowed=False)
        if leaves_noise:
            explained = np.sum(totals.cross**2, axis=1) / (totals.variances + swap_ridge(totals))
            scores = np.where(needed, np.inf, explained)
    by_unit = np.empty(units.count)
    by_unit[of_column] = scores
    return units.best_within(by_unit, count)


def _significant(totals: Totals, inside: Flags) -> Flags:
    """Columns of a set that explain more than chance beyond the other ones."""
    own = totals.columns(np.flatnonzero(inside))
    H = np.linalg.inv(to_numpy(own.covariance) + swap_ridge(totals) * np.eye(len(own.cross)))
    B = H @ own.cross
    left = max(totals.variance - float(np.sum(B * own.cross)), 0.0)
    significant = np.zeros(len(inside), bool)
    significant[inside] = np.sum(B**2, axis=1) / H.diagonal() > _chance(totals, len(H)) * left
    return significant


def can_swap(n_effective: float, count: int) -> bool:
    """Whether rows are many enough for least squares on so many units."""
    return count * SWAP_ROWS_PER_UNIT <= n_effective


def swap_ridge(totals: Totals) -> float:
    """A small ridge, relative to the mean variance of columns."""
    return SWAP_RIDGE * totals.mean_variance


def _chance(totals: Totals, count: int) -> float:
    """What the best of p columns of noise explains of C outputs, as a share of the residual.

    A bound of the largest of p chi-squares: with ``L = log(p)`` and ``d = C - 1``,
    ``d + 2 sqrt(d L) + 2 L`` times the variance of one coefficient, by the rows that so many chosen
    columns leave free.
    """
    n_columns, n_outputs = totals.cross.shape
    others, log = n_outputs - 1, math.log(n_columns)
    quantile = others + 2 * math.sqrt(others * log) + 2 * log
    return float(quantile / n_outputs / (totals.n_effective - count))


class Fitted(NamedTuple):
    """Least squares on a set of columns."""

    inside: Flags  # the set
    significant: Flags  # columns of it that explain more than chance beyond the other ones
    leaves_noise: bool  # no column outside explains more than chance beyond the set

    @property
    def is_complete(self) -> bool:
        return self.leaves_noise and np.array_equal(self.inside, self.significant)


class Swapping(NamedTuple):
    """Asks for a set after swaps that bring more than chance, and then after all that pay."""

    totals: Totals
    inside: Flags
    kept: Flags
    allowed: bool  # otherwise the set stays as it is

    @staticmethod
    def answers(questions: "Sequence[Swapping]") -> list[tuple[Fitted, ...]]:
        if is_foreign(questions[0].totals.matrix):
            return Swapping._together(questions)
        return [answer for question in questions for answer in Swapping._together([question])]

    @staticmethod
    def _together(questions: "Sequence[Swapping]") -> list[tuple[Fitted, ...]]:
        sizes = np.array([np.count_nonzero(question.inside) for question in questions])
        is_small = 2 * sizes < sizes.max()
        if is_small.any():
            # Each set takes as many operations as the largest of those that are swapped together.
            answers: dict[int, tuple[Fitted, ...]] = {}
            for alike in (np.flatnonzero(is_small).tolist(), np.flatnonzero(~is_small).tolist()):
                answers |= zip(
                    alike, Swapping._together([questions[i] for i in alike]), strict=True
                )
            return [answers[i] for i in range(len(sizes))]
        totals = [question.totals for question in questions]
        # Smaller sets have more members, which explain nothing and stay.
        more = max(1, sizes.max()) - sizes
        width = max(len(one.cross) + own for one, own in zip(totals, more, strict=True))
        members = np.empty((len(sizes), sizes[0] + more[0]), np.intp)
        kept = np.ones((len(sizes), width), bool)
        for i, (question, own) in enumerate(zip(questions, more, strict=True)):
            count = len(question.inside)
            members[i] = np.append(np.flatnonzero(question.inside), count + np.arange(own))
            kept[i, :count] = question.kept
        C, b = stacked(totals, [swap_ridge(one) for one in totals], width)
        swaps = Swaps(C, b, placed_like(C, members), placed_like(C, kept))
        chances = np.array([_chance(*each) for each in zip(totals, sizes, strict=True)])
        variances = np.array([one.variance for one in totals])
        allowed = sizes * [question.allowed for question in questions]
        found = []
        # Where no set may swap, both answers are the same.
        for worth in (1.0, 0.0)[: 2 if np.any(allowed) else 1]:
            limits = worth * chances, variances, _ROUNDING * variances, allowed
            swaps.run(*(placed_like(C, limit) for limit in limits))
            members, losses, brought, explained = map(to_numpy, swaps.state())
            least = chances * np.maximum(variances - explained, 0.0)
            parts = zip(questions, members, losses, brought, least, strict=True)
            found.append([_fitted(*part) for part in parts])
        return list(zip(found[0], found[-1], strict=True))


def _fitted(
    question: Swapping, members: Indices, losses: Floats, brought: Floats, least: float
) -> Fitted:
    inside, significant = np.zeros((2, len(brought)), bool)
    inside[members], significant[members] = True, losses > least
    count = len(question.inside)
    others = brought[:count][~inside[:count]]
    return Fitted(inside[:count], significant[:count], bool(np.all(others <= least)))
