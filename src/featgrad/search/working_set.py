"""The search on a working set: for given sizes, or for the one that held-out rows choose."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from featgrad._support.threads import one_blas_thread
from featgrad.checks import check_number
from featgrad.plan import (
    LARGEST_SET,
    ROUNDS,
    WORKING_SET,
    WORKING_SET_FACTOR,
    Needs,
    PlanFacts,
    PlanLine,
)
from featgrad.search import rounds
from featgrad.search.base import Job, Outcome, Search, SearchTask, Subset, go_on
from featgrad.search.comparison import Comparison, compare, division_tasks
from featgrad.search.stability import of_pairs
from featgrad.search.units import Budgets


class WorkingSet(Search):
    """Descent on some hundred columns, while all others are priced.

    The search that "auto" chooses for sets of up to 500 features. It takes every constraint, and
    can be repeated without held-out rows, which choose a size and estimate what a set explains.

    Parameters
    ----------
    order : int, default=4
        Degree of the filter, 1 to 12: higher orders see more of the redundancy between features.
    filter : {"monotone", "kong-valiant", "chebyshev"} or array-like, default="monotone"
        Polynomial that stands for 1 on the covariance's spectrum. The paper's is "kong-valiant".
    max_iter : int, default=1000
        Largest number of steps; 26 at most are taken.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from featgrad import FeatureGradientSelector, WorkingSet
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = WorkingSet(order=6)
    >>> FeatureGradientSelector(3, search=search, random_state=0).fit(X, y).n_features_
    3
    """

    needs = Needs(moments=True, repeats=True, largest=LARGEST_SET)

    def __init__(
        self, order: int = 4, *, filter: str | ArrayLike = "monotone", max_iter: int = 1000
    ) -> None:
        self.order = order
        self.filter = filter
        self.max_iter = max_iter

    def check(self) -> None:
        super().check()
        check_number("max_iter", self.max_iter, Integral, at_least=1)

    def explain(self, facts: PlanFacts, budgets: Sequence[float]) -> list[PlanLine]:
        size = min(facts.n_features, max(WORKING_SET, int(WORKING_SET_FACTOR * budgets[-1])))
        limits = f"at least {WORKING_SET}, {WORKING_SET_FACTOR} per feature"
        choice, reason = "certificate only", "the working set has all columns"
        if size < facts.n_features:
            choice = f"up to {ROUNDS} rounds over all {facts.n_features} columns"
            reason = "the working set has fewer columns"
        first = PlanLine("first working set", f"up to {size} units", limits)
        return [first, PlanLine("pricing", choice, reason)]

    # Products are short: threads that share them would mostly wait for each other.
    @one_blas_thread()
    def run(self, job: Job) -> Outcome:
        dataset, budgets = job.dataset, job.budgets
        search = partial(
            rounds.search,
            dataset,
            budgets.units,
            coefficients=job.coefficients,
            max_iter=self.max_iter,
        )
        compares = budgets.chosen is None and job.repeats
        subsets: list[Subset] = []
        comparison: Comparison | None = None
        for values in budgets.stages() if compares else [budgets.values]:
            tasks = [SearchTask(budget, dataset.whole.folds) for budget in values]
            divisions = division_tasks(values, dataset.splits) if job.repeats else []
            found, count = search([*tasks, *divisions], on_step=job.on_step), len(tasks)
            subsets += _with_divisions(found[:count], found[count:], len(dataset.splits))
            comparison = compare(dataset, subsets) if compares else None
            if comparison is None or not comparison.still_rises:
                break
        # Rows too few to be held out cannot speak for more than the smallest set.
        outcome = Outcome(subsets, budgets.chosen or 0)
        if comparison is not None:
            outcome = _compared(outcome, comparison, budgets)
        chosen = outcome.subsets[outcome.chosen]
        if job.n_resamples and len(chosen.features):
            halves = search(_halves(chosen.budget, job), on_step=go_on)
            stability = of_pairs(np.array([s.scores > 0 for s in halves]), budgets.units)
            outcome = outcome._replace(stability=stability)
        return outcome.of_different_sizes()


def _with_divisions(subsets: list[Subset], found: list[Subset], n_splits: int) -> list[Subset]:
    """Each set with those found for its budget in each split, if any were."""
    features = [subset.features for subset in found]
    return [
        replace(subset, divisions=tuple(features[i * n_splits : (i + 1) * n_splits]))
        for i, subset in enumerate(subsets)
    ]


def _compared(outcome: Outcome, comparison: Comparison, budgets: Budgets) -> Outcome:
    """The smallest set that is good, or none at all; without each split in turn."""
    subsets = outcome.subsets
    otherwise = _empty(subsets[0]) if budgets.may_be_none else subsets[0]

    def choose(compared: Comparison) -> Subset:
        place = compared.smallest_good()
        return otherwise if place is None else subsets[place]

    divisions = tuple(
        choose(comparison.without(split)).divisions[i] for i, split in enumerate(comparison.splits)
    )
    outcome = outcome._replace(held_out=comparison.held_out(), divisions=divisions)
    chosen = comparison.smallest_good()
    if chosen is not None:
        return outcome._replace(chosen=chosen, best=comparison.best)
    others = subsets if budgets.may_be_none else subsets[1:]
    return outcome._replace(subsets=[otherwise, *others], chosen=0)


def _empty(smallest: Subset) -> Subset:
    """No features; scores in the order of those of the smallest set."""
    scores = smallest.scores - smallest.scores.max() - 1e-9
    nothing = np.zeros(0, np.intp)
    divisions = (nothing,) * len(smallest.divisions)
    return Subset(0.0, nothing, scores, smallest.steps, divisions=divisions)


def _halves(budget: float, job: Job) -> list[SearchTask]:
    """The same set from random halves of the folds, each followed by its complement."""
    folds = np.arange(job.dataset.n_folds)
    if len(folds) < 4:
        raise ValueError(
            f"n_resamples={job.n_resamples} needs at least 4 rows for two halves, there "
            f"are {len(folds)}: pass more, or leave n_resamples 0."
        )
    size, tasks = len(folds) // 2, []
    for _ in range(job.n_resamples // 2):
        shuffled = job.rng.permutation(folds)
        halves = np.sort(shuffled[:size]), np.sort(shuffled[size:])
        tasks += [SearchTask(budget, tuple(half.tolist())) for half in halves]
    return tasks
