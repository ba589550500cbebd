"""The named searches, and what a plan makes of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
from featgrad.search.stability import Stability, agreement
from featgrad.search.units import Units


@dataclass(frozen=True)
class Job:
    """What to search for, and how."""

    units: Units
    budgets: tuple[float, ...]  # sizes or costs, rising; empty where the penalty decides
    chosen: int | None  # place of the wanted budget; None where held-out rows choose
    coefficients: Floats
    # The selector's parameters of these names.
    n_resamples: int
    max_iter: int
    batch_size: int | None
    n_epochs: int
    accumulate: int
    learning_rate: float
    tol: float
    penalty: float
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


def run(plan: Plan, dataset: Dataset, job: Job) -> Outcome:
    """Run the search that the plan names for sets within budgets."""
    streamed = [budget for budget in job.budgets if budget in plan.streamed_budgets]
    inside = [budget for budget in job.budgets if budget not in plan.streamed_budgets]
    if streamed and (job.chosen is None or job.n_resamples):
        raise ValueError(
            f"{streamed[-1]:g} features are too many to compare sizes or to resample: ask for "
            "fewer, or leave n_features_to_select='auto' and n_resamples."
        )
    found = [*_by_working_set(dataset, job, inside).subsets] if streamed and inside else []
    if streamed:
        assert job.chosen is not None
        found += [_streamed(dataset, job, int(budget)) for budget in streamed]
        return Outcome(found, job.chosen)
    return _by_working_set(dataset, job, inside).of_different_sizes()


def run_penalty(problem: Problem, job: Job) -> Outcome:
    """The published search on rows in memory, all at once or batch by batch."""
    n_rows = problem.engine.n_rows
    batch_size = n_rows if job.batch_size is None else max(job.batch_size, problem.order + 1)
    batches = problem.batches(batch_size) if batch_size < n_rows else [problem]
    groups = range(0, len(batches), job.accumulate)
    found = penalty.search(
        [batches[start : start + job.accumulate] for start in groups],
        link=job.link,
        penalty=job.penalty,
        learning_rate=job.learning_rate,
        max_iter=job.max_iter,
        tol=job.tol,
        n_epochs=job.n_epochs,
        on_step=job.on_step,
    )
    return _positive(found)


def run_stream_penalty(dataset: Dataset, job: Job) -> Outcome:
    """The published search on streamed rows."""
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.search.stream_penalty import StreamPenaltySearch

    descent = penalty.Descent(
        np.zeros(dataset.n_features, np.float32),
        job.link,
        job.penalty,
        job.learning_rate,
        job.tol,
        job.on_step,
    )
    search = StreamPenaltySearch(
        dataset,
        coefficients=job.coefficients,
        descent=descent,
        batch_rows=(job.batch_size or STREAM_BATCH_ROWS) * job.accumulate,
        n_epochs=job.n_epochs,
        max_iter=job.max_iter,
    )
    return _positive(search.found())


def _by_working_set(dataset: Dataset, job: Job, budgets: Sequence[float]) -> Outcome:
    """Sets from all folds; held-out divisions and halves are searched for at the same time."""
    everything = np.arange(dataset.n_folds)
    tasks = [Task(budget, everything) for budget in budgets]
    compares = job.chosen is None and dataset.n_rows >= 2 * dataset.n_folds
    divisions = comparison_tasks(budgets, dataset.n_folds) if compares else []
    search = _searching(dataset, job)
    found = search([*tasks, *divisions])
    subsets, divided = found[: len(tasks)], found[len(tasks) :]
    held_out = compare(dataset, budgets, divided) if divided else []
    chosen = job.chosen if job.chosen is not None else len(budgets) - 1
    chosen = smallest_good(held_out) if held_out else min(chosen, len(budgets) - 1)
    stability = None
    if job.n_resamples:
        halves = search(_halves(budgets[chosen], everything, job))
        stability = agreement(np.array([subset.scores > 0 for subset in halves]))
    return Outcome(subsets, chosen, stability, tuple(held_out))


def _searching(dataset: Dataset, job: Job) -> Callable[[Sequence[Task]], list[Subset]]:
    def search(tasks: Sequence[Task]) -> list[Subset]:
        watched = job.on_step if len(tasks[0].folds) == dataset.n_folds else go_on
        return working_set.search(
            dataset, job.units, tasks, job.coefficients, job.max_iter, watched
        )

    return search


def _halves(budget: float, folds: Indices, job: Job) -> list[Task]:
    """The same set from random halves of the folds."""
    size = max(2, len(folds) // 2)
    return [
        Task(budget, np.sort(job.rng.permutation(folds)[:size])) for _ in range(job.n_resamples)
    ]


def _streamed(dataset: Dataset, job: Job, budget: int) -> Subset:
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.search.stream import StreamSearch

    return StreamSearch(
        dataset,
        job.units,
        budget,
        coefficients=job.coefficients,
        batch_rows=job.batch_size,
        n_epochs=job.n_epochs,
        on_step=job.on_step,
    ).best()


def _positive(found: Found) -> Outcome:
    chosen = np.flatnonzero(found.scores > 0)
    # A penalty that leaves nothing still leaves the best feature: transform needs a column.
    if len(chosen) == 0:
        chosen = np.array([np.argmax(found.scores)])
    scores = found.scores.astype(np.float64)
    return Outcome([Subset(float(len(chosen)), chosen, scores, found.steps)], 0)
