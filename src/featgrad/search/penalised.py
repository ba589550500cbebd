"""The published search: Adam on the mask's logits, sparsity by a penalty, natural size.

``minimise (1 - w) link(z(s)) + w mean(s)`` over v with ``s = sigmoid(2 v)``, ``w = l / (1 + l)``.
A feature is chosen if its logit ends above 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from featgrad.engines.problem import Problem
from featgrad.objective.links import Link
from featgrad.search.progress import Found, OnStep, Step

Floats = NDArray[np.float64]

# Weight of the past in the moving average whose relative change stops the search.
_MEMORY = 1 / 3


class Adam:
    """Adam (Kingma & Ba 2015) with its usual constants."""

    def __init__(self, learning_rate: float, size: int) -> None:
        self._rate = learning_rate
        self._mean = np.zeros(size)
        self._square = np.zeros(size)
        self._steps = 0

    def step(self, gradient: Floats) -> Floats:
        """What to subtract from the parameters."""
        self._steps += 1
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient**2 - self._square)
        mean = self._mean / (1 - 0.9**self._steps)
        square = self._square / (1 - 0.999**self._steps)
        return self._rate * mean / (np.sqrt(square) + 1e-8)


def search(
    batches: Sequence[Sequence[Problem]],
    *,
    link: Link,
    penalty: float,
    learning_rate: float,
    max_iter: int,
    tol: float,
    n_epochs: int,
    on_step: OnStep,
) -> Found:
    """Descend; each step takes the mean over one group of batches.

    One group is the full batch and is repeated until `max_iter`; several are passed `n_epochs`
    times.
    """
    weight = penalty / (1 + penalty)
    v = np.zeros(batches[0][0].n_features)
    adam = Adam(learning_rate, len(v))
    found = Found(v)
    average = np.nan
    for group in _groups(batches, n_epochs, max_iter):
        s = expit(2 * v)
        explained, gradient = _mean_value_and_gradient(group, s)
        loss, slope = link(explained)
        objective = (1 - weight) * loss + weight * float(np.mean(s))
        slope_s = (1 - weight) * slope * gradient + weight / len(v)
        v -= adam.step(slope_s * 2 * s * (1 - s))
        found.steps.append(Step(objective, explained, float(np.sum(s))))
        before, average = average, objective
        if len(found.steps) > 1:
            average = _MEMORY * before + (1 - _MEMORY) * objective
        if on_step(found.steps[-1], v) or abs(average - before) < tol * abs(before):
            break
    return found


def _groups(
    batches: Sequence[Sequence[Problem]], n_epochs: int, max_iter: int
) -> Iterator[Sequence[Problem]]:
    epochs = max_iter if len(batches) == 1 else n_epochs
    steps = 0
    for _ in range(epochs):
        for group in batches:
            if steps == max_iter:
                return
            yield group
            steps += 1


def _mean_value_and_gradient(group: Sequence[Problem], s: Floats) -> tuple[float, Floats]:
    """Gradient accumulation: batches one after the other, in the memory of one."""
    value, gradient = 0.0, np.zeros_like(s)
    for batch in group:
        part, part_gradient = batch.value_and_gradient(s)
        value += part / len(group)
        gradient += part_gradient / len(group)
    return value, gradient
