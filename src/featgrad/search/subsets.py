"""The search for the best sets within given budgets, from rows to chosen features.

1. One pass over all columns: what each one tells of the target on its own, by groups of rows.
2. A shortlist of a few hundred columns, and the folds' moments of those; beyond this point
   neither the number of rows nor that of features matters.
3. Strategies compete on held-out folds; the winner chooses from the shortlist with all folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from featgrad.moments.folds import Fold, Folds
from featgrad.search import validation
from featgrad.search.progress import OnStep, Step, go_on
from featgrad.search.strategies import Strategy, competitors, with_swaps
from featgrad.search.units import Indices, Units

Floats = NDArray[np.float64]

# Columns on the shortlist: at least, and beside the largest set that is asked for.
_SHORTLIST = 256
_SHORTLIST_FACTOR = 3
# Budgets at which strategies are compared, and the most units that one of them buys: what is best
# for a hundred is best for more.
_COMPARED = 3
_COMPARED_UNITS = 100


class Columns(Protocol):
    """Standardised columns over random folds of rows, beside outputs of variance 1."""

    n_features: int
    n_rows: int
    n_outputs: int
    n_folds: int
    # Runs of folds that can be held out in turn; one where rows are too few for that.
    groups: list[range]

    def cross(self) -> Floats:
        """``sum_n w_n x_n y_n`` over groups, shape (features, groups, outputs)."""
        ...

    def folds(self, indices: Indices) -> list[Fold]:
        """Some columns over all folds; after `cross`, which learns how to standardise."""
        ...


@dataclass(frozen=True)
class Subset:
    """Features chosen within a budget, with the scores of all and the steps to them."""

    budget: float
    features: Indices
    scores: Floats
    steps: list[Step] = field(repr=False)

    def among_first(self, count: int) -> Subset:
        """What it says of the first features."""
        features = self.features[self.features < count]
        return Subset(self.budget, features, self.scores[:count], self.steps)


@dataclass
class SubsetSearch:
    """A search prepared once, for any budgets.

    Parameters
    ----------
    columns : Columns
        The features.
    units : Units
        What is chosen as one, over all features; excluded features belong to none (-1).
    budgets : sequence of float
        Those that will be asked for.
    coefficients : ndarray
        The filter.
    max_iter : int
        Largest number of gradient steps for one budget.
    """

    columns: Columns
    units: Units
    budgets: Sequence[float]
    coefficients: Floats
    max_iter: int

    def __post_init__(self) -> None:
        groups = self.columns.groups
        by_group = self.columns.cross()
        self.alone = self._of_units(by_group.sum(axis=1))
        suggested = [self._shortlists(self.alone, self.budgets)]
        if len(groups) > 1:
            total, comparable = by_group.sum(axis=1), [self._comparable(b) for b in self.budgets]
            suggested += [
                self._shortlists(self._of_units(total - by_group[:, g]), comparable)
                for g in range(len(groups))
            ]
        self._listed = np.unique(np.concatenate(suggested))
        self._inner, self._members = self.units.only(self._listed)
        places = [np.searchsorted(self._listed, those) for those in suggested]
        self._folds = Folds(self.columns.folds(self._members))
        self._strategies = competitors(
            self.coefficients,
            self.columns.n_outputs,
            self.columns.n_rows / self.columns.n_features,
            self.max_iter,
        )
        self._divisions: list[validation.HeldOut] = []
        if len(groups) > 1:
            self._divisions = validation.divide(self._folds, self._inner, groups, places[1:])

    def choose_strategy(self, budgets: Sequence[float]) -> Strategy:
        """The one that does best on held-out rows at some of the budgets, and its swaps."""
        if not self._divisions:
            return with_swaps(self._strategies[0], free=())
        some = _spread(sorted({self._comparable(budget) for budget in budgets}), _COMPARED)
        trials = [validation.tried(s, self._divisions, some) for s in self._strategies]
        best = validation.clear_winner([self._judged(found, some) for found in trials])
        careful, free = (
            validation.tried_with_swaps(trials[best], self._divisions, some, freely)
            for freely in ((), some)
        )
        ahead = np.mean(self._judged(free, some) - self._judged(careful, some), axis=0)
        better = [budget for budget, gain in zip(some, ahead, strict=True) if gain > 0]
        return with_swaps(self._strategies[best], free=better)

    def choose_budget(self, strategy: Strategy, budgets: Sequence[float]) -> int:
        """Index of the smallest budget that does as well as any on held-out rows."""
        if not self._divisions:
            return len(budgets) - 1
        trials = validation.tried(strategy, self._divisions, budgets)
        return validation.smallest_good(self._judged(trials, budgets))

    def from_halves(
        self, strategy: Strategy, budget: float, count: int, rng: np.random.RandomState
    ) -> NDArray[np.bool_]:
        """Sets chosen from random halves of the folds, shape (count, features)."""
        chosen = np.zeros((count, self.columns.n_features), bool)
        n_folds = self.columns.n_folds
        for row in chosen:
            half = rng.permutation(n_folds)[: max(2, n_folds // 2)]
            (subset,) = self.best(strategy, [budget], go_on, half.tolist())
            row[subset.features] = True
        return chosen

    def best(
        self,
        strategy: Strategy,
        budgets: Sequence[float],
        on_step: OnStep,
        only: Sequence[int] | None = None,
    ) -> list[Subset]:
        """The best set within each of the budgets, by all folds or only some."""
        folds = self._folds if only is None else self._folds.only(only)
        return [self._best(folds, strategy, budget, on_step) for budget in budgets]

    def _best(self, folds: Folds, strategy: Strategy, budget: float, on_step: OnStep) -> Subset:
        listed = self._shortlist(self.alone, budget)
        units, columns = self._inner.only(np.searchsorted(self._listed, listed))
        inner = folds.columns(columns)
        (found,) = strategy(inner, units, [budget], on_step)
        # What does not vary comes last, whatever noise makes of the others.
        found.scores[self.alone[listed] == 0] = found.scores.min() - 1
        chosen = units.best_within(found.scores, budget)
        scores = self._all_scores(listed, found.scores, chosen)
        features = self._members[columns[units.members(chosen)]]
        return Subset(budget, features, scores, found.steps)

    def _judged(self, trials: validation.Trials, budgets: Sequence[float]) -> Floats:
        return validation.judged(trials, self._divisions, budgets)

    def _all_scores(self, listed: Indices, scores: Floats, chosen: NDArray[np.bool_]) -> Floats:
        """Scores of all features: above 0 for chosen ones, lowest for those not on the list."""
        worst_in = float(scores[chosen].min())
        best_out = float(scores[~chosen].max()) if not chosen.all() else worst_in - 1
        # A unit that did not fit the budget may have a better score than one that did.
        edge = (worst_in + max(best_out, worst_in - 1)) / 2 if best_out < worst_in else worst_in
        signed = scores - edge
        size = max(float(np.abs(signed).max()), 1e-6)
        signed = np.where(chosen, np.maximum(signed, 1e-9 * size), np.minimum(signed, -1e-9 * size))
        # Off the list: by what a unit tells on its own, below all that are on it.
        of_units = -size * (2 - self.alone / max(float(self.alone.max()), 1e-300))
        of_units[listed] = signed
        of_columns = np.full(self.columns.n_features, -4 * size)
        inside = self.units.of_column >= 0
        of_columns[inside] = of_units[self.units.of_column[inside]]
        return of_columns

    def _of_units(self, cross: Floats) -> Floats:
        """What each unit explains per cost, its columns judged one by one."""
        inside = self.units.of_column >= 0
        values = np.where(inside, np.sum(cross**2, axis=1), 0.0)
        of_column = np.where(inside, self.units.of_column, 0)
        total = np.bincount(of_column, weights=values, minlength=self.units.count)
        return np.asarray(total / self.units.costs)

    def _shortlists(self, alone: Floats, budgets: Sequence[float]) -> Indices:
        """Units on the shortlist for any of the budgets, sorted."""
        # Where all units cost the same, the list for the largest budget holds those for others.
        if np.all(self.units.costs == self.units.costs[0]):
            budgets = [max(budgets)]
        return np.unique(np.concatenate([self._shortlist(alone, b) for b in set(budgets)]))

    def _shortlist(self, alone: Floats, budget: float) -> Indices:
        """Kept units and the best others, sorted."""
        affordable = self.units.best_within(alone, budget)
        size = max(_SHORTLIST, _SHORTLIST_FACTOR * int(np.count_nonzero(affordable)))
        ranked = np.where(self.units.kept, np.inf, alone)
        best = np.argsort(-ranked, kind="stable")[:size]
        return np.union1d(best, np.flatnonzero(affordable))

    def _comparable(self, budget: float) -> float:
        """The budget, or as much of it as buys the units that a comparison needs."""
        count = int(np.count_nonzero(self.units.best_within(self.alone, budget)))
        least = float(self.units.costs[self.units.kept].sum())
        return max(budget * min(1.0, _COMPARED_UNITS / max(count, 1)), least)


def _spread(budgets: Sequence[float], count: int) -> list[float]:
    """At most `count` of the budgets, from the first to the last."""
    places = np.linspace(0, len(budgets) - 1, min(count, len(budgets)))
    return [budgets[i] for i in np.unique(np.round(places).astype(int))]
