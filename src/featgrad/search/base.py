"""What every search is, takes and gives.

A search is an object with parameters of its own. It declares what it needs, so that a plan can
choose or refuse it, and `run` turns a `Job` into an `Outcome`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from featgrad._support import Flags, Floats, Indices
from featgrad._support.results import Result
from featgrad._support.sklearn_compat import CallbackContext
from featgrad._support.wording import SHOWN, name_of
from featgrad.dataset.base import Dataset, Storage
from featgrad.math.formulas import check_order, up_to
from featgrad.plan import HeldOut, Needs, PlanLine
from featgrad.search.stability import Stability
from featgrad.search.units import Budgets, Units, Variables, best_first


class Step(NamedTuple):
    """One step: what was minimised, the explained fraction, and the mask summed over features."""

    objective: float
    explained: float
    size: float


# Takes each step and the scores reached; returns whether to stop.
OnStep = Callable[[Step, NDArray[Any]], bool]


def go_on(step: Step, scores: NDArray[Any]) -> bool:
    """For searches that nobody watches."""
    return False


class Reporter:
    """Tells scikit-learn's callbacks and, with `verbose`, the terminal of each step."""

    def __init__(self, selector: Any, context: CallbackContext | None) -> None:
        self._selector, self._context, self._count = selector, context, 0

    def __call__(self, step: Step, scores: NDArray[Any]) -> bool:
        self._count += 1
        verbose = self._selector.verbose
        if verbose and self._count % verbose == 0:
            print(
                f"step {self._count}: objective {step.objective:.6f}, explained "
                f"{step.explained:z.2%}, size {step.size:.1f}"
            )
        if self._context is None:
            return False
        inner = self._context.subcontext(task_name="step")
        inner.call_on_fit_task_begin(estimator=self._selector)
        return bool(inner.call_on_fit_task_end(estimator=self._selector))


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

    def of_variables(self, variables: Variables) -> "Subset":
        """In place of columns the variables that they belong to."""
        certificate, lowest = self.certificate, self.scores.min() - 1.0
        if certificate is not None and certificate.feature >= 0:
            feature = int(variables.of_column[certificate.feature])
            certificate = certificate._replace(feature=feature)
        return replace(
            self,
            features=variables.of(self.features),
            scores=variables.largest(self.scores, lowest),
            certificate=certificate,
            divisions=tuple(map(variables.of, self.divisions)),
        )


class SearchTask(NamedTuple):
    """One set to find: what it may cost, and which folds of rows are used."""

    budget: float
    folds: tuple[int, ...]
    units: Units | None = None  # in place of those of all columns


def signed_scores(inside: Floats, outside: Floats, chosen: Flags, usable: Flags) -> Floats:
    """Scores of all columns: above 0 for chosen ones, below for others, last for unusable ones."""
    best = float(outside[~chosen & usable].max(initial=0.0))
    least = 1e-9 * max(float(np.abs(inside[chosen]).max(initial=0.0)), abs(best), 1e-300)
    scores = np.where(chosen, np.maximum(inside, least), outside - best - least)
    lowest = float(scores.min())
    return np.where(chosen | usable, scores, lowest - 1.0)


