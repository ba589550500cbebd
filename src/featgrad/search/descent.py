"""Descent on a mask whose costs always add up to a budget.

``s = sigmoid(t (v - theta))`` with theta solved for ``sum(cost s) = budget``; the sharpness t rises
until the mask is nearly binary. The filter's scale is matched to the budget instead of to all
features: with the whole spectrum's scale a small set lies where every filter is linear, and
redundancy within it goes unseen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from featgrad._support import Floats
from featgrad.moments.folds import Folds, Gradient, gradients
from featgrad.plan import MOMENTUM, STEP
from featgrad.search.base import OnStep, Step
from featgrad.search.units import Units

_BUDGET_SLACK = 1e-9


@dataclass
class Descent:
    """A mask over the units of a working set, on its way."""

    folds: Folds  # moments of the working set
    units: Units
    budget: float  # what the mask costs
    coefficients: Floats  # of the filter
    scale: float  # what the filter takes for 1
    # Orders of the folds that take turns: moments over distinct folds depend a little on it.
    sequences: Sequence[Sequence[int]]
    sharpness: Floats  # of the mask in each step
    v: Floats  # the logits
    steps: list[Step]  # is continued
    on_step: OnStep  # called after each step


def descend(descents: Sequence[Descent]) -> None:
    """Move the logits of each, one step for each sharpness.

    All masks of a step take their gradients together.
    """
    momenta = {id(one): np.zeros_like(one.v) for one in descents}
    active = [one for one in descents if len(one.sharpness)]
    for step in range(max((len(one.sharpness) for one in active), default=0)):
        masks = [budgeted(one.v, one.budget, one.sharpness[step], one.units) for one in active]
        asked = [
            Gradient(
                one.folds,
                s[one.units.of_column],
                one.coefficients,
                one.scale,
                one.sequences[len(one.steps) % len(one.sequences)],
            )
            for one, s in zip(active, masks, strict=True)
        ]
        going_on = []
        found = gradients(asked)
        for one, s, (_, mask, *_), (value, by_column) in zip(
            active, masks, asked, found, strict=True
        ):
            tangent = _along_budget(one.units.total(by_column), s, one.units.costs)
            length = float(np.sqrt(np.mean(tangent**2)))
            momentum = MOMENTUM * momenta[id(one)] + (1 - MOMENTUM) * tangent / max(length, 1e-300)
            one.v, momenta[id(one)] = one.v + STEP * momentum, momentum
            one.steps.append(Step(1 - value, value, float(mask.sum())))
            if not one.on_step(one.steps[-1], one.v) and step + 1 < len(one.sharpness):
                going_on.append(one)
        active = going_on


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
