"""Search for a large number of features over all columns, while rows are streamed.

The mask is that of the descent on a working set, ``s = sigmoid(t (v - theta))`` with
``sum(s) = k``, and its scale is matched to the budget as there. But there is no working set, and
nothing grows with the square of k: each batch of rows is one step along the running gradient.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from featgrad import plan
from featgrad._support.compiled import PIECES, shared
from featgrad._support.types import Floats, Singles
from featgrad.dataset.base import Storage
from featgrad.dataset.checkpoint import Arrays
from featgrad.math.filters import first_peak
from featgrad.moments.running import RunningSums
from featgrad.search import mask_kernels as kernels
from featgrad.search.base import Subset
from featgrad.search.batch_search import BatchSearch, raw_scales
from featgrad.search.progress import OnStep, Step
from featgrad.search.units import Units, best_first

_BUDGET_SLACK = 0.01
_SOLVING_STEPS = 30
# Bins of logits, and how often they are moved to where the solution is.
_BINS = 1 << 13
_COUNTINGS = 50
# Logit of columns that may not be chosen.
_NEVER = np.float32(-1e30)


class StreamSearch(BatchSearch):
    """A search for `size` features; each column is a unit of cost 1, or in none.

    Without `batch_rows` a step takes 1000 rows or, if more, a hundredth of the columns, but so many
    that 40 steps are left. Where processes wait for each other after each step there are 40, if
    need be in more epochs.
    """

    def __init__(
        self,
        dataset: Storage,
        units: Units,
        size: int,
        *,
        coefficients: Floats,
        batch_rows: int | None,
        n_epochs: int,
        on_step: OnStep,
    ) -> None:
        n_rows = dataset.n_rows
        many = max(plan.STREAM_BATCH_ROWS, dataset.n_features // plan.STREAM_COLUMNS_PER_ROW)
        many = n_rows if dataset.is_divided else many
        few = max(1, min(many, n_rows // plan.STREAM_STEPS))
        super().__init__(dataset, few if batch_rows is None else batch_rows)
        self._size, self._on_step = size, on_step
        n_batches = dataset.n_batches(self._batch_rows)
        least = math.ceil(plan.STREAM_STEPS / n_batches) if dataset.is_divided else 1
        self._n_epochs = max(n_epochs, least)
        self._n_steps = n_batches * self._n_epochs
        cross = dataset.cross()
        self._marginals = np.sum(cross**2, axis=1)
        place = np.flatnonzero(units.of_column >= 0)
        self._excluded = np.flatnonzero(units.of_column < 0)
        self._kept = place[units.kept[units.of_column[place]]]
        top = self._scale(coefficients)
        self._sums = RunningSums(cross, *raw_scales(dataset), coefficients, top)
        self._v, self._momentum = np.zeros((2, dataset.n_features), np.float32)
        self._v[self._excluded] = self._v[self._kept] = _NEVER
        self._theta = math.log(max(dataset.n_features / size, 2.0)) / plan.STREAM_SHARPNESS[0]
        self._spare = np.empty_like(self._v)
        self.steps: list[Step] = []
        self._open()

    def best(self) -> Subset:
        """The features, after all rows."""
        self._run(f"{self._size} features", self._n_epochs)
        scores = (self._v - self._theta).astype(np.float64)
        # What does not vary comes last, whatever noise makes of the others.
        usual = np.ones(len(scores), bool)
        usual[self._excluded] = usual[self._kept] = False
        lowest = float(scores[usual].min(initial=0.0))
        scores[usual & (self._marginals == 0)] = lowest - 1
        scores[self._excluded] = lowest - 2
        scores[self._kept] = float(scores.max()) + 1
        ranked = best_first(scores, self._size + 1)
        features = np.sort(ranked[: self._size])
        edge = scores[ranked[self._size - 1 : self._size + 1]].mean()
        scores -= edge
        # Of equal scores some are chosen and some are not.
        least = 1e-9 * max(float(np.abs(scores).max()), 1e-300)
        scores[features] = np.maximum(scores[features], least)
        return Subset(float(self._size), features, scores, self.steps)

    def state(self) -> Arrays:
        """All that changes while rows are streamed."""
        return {
            "v": self._v,
            "momentum": self._momentum,
            "theta": np.array(self._theta),
            "steps": np.array(self.steps).reshape(-1, len(Step._fields)),
            **super().state(),
        }

    def restore(self, state: Arrays) -> None:
        super().restore(state)
        self._v, self._momentum = state["v"], state["momentum"]
        self._theta = float(state["theta"])
        self.steps = [Step(*row) for row in state["steps"].tolist()]

    def _step(self) -> None:
        found = self._sums.value_and_gradient()
        gradient = found.gradient, found.mean, found.deviation
        pace = plan.STREAM_MOMENTUM, plan.STREAM_STEP
        shared(kernels.move, PIECES, self._v, self._momentum, *gradient, *pace)
        self.steps.append(Step(1 - found.value, found.value, found.size))
        self._open()
        self._stopped = self._on_step(self.steps[-1], self._v)

    def _open(self) -> None:
        """The mask for the present logits, sharper with every step."""
        done = min(1.0, len(self.steps) / max(1, self._n_steps - 1))
        first, last = plan.STREAM_SHARPNESS
        sharpness = first * (last / first) ** done
        wanted = max(self._size - len(self._kept), _BUDGET_SLACK)
        if len(self._kept) + len(self._excluded) < len(self._v):
            self._theta = _solved(self._v, self._theta, sharpness, wanted)
        # The mask before the present one makes room.
        mask, self._spare = self._spare, self._sums.mask
        shared(kernels.opened, PIECES, self._v, self._theta, sharpness, mask)
        mask[self._kept] = 1.0
        self._sums.set_mask(
            mask, max(plan.STREAM_LEAST_SHARE, 1 - 1 / (plan.STREAM_WINDOW * self._n_steps))
        )

    def _scale(self, coefficients: Floats) -> float:
        best = best_first(self._marginals, self._size)
        # Columns that do not vary have no spectrum; any scale will do.
        top = self._dataset.top_eigenvalue(np.sort(best)) or 1.0
        return plan.STREAM_ROOM * top / first_peak(coefficients)


def _solved(v: Singles, theta: float, sharpness: float, wanted: float) -> float:
    """Where the mask adds up to what is wanted, about; from the last solution.

    Logits are counted by bins, narrow beside the reach of a sigmoid, and the bins' masks added up.
    """
    reach = kernels.FAR / sharpness
    half = 2 * reach
    for _ in range(_COUNTINGS):
        low, high = theta - half, theta + half
        counts = np.zeros((PIECES, _BINS), np.int64)
        shared(kernels.counted, PIECES, v, low, high, counts)
        together = counts.sum(axis=0)
        filled = np.flatnonzero(together)
        centres = low + (filled + 0.5) * (high - low) / _BINS
        before, theta = theta, _of_size(centres, together[filled], theta, sharpness, wanted)
        if abs(theta - before) <= reach:
            break
        # Look closely there, or further where that is at the edge of the bins.
        half = 2 * reach if abs(theta - before) < half / 2 else 4 * half
        theta = min(max(theta, low), high)
    return theta


def _of_size(
    v: Floats, counts: NDArray[np.int64], theta: float, sharpness: float, wanted: float
) -> float:
    """Where a mask of logits that occur so often adds up to what is wanted.

    Newton's method on the logarithm of the size; halving where it leaves the bracket, as it does
    once the mask is all but binary.
    """
    low, high = -math.inf, math.inf
    for _ in range(_SOLVING_STEPS):
        s = expit(sharpness * (v - theta))
        size, slope = float(counts @ s), float(counts @ (s * (1 - s)))
        excess = math.log(max(size, 1e-300) / wanted)
        if abs(excess) <= _BUDGET_SLACK:
            break
        low, high = (theta, high) if excess > 0 else (low, theta)
        by = excess * size / max(sharpness * slope, 1e-300)
        most = kernels.FAR / sharpness
        newton = theta + min(max(by, -most), most)
        theta = newton if low < newton < high else (low + high) / 2
    return theta
