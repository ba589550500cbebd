"""Rows of a source as they pass, and those that are gathered from all of its blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from featgrad.dataset.checkpoint import Arrays, matrix_of, matrix_state
from featgrad.dataset.first_reading import stacked

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Part(NamedTuple):
    """Some rows of a source: outputs of variance 1, weights, positions and features."""

    outputs: Floats
    weights: Floats
    at: Indices
    X: Any

    def before(self, count: int) -> Part:
        """Those of the rows that have one of the first positions."""
        rows = np.flatnonzero(self.at < count)
        return self.take(rows, self.X[rows])

    def take(self, rows: Any, X: Any) -> Part:
        """Some of the rows, with features that were taken from them already."""
        return Part(self.outputs[rows], self.weights[rows], self.at[rows], X)


class GatheredRows:
    """Rows of some positions, as they come."""

    def __init__(self) -> None:
        self._parts: list[Part] = []

    def add(self, part: Part) -> None:
        self._parts.append(part)

    def by_position(self) -> Part:
        whole = self._joined()
        order = np.argsort(whole.at, kind="stable")
        return whole.take(order, whole.X[order])

    def state(self) -> Arrays:
        outputs, weights, at, X = self._joined()
        return {"outputs": outputs, "weights": weights, "positions": at, **matrix_state(X)}

    def restore(self, state: Arrays) -> None:
        beside = state["outputs"], state["weights"], state["positions"]
        self._parts = [Part(*beside, matrix_of(state))]

    def _joined(self) -> Part:
        outputs, weights, at, matrices = (list(each) for each in zip(*self._parts, strict=True))
        beside = np.concatenate(outputs), np.concatenate(weights), np.concatenate(at)
        return Part(*beside, stacked(matrices))
