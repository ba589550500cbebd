"""Search for the best k features: a mask whose entries always add up to k.

``s = sigmoid(t (v - theta))`` with theta solved for ``sum(s) = k``; the temperature 1/t falls until
the mask is all but binary. The filter's scale is matched to k features instead of all of them:
with the whole spectrum's scale a small set lies where every filter is linear, and redundancy
within it goes unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from featgrad.engines.problem import Problem
from featgrad.engines.spectrum import top_eigenvalue
from featgrad.engines.uncertainty import bearable_filters
from featgrad.objective.filters import first_peak
from featgrad.search.progress import Found, OnStep, Step

Floats = NDArray[np.float64]

_STEPS = 120
_SHARPNESS = 2.0, 20.0
_STEP = 0.1
_MOMENTUM = 0.9
# Relative precision of the budget.
_BUDGET_SLACK = 1e-9
# Room above the expected top eigenvalue of k features.
_HEADROOM = 1.2
# Noise of the explained fraction for k given features; the search, free to choose them, finds more.
_BEARABLE_NOISE = 0.05


def search(
    problem: Problem, batches: Sequence[Problem], k: int, *, max_iter: int, on_step: OnStep
) -> Found:
    """Descend for at most `max_iter` steps, each on the next of the batches."""
    usable = problem.engine.inverse_variance > 0
    v = np.zeros(problem.n_features)
    found = Found(v)
    if k >= np.count_nonzero(usable):
        found.scores = np.where(usable, 1.0, -1.0)
        return found
    matched = match(problem, k)
    batches = [replace(batch, scale=matched.scale, filters=matched.filters) for batch in batches]
    momentum = np.zeros_like(v)
    for step, sharpness in enumerate(np.geomspace(*_SHARPNESS, min(max_iter, _STEPS))):
        s, theta = budgeted(v, k, sharpness, usable)
        explained, gradient = batches[step % len(batches)].value_and_gradient(s)
        # Along the budget: what a feature gains beyond the mean of those on the edge with it.
        slope = s * (1 - s)
        slope /= max(float(slope.sum()), 1e-300)
        tangent = np.where(usable, gradient - slope @ gradient, 0.0)
        length = float(np.sqrt(np.mean(tangent**2)))
        momentum = _MOMENTUM * momentum + (1 - _MOMENTUM) * tangent / max(length, 1e-300)
        v += _STEP * momentum
        found.scores = np.where(usable, v - theta, v.min() - theta - 1)
        found.steps.append(Step(1 - explained, explained, float(s.sum())))
        if on_step(found.steps[-1], found.scores):
            break
    return found


def match(problem: Problem, k: int) -> Problem:
    """Scale and order for k features, judged by those that explain most on their own.

    The scale is the top eigenvalue to expect of k chosen features: their share of the whole, or
    that of the best. The order is lowered where k features are too many for the rows.
    """
    _, gradient = problem.value_and_gradient(np.zeros(problem.n_features))
    best = problem.columns(np.sort(np.argsort(-gradient)[:k]))
    ones = np.ones(k)
    top = top_eigenvalue(best.engine, ones, problem.weights)
    scale = _HEADROOM * max(problem.scale * k / problem.n_features, top)
    filters = bearable_filters(replace(best, scale=scale), ones, _BEARABLE_NOISE)
    # Beyond its peak a filter pays for closing features halfway.
    return replace(problem, scale=scale / first_peak(filters[-1]), filters=filters)


def budgeted(
    v: Floats, k: int, sharpness: float, usable: NDArray[np.bool_]
) -> tuple[Floats, float]:
    """``sigmoid(sharpness (v - theta))`` over usable features, theta such that it sums to k."""
    edge = float(logit(k / np.count_nonzero(usable))) / sharpness
    low, high = float(v[usable].min()) - edge, float(v[usable].max()) - edge
    theta = (low + high) / 2
    for _ in range(100):
        s = np.where(usable, expit(sharpness * (v - theta)), 0.0)
        excess = float(s.sum()) - k
        if abs(excess) <= _BUDGET_SLACK * k:
            break
        low, high = (theta, high) if excess > 0 else (low, theta)
        # Newton's step where it stays within the bracket, halving otherwise.
        newton = theta + excess / max(sharpness * float(s @ (1 - s)), 1e-300)
        theta = newton if low < newton < high else (low + high) / 2
    return s, theta
