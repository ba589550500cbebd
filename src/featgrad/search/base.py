"""What every search takes and gives."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from featgrad.arrays import Flags, Floats, Indices
from featgrad.search.progress import Step


class Certificate(NamedTuple):
    """How far the chosen set is from one that a single further column would improve.

    Attributes
    ----------
    worst_inside : float
        Explained fraction that is lost without the chosen feature or group that matters least.
    best_outside : float
        Explained fraction that the best column outside would add at least, judged by rows that the
        models of the chosen features have not seen.
    feature : int
        That column; -1 where every column is chosen.
    chance : float
        What the best of as many columns of noise would be worth.
    """

    worst_inside: float
    best_outside: float
    feature: int
    chance: float

    @property
    def holds(self) -> bool:
        """Whether no column outside is worth more than the worst inside or than chance."""
        return self.best_outside <= max(self.worst_inside, self.chance)

    def __str__(self) -> str:
        verdict = "" if self.holds else "; a larger set would explain more"
        return (
            f"worst inside {self.worst_inside:.2g}, best outside {self.best_outside:.2g}, "
            f"chance {self.chance:.2g}{verdict}"
        )


@dataclass(frozen=True)
class Subset:
    """Features chosen within a budget, the scores of all features and the steps of the search.

    Scores are above 0 for chosen features: what is lost without them. Those of others are their
    prices, shifted to 0 and below.
    """

    budget: float
    features: Indices
    scores: Floats
    steps: list[Step] = field(repr=False)
    certificate: Certificate | None = None
    rounds: int = 0
    # Features found in each split of the folds; none where the search was not repeated.
    divisions: tuple[Indices, ...] = ()


class Task(NamedTuple):
    """One set to find: what it may cost, and which folds of rows may have a say."""

    budget: float
    folds: tuple[int, ...]


def signed_scores(inside: Floats, outside: Floats, chosen: Flags, usable: Flags) -> Floats:
    """Scores of all columns: above 0 for chosen ones, below for others, last for unusable ones."""
    best = float(outside[~chosen & usable].max(initial=0.0))
    least = 1e-9 * max(float(np.abs(inside[chosen]).max(initial=0.0)), abs(best), 1e-300)
    scores = np.where(chosen, np.maximum(inside, least), outside - best - least)
    lowest = float(scores.min())
    return np.where(chosen | usable, scores, lowest - 1.0)


@dataclass(frozen=True)
class Discoveries:
    """How features compare with their knockoffs; those of a group share their values.

    Attributes
    ----------
    fdr : float
        The false discovery rate that is kept.
    statistics : ndarray of shape (n_features,)
        Lasso coefficients of features less those of their knockoffs, on average over knockoffs.
    frequencies : ndarray of shape (n_features,)
        Share of the knockoffs each of which by itself, at this rate, chooses a feature. Those above
        one half are chosen.
    """

    fdr: float
    statistics: Floats
    frequencies: Floats
    chosen: Flags = field(repr=False)
    usable: Flags = field(repr=False)

    def subset(self) -> Subset:
        """The chosen features, with statistics as scores."""
        features = np.flatnonzero(self.chosen)
        scores = signed_scores(self.statistics, self.statistics, self.chosen, self.usable)
        return Subset(float(len(features)), features, scores, [])
