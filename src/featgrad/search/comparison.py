"""Held-out rows choose among sizes.

Groups of folds are held out in turn. The search runs without them; ridge regression of the other
rows on the chosen columns then predicts the held-out ones. All of it happens on moments: the
correlation of prediction and target is ``w^T b / sqrt(w^T C w var(y))`` with the held-out b, C and
var(y).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featgrad.arrays import Floats, Indices
from featgrad.dataset.base import Dataset
from featgrad.moments.folds import Folds
from featgrad.plan import HELD_OUT_GROUPS, JUDGE_RIDGE, NOTHING_ERRORS, HeldOut
from featgrad.search.base import Subset, Task


def held_out_groups(n_folds: int) -> list[Indices]:
    """Folds that are held out together."""
    return np.array_split(np.arange(n_folds), HELD_OUT_GROUPS)


def division_tasks(budgets: Sequence[float], n_folds: int) -> list[Task]:
    """Every budget without every group, budget by budget."""
    everything = np.arange(n_folds)
    return [
        Task(budget, np.setdiff1d(everything, group))
        for budget in budgets
        for group in held_out_groups(n_folds)
    ]


@dataclass(frozen=True)
class Comparison:
    """How well held-out rows are predicted.

    Attributes
    ----------
    budgets : sequence of float
        Rising.
    correlations : ndarray of shape (budgets, groups)
        Of prediction and target in each group.
    n_effective : float
        Rows of equal weight that would say as much as all rows.
    """

    budgets: Sequence[float]
    correlations: Floats
    n_effective: float

    def held_out(self) -> tuple[HeldOut, ...]:
        """Mean over groups and its standard error, for each budget."""
        n_groups = self.correlations.shape[1]
        means = self.correlations.mean(axis=1)
        errors = np.std(self.correlations, axis=1, ddof=1) / math.sqrt(n_groups)
        return tuple(
            HeldOut(budget, float(mean), float(error))
            for budget, mean, error in zip(self.budgets, means, errors, strict=True)
        )

    @property
    def still_rises(self) -> bool:
        """Whether one of the two largest budgets is the best."""
        return int(np.argmax(self.correlations.mean(axis=1))) >= len(self.budgets) - 2

    def smallest_good(self) -> int | None:
        """Place of the smallest budget within one standard error of the best.

        None where even the best does not predict better than noise may, whose mean correlation has
        a standard error of ``sqrt(2 / n_effective)``: two rows of different groups predict each
        other.
        """
        points = self.held_out()
        best = max(points, key=lambda point: point.correlation)
        if best.correlation <= NOTHING_ERRORS * math.sqrt(2 / self.n_effective):
            return None
        good = best.correlation - best.standard_error
        return next(i for i, point in enumerate(points) if point.correlation >= good)

    def without(self, group: int) -> "Comparison":
        """Judged by the other groups."""
        n_groups = self.correlations.shape[1]
        others = np.delete(self.correlations, group, axis=1)
        return Comparison(self.budgets, others, self.n_effective * (n_groups - 1) / n_groups)


def compare(dataset: Dataset, subsets: Sequence[Subset]) -> Comparison:
    """Judge what was found without each group of folds."""
    columns = np.unique(np.concatenate([found for one in subsets for found in one.divisions]))
    moments = dataset.fold_moments(columns)
    groups = [group.tolist() for group in held_out_groups(dataset.n_folds)]
    correlations = np.zeros((len(subsets), len(groups)))
    for i, subset in enumerate(subsets):
        for j, (test, features) in enumerate(zip(groups, subset.divisions, strict=True)):
            own = moments.columns(np.searchsorted(columns, features))
            training = [fold for fold in range(dataset.n_folds) if fold not in test]
            correlations[i, j] = _correlation(own.only(training), own.only(test))
    return Comparison([subset.budget for subset in subsets], correlations, moments.n_effective)


def _correlation(training: Folds, test: Folds) -> float:
    ridge = JUDGE_RIDGE / training.n_effective
    penalised = training.covariance() + ridge * np.eye(training.n_columns)
    weights = np.linalg.solve(penalised, training.cross())
    along = np.sum(weights * test.cross(), axis=0)
    spread = np.einsum("dc,de,ec->c", weights, test.covariance(), weights, optimize=True)
    square = spread * test.variance
    known = square > 0
    return float(np.mean(along[known] / np.sqrt(square[known]))) if known.any() else 0.0
