"""What every search takes and gives."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from featgrad._support.types import Flags, Floats, Indices
from featgrad.search.progress import Step


class Certificate(NamedTuple):
    """An estimate of what the best single column outside the chosen set would add.

    Attributes
    ----------
    worst_inside : float
        Explained fraction, of the rows that chose, that is lost without the chosen feature or group
        that matters least.
    best_outside : float
        Estimate, at first order, of the explained fraction that the column outside with the highest
        estimate would add, from rows that the models of the chosen features have not seen.
    feature : int
        That column; -1 where every column is chosen.
    chance : float
        What the highest estimate of as many columns of noise exceeds in one of twenty cases. Where
        rows are few it is large, and hides columns that would add less.
    """

    worst_inside: float
    best_outside: float
    feature: int
    chance: float

    @property
    def suggests_more(self) -> bool:
        """Whether the best outside is above the worst inside and above noise.

        Where it is not, nothing follows: few rows hide what columns would add.
        """
        return self.best_outside > max(self.worst_inside, self.chance)

    def __str__(self) -> str:
        verdict = ": a larger set may explain more" if self.suggests_more else ""
        return (
            f"lost without the worst inside {self.worst_inside:.2g}, added by the best outside "
            f"{self.best_outside:.2g} by estimate, by noise up to {self.chance:.2g}{verdict}"
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


class SearchTask(NamedTuple):
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

    ``print(discoveries_)`` says what chose the features, or why none are chosen.

    Attributes
    ----------
    fdr : float
        The false discovery rate that is kept.
    statistics : ndarray of shape (n_features,)
        Lasso coefficients of features less those of their knockoffs, on average over knockoffs.
    frequencies : ndarray of shape (n_features,)
        Share of the knockoffs each of which by itself, at this rate, chooses a feature. Those above
        one half are chosen.
    p_values : ndarray of shape (n_features,) or None
        Where knockoffs choose none: of the hypothesis that a feature says nothing about the target
        beyond all others. The choice is that of Benjamini & Hochberg.
    exact : ndarray of bool of shape (n_features,)
        Features that e-values of the knockoffs choose. They keep the rate exactly, where the choice
        of most knockoffs keeps it about, and are fewer.
    """

    fdr: float
    statistics: Floats
    frequencies: Floats
    p_values: Floats | None
    exact: Flags
    chosen: Flags = field(repr=False)
    usable: Flags = field(repr=False)

    @property
    def fewest(self) -> int:
        """The fewest features that one knockoff can choose at this rate."""
        return math.ceil(1 / self.fdr - 1e-9)

    def __str__(self) -> str:
        kept = f"the expected share of false features is about {self.fdr:g} at most"
        if self.p_values is None:
            exact = np.count_nonzero(self.exact)
            return f"chosen by knockoffs: {kept}; e-values, which keep it exactly, choose {exact}"
        few = f"knockoffs choose at least {self.fewest} at this rate or none"
        if self.chosen.any():
            return f"chosen by p-values: {kept}; {few}"
        n_tested, smallest = np.count_nonzero(self.usable), self.p_values.min()
        return (
            f"No features are chosen at a false discovery rate of {self.fdr:g}, which does not "
            f"mean that none matter: {few}, and the smallest p-value of a single feature, "
            f"{smallest:.2g}, is too large for {n_tested} features. More rows, fewer candidates or "
            "a higher rate may find some."
        )

    def subset(self) -> Subset:
        """The chosen features, with statistics as scores, or logarithms of p-values."""
        features, statistics = np.flatnonzero(self.chosen), self.statistics
        if self.p_values is not None:
            statistics = -np.log(self.p_values.clip(np.finfo(np.float64).tiny))
        scores = signed_scores(statistics, statistics, self.chosen, self.usable)
        return Subset(float(len(features)), features, scores, [])
