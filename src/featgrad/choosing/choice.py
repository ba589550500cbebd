"""What comes of one fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Self

from featgrad.learnability import Estimate
from featgrad.path import PathPoint
from featgrad.search.stability import Stability
from featgrad.search.subsets import Subset


class Sets(NamedTuple):
    """The best sets by rising budget, which of them is chosen, and how stable that one is."""

    subsets: list[Subset]
    chosen: int
    stability: Stability | None = None


class Choice(NamedTuple):
    """Sets, what they explain, and what the target was taken for."""

    task: str
    sets: Sets
    path: list[PathPoint]

    @classmethod
    def of(cls, task: str, sets: Sets, estimates: Iterable[Estimate]) -> Self:
        path = [
            PathPoint(len(subset.features), subset.features, estimate)
            for subset, estimate in zip(sets.subsets, estimates, strict=True)
        ]
        return cls(task, sets, path)
