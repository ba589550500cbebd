"""The named searches, and what a plan makes of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from featgrad.arrays import Floats, Indices
from featgrad.dataset.base import Dataset
from featgrad.math.links import Link
from featgrad.moments.problem import Problem
from featgrad.plan import HELD_OUT_GROUPS, STREAM_BATCH_ROWS, HeldOut, Plan
from featgrad.search import penalty, working_set
from featgrad.search.base import Subset, Task
from featgrad.search.comparison import Comparison, compare, division_tasks
from featgrad.search.progress import Found, OnStep, go_on
from featgrad.search.settings import Settings
from featgrad.search.sizes import Budgets
from featgrad.search.stability import Stability, of_pairs


@dataclass(frozen=True)
class Job:
    """How to search."""

    settings: Settings
    coefficients: Floats
    link: Link
    on_step: OnStep
    rng: np.random.RandomState  # draws halves of the folds


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
    divisions : tuple of ndarray of int
        Where they did, features found without each group of folds, of the size that the other
        groups chose.
    """

    subsets: list[Subset]
    chosen: int
    stability: Stability | None = None
    held_out: tuple[HeldOut, ...] = ()
    divisions: tuple[Indices, ...] = ()

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
        return self._replace(subsets=subsets, chosen=kept.index(self.chosen))


def run(plan: Plan, dataset: Dataset, budgets: Budgets, job: Job) -> Outcome:
    """Run the searches that the plan names for sets within budgets."""
    large = [budget for budget in budgets.values if budget in plan.streamed_budgets]
    small = [budget for budget in budgets.values if budget not in plan.streamed_budgets]
    if not large:
        return SEARCHES["working_set"](dataset, budgets, job)
    if budgets.chosen is None or job.settings.n_resamples:
        raise ValueError(
            f"{large[-1]:g} features are too many to compare sizes or to resample: ask for fewer, "
            "or leave n_features_to_select='auto' and n_resamples."
        )
    found = SEARCHES["stream"](dataset, budgets._replace(values=large, chosen=0), job).subsets
    if small:
        inside = budgets._replace(values=small, chosen=0)
        found = SEARCHES["working_set"](dataset, inside, job).subsets + found
    return Outcome(found, budgets.chosen)


def run_penalty(problem: Problem, job: Job) -> Outcome:
    """The published search on rows in memory, all at once or batch by batch."""
    n_rows = problem.engine.n_rows
    batch_size = (
        n_rows
        if job.settings.batch_size is None
        else max(job.settings.batch_size, problem.order + 1)
    )
    batches = problem.batches(batch_size) if batch_size < n_rows else [problem]
    groups = range(0, len(batches), job.settings.accumulate)
    found = penalty.search(
        [batches[start : start + job.settings.accumulate] for start in groups],
        link=job.link,
        penalty=job.settings.penalty,
        learning_rate=job.settings.learning_rate,
        max_iter=job.settings.max_iter,
        tol=job.settings.tol,
        n_epochs=job.settings.n_epochs,
        on_step=job.on_step,
    )
    return _positive(found)


def run_stream_penalty(dataset: Dataset, job: Job) -> Outcome:
    """The published search on streamed rows."""
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.search.stream_penalty import StreamPenaltySearch

    v = np.zeros(dataset.n_features, np.float32)
    descent = penalty.Descent(
        v, job.link, job.settings.penalty, job.settings.learning_rate, job.settings.tol, job.on_step
    )
    search = StreamPenaltySearch(
        dataset,
        coefficients=job.coefficients,
        descent=descent,
        batch_rows=(job.settings.batch_size or STREAM_BATCH_ROWS) * job.settings.accumulate,
        n_epochs=job.settings.n_epochs,
        max_iter=job.settings.max_iter,
    )
    return _positive(search.found())


