"""Hinges, which are 0 up to a knot and rise from there, and their products with columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from featgrad._support import Floats, Indices, Singles
from featgrad.construct.expressions import Constructed, Operation, minus
from featgrad.construct.prices import Best, Parts, Residuals, best_pairs
from featgrad.plan import KNOTS


def _hinges(parts: Parts, columns: Indices) -> Iterator[tuple[Singles, Singles]]:
    """Given columns of more than two values beyond each of their knots, and these."""
    if len(columns) == 0:
        return
    values = parts.values[:, columns]
    levels = np.linspace(0, 1, KNOTS + 2)[1:-1]
    for knots in np.quantile(values, levels, axis=0).astype(np.float32):
        yield np.maximum(values - knots, 0), knots


def _columns(parts: Parts) -> Indices:
    """Columns that can have a hinge: given ones of more than two values, in dense rows."""
    if parts.is_sparse:
        return np.zeros(0, np.intp)
    return np.flatnonzero(~parts.is_binary[: parts.n_given])


@dataclass(frozen=True)
class Hinges(Operation):
    """``max(a - knot, 0)``, with knots at quantiles."""

    name: ClassVar[str] = "hinges"

    def count(self, parts: Parts) -> int:
        return KNOTS * len(_columns(parts))

    def best(self, parts: Parts, residuals: Residuals, kept: int) -> list[Constructed]:
        best, columns, every = Best(kept), _columns(parts), []
        weights = residuals.weights.astype(np.float32)
        errors = residuals.values.astype(np.float32)
        for level, (values, knots) in enumerate(_hinges(parts, columns)):
            mean = weights @ values
            variance = weights @ (values * values) - mean**2
            prices = np.sum((values.T @ errors) ** 2, axis=1)
            best.add(np.full(len(columns), level), columns, prices / np.maximum(variance, 1e-6))
            every.append(parts.in_units(columns, knots))
        places = np.searchsorted(columns, best.second)
        found = zip(best.first.tolist(), places.tolist(), best.second.tolist(), strict=True)
        return [
            Constructed(self, (parts.expressions[column],), (every[level][place],))
            for level, place, column in found
        ]

    def build(self, parts: Sequence[Floats], numbers: Sequence[float]) -> Floats:
        return np.maximum(parts[0] - numbers[0], 0.0)

    def text(self, parts: Sequence[str], numbers: Sequence[float]) -> str:
        return f"max({minus(parts[0], numbers[0])}, 0)"


@dataclass(frozen=True)
class BentProducts(Operation):
    """``max(a - knot, 0) * (b - mean)``: the slope of one column changes with another."""

    name: ClassVar[str] = "bent"
    is_infix: ClassVar[bool] = True

    def count(self, parts: Parts) -> int:
        return KNOTS * len(self._first(parts)) * len(parts.expressions)

    def best(self, parts: Parts, residuals: Residuals, kept: int) -> list[Constructed]:
        columns, found = self._first(parts), []
        for values, knots in _hinges(parts, columns):
            pairs = best_pairs(values, parts.values, residuals, kept)
            units = parts.in_units(columns, knots)
            for i, j, price in zip(pairs.first, pairs.second, pairs.prices, strict=True):
                own = parts.expressions[columns[i]], parts.expressions[j]
                found.append((price, Constructed(self, own, (units[i], float(parts.origins[j])))))
        found.sort(key=lambda pair: -pair[0])
        return [constructed for _, constructed in found[:kept]]

    def _first(self, parts: Parts) -> Indices:
        return np.intersect1d(_columns(parts), parts.parents(KNOTS))

    def build(self, parts: Sequence[Floats], numbers: Sequence[float]) -> Floats:
        return np.maximum(parts[0] - numbers[0], 0.0) * (parts[1] - numbers[1])

    def text(self, parts: Sequence[str], numbers: Sequence[float]) -> str:
        first, second = (minus(*each) for each in zip(parts, numbers, strict=True))
        return f"max({first}, 0) * {f'({second})' if numbers[1] else second}"
