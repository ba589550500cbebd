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

    def of_different_sizes(self) -> Sets:
        """One set of each size: the chosen one, or that of the smallest budget.

        Groups can leave room in a budget, so that a larger one buys no more features.
        """
        places: dict[int, int] = {}
        for place, subset in enumerate(self.subsets):
            if place == self.chosen or len(subset.features) not in places:
                places[len(subset.features)] = place
        kept = [places[size] for size in sorted(places)]
        return Sets([self.subsets[i] for i in kept], kept.index(self.chosen), self.stability)


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
