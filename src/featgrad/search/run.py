"""The searches that a plan can name: each takes a job and gives an outcome."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from featgrad._support.threads import one_blas_thread
from featgrad._support.types import Floats, Indices
from featgrad.dataset.base import Dataset, Storage
from featgrad.math.links import Link
from featgrad.moments.sweeps import RowMoments
from featgrad.plan import STREAM_BATCH_ROWS, HeldOut, Plan
from featgrad.search import penalty, working_set
from featgrad.search.base import Discoveries, SearchTask, Subset
from featgrad.search.comparison import Comparison, compare, division_tasks
from featgrad.search.progress import Found, OnStep, go_on
from featgrad.search.settings import Settings
from featgrad.search.sizes import Budgets
from featgrad.search.stability import Stability, of_pairs


@dataclass(frozen=True)
class Job:
    """One search: of which rows, for which sets, and how."""

    dataset: Dataset
    plan: Plan
    budgets: Budgets
    settings: Settings
    on_step: OnStep
    rng: np.random.RandomState  # draws halves of the folds, and knockoffs

    @property
    def coefficients(self) -> Floats:
        """Of the filter."""
        return self.dataset.filters[-1]

    @property
    def storage(self) -> Storage:
        """The rows, which a search by batches of them takes."""
        assert isinstance(self.dataset, Storage)
        return self.dataset

    @property
    def link(self) -> Link:
        return self.settings.link_for(self.dataset.task)

    @property
    def repeats(self) -> bool:
        """Whether sets are also searched for without each group of held-out folds."""
        asked = self.settings.estimate or self.budgets.chosen is None
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
        What held-out rows said of each budget, where they chose one.
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

    def of_different_sizes(self) -> "Outcome":
        """One set of each size: the chosen one, or that of the smallest budget.

        Groups can leave room in a budget, so that a larger one buys no more features.
        """
        places: dict[int, int] = {}
        for place, subset in enumerate(self.subsets):
            if place == self.chosen or len(subset.features) not in places:
                places[len(subset.features)] = place
        kept = [places[size] for size in sorted(places)]
        subsets = [self.subsets[place] for place in kept]
        outcome = self._replace(subsets=subsets, chosen=kept.index(self.chosen))
        if self.best is None:
            return outcome
        best = places[len(self.subsets[self.best].features)]
        return outcome._replace(best=kept.index(best))


# Products are short: threads that share them would mostly wait for each other.
@one_blas_thread()
def by_working_set(job: Job) -> Outcome:
    """Sets from all folds; held-out divisions are searched for at the same time."""
    dataset, budgets = job.dataset, job.budgets
    search = partial(
        working_set.search,
        dataset,
        budgets.units,
        coefficients=job.coefficients,
        max_iter=job.settings.max_iter,
    )
    large = _streamed(job)
    small = [budget for budget in budgets.values if budget not in job.plan.streamed_budgets]
    compares = budgets.chosen is None and job.repeats
    subsets: list[Subset] = []
    comparison: Comparison | None = None
    for values in budgets.stages() if compares else [small]:
        tasks = [SearchTask(budget, dataset.whole.folds) for budget in values]
        divisions = division_tasks(values, dataset.splits) if job.repeats else []
        found = search([*tasks, *divisions], on_step=job.on_step)
        subsets += _with_divisions(found[: len(tasks)], found[len(tasks) :], len(dataset.splits))
        comparison = compare(dataset, subsets) if compares else None
        if comparison is None or not comparison.still_rises:
            break
    # Rows too few to be held out cannot speak for more than the smallest set.
    outcome = Outcome(subsets + large, budgets.chosen or 0)
    if comparison is not None:
        outcome = _compared(outcome, comparison, budgets)
    chosen = outcome.subsets[outcome.chosen]
    if job.settings.n_resamples and len(chosen.features):
        halves = search(_halves(chosen.budget, job), on_step=go_on)
        stability = of_pairs(np.array([s.scores > 0 for s in halves]), budgets.units)
        outcome = outcome._replace(stability=stability)
    return outcome.of_different_sizes()


@one_blas_thread()
def by_stream(job: Job) -> Outcome:
    """Each set by descent on all columns while rows are streamed."""
    assert job.budgets.chosen is not None
    return Outcome(_streamed(job), job.budgets.chosen)


def by_penalty(job: Job) -> Outcome:
    """The published search, in which a penalty decides the size."""
    problem = job.storage.row_moments()
    found = _streamed_penalty(job) if problem is None else _penalty(problem.scaled(), job)
    chosen = np.flatnonzero(found.scores > 0)
    # A penalty that leaves nothing still leaves the best feature: transform needs a column.
    if len(chosen) == 0:
        chosen = np.array([np.argmax(found.scores)])
    scores = found.scores.astype(np.float64)
    return Outcome([Subset(float(len(chosen)), chosen, scores, found.steps)], 0)


def _penalty(problem: RowMoments, job: Job) -> Found:
    """Of rows in memory, all at once or batch by batch."""
    settings, n_rows = job.settings, problem.rows.n_rows
    batch_size = max(settings.batch_size or n_rows, problem.order + 1)
    batches = problem.batches(batch_size) if batch_size < n_rows else [problem]
    groups = range(0, len(batches), settings.accumulate)
    return penalty.search(
        [batches[start : start + settings.accumulate] for start in groups],
        link=job.link,
        penalty=settings.penalty,
        learning_rate=settings.learning_rate,
        max_iter=settings.max_iter,
        tol=settings.tol,
        n_epochs=settings.n_epochs,
        on_step=job.on_step,
    )


def _streamed_penalty(job: Job) -> Found:
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.search.stream_penalty import StreamPenaltySearch

    settings, v = job.settings, np.zeros(job.dataset.n_features, np.float32)
    steps = settings.penalty, settings.learning_rate, settings.tol
    search = StreamPenaltySearch(
        job.storage,
        coefficients=job.coefficients,
        descent=penalty.Descent(v, job.link, *steps, job.on_step),
        batch_rows=(settings.batch_size or STREAM_BATCH_ROWS) * settings.accumulate,
        n_epochs=settings.n_epochs,
        max_iter=settings.max_iter,
    )
    return search.found()


def _streamed(job: Job) -> list[Subset]:
    """The sets that the plan leaves to descent on all columns."""
    if not job.plan.streamed_budgets:
        return []
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.search.stream import StreamSearch

    search = partial(
        StreamSearch,
        coefficients=job.coefficients,
        batch_rows=job.settings.batch_size,
        n_epochs=job.settings.n_epochs,
        on_step=job.on_step,
    )
    return [
        search(job.storage, job.budgets.units, int(budget)).best()
        for budget in job.plan.streamed_budgets
    ]


def _with_divisions(subsets: list[Subset], found: list[Subset], n_splits: int) -> list[Subset]:
    """Each set with those found for its budget in each split, if any were."""
    features = [subset.features for subset in found]
    return [
        replace(subset, divisions=tuple(features[i * n_splits : (i + 1) * n_splits]))
        for i, subset in enumerate(subsets)
    ]


def _compared(outcome: Outcome, comparison: Comparison, budgets: Budgets) -> Outcome:
    """The smallest set that is good, or none at all; splits in turn have no say."""
    subsets = outcome.subsets
    otherwise = _empty(subsets[0]) if budgets.may_be_none else subsets[0]

    def choose(judges: Comparison) -> Subset:
        place = judges.smallest_good()
        return otherwise if place is None else subsets[place]

    divisions = tuple(
        choose(comparison.without(split)).divisions[i] for i, split in enumerate(comparison.splits)
    )
    outcome = outcome._replace(held_out=comparison.held_out(), divisions=divisions)
    chosen = comparison.smallest_good()
    if chosen is not None:
        return outcome._replace(chosen=chosen, best=comparison.best)
    others = subsets if budgets.may_be_none else subsets[1:]
    return outcome._replace(subsets=[otherwise, *others], chosen=0)


def _empty(smallest: Subset) -> Subset:
    """No features; scores in the order of those of the smallest set."""
    scores = smallest.scores - smallest.scores.max() - 1e-9
    nothing = np.zeros(0, np.intp)
    divisions = (nothing,) * len(smallest.divisions)
    return Subset(0.0, nothing, scores, smallest.steps, divisions=divisions)


def _halves(budget: float, job: Job) -> list[SearchTask]:
    """The same set from random halves of the folds, each followed by its complement."""
    folds = np.arange(job.dataset.n_folds)
    if len(folds) < 4:
        raise ValueError(
            f"n_resamples={job.settings.n_resamples} needs at least 4 rows for two halves, there "
            f"are {len(folds)}: pass more, or leave n_resamples 0."
        )
    size, tasks = len(folds) // 2, []
    for _ in range(job.settings.n_resamples // 2):
        shuffled = job.rng.permutation(folds)
        halves = np.sort(shuffled[:size]), np.sort(shuffled[size:])
        tasks += [SearchTask(budget, tuple(half.tolist())) for half in halves]
    return tasks
