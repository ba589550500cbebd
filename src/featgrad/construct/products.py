"""Products of two columns, and squares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from featgrad._support import Floats
from featgrad.construct.expressions import Constructed, Operation, minus
from featgrad.construct.prices import Parts, Residuals, best_pairs

_WORK = 0.5  # of two columns there is one product


@dataclass(frozen=True)
class Products(Operation):
    """``(a - mean) * (b - mean)``, or ``a * b`` where 0 is the mean or means that there is nothing.

    Products of 0 and 1 are crosses of categories.
    """

    name: ClassVar[str] = "products"
    is_infix: ClassVar[bool] = True

    def count(self, parts: Parts) -> int:
        n, n_parents = len(parts.expressions), len(parts.parents(_WORK))
        return n_parents * n - n_parents * (n_parents - 1) // 2

    def best(self, parts: Parts, residuals: Residuals, kept: int) -> list[Constructed]:
        # Parents first: each pair has one of them.
        parents = parts.parents(_WORK)
        others = np.setdiff1d(np.arange(len(parts.expressions)), parents)
        order = np.concatenate([parents, others])
        is_own = np.array_equal(order, np.arange(len(order)))
        values = parts.values if is_own else parts.values[:, order]
        pairs = best_pairs(values[:, : len(parents)], values, residuals, kept, are_same=True)
        found, origins = [], parts.origins.tolist()
        for pair in zip(order[pairs.first].tolist(), order[pairs.second].tolist(), strict=True):
            i, j = sorted(pair)
            if i != j or not parts.is_binary[i]:
                own = parts.expressions[i], parts.expressions[j]
                found.append(Constructed(self, own, (origins[i], origins[j])))
        return found

    def build(self, parts: Sequence[Floats], numbers: Sequence[float]) -> Floats:
        return (parts[0] - numbers[0]) * (parts[1] - numbers[1])

    def text(self, parts: Sequence[str], numbers: Sequence[float]) -> str:
        texts = [
            f"({minus(part, number)})" if number else part
            for part, number in zip(parts, numbers, strict=True)
        ]
        return f"{texts[0]}^2" if texts[0] == texts[1] else " * ".join(texts)
