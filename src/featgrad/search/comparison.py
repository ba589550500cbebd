"""Held-out rows choose among sizes.

Folds are held out by each split. The search runs without them; ridge regression of the other rows
on the chosen columns then predicts the held-out ones. All of it happens on moments: the correlation
of prediction and target is ``w^T b / sqrt(w^T C w var(y))`` with b, C and var(y) of the held-out
rows, centred by these.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import median_filter

from featgrad._support.array_api import to_numpy
from featgrad._support.types import Floats, Indices
from featgrad.dataset.base import Dataset
from featgrad.dataset.splits import Split
from featgrad.moments.folds import Totals
from featgrad.plan import (
    HELD_OUT_RIDGE,
    NOISE_ERRORS,
    SIZE_TOLERANCE,
    SMOOTHED_SIZES,
    TOLERANCE_FACTORS,
    HeldOut,
)
from featgrad.search.base import SearchTask, Subset


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
        return np.asarray(median_filter(self._means, SMOOTHED_SIZES, mode="nearest"))

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
        if best.correlation <= NOISE_ERRORS * math.sqrt(2 / self.n_effective):
            return None
        tolerance = min(best.standard_error, SIZE_TOLERANCE * best.correlation)
        bounds = best.correlation - tolerance * TOLERANCE_FACTORS
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
    penalised[np.diag_indices(len(columns))] += HELD_OUT_RIDGE / training.n_effective
    weights = np.linalg.solve(penalised, training.cross)
    along = np.sum(weights * test.cross, axis=0)
    held_out = to_numpy(test.covariance)
    spread = np.einsum("dc,de,ec->c", weights, held_out, weights, optimize=True)
    square = spread * variance
    known = square > 0
    return float(np.mean(along[known] / np.sqrt(square[known]))) if known.any() else 0.0
