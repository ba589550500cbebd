"""The published search: Adam on the mask's logits, sparsity by a penalty, natural size.

``minimise (1 - w) link(z(s)) + w mean(s)`` over v with ``s = sigmoid(2 v)``, ``w = l / (1 + l)``.
A feature is chosen if its logit ends above 0.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from featgrad._support.types import Floats
from featgrad.math.links import Link
from featgrad.moments.sweeps import RowMoments
from featgrad.plan import PENALTY_MEMORY
from featgrad.search.progress import Found, OnStep, Step


class Descent:
    """Adam (Kingma & Ba 2015), with its usual constants, on the logits of a mask.

    The logits v are changed in place and set the precision of everything. A relative change of the
    objective's moving average below `tol` ends the search.
    """

    def __init__(
        self, v: NDArray[Any], link: Link, penalty: float, rate: float, tol: float, on_step: OnStep
    ) -> None:
        self.found = Found(v)
        self._link, self._weight = link, penalty / (1 + penalty)
        self._rate, self._tol, self._on_step = rate, tol, on_step
        self._mean, self._square = np.zeros_like(v), np.zeros_like(v)
        self._average = math.nan

    @property
    def mask(self) -> NDArray[Any]:
        return np.asarray(expit(2 * self.found.scores))

    def step(self, s: NDArray[Any], explained: float, gradient: NDArray[Any]) -> bool:
        """Move, from what the mask s explains and its gradient; whether that was the last step."""
        v, steps = self.found.scores, self.found.steps
        loss, slope = self._link(explained)
        size = float(np.sum(s, dtype=np.float64))
        objective = (1 - self._weight) * loss + self._weight * size / len(v)
        slope_s = (1 - self._weight) * slope * gradient + self._weight / len(v)
        v -= self._adam(slope_s * 2 * s * (1 - s), len(steps) + 1)
        steps.append(Step(objective, explained, size))
        before, self._average = self._average, objective
        if len(steps) > 1:
            self._average = PENALTY_MEMORY * before + (1 - PENALTY_MEMORY) * objective
        settled = abs(self._average - before) < self._tol * abs(before)
        return self._on_step(steps[-1], v) or settled

    def state(self) -> dict[str, NDArray[Any]]:
        """All that changes."""
        return {
            "v": self.found.scores,
            "mean": self._mean,
            "square": self._square,
            "average": np.array(self._average),
            "steps": np.array(self.found.steps).reshape(-1, len(Step._fields)),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take it up again."""
        steps = [Step(*row) for row in state["steps"].tolist()]
        self.found = Found(state["v"], steps)
        self._mean, self._square = state["mean"], state["square"]
        self._average = float(state["average"])

    def _adam(self, gradient: NDArray[Any], steps: int) -> NDArray[Any]:
        """What to subtract from the logits."""
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient**2 - self._square)
        mean = self._mean / (1 - 0.9**steps)
        square = self._square / (1 - 0.999**steps)
        return self._rate * mean / (np.sqrt(square) + 1e-8)


def search(
    batches: Sequence[Sequence[RowMoments]],
    v: Floats,
    *,
    link: Link,
    penalty: float,
    learning_rate: float,
    max_iter: int,
    tol: float,
    n_epochs: int,
    on_step: OnStep,
) -> Found:
    """Descend from logits v; each step takes the mean over one group of batches.

    One group is the full batch and is repeated until `max_iter`; several are passed `n_epochs`
    times.
    """
    descent = Descent(v, link, penalty, learning_rate, tol, on_step)
    epochs = max_iter if len(batches) == 1 else n_epochs
    for group in islice(chain.from_iterable(repeat(batches, epochs)), max_iter):
        s = descent.mask
        if descent.step(s, *_mean_value_and_gradient(group, s)):
            break
    return descent.found


def _mean_value_and_gradient(group: Sequence[RowMoments], s: Floats) -> tuple[float, Floats]:
    """Gradient accumulation: batches one after the other, in the memory of one."""
    value, gradient = 0.0, np.zeros_like(s)
    for batch in group:
        part, part_gradient = batch.value_and_gradient(s)
        value += part / len(group)
        gradient += part_gradient / len(group)
    return value, gradient
