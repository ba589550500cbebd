"""Held-out rows choose among sizes.

Groups of folds are held out in turn. The search runs without them; ridge regression of the other
rows on the chosen columns then predicts the held-out ones. All of it happens on moments: the
correlation of prediction and target is ``w^T b / sqrt(w^T C w var(y))`` with the held-out b, C and
var(y).
"""

from collections.abc import Sequence

import numpy as np

from featgrad.arrays import Indices
from featgrad.dataset.base import Dataset
from featgrad.moments.folds import Folds
from featgrad.plan import HELD_OUT_GROUPS, JUDGE_RIDGE, HeldOut
from featgrad.search.base import Subset, Task


def held_out_groups(n_folds: int) -> list[Indices]:
    """Folds that are held out together."""
    return np.array_split(np.arange(n_folds), HELD_OUT_GROUPS)


def comparison_tasks(budgets: Sequence[float], n_folds: int) -> list[Task]:
    """Every budget without every group, group by group."""
    everything = np.arange(n_folds)
    return [
        Task(budget, np.setdiff1d(everything, group))
        for group in held_out_groups(n_folds)
        for budget in budgets
    ]


def compare(dataset: Dataset, budgets: Sequence[float], subsets: Sequence[Subset]) -> list[HeldOut]:
    """Judge what was found for `comparison_tasks`."""
    columns = np.unique(np.concatenate([subset.features for subset in subsets]))
    moments = dataset.fold_moments(columns)
    groups = held_out_groups(dataset.n_folds)
    table = np.zeros((len(groups), len(budgets)))
    for i, subset in enumerate(subsets):
        group, budget = divmod(i, len(budgets))
        own = moments.columns(np.searchsorted(columns, subset.features))
        test = groups[group].tolist()
        training = [fold for fold in range(dataset.n_folds) if fold not in test]
        table[group, budget] = _correlation(own.only(training), own.only(test))
    errors = np.std(table, axis=0, ddof=1) / np.sqrt(len(table))
    return [
        HeldOut(budget, float(mean), float(error))
        for budget, mean, error in zip(budgets, table.mean(axis=0), errors, strict=True)
    ]


def smallest_good(held_out: Sequence[HeldOut]) -> int:
    """Index of the smallest budget within one standard error of the best."""
    best = max(held_out, key=lambda point: point.correlation)
    good = best.correlation - best.standard_error
    return next(i for i, point in enumerate(held_out) if point.correlation >= good)


def _correlation(training: Folds, test: Folds) -> float:
    ridge = JUDGE_RIDGE / training.n_rows
    penalised = training.covariance() + ridge * np.eye(training.n_columns)
    weights = np.linalg.solve(penalised, training.cross())
    along = np.sum(weights * test.cross(), axis=0)
    spread = np.einsum("dc,de,ec->c", weights, test.covariance(), weights, optimize=True)
    square = spread * test.variance
    known = square > 0
    return float(np.mean(along[known] / np.sqrt(square[known]))) if known.any() else 0.0
