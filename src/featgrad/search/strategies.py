"""The ways to find a set that compete on held-out rows.

Both minimise what the chosen features leave unexplained. The gradient search does so on moments
over distinct rows, which cannot be overfitted, and wins where rows are few; elimination is exact
but has to be held back by a ridge, and wins where rows are many.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from featgrad.moments.folds import Folds
from featgrad.search import budget as budgeted
from featgrad.search.elimination import eliminate
from featgrad.search.progress import Found, OnStep, Step
from featgrad.search.swaps import all_refined
from featgrad.search.units import Units

Floats = NDArray[np.float64]


# Rows per column from which elimination has nothing to fear from overfitting.
_MANY_ROWS = 10


class Strategy(Protocol):
    """Scores of units, the higher the better, for each of some budgets."""

    def __call__(
        self, folds: Folds, units: Units, budgets: Sequence[float], on_step: OnStep
    ) -> list[Found]: ...


def gradient(coefficients: Floats, room: float, max_iter: int) -> Strategy:
    def run(folds: Folds, units: Units, budgets: Sequence[float], on_step: OnStep) -> list[Found]:
        return [
            budgeted.search(
                folds,
                units,
                budget,
                coefficients=coefficients,
                room=room,
                max_iter=max_iter,
                on_step=on_step,
            )
            for budget in budgets
        ]

    return run


def elimination(ridge: float) -> Strategy:
    def run(folds: Folds, units: Units, budgets: Sequence[float], on_step: OnStep) -> list[Found]:
        scores = np.full(units.count, float(units.count))
        left_out = eliminate(folds, units, ridge)
        scores[left_out] = np.arange(len(left_out))
        found = []
        for budget in budgets:
            columns = units.members(units.best_within(scores, budget))
            size = len(columns) / units.per_feature
            step = Step(*_left_and_explained(folds.columns(columns), ridge), size)
            on_step(step, scores)
            found.append(Found(scores.copy(), [step]))
        return found

    return run


def _left_and_explained(folds: Folds, ridge: float) -> tuple[float, float]:
    """What ridge regression on all columns leaves and explains, as shares of the variance."""
    cross = folds.cross()
    weights = np.linalg.solve(folds.covariance() + ridge * np.eye(len(cross)), cross)
    explained = float(np.sum(weights * cross) / np.sum(folds.variance))
    return 1 - explained, explained


def with_swaps(strategy: Strategy, free: Collection[float]) -> Strategy:
    """What a strategy finds, then swaps by least squares: free ones for some budgets."""

    def run(folds: Folds, units: Units, budgets: Sequence[float], on_step: OnStep) -> list[Found]:
        found = strategy(folds, units, budgets, on_step)
        return all_refined(folds, units, budgets, found, free)

    return run


def competitors(
    coefficients: Floats, n_outputs: int, rows_per_column: float, max_iter: int
) -> list[Strategy]:
    """The strategies; the first is taken unless another is clearly better on held-out rows.

    Several outputs want sets that cover them all, so redundancy is looked at more closely.
    """
    wide, tight = (gradient(coefficients, room, max_iter) for room in (3.6, 1.2))
    searches = [wide, tight] if n_outputs == 1 else [tight, wide]
    exact = [elimination(1.0), elimination(0.1)]
    return [*searches, *exact] if rows_per_column < _MANY_ROWS else [*exact[::-1], *searches]
