"""Explained variance as a function of the mask, for given rows, target and filter."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from featgrad._support.types import Floats, Indices
from featgrad.math.tuples import tuple_weights, tuple_weights_without_each
from featgrad.moments.sweeps import Engine, TwoSweeps


@dataclass(frozen=True)
class Problem:
    """The explained fraction of the target's variance as a function of the mask."""

    engine: Engine
    outputs: Floats  # centred target, shape (rows, outputs)
    weights: Floats  # positive, sum to one
    variance: float  # of the target
    filters: tuple[Floats, ...]  # coefficients, preceded by those of lower orders if there are any
    scale: float  # the eigenvalue that is scaled to 1

    @property
    def coefficients(self) -> Floats:
        return self.filters[-1]

    @property
    def candidates(self) -> Floats:
        """All filters in one matrix, shape (filters, order)."""
        rows = [np.pad(row, (0, self.order - len(row))) for row in self.filters]
        return np.array(rows)

    @property
    def n_features(self) -> int:
        return self.engine.n_features

    @property
    def order(self) -> int:
        return len(self.coefficients)

    @cached_property
    def alpha(self) -> Floats:
        """Coefficient of each raw moment: ``a_i / e_(i+2)(w) / var(y)``."""
        return self.coefficients / tuple_weights(self.weights, self.order) / self.variance

    @cached_property
    def without_each(self) -> Floats:
        """``e_(i+2)(w)`` without each of the rows, shape (rows, order)."""
        return tuple_weights_without_each(self.weights, self.order)

    @cached_property
    def strength(self) -> Floats:
        """Factor of a feature with mask 1 in an inner product of rows."""
        return self.engine.inverse_variance / self.scale

    def value_and_gradient(self, mask: Floats) -> tuple[float, Floats]:
        value, gradient = self.sweeps(mask).value_and_gradient(self.alpha)
        return value, gradient * self.strength

    def sweeps(self, mask: Floats) -> TwoSweeps:
        strength = mask * self.strength
        return TwoSweeps(self.engine, strength, self.outputs, self.weights, self.order)

    def columns(self, indices: Indices) -> "Problem":
        return replace(self, engine=self.engine.columns(indices))

    def batches(self, size: int) -> "list[Problem]":
        """Problems of consecutive runs of at least `size` rows."""
        n_rows = len(self.weights)
        runs = np.array_split(np.arange(n_rows), max(1, n_rows // size))
        return [self._take(run) for run in runs]

    def _take(self, rows: Indices) -> "Problem":
        engine, outputs = self.engine.take(rows), self.outputs[rows]
        weights = self.weights[rows] / self.weights[rows].sum()
        return replace(self, engine=engine, outputs=outputs, weights=weights)