@dataclass(frozen=True, repr=False)
class Discoveries(Result):
    """How features compare with their knockoffs; those of a group share their values.

    ``print(discoveries_)`` shows what chose the features, or why none are chosen, and the best;
    `plot` draws how often each is chosen.

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
    chosen, usable : ndarray of bool of shape (n_features,)
        Features that are chosen, and those that could be.
    names : sequence of str or None
        Names of the features.
    """

    fdr: float
    statistics: Floats
    frequencies: Floats
    p_values: Floats | None
    exact: Flags
    chosen: Flags
    usable: Flags
    names: Any = None

    @property
    def fewest(self) -> int:
        """The fewest features that one knockoff can choose at this rate."""
        return math.ceil(1 / self.fdr - 1e-9)

    def _caption(self) -> str:
        return self.summary

    def _rows(self) -> list[tuple[str, ...]]:
        numbers = {
            "statistic": [f"{value:z.3g}" for value in self.statistics],
            "frequency": [f"{share:.0%}" for share in self.frequencies],
            "chosen": ["yes" if flag else "" for flag in self.chosen],
            "exact": ["yes" if flag else "" for flag in self.exact],
        }
        if self.p_values is not None:
            numbers["p-value"] = [f"{value:.2g}" for value in self.p_values]
        best = best_first(self.subset().scores, SHOWN)
        rows = ((name_of(self.names, i), *(each[i] for each in numbers.values())) for i in best)
        return [("feature", *numbers), *rows]

    def _bars(self) -> dict[str, Any]:
        return {
            "names": [name_of(self.names, i) for i in range(len(self.frequencies))],
            "values": self.frequencies,
            "label": "share of the knockoffs that choose it",
            "chosen": self.chosen,
        }

    @property
    def summary(self) -> str:
        """What chose the features, or why none are chosen."""
        kept = f"the expected share of false features is about {self.fdr:g} at most"
        if self.p_values is None:
            exact = np.count_nonzero(self.exact)
            return f"chosen by knockoffs: {kept}; e-values, which keep it exactly, choose {exact}"
        few = f"knockoffs choose at least {self.fewest} at this rate or none"
        if self.chosen.any():
            return f"chosen by p-values: {kept}; {few}"
        return " ".join(self.nothing_found)

    @property
    def nothing_found(self) -> tuple[str, str]:
        """Why no features are chosen, and what to do."""
        assert self.p_values is not None  # which are taken where knockoffs choose none
        text = (
            f"No features are chosen at a false discovery rate of {self.fdr:g}, which does not "
            f"mean that none matter: knockoffs choose at least {self.fewest} at this rate or none, "
            f"and the smallest p-value of a single feature, {self.p_values.min():.2g}, is too "
            f"large for {np.count_nonzero(self.usable)} features."
        )
        return text, "More rows, fewer candidates or a higher rate may find some."

    def subset(self) -> Subset:
        """The chosen features, with statistics as scores, or logarithms of p-values."""
        features, statistics = np.flatnonzero(self.chosen), self.statistics
        if self.p_values is not None:
            statistics = -np.log(self.p_values.clip(np.finfo(np.float64).tiny))
        scores = signed_scores(statistics, statistics, self.chosen, self.usable)
        return Subset(float(len(features)), features, scores, [])


@dataclass(frozen=True)
class Job:
    """One search: of which rows, and for which sets."""

    dataset: Dataset
    budgets: Budgets
    # Whether sets are wanted also without each group of held-out folds, for estimates.
    estimates: bool
    n_resamples: int
    on_step: OnStep
    rng: np.random.RandomState  # draws halves of the folds, and knockoffs

    @property
    def storage(self) -> Storage:
        """The rows, which a search by batches of them takes."""
        assert isinstance(self.dataset, Storage)
        return self.dataset

    @property
    def coefficients(self) -> Floats:
        """Of the filter."""
        return self.dataset.filters[-1]

    @property
    def repeats(self) -> bool:
        """Whether sets are also searched for without each group of held-out folds."""
        asked = self.estimates or self.budgets.chosen is None
        return asked and self.dataset.n_rows >= 2 * self.dataset.n_folds