def _by_working_set(dataset: Dataset, budgets: Budgets, job: Job) -> Outcome:
    """Sets from all folds; held-out divisions are searched for at the same time."""
    everything = np.arange(dataset.n_folds)

    def search(tasks: Sequence[Task], on_step: OnStep) -> list[Subset]:
        return working_set.search(
            dataset, budgets.units, tasks, job.coefficients, job.settings.max_iter, on_step
        )

    compares = budgets.chosen is None
    repeats = (compares or job.settings.estimate) and dataset.n_rows >= 2 * dataset.n_folds

    def found(values: list[float]) -> list[Subset]:
        """A set for each budget, and those of held-out divisions with it."""
        tasks = [Task(budget, everything) for budget in values]
        divisions = division_tasks(values, dataset.n_folds) if repeats else []
        every = search([*tasks, *divisions], job.on_step)
        return _with_divisions(every[: len(tasks)], every[len(tasks) :])

    subsets: list[Subset] = []
    for values in budgets.stages() if compares and repeats else [budgets.values]:
        subsets += found(values)
        comparison = compare(dataset, subsets) if compares and repeats else None
        if comparison is None or not comparison.still_rises:
            break
    # Rows too few to be held out cannot speak for more than the smallest set.
    outcome = Outcome(subsets, budgets.chosen or 0)
    if comparison is not None:
        outcome = _compared(outcome, comparison, budgets)
    chosen = outcome.subsets[outcome.chosen]
    if job.settings.n_resamples and len(chosen.features):
        halves = search(_halves(chosen.budget, everything, job), go_on)
        stability = of_pairs(np.array([s.scores > 0 for s in halves]), budgets.units)
        outcome = outcome._replace(stability=stability)
    return outcome.of_different_sizes()


def _with_divisions(subsets: list[Subset], found: list[Subset]) -> list[Subset]:
    """Each set with those found for its budget without each group, if any were."""
    features = [subset.features for subset in found]
    return [
        replace(subset, divisions=tuple(features[i * HELD_OUT_GROUPS : (i + 1) * HELD_OUT_GROUPS]))
        for i, subset in enumerate(subsets)
    ]


def _compared(outcome: Outcome, comparison: Comparison, budgets: Budgets) -> Outcome:
    """The smallest set that is good, or none at all; groups in turn have no say."""
    subsets, may_be_none = outcome.subsets, not budgets.units.kept.any()

    def choose(judges: Comparison) -> int | None:
        place = judges.smallest_good()
        return 0 if place is None and not may_be_none else place

    nothing = np.zeros(0, np.intp)
    divisions = []
    for group in range(HELD_OUT_GROUPS):
        place = choose(comparison.without(group))
        divisions.append(nothing if place is None else subsets[place].divisions[group])
    chosen = choose(comparison)
    if chosen is None:
        subsets, chosen = [_empty(subsets[0]), *subsets], 0
    return outcome._replace(
        subsets=subsets, chosen=chosen, held_out=comparison.held_out(), divisions=tuple(divisions)
    )


def _empty(smallest: Subset) -> Subset:
    """No features; scores in the order of those of the smallest set."""
    scores = smallest.scores - smallest.scores.max() - 1e-9
    nothing = (np.zeros(0, np.intp),) * HELD_OUT_GROUPS
    return Subset(0.0, nothing[0], scores, smallest.steps, divisions=nothing)


def _halves(budget: float, folds: Indices, job: Job) -> list[Task]:
    """The same set from random halves of the folds, each followed by its complement."""
    if len(folds) < 4:
        raise ValueError(
            f"n_resamples={job.settings.n_resamples} needs at least 4 rows for two halves, there "
            f"are {len(folds)}: pass more, or leave n_resamples 0."
        )
    size, tasks = len(folds) // 2, []
    for _ in range(job.settings.n_resamples // 2):
        shuffled = job.rng.permutation(folds)
        tasks += [Task(budget, np.sort(half)) for half in (shuffled[:size], shuffled[size:])]
    return tasks


def _by_stream(dataset: Dataset, budgets: Budgets, job: Job) -> Outcome:
    """Each set by descent on all columns while rows are streamed."""
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.search.stream import StreamSearch

    options: Any = {
        "coefficients": job.coefficients,
        "batch_rows": job.settings.batch_size,
        "n_epochs": job.settings.n_epochs,
        "on_step": job.on_step,
    }
    found = [
        StreamSearch(dataset, budgets.units, int(budget), **options).best()
        for budget in budgets.values
    ]
    return Outcome(found, 0)


# Searches for sets within budgets, by the names that a plan gives them.
SEARCHES: dict[str, Callable[[Dataset, Budgets, Job], Outcome]] = {
    "working_set": _by_working_set,
    "stream": _by_stream,
}


def _positive(found: Found) -> Outcome:
    chosen = np.flatnonzero(found.scores > 0)
    # A penalty that leaves nothing still leaves the best feature: transform needs a column.
    if len(chosen) == 0:
        chosen = np.array([np.argmax(found.scores)])
    scores = found.scores.astype(np.float64)
    return Outcome([Subset(float(len(chosen)), chosen, scores, found.steps)], 0)
