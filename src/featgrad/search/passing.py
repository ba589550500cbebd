"""Search for a large number of features while rows pass, over all columns.

The mask is that of the search in a budget, ``s = sigmoid(t (v - theta))`` with ``sum(s) = k``, and
its scale is matched to the budget as there. But no shortlist is made and nothing grows with the
square of k: each batch of rows is one step, whose gradient the running engine tells.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from featgrad.dataset.checkpoint import Arrays
from featgrad.dataset.dealt import RowColumns
from featgrad.math.filters import first_peak
from featgrad.moments.running import RunningSums
from featgrad.moments.sharing import PIECES, shared
from featgrad.search import mask_kernels as kernels
from featgrad.search.batches import BatchSearch
from featgrad.search.progress import OnStep, Step
from featgrad.search.subsets import Subset
from featgrad.search.units import Units

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Steps in one passage over the rows at least, if there are as many rows.
_STEPS = 40
# Rows per step: many columns and few entries per row make a step dearer than a row.
_BATCH_ROWS = 1000
_COLUMNS_PER_ROW = 100
_SHARPNESS = 2.0, 20.0
_STEP = 0.2
_MOMENTUM = 0.9
# Scale as a multiple of the top eigenvalue of what explains most on its own.
_ROOM = 3.6
# Share of all steps after which rows are all but forgotten.
_WINDOW = 0.25
_LEAST_SHARE = 0.1
_BUDGET_SLACK = 0.01
_SOLVING_STEPS = 30
# Bins of logits, and how often they are moved to where the solution is.
_BINS = 1 << 13
_COUNTINGS = 50
# Logit of columns that may not be chosen.
_NEVER = np.float32(-1e30)


class PassingSearch(BatchSearch):
    """A search for `size` features.

    Parameters
    ----------
    columns
        As in `BatchSearch`.
    units : Units
        Which columns are kept or excluded; each column is a unit of cost 1, or in none.
    size : int
        How many to choose.
    coefficients : ndarray
        The filter.
    batch_rows : int or None
        Rows per step; None for 1000 or, if more, a hundredth of the columns, but for 40 steps.
    n_epochs : int
        How often the rows pass.
    on_step : OnStep
        Told of each step.
    """

    def __init__(
        self,
        columns: RowColumns,
        units: Units,
        size: int,
        *,
        coefficients: Floats,
        batch_rows: int | None,
        n_epochs: int,
        on_step: OnStep,
    ) -> None:
        n_rows = columns.n_rows
        many = max(_BATCH_ROWS, columns.n_features // _COLUMNS_PER_ROW)
        few = max(1, min(many, n_rows // _STEPS))
        super().__init__(columns, few if batch_rows is None else batch_rows)
        self._size, self._on_step = size, on_step
        self._n_epochs = n_epochs
        self._n_steps = max(1, n_rows // self._batch_rows) * n_epochs
        cross = self._cross()
        self._alone = np.sum(cross**2, axis=1)
        place = np.flatnonzero(units.of_column >= 0)
        self._excluded = np.flatnonzero(units.of_column < 0)
        self._kept = place[units.kept[units.of_column[place]]]
        self._sums = RunningSums(
            cross,
            *columns.standardisers(),
            coefficients,
            self._scale(coefficients),
        )
        self._v, self._momentum = np.zeros((2, columns.n_features), np.float32)
        self._v[self._excluded] = self._v[self._kept] = _NEVER
        self._theta = math.log(max(columns.n_features / size, 2.0)) / _SHARPNESS[0]
        self._spare = np.empty_like(self._v)
        self.steps: list[Step] = []
        self._open()

    def best(self) -> Subset:
        """The features, after all rows have passed."""
        self._pass(f"{self._size} features", self._n_epochs)
        scores = (self._v - self._theta).astype(np.float64)
        # What does not vary comes last, whatever noise makes of the others.
        usual = np.ones(len(scores), bool)
        usual[self._excluded] = usual[self._kept] = False
        lowest = float(scores[usual].min())
        scores[usual & (self._alone == 0)] = lowest - 1
        scores[self._excluded] = lowest - 2
        scores[self._kept] = float(scores.max()) + 1
        ranked = np.argsort(-scores, kind="stable")
        features = np.sort(ranked[: self._size])
        edge = scores[ranked[self._size - 1 : self._size + 1]].mean()
        scores -= edge
        # Of equal scores some are chosen and some are not.
        least = 1e-9 * max(float(np.abs(scores).max()), 1e-300)
        scores[features] = np.maximum(scores[features], least)
        return Subset(float(self._size), features, scores, self.steps)

    def state(self) -> Arrays:
        """All that changes while rows pass."""
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
        told = self._sums.tell()
        told_by = told.gradient, told.mean, told.deviation
        shared(kernels.move, PIECES, self._v, self._momentum, *told_by, _MOMENTUM, _STEP)
        self.steps.append(Step(1 - told.value, told.value, told.size))
        self._open()
        self._stopped = self._on_step(self.steps[-1], self._v)

    def _open(self) -> None:
        """The mask for the present logits, sharper with every step."""
        done = min(1.0, len(self.steps) / max(1, self._n_steps - 1))
        sharpness = _SHARPNESS[0] * (_SHARPNESS[1] / _SHARPNESS[0]) ** done
        wanted = max(self._size - len(self._kept), _BUDGET_SLACK)
        self._theta = _solved(self._v, self._theta, sharpness, wanted)
        # The mask before the present one makes room.
        mask, self._spare = self._spare, self._sums.mask
        shared(kernels.opened, PIECES, self._v, self._theta, sharpness, mask)
        mask[self._kept] = 1.0
        self._sums.look_through(mask, max(_LEAST_SHARE, 1 - 1 / (_WINDOW * self._n_steps)))

    def _scale(self, coefficients: Floats) -> float:
        best = np.argsort(-self._alone, kind="stable")[: self._size]
        # Columns that do not vary have no spectrum; any scale will do.
        top = self._columns.top_eigenvalue(np.sort(best)) or 1.0
        return _ROOM * top / first_peak(coefficients)


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
