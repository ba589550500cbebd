"""What chosen features explain on rows that had no part in choosing them.

Groups of folds are held out in turn, and the search is repeated without them. Each set that is
found is judged by the rows held out from it: what the best linear model on it explains
(`featgrad.moments.least_squares`), and how well a ridge model of the other rows predicts. The mean
over groups is about the set from all rows, which is found from more of them and can be better: by
how much at most is what it explains more of all rows, the margin of the estimate. Where it explains
less of them, chosen or not, it is worse: that is subtracted.

A feature's gain is what rows of a group lose without it, and nothing where it was not found without
the group: features that were chosen by chance are not found again.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from featgrad.arrays import Flags, Floats, Indices
from featgrad.dataset.base import Sample
from featgrad.estimate import Estimate
from featgrad.moments.array_api import placed_like, to_numpy
from featgrad.moments.least_squares import (
    Gains,
    Weighted,
    adjusted,
    explained,
    losses_without,
    ridge_coefficients,
)
from featgrad.plan import JUDGE_RIDGE, ROWS_PER_COLUMN

# Models of different groups share most of their rows, so that groups are not independent (Bates,
# Hastie & Tibshirani 2024): errors as if they were, times this, cover simulated designs.
_SHARED_ROWS = 1.2


class Score(NamedTuple):
    """How well a ridge model predicts held-out rows.

    Parameters
    ----------
    name : {"AUC", "R2"}
        Mean area under the curve of each class or label against the rest, or, for numbers, the
        fraction of the variance that is predicted.
    value : float
        Its mean over held-out groups.
    standard_error : float
        Its standard error.
    """

    name: str
    value: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.name} {self.value:.3f} (+- {self.standard_error:.3f})"


class Judged(NamedTuple):
    """What is known of a set."""

    learnability: Estimate | None
    score: Score | None = None
    gains: Gains | None = None


class HeldOutRows:
    """Rows that judge sets, with all columns that are chosen anywhere.

    `columns` are those, rising; `units` says which feature or group of features each is; `groups`
    are folds that are held out together.
    """

    def __init__(
        self, sample: Sample, columns: Indices, units: Indices, groups: Sequence[Indices]
    ) -> None:
        self._problem, self._columns, self._units = sample.problem, columns, units
        self._is_regression = sample.target.task == "regression"
        self._held_out = [np.isin(sample.folds, group) for group in groups]
        self._weights = self._problem.weights
        self._squares = np.sum(self._problem.outputs**2, axis=1)
        self._variance = float(self._weights @ self._squares)

    def judge(self, chosen: Indices, divisions: Sequence[Indices]) -> Judged:
        """Judge a set by those that were found without each group."""
        parts = [self._part(*one) for one in zip(divisions, self._held_out, strict=True)]
        gains = self._gains(chosen, divisions) if len(chosen) else None
        return Judged(self._learnability(chosen, parts), self._score(parts), gains)

    def _gains(self, chosen: Indices, divisions: Sequence[Indices]) -> Gains:
        """What rows lose without each feature or its group, where these were found without them."""
        names, units = np.unique(self._units_of(chosen), return_inverse=True)
        found = np.array([np.isin(names, self._units_of(features)) for features in divisions])
        held_out = [np.flatnonzero(rows) for rows in self._held_out]
        gains = losses_without(self._rows(chosen), units, held_out, found, JUDGE_RIDGE)
        return Gains(*(part[units] for part in gains))

    def _units_of(self, columns: Indices) -> Indices:
        return self._units[np.searchsorted(self._columns, columns)]

    def _learnability(self, chosen: Indices, parts: "Sequence[_Part]") -> Estimate:
        w, V = self._weights, self._variance
        slope = _slope(parts)
        value, excess, influences = 0.0, 0.0, np.zeros(len(w))
        for part in parts:
            numbers = part.outputs, part.weights, slope * part.predicted
            outputs, weights, predicted = (placed_like(part.white, each) for each in numbers)
            found = explained(Weighted(part.white, outputs, weights), predicted)
            share = part.weights.sum() / V
            value += share * found.value
            influences[part.held_out] = share * found.influences
            excess += share**2 * found.excess
        # The target's variance is estimated from the same rows.
        influences -= value * w * (self._squares / V - 1)
        variance = max(float(np.sum(influences**2)) - excess, excess)
        error = _SHARED_ROWS * math.sqrt(variance)
        whole = self._rows(chosen).whitened()
        enough = _is_enough(whole) and all(part.is_enough for part in parts)
        more = adjusted(whole) - sum(part.weights.sum() * part.explained for part in parts)
        if enough:
            value += min(more, 0.0)
        margin = max(more, 0.0) if enough else math.inf
        return Estimate(float(np.clip(value, -1, 1)), error, len(chosen), margin=margin)

    def _score(self, parts: "Sequence[_Part]") -> Score:
        if self._is_regression:
            return self._r_squared(parts)
        areas = [_area(part) for part in parts]
        shares = np.array([part.weights.sum() for part in parts])
        known = np.array([area is not None for area in areas])
        if not known.any():
            return Score("AUC", 0.5, 0.5)
        shares = shares[known] / shares[known].sum()
        value, variance = np.array([area for area in areas if area is not None]).T
        return Score("AUC", float(shares @ value), math.sqrt(float(shares**2 @ variance)))

    def _r_squared(self, parts: "Sequence[_Part]") -> Score:
        errors = np.zeros(len(self._weights))
        for part in parts:
            errors[part.held_out] = np.sum((part.outputs - part.predicted) ** 2, axis=1)
        left = float(self._weights @ errors) / self._variance
        influences = self._weights * (errors - left * self._squares) / self._variance
        return Score("R2", 1 - left, math.sqrt(float(np.sum(influences**2))))

    def _part(self, columns: Indices, held_out: Flags) -> "_Part":
        rows = self._rows(columns)
        inside, outside = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        coefficients = ridge_coefficients(rows.take(inside), JUDGE_RIDGE)
        predicted = to_numpy(rows.take(outside).values @ placed_like(rows.values, coefficients))
        white = rows.whitened()
        return _Part(
            outside,
            self._problem.outputs[outside],
            self._weights[outside],
            predicted,
            white.without_leverage().take(outside).values,
            _is_enough(white),
            adjusted(white),
        )

    def _rows(self, columns: Indices) -> Weighted:
        values = np.zeros((len(self._weights), 0))
        if len(columns):
            places = np.searchsorted(self._columns, columns)
            values = self._problem.engine.columns(places).values()
        numbers = self._problem.outputs, self._weights
        return Weighted(values, *(placed_like(values, each) for each in numbers))


class _Part(NamedTuple):
    """Rows of one group, next to what was found without them."""

    held_out: Indices
    outputs: Floats
    weights: Floats
    predicted: Floats
    white: Any  # whitened columns, where the rows are
    is_enough: bool  # whether rows are enough for least squares on these columns
    explained: float  # of all rows


def _is_enough(white: Weighted) -> bool:
    """Whether there are enough rows for least squares."""
    return bool(ROWS_PER_COLUMN * white.values.shape[1] <= white.n_effective)


def _slope(parts: Sequence[_Part]) -> float:
    """By what predictions overshoot: what noise makes of them is shrunk."""
    along = sum(float(np.sum(p.weights @ (p.predicted * p.outputs))) for p in parts)
    square = sum(float(np.sum(p.weights @ p.predicted**2)) for p in parts)
    return min(max(along / max(square, 1e-300), 0.0), 1.0)


def _area(part: _Part) -> tuple[float, float] | None:
    """Mean area under the curve over outputs, and its variance; None where one class is absent."""
    found = []
    for output, predicted in zip(part.outputs.T, part.predicted.T, strict=True):
        positive = output > 0
        if positive.any() and not positive.all():
            found.append(_one_area(predicted, positive, part.weights))
    if not found:
        return None
    value, variance = np.mean(found, axis=0)
    return float(value), float(variance)


def _one_area(scores: Floats, positive: Flags, weights: Floats) -> tuple[float, float]:
    """Area and its variance by the spread of the share of the other class that is beaten."""
    above = _share_below(scores[positive], scores[~positive], weights[~positive])
    below = 1 - _share_below(scores[~positive], scores[positive], weights[positive])
    own, other = weights[positive] / weights[positive].sum(), weights[~positive]
    other = other / other.sum()
    area = float(own @ above)
    variance = own**2 @ (above - area) ** 2 + other**2 @ (below - area) ** 2
    return area, float(variance)


def _share_below(scores: Floats, others: Floats, weights: Floats) -> Floats:
    """Share of the others that lie below each score, ties counted half."""
    order = np.argsort(others)
    sums = np.append(0.0, np.cumsum(weights[order])) / weights.sum()
    lower = np.searchsorted(others[order], scores, side="left")
    upper = np.searchsorted(others[order], scores, side="right")
    return np.asarray((sums[lower] + sums[upper]) / 2)
