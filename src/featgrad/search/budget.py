"""Search for the best units within a budget: a mask whose costs always add up to it.

``s = sigmoid(t (v - theta))`` with theta solved for ``sum(cost s) = budget``; the temperature 1/t
falls until the mask is all but binary. The filter's scale is matched to the budget instead of to
all features: with the whole spectrum's scale a small set lies where every filter is linear, and
redundancy within it goes unseen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from featgrad.math.filters import first_peak
from featgrad.moments.folds import Folds
from featgrad.search.elimination import eliminate
from featgrad.search.progress import Found, OnStep, Step
from featgrad.search.units import Units

Floats = NDArray[np.float64]

_STEPS = 40
_SHARPNESS = 2.0, 20.0
_STEP = 0.2
_MOMENTUM = 0.9
# Orders of the folds that take turns: moments over distinct folds depend a little on the order.
_SEQUENCES = 4
_BUDGET_SLACK = 1e-9
# Mask from which a unit may still be among the chosen.
_AJAR = 0.01


def search(
    folds: Folds,
    units: Units,
    budget: float,
    *,
    coefficients: Floats,
    room: float,
    max_iter: int,
    on_step: OnStep,
) -> Found:
    """Descend for at most `max_iter` steps.

    `room` is the scale as a multiple of the top eigenvalue of what explains most on its own: small
    values look for redundancy within the set, large ones trust each feature for itself.
    """
    coefficients = coefficients[: max(1, len(folds.folds) - 1)]
    # Columns that do not vary have no spectrum; any scale will do.
    scale = room * (_top_eigenvalue(folds, units, budget) or 1.0) / first_peak(coefficients)
    sequences = _sequences(len(folds.folds))
    v, momentum = np.zeros((2, units.count))
    found = Found(v)
    steps = min(max_iter, _STEPS)
    for step, sharpness in enumerate(np.geomspace(*_SHARPNESS, steps)):
        s, theta = budgeted(v, budget, sharpness, units)
        sequence = sequences[step % _SEQUENCES]
        mask = s[units.of_column]
        explained, by_column = folds.value_and_gradient(mask, coefficients, scale, sequence)
        gradient = units.total(by_column)
        # Along the budget: what a unit gains beyond its cost at the going price.
        slope = s * (1 - s)
        slope *= units.costs
        price = (slope @ gradient) / max(float(slope @ units.costs), 1e-300)
        tangent = gradient - price * units.costs
        length = float(np.sqrt(np.mean(tangent**2)))
        momentum = _MOMENTUM * momentum + (1 - _MOMENTUM) * tangent / max(length, 1e-300)
        v = v + _STEP * momentum
        found.scores = v - theta
        size = float(mask.sum()) / units.per_feature
        found.steps.append(Step(1 - explained, explained, size))
        if on_step(found.steps[-1], found.scores):
            break
    ajar = np.flatnonzero(budgeted(v, budget, _SHARPNESS[1], units)[0] > _AJAR)
    found.scores[ajar] = _decided(folds, units, ajar, found.scores[ajar], scale / len(coefficients))
    return found


def _decided(
    folds: Folds, units: Units, ajar: NDArray[np.intp], scores: Floats, ridge: float
) -> Floats:
    """Scores of units that the mask leaves open, dealt out anew by elimination.

    Where the filter saturates, two units half open serve as well as one, and no temperature closes
    either. The ridge shrinks weak directions as the filter does: ``x / ridge`` for small x.
    """
    inner, columns = units.only(ajar)
    left_out = eliminate(folds.columns(columns), inner, ridge)
    dealt = np.sort(scores)
    rank = np.argsort(np.concatenate([left_out, np.flatnonzero(inner.kept)]))
    return np.asarray(dealt[rank])


def budgeted(v: Floats, budget: float, sharpness: float, units: Units) -> tuple[Floats, float]:
    """``sigmoid(sharpness (v - theta))``, 1 for kept units, with costs that add up to budget."""
    reach = 40.0 / sharpness
    low, high = float(v.min()) - reach, float(v.max()) + reach
    theta = (low + high) / 2
    for _ in range(100):
        s = np.where(units.kept, 1.0, expit(sharpness * (v - theta)))
        excess = float(s @ units.costs) - budget
        if abs(excess) <= _BUDGET_SLACK * budget:
            break
        low, high = (theta, high) if excess > 0 else (low, theta)
        # Newton's step where it stays within the bracket, halving otherwise.
        slope = sharpness * float((s * (1 - s)) @ units.costs)
        newton = theta + excess / max(slope, 1e-300)
        theta = newton if low < newton < high else (low + high) / 2
    return s, theta


def _top_eigenvalue(folds: Folds, units: Units, budget: float) -> float:
    """Of the columns that the budget buys if each unit is judged on its own."""
    alone = units.total(np.sum(folds.cross() ** 2, axis=1)) / units.costs
    best = folds.columns(units.members(units.best_within(alone, budget)))
    return float(np.linalg.eigvalsh(best.covariance())[-1])


def _sequences(n_folds: int) -> list[list[int]]:
    rng = np.random.default_rng(0)
    return [rng.permutation(n_folds).tolist() for _ in range(_SEQUENCES)]
