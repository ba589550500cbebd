"""The search on a working set: for given sizes, or for the one that held-out rows choose.

Folds are held out by each split. The search runs without them; ridge regression of the other rows
on the chosen columns then predicts the held-out ones. All of it happens on moments: the correlation
of prediction and target is ``w^T b / sqrt(w^T C w var(y))`` with b, C and var(y) of the held-out
rows, centred by these.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from featgrad import plan
from featgrad._support import Floats, Indices
from featgrad._support.array_api import to_numpy
from featgrad._support.threads import one_blas_thread
from featgrad.checks import check_number
from featgrad.dataset.base import Dataset
from featgrad.dataset.splits import Split
from featgrad.moments.folds import Totals
from featgrad.plan import HeldOut, Needs, PlanLine
from featgrad.search import rounds
from featgrad.search.base import Job, Outcome, Search, SearchTask, Subset, go_on
from featgrad.search.stability import of_pairs
from featgrad.search.units import Budgets, Units


def division_tasks(budgets: Sequence[float], splits: Sequence[Split]) -> list[SearchTask]:
    """Every budget without the held-out folds of every split, budget by budget."""
    return [SearchTask(budget, split.training) for budget in budgets for split in splits]


@dataclass(frozen=True)
class Comparison:
    """How well held-out rows are predicted.

    Attributes
    ----------
    budgets : sequence of float
        Rising.
    correlations : ndarray of shape (budgets, splits)
        Of prediction and target in the held-out rows of each split.
    n_effective : float
        Independent rows of equal weight that would say as much as all held-out rows.
    splits : sequence of Split
        Those that were compared.
    """

    budgets: Sequence[float]
    correlations: Floats
    n_effective: float
    splits: Sequence[Split]

    @cached_property
    def curve(self) -> Floats:
        """Mean correlation for each budget, as the median of neighbouring budgets.

        This leaves steps as they are and removes what chance adds to a single budget.
        """
        padded = np.pad(self._means, plan.SMOOTHED_SIZES // 2, mode="edge")
        return np.median(sliding_window_view(padded, plan.SMOOTHED_SIZES), axis=1)

    @property
    def _means(self) -> Floats:
        return np.asarray(self.correlations.mean(axis=1))

    def held_out(self) -> tuple[HeldOut, ...]:
        """The curve, with the standard error that a correlation has."""
        errors = (1 - self.curve**2) / math.sqrt(self.n_effective)
        points = zip(self.budgets, self.curve.tolist(), errors.tolist(), strict=True)
        return tuple(HeldOut(*point) for point in points)

    @property
    def best(self) -> int:
        """Place of the best budget."""
        return int(np.argmax(self.curve))

    @property
    def still_rises(self) -> bool:
        """Whether one of the two largest budgets is the best."""
        return int(np.argmax(self._means)) >= len(self.budgets) - 2

    def smallest_good(self) -> int | None:
        """Place of the smallest budget that is about as good as the best.

        None where even the best does not predict better than noise may, whose mean correlation has
        a standard error of ``sqrt(2 / n_effective)``: two rows of different splits predict each
        other.
        """
        best = self.held_out()[self.best]
        if best.correlation <= plan.NOISE_ERRORS * math.sqrt(2 / self.n_effective):
            return None
        tolerance = min(best.standard_error, plan.SIZE_TOLERANCE * best.correlation)
        bounds = best.correlation - tolerance * plan.TOLERANCE_FACTORS
        smallest = np.argmax(self.curve >= bounds[:, None], axis=1)
        sizes = np.log(self.budgets)
        return int(np.argmin(np.abs(sizes - sizes[smallest].mean())))

    def without(self, split: Split) -> "Comparison":
        """By the splits that hold out other folds, or by all where there are none."""
        others = [i for i, one in enumerate(self.splits) if not set(one.test) & set(split.test)]
        if not others:
            return self
        n_effective = self.n_effective * len(others) / len(self.splits)
        splits = [self.splits[i] for i in others]
        return Comparison(self.budgets, self.correlations[:, others], n_effective, splits)


def compare(dataset: Dataset, subsets: Sequence[Subset]) -> Comparison:
    """Predict the held-out folds of each split by what was found without them."""
    columns = np.unique(np.concatenate([found for one in subsets for found in one.divisions]))
    moments = dataset.cell_moments(columns)
    correlations = np.zeros((len(subsets), len(dataset.splits)))
    for j, split in enumerate(dataset.splits):
        division = dataset.division(split.training)
        training, scale = moments.divided(division, *dataset.standard(division).of(columns))
        test, _ = moments.centred(dataset.division(split.test))
        test = test.divided(scale.columns, scale.outputs)
        parts = training.totals(), test.totals(), test.variance
        for i, subset in enumerate(subsets):
            places = np.searchsorted(columns, subset.divisions[j])
            correlations[i, j] = _correlation(*parts, places)
    held_out = dataset.division(sorted({fold for split in dataset.splits for fold in split.test}))
    n_effective = moments.n_effective(held_out) / dataset.design_effect()
    budgets = [subset.budget for subset in subsets]
    return Comparison(budgets, correlations, n_effective, dataset.splits)


def _correlation(training: Totals, test: Totals, variance: Floats, columns: Indices) -> float:
    """Of the predictions of a ridge model with each output, on average."""
    training, test = training.columns(columns), test.columns(columns)
    penalised = to_numpy(training.covariance).astype(np.float64)
    penalised[np.diag_indices(len(columns))] += plan.HELD_OUT_RIDGE / training.n_effective
    weights = np.linalg.solve(penalised, training.cross)
    along = np.sum(weights * test.cross, axis=0)
    held_out = to_numpy(test.covariance)
    spread = np.einsum("dc,de,ec->c", weights, held_out, weights, optimize=True)
    square = spread * variance
    known = square > 0
    return float(np.mean(along[known] / np.sqrt(square[known]))) if known.any() else 0.0


class WorkingSet(Search):
    """Descent on some hundred columns, while all others are priced.

    The search that "auto" uses for sets of up to 500 features. It takes every constraint, and is
    repeated without held-out rows to choose a size and to estimate what a set explains.

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

    needs = Needs(moments=True, repeats=True, largest=plan.LARGEST_SET)

    def __init__(
        self, order: int = 4, *, filter: str | ArrayLike = "monotone", max_iter: int = 1000
    ) -> None:
        self.order = order
        self.filter = filter
        self.max_iter = max_iter

    def check(self) -> None:
        super().check()
        check_number("max_iter", self.max_iter, Integral, at_least=1)

    def explain(self, n_features: int, budgets: Sequence[float]) -> list[PlanLine]:
        size = min(n_features, max(plan.WORKING_SET, int(plan.WORKING_SET_FACTOR * budgets[-1])))
        limits = f"at least {plan.WORKING_SET}, {plan.WORKING_SET_FACTOR} per feature"
        choice, reason = "certificate only", "the working set has all columns"
        if size < n_features:
            choice = f"up to {plan.ROUNDS} rounds over all {n_features} columns"
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
            tasks = [task._replace(units=self._units(task.folds)) for task in (*tasks, *divisions)]
            found, count = search(tasks, on_step=job.on_step), len(values)
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
        return outcome.of_different_sizes(budgets.units.n_variables)

    def _units(self, folds: tuple[int, ...]) -> Units | None:
        """Units to choose from in a division; None for all of them."""
        return None


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
