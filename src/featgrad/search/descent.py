"""Descent on a mask whose costs always add up to a budget.

``s = sigmoid(t (v - theta))`` with theta solved for ``sum(cost s) = budget``; the sharpness t rises
until the mask is nearly binary. The filter's scale is matched to the budget instead of to all
features: with the whole spectrum's scale a small set lies where every filter is linear, and
redundancy within it goes unseen.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from featgrad._support.types import Floats
from featgrad.moments.folds import Folds, Gradient
from featgrad.plan import MOMENTUM, STEP
from featgrad.search.progress import OnStep, Step
from featgrad.search.questions import Run
from featgrad.search.units import Units

_BUDGET_SLACK = 1e-9


class Descent:
    """A mask over the units of a working set.

    Parameters
    ----------
    units : Units
        What is chosen from.
    budget : float
        What the mask costs.
    coefficients : ndarray
        The filter.
    sequences : sequence of sequences of int
        Orders of the folds that take turns: moments over distinct folds depend a little on it.
    on_step : OnStep
        Called after each step.
    """

    def __init__(
        self,
        units: Units,
        budget: float,
        coefficients: Floats,
        sequences: Sequence[Sequence[int]],
        on_step: OnStep,
    ) -> None:
        self._units, self._budget, self._coefficients = units, budget, coefficients
        self._sequences, self._on_step = sequences, on_step

    def run(
        self, folds: Folds, v: Floats, scale: float, sharpness: Floats, steps: list[Step]
    ) -> Run[Floats]:
        """Logits after one step for each sharpness; `steps` is continued. Asks for gradients."""
        momentum, units = np.zeros_like(v), self._units
        for t in sharpness:
            s = budgeted(v, self._budget, t, units)
            sequence = self._sequences[len(steps) % len(self._sequences)]
            mask = s[units.of_column]
            value, by_column = yield Gradient(folds, mask, self._coefficients, scale, sequence)
            tangent = _along_budget(units.total(by_column), s, units.costs)
            length = float(np.sqrt(np.mean(tangent**2)))
            momentum = MOMENTUM * momentum + (1 - MOMENTUM) * tangent / max(length, 1e-300)
            v = v + STEP * momentum
            steps.append(Step(1 - value, value, float(mask.sum())))
            if self._on_step(steps[-1], v):
                break
        return v


def budgeted(v: Floats, budget: float, sharpness: float, units: Units) -> Floats:
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
    return np.asarray(s)


def _along_budget(gradient: Floats, s: Floats, costs: Floats) -> Floats:
    """What a unit gains beyond its cost at the price that the budget sets."""
    slope = s * (1 - s) * costs
    price = (slope @ gradient) / max(float(slope @ costs), 1e-300)
    return np.asarray(gradient - price * costs)
