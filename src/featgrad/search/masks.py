"""Masks over all columns that move with every batch of rows, and the descent that moves them.

`PenaltyMask` is the published one: ``minimise (1 - w) link(z(s)) + w mean(s)`` over v with
``s = sigmoid(2 v)``, ``w = l / (1 + l)``. A feature is chosen if its logit ends above 0.

`BudgetMask` is that of the descent on a working set, ``s = sigmoid(t (v - theta))`` with
``sum(s) = k``, whose sharpness t rises. But there is no working set, and nothing grows with the
square of k.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from featgrad import plan
from featgrad._support import Floats, Indices, Singles
from featgrad.dataset.base import Storage
from featgrad.math.formulas import Link
from featgrad.moments.running import RunningSums
from featgrad.moments.sweeps import RowMoments
from featgrad.search.base import OnStep, Step, Subset
from featgrad.search.units import Units, best_first

_SOLVING_STEPS = 30
# Beyond this a sigmoid is as good as 0, and its column closed: ten million add up to one.
_FAR = 16.0
# Logit of columns that may not be chosen.
_NEVER = np.float32(-1e30)


class MovingMask(ABC):
    """A mask that a gradient moves, by logits v."""

    mask: NDArray[Any]
    # What rows before a step count after it.
    share: float

    def __init__(self, v: NDArray[Any], on_step: OnStep) -> None:
        self.v, self.steps, self._on_step = v, list[Step](), on_step

    @abstractmethod
    def step(self, explained: float, gradient: NDArray[Any]) -> bool:
        """Move, from what the mask explains and its gradient; whether that was the last step."""

    @abstractmethod
    def subset(self) -> Subset:
        """The chosen features."""

    def __getstate__(self) -> dict[str, Any]:
        """All but what is called after a step."""
        return {name: part for name, part in vars(self).items() if name != "_on_step"}


class PenaltyMask(MovingMask):
    """Adam (Kingma & Ba 2015), with its usual constants, on the logits of a mask.

    The logits v are changed in place and set the precision of everything. A relative change of the
    objective's moving average below `tol` ends the search.
    """

    share = 1 - 1 / plan.PENALTY_WINDOW

    def __init__(
        self, v: NDArray[Any], link: Link, penalty: float, rate: float, tol: float, on_step: OnStep
    ) -> None:
        super().__init__(v, on_step)
        self.mask = expit(2 * v)
        self._link, self._weight = link, penalty / (1 + penalty)
        self._rate, self._tol = rate, tol
        self._mean, self._square = np.zeros_like(v), np.zeros_like(v)
        self._average = math.nan

    def step(self, explained: float, gradient: NDArray[Any]) -> bool:
        v, s, steps = self.v, self.mask, self.steps
        loss, slope = self._link(explained)
        size = float(np.sum(s, dtype=np.float64))
        objective = (1 - self._weight) * loss + self._weight * size / len(v)
        slope_s = (1 - self._weight) * slope * gradient + self._weight / len(v)
        v -= self._adam(slope_s * 2 * s * (1 - s), len(steps) + 1)
        self.mask = expit(2 * v)
        steps.append(Step(objective, explained, size))
        before, self._average = self._average, objective
        if len(steps) > 1:
            self._average = plan.PENALTY_MEMORY * before + (1 - plan.PENALTY_MEMORY) * objective
        settled = abs(self._average - before) < self._tol * abs(before)
        return self._on_step(steps[-1], v) or settled

    def subset(self) -> Subset:
        """The features whose mask is open."""
        chosen = np.flatnonzero(self.v > 0)
        # A penalty that leaves nothing still leaves the best feature: transform needs a column.
        if len(chosen) == 0:
            chosen = np.array([np.argmax(self.v)])
        scores, usable = self.v.astype(np.float64), np.isfinite(self.v)
        scores[~usable] = scores[usable].min() - 1
        return Subset(float(len(chosen)), chosen, scores, self.steps)

    def _adam(self, gradient: NDArray[Any], steps: int) -> NDArray[Any]:
        """What to subtract from the logits."""
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient**2 - self._square)
        mean = self._mean / (1 - 0.9**steps)
        square = self._square / (1 - 0.999**steps)
        return self._rate * mean / (np.sqrt(square) + 1e-8)


class BudgetMask(MovingMask):
    """A mask of so many columns, each a unit of cost 1, or in none; it sharpens over the steps."""

    def __init__(
        self, units: Units, size: int, marginals: Floats, n_steps: int, on_step: OnStep
    ) -> None:
        super().__init__(np.zeros(len(marginals), np.float32), on_step)
        self._size, self._marginals, self._n_steps = size, marginals, n_steps
        place = np.flatnonzero(units.of_column >= 0)
        self._excluded = np.flatnonzero(units.of_column < 0)
        self._kept: Indices = place[units.kept[units.of_column[place]]]
        self.share = max(plan.BATCH_LEAST_SHARE, 1 - 1 / (plan.BATCH_WINDOW * n_steps))
        self._momentum = np.zeros_like(self.v)
        self.v[self._excluded] = self.v[self._kept] = _NEVER
        self._theta = math.log(max(len(marginals) / size, 2.0)) / plan.BATCH_SHARPNESS[0]
        self.mask = self._opened()

    def step(self, explained: float, gradient: NDArray[Any]) -> bool:
        """A step along the gradient, in units of its standard deviation over the mask."""
        size = float(self.mask.sum(dtype=np.float64))
        mean = float(self.mask @ gradient) / max(size, 1e-300)
        deviation = math.sqrt(float(self.mask @ (gradient - np.float32(mean)) ** 2) / max(size, 1))
        pace = np.float32((1 - plan.BATCH_MOMENTUM) / max(deviation, 1e-30))
        self._momentum *= np.float32(plan.BATCH_MOMENTUM)
        self._momentum += pace * (gradient - np.float32(mean))
        self.v += np.float32(plan.BATCH_STEP) * self._momentum
        self.steps.append(Step(1 - explained, explained, size))
        self.mask = self._opened()
        return self._on_step(self.steps[-1], self.v)

    def subset(self) -> Subset:
        """The features whose logits are the largest."""
        scores = (self.v - self._theta).astype(np.float64)
        # What does not vary comes last, whatever noise makes of the others.
        usual = np.ones(len(scores), bool)
        usual[self._excluded] = usual[self._kept] = False
        lowest = float(scores[usual].min(initial=0.0))
        scores[usual & (self._marginals == 0)] = lowest - 1
        scores[self._excluded] = lowest - 2
        scores[self._kept] = float(scores.max()) + 1
        ranked = best_first(scores, self._size + 1)
        features = np.sort(ranked[: self._size])
        scores -= scores[ranked[self._size - 1 : self._size + 1]].mean()
        # Of equal scores some are chosen and some are not.
        least = 1e-9 * max(float(np.abs(scores).max()), 1e-300)
        scores[features] = np.maximum(scores[features], least)
        return Subset(float(self._size), features, scores, self.steps)

    def _opened(self) -> Singles:
        """The mask for the present logits, sharper with every step."""
        done = min(1.0, len(self.steps) / max(1, self._n_steps - 1))
        first, last = plan.BATCH_SHARPNESS
        sharpness = first * (last / first) ** done
        wanted = max(self._size - len(self._kept), plan.BATCH_SLACK)
        if len(self._kept) + len(self._excluded) < len(self.v):
            self._theta = _of_size(self.v, self._theta, sharpness, wanted)
        mask = expit(np.float32(sharpness) * (self.v - np.float32(self._theta)))
        mask[mask < math.exp(-_FAR)] = 0
        mask[self._kept] = 1.0
        return np.asarray(mask)


def _of_size(v: Singles, theta: float, sharpness: float, wanted: float) -> float:
    """Where a mask adds up to what is wanted, about; from the last solution.

    Newton's method on the logarithm of the size; halving where it leaves the bracket, as it does
    once the mask is all but binary. Columns far below the solution add nothing and are left out.
    """
    low, high, most = -math.inf, math.inf, _FAR / sharpness
    edge, near = math.inf, v
    for _ in range(_SOLVING_STEPS):
        if theta - 2 * most < edge:
            edge = theta - 3 * most
            near = v[v > edge]
        s = expit(np.float32(sharpness) * (near - np.float32(theta)))
        size, slope = float(s.sum(dtype=np.float64)), float(s @ (1 - s))
        excess = math.log(max(size, 1e-300) / wanted)
        if abs(excess) <= plan.BATCH_SLACK:
            break
        low, high = (theta, high) if excess > 0 else (low, theta)
        by = excess * size / max(sharpness * slope, 1e-300)
        newton = theta + min(max(by, -most), most)
        theta = newton if low < newton < high else (low + high) / 2
    return theta


def over_groups(
    groups: Sequence[Sequence[RowMoments]], moving: MovingMask, n_epochs: int, max_iter: int
) -> None:
    """Move a mask by row-exact gradients, each the mean over one group of batches.

    One group is the full batch and is repeated until `max_iter`; several are passed `n_epochs`
    times. Batches of a group follow one after the other, in the memory of one.
    """
    epochs = max_iter if len(groups) == 1 else n_epochs
    for group in islice(chain.from_iterable(repeat(groups, epochs)), max_iter):
        value, gradient = 0.0, np.zeros(len(moving.mask))
        for batch in group:
            part, part_gradient = batch.value_and_gradient(moving.mask)
            value += part / len(group)
            gradient += part_gradient / len(group)
        if moving.step(value, gradient):
            break


class BatchDescent:
    """Adds rows to running sums, and moves a mask whenever a batch is full."""

    def __init__(
        self,
        storage: Storage,
        sums: RunningSums,
        moving: MovingMask,
        batch_rows: int,
        max_iter: float = math.inf,
    ) -> None:
        self._storage, self._sums, self._moving = storage, sums, moving
        self._batch_rows, self._max_iter = batch_rows, max_iter
        self._waiting, self._left, self._stopped = 0, max_iter, False
        sums.set_mask(moving.mask.astype(np.float32))

    def run(self, name: str, n_epochs: int) -> None:
        """Stream all rows; the last step takes what is left over."""
        for epoch in range(n_epochs):
            self._storage.stream(f"{name}, epoch {epoch}", self._batch_rows, self)
        if self._waiting:
            self._finish_batch()

    def add(self, outputs: Floats, weights: Floats, X: Any) -> None:
        """Rows, not more than make a batch."""
        if self._stopped:
            return
        self._sums.add(X, outputs, weights)
        self._waiting += len(weights)
        if self._waiting >= self._batch_rows:
            self._finish_batch()

    def elsewhere(self) -> RunningSums:
        """Running sums for a batch of rows that is added up in other processes."""
        return self._sums.elsewhere()

    def take(self, sums: RunningSums) -> None:
        """What they have received of a batch."""
        if not self._stopped:
            self._sums.merge(sums)
            self._finish_batch()

    def __getstate__(self) -> dict[str, Any]:
        """All that changes while rows are streamed."""
        return {name: part for name, part in vars(self).items() if name != "_storage"}

    def _finish_batch(self) -> None:
        self._waiting, self._left = 0, self._left - 1
        ended = self._moving.step(*self._sums.value_and_gradient())
        self._stopped = ended or self._left <= 0
        self._sums.set_mask(self._moving.mask.astype(np.float32, copy=False), self._moving.share)