class Outcome(NamedTuple):
    """The best sets by rising budget, which one is chosen, and what else was learned.

    Attributes
    ----------
    subsets : list of Subset
        By rising budget.
    chosen : int
        Place of the chosen one.
    stability : Stability or None
        Of the chosen one.
    held_out : tuple of HeldOut
        Correlation on held-out rows for each budget, where they chose one.
    best : int or None
        Place of the set that they are predicted best from, where it is better than noise.
    divisions : tuple of ndarray of int
        Where they did, features found without each group of folds, of the size that the other
        groups chose.
    discoveries : Discoveries or None
        Where knockoffs chose.
    """

    subsets: list[Subset]
    chosen: int
    stability: Stability | None = None
    held_out: tuple[HeldOut, ...] = ()
    best: int | None = None
    divisions: tuple[Indices, ...] = ()
    discoveries: Discoveries | None = None

    def of_different_sizes(self, size: Callable[[Indices], int]) -> "Outcome":
        """One set of each size of its columns: the chosen one, or that of the smallest budget.

        Groups may not fill a budget, so that a larger one buys no more features.
        """
        places: dict[int, int] = {}
        for place, subset in enumerate(self.subsets):
            if place == self.chosen or size(subset.features) not in places:
                places[size(subset.features)] = place
        kept = [places[size] for size in sorted(places)]
        subsets = [self.subsets[place] for place in kept]
        outcome = self._replace(subsets=subsets, chosen=kept.index(self.chosen))
        if self.best is None:
            return outcome
        best = places[size(self.subsets[self.best].features)]
        return outcome._replace(best=kept.index(best))

    def of_variables(self, variables: Variables | None) -> "Outcome":
        """In place of columns the variables that they belong to."""
        if variables is None:
            return self
        stability, discoveries = self.stability, self.discoveries
        if stability is not None:
            frequencies = variables.largest(stability.frequencies, 0)
            stability = replace(stability, frequencies=frequencies)
        return self._replace(
            subsets=[subset.of_variables(variables) for subset in self.subsets],
            stability=stability,
            divisions=tuple(map(variables.of, self.divisions)),
            discoveries=discoveries and _best_of(discoveries, variables),
        )


def _best_of(found: Discoveries, variables: Variables) -> Discoveries:
    """Of each variable the best of its columns."""
    best, p_values = variables.largest, found.p_values
    return replace(
        found,
        statistics=best(found.statistics, 0),
        frequencies=best(found.frequencies, 0),
        p_values=None if p_values is None else -best(-p_values, -1),
        **{name: best(getattr(found, name), False) for name in ("exact", "chosen", "usable")},
    )


def joined(budgets: Budgets, outcomes: Sequence[Outcome]) -> Outcome:
    """What several searches found for the smaller and the larger budgets."""
    subsets = [subset for outcome in outcomes for subset in outcome.subsets]
    if len(outcomes) == 1 or budgets.chosen is None:
        return outcomes[0]
    wanted = budgets.values[budgets.chosen]
    return Outcome(subsets, [subset.budget for subset in subsets].index(wanted))


class Search(BaseEstimator, ABC):  # type: ignore[misc]
    """A search for features, with its parameters.

    A subclass sets `needs` and writes `run`; `check`, `size_rule` and `explain` where it has more
    to declare. Parameters are those of its constructor, as scikit-learn wants them.
    """

    needs: ClassVar[Needs]
    # Of the filter that estimates use, unless the search has such parameters.
    order: int = 4
    filter: str | ArrayLike = "monotone"

    @abstractmethod
    def run(self, job: Job) -> "Outcome":
        """Find the sets.

        Parameters
        ----------
        job : Job
            Rows, and the sets that are wanted.

        Returns
        -------
        Outcome
            The best sets by rising budget, and which one is chosen.
        """

    def check(self) -> None:
        """Refuse parameters that make no sense for any rows."""
        up_to(self.filter, check_order(self.order))

    @property
    def size_rule(self) -> str | None:
        """How many features are chosen, in words; None where the selector's parameters decide."""
        return None

    @property
    def balances_classes(self) -> bool:
        """Whether two classes count the same, however rare one of them is."""
        return True

    def explain(self, n_features: int, budgets: Sequence[float]) -> list[PlanLine]:
        """What the search decides by its limits, for the plan.

        Parameters
        ----------
        n_features : int
            Of X.
        budgets : sequence of float
            Sizes or costs that it finds sets for.

        Returns
        -------
        list of PlanLine
        """
        return []
