"""The named searches, and what a plan makes of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from featgrad.arrays import Floats, Indices
from featgrad.dataset.base import Dataset
from featgrad.math.links import Link
from featgrad.moments.problem import Problem
from featgrad.plan import STREAM_BATCH_ROWS, HeldOut, Plan
from featgrad.search import penalty, working_set
from featgrad.search.base import Subset, Task
from featgrad.search.comparison import compare, comparison_tasks, smallest_good
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
    """The best sets by rising budget, which one is chosen, and what else was learned."""

    subsets: list[Subset]
    chosen: int
    stability: Stability | None = None
    held_out: tuple[HeldOut, ...] = ()

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
    values, everything = budgets.values, np.arange(dataset.n_folds)

    def search(tasks: Sequence[Task], on_step: OnStep) -> list[Subset]:
        return working_set.search(
            dataset, budgets.units, tasks, job.coefficients, job.settings.max_iter, on_step
        )

    tasks = [Task(budget, everything) for budget in values]
    compares = budgets.chosen is None and dataset.n_rows >= 2 * dataset.n_folds
    divisions = comparison_tasks(values, dataset.n_folds) if compares else []
    found = search([*tasks, *divisions], job.on_step)
    held_out = compare(dataset, values, found[len(tasks) :]) if compares else []
    chosen = len(values) - 1 if budgets.chosen is None else budgets.chosen
    chosen = smallest_good(held_out) if held_out else chosen
    stability = None
    if job.settings.n_resamples:
        halves = search(_halves(values[chosen], everything, job), go_on)
        stability = of_pairs(np.array([s.scores > 0 for s in halves]), budgets.units)
    outcome = Outcome(found[: len(tasks)], chosen, stability, tuple(held_out))
    return outcome.of_different_sizes()


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
