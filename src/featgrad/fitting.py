"""From parameters and rows to a job for a search, and from its outcome to the choice.

A fit takes these steps, one after the other: a home for the rows, a job, a search, a judgement.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.callback import CallbackContext
from sklearn.utils import check_random_state

from featgrad._support.array_api import on_host
from featgrad._support.threads import one_blas_thread
from featgrad._support.types import Indices
from featgrad.dataset.all_moments import AllMoments, FoldMoments, with_all_moments
from featgrad.dataset.base import Dataset, RowSample, Storage
from featgrad.dataset.checkpoint import Checkpoint
from featgrad.dataset.chunks import Accumulated, MarginalSums, SampledChunks
from featgrad.dataset.constraints import read_constraints
from featgrad.dataset.memory import InMemory
from featgrad.dataset.prepare import Preparation, prepare, prepare_encoded
from featgrad.dataset.splits import Belonging, random_splits
from featgrad.dataset.streamed import Streamed
from featgrad.diagnosis import Finding, findings, looked_at
from featgrad.estimate import Estimate, unknown
from featgrad.explained_variance import Learnability
from featgrad.held_out import HeldOutRows, Judged
from featgrad.math.tasks import Task
from featgrad.path import PathPoint, Sizes, decisions_of
from featgrad.plan import (
    ESTIMATE_ROWS,
    HELD_OUT_GROUPS,
    Decision,
    Facts,
    Plan,
    Wanted,
    folds_of,
    plan,
)
from featgrad.readers import Source
from featgrad.search.base import Subset
from featgrad.search.knockoffs import by_knockoffs
from featgrad.search.progress import OnStep, Reporter
from featgrad.search.run import Job, Outcome, by_penalty, by_stream, by_working_set
from featgrad.search.settings import Settings
from featgrad.search.sizes import Budgets, read_budgets
from featgrad.search.units import Units

# By the names that a plan gives them.
SEARCHES: dict[str, Callable[[Job], Outcome]] = {
    "working_set": by_working_set,
    "stream": by_stream,
    "penalty": by_penalty,
    "knockoffs": by_knockoffs,
}


def new_fit(
    selector: Any, home: str, n_features: int, context: CallbackContext | None = None
) -> "Fit":
    """What the parameters ask for; refuses what cannot be done before any row is looked at."""
    given, settings = selector.get_params(deep=False), Settings.of(selector)
    methods = {"source": "fit_source", "chunks": "partial_fit", "dask": "fit with Dask"}
    if settings.device is not None and home in methods:
        raise ValueError(
            f"device={settings.device!r} is for fit, and {methods[home]} takes rows on the host: "
            "leave device=None."
        )
    if settings.cv is not None and home == "chunks":
        raise ValueError(
            f"cv={settings.cv!r} needs all rows in their order, which partial_fit does not keep: "
            "use fit or fit_source, or pass groups to partial_fit."
        )
    names = getattr(selector, "feature_names_in_", None)
    constraints = {name: given[name] for name in ("feature_groups", "keep", "exclude", "costs")}
    units = Units(*read_constraints(n_features, names, **constraints))
    sizes = ("n_features_to_select", "path_sizes", "max_cost", "costs", "keep", "search", "fdr",
             "min_features_to_select")  # fmt: skip
    budgets = read_budgets(units, n_features, **{name: given[name] for name in sizes})
    rng, defaults = check_random_state(selector.random_state), type(selector)().get_params()
    fit = Fit(home, settings, defaults, budgets, Reporter(selector, context), rng)
    fit.plan(n_features)
    return fit


@dataclass(frozen=True)
class Fit:
    """One fit: where the rows are, what is wanted, and where chance comes from."""

    home: str  # see `Facts`
    settings: Settings
    defaults: dict[str, Any]  # of the settings
    budgets: Budgets
    on_step: OnStep
    rng: np.random.RandomState  # the order of rows, and halves of them

    def of_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Dataset:
        """A validated matrix, or Dask collections."""
        # Imported where they are needed: Dask and torch need not be there.
        if self.home == "dask":
            from featgrad.dataset.dask import on_dask

            return on_dask(X, y, sample_weight, groups, self._preparation())
        sample_weight, preparation = on_host(sample_weight), self._preparation(on_host(groups))
        if self.home == "device":
            from featgrad.dataset.device import on_device

            return on_device(X, y, sample_weight, self.settings.device, preparation)
        prepared = prepare(X, y, sample_weight, preparation)
        return InMemory(X, prepared, self.settings.preprocess)

    def of_source(self, source: Source, checkpoint: Checkpoint) -> Dataset:
        """Rows that are read block by block, or by workers of Dask."""
        if self.home == "dask":
            from featgrad.dataset.dask import files_on_dask

            return files_on_dask(source, self._preparation())
        # The paper's search takes classes by their shares.
        balance = self.settings.search != "penalty"
        return Streamed(source, self._preparation(), checkpoint, balance)

    def of_chunks(self, state: Accumulated) -> Dataset:
        """Rows that came in chunks: all of them, or exact sums and a sample for all else."""
        kept, preprocess = state.rows(), self.settings.preprocess
        if not state.is_complete:
            kept = kept.take(slice(ESTIMATE_ROWS))
        encoded = kept.outputs, state.encoding.task, kept.weights / kept.weights.sum()
        preparation = self._preparation(kept.groups)
        roles = preparation.belonging.roles(None, len(kept.weights))
        prepared = prepare_encoded(kept.X, *encoded, preparation, roles)
        if state.is_complete or self.settings.search == "penalty":
            return InMemory(kept.X, prepared, preprocess)
        if kept.groups is not None and len(np.unique(kept.groups)) < state.n_folds:
            raise ValueError(
                f"groups have fewer than {state.n_folds} values in rows that are too many to be "
                "kept: use fit_source, which reads them again."
            )
        # In the folds of the sums over all rows.
        folds, splits = kept.cells[prepared.rows].astype(np.intp), random_splits(state.n_folds)
        layout = prepared.layout._replace(folds=folds, splits=splits, n_folds=state.n_folds)
        sample = SampledChunks(kept.X, prepared._replace(layout=layout), preprocess)
        if isinstance(state.sums, FoldMoments):
            return AllMoments(state.sums, sample, preprocess)
        assert isinstance(state.sums, MarginalSums)
        sample.exact = state.sums.prices()
        return sample

    def as_numbers(self, task: Task) -> "Fit":
        """The same fit of whole numbers that were taken for classes."""
        reason = f"{task.reason}; as classes nothing would be chosen"
        return replace(self, settings=self.settings._replace(task=Task("regression", reason)))

    def job(self, dataset: Dataset, n_rows: int | None = None) -> Job:
        """What the plan makes of the rows; of so many, where some are known by their sums."""
        n_rows = dataset.n_rows if n_rows is None else n_rows
        shape = dataset.n_features, n_rows, dataset.n_outputs
        planned = self.plan(*shape, len(dataset.splits), dataset.held_out_by)
        self.settings.warn_of_ignored(planned.search, self.defaults)
        if planned.moments_of_all_columns and isinstance(dataset, Storage):
            dataset = with_all_moments(dataset, self.settings.preprocess)
        budgets = self.budgets.for_rows(dataset.n_rows)
        task = Decision("task", str(dataset.task), dataset.task.reason)
        planned = replace(planned, decisions=(*planned.decisions, task))
        return Job(dataset, planned, budgets, self.settings, self.on_step, self.rng)

    def plan(
        self,
        n_features: int,
        n_rows: int = 0,
        n_outputs: int = 1,
        n_splits: int = HELD_OUT_GROUPS,
        held_out_by: str = "rows",
    ) -> Plan:
        """The plan; refuses what cannot be done, also where no row is known yet."""
        settings, budgets = self.settings, self.budgets.for_rows(n_rows)
        wanted = Wanted(
            settings.search,
            tuple(budgets.values),
            budgets.units.are_single_columns,
            settings.order,
            budgets.chosen is None,
            settings.estimate,
            settings.n_resamples,
            settings.fdr,
        )
        return plan(Facts(self.home, n_rows, n_features, n_outputs, n_splits, held_out_by), wanted)

    def _preparation(self, groups: Any = None) -> Preparation:
        given, n_folds = self.settings, folds_of(self.settings.order)
        columns = given.task, given.preprocess, given.missing
        belonging = Belonging(given.cv, groups)
        return Preparation(given.order, given.filter, *columns, self.rng, n_folds, belonging)


class Choice(NamedTuple):
    """What comes of one fit."""

    task: Task
    plan: Plan
    outcome: Outcome
    path: list[PathPoint]
    findings: list[Finding]
    sizes: Sizes | None

    @property
    def is_empty(self) -> bool:
        """Whether held-out rows chose no feature."""
        return self.sizes is not None and self.sizes.smallest.size == 0


@one_blas_thread()
def judged(job: Job, outcome: Outcome, X: Any = None) -> Choice:
    """The choice, with estimates of what each set explains; X where it is in memory."""
    everywhere = [subset.features for subset in outcome.subsets]
    everywhere += [found for subset in outcome.subsets for found in subset.divisions]
    chosen = outcome.subsets[outcome.chosen]
    features = np.zeros(0, np.intp)
    if job.settings.estimate:
        features = looked_at(chosen.scores, job.dataset.n_rows)
    columns = np.unique(np.concatenate([*everywhere, features]))
    judges = _Judges(job.dataset, columns, job.budgets.units)
    path = []
    for place, subset in enumerate(outcome.subsets):
        # Where held-out rows have chosen the size, others than those have to judge it.
        if place == outcome.chosen and len(subset.features) and outcome.divisions:
            subset = replace(subset, divisions=outcome.divisions)
        known = _known(subset, job, judges)
        path.append(PathPoint(len(subset.features), subset.features, *known))
    sizes = _sizes(job.budgets, outcome, path) if outcome.held_out else None
    decisions = job.plan.decisions + (() if sizes is None else decisions_of(sizes))
    planned = replace(job.plan, held_out=outcome.held_out, decisions=decisions)
    found = []
    if job.settings.estimate:
        among = judges.sample, columns, features, len(chosen.features)
        independent = job.settings.cv is None and judges.sample.clusters is None
        found = findings(*among, as_independent=independent, X=X)
    return Choice(job.dataset.task, planned, outcome, path, found, sizes)


def _sizes(budgets: Budgets, outcome: Outcome, path: list[PathPoint]) -> Sizes:
    """The chosen set, and the best one where it is better than noise."""
    smallest = path[outcome.chosen]
    if outcome.best is None:
        return Sizes(smallest, None)
    best = path[outcome.best]
    is_largest = outcome.subsets[outcome.best].budget == budgets.values[-1]
    more = best.size < budgets.units.n_available
    return Sizes(smallest, best, best.size if is_largest and more else None)


def _known(subset: Subset, job: Job, judges: "_Judges") -> Judged:
    """What is known of a set: from held-out rows where the search was repeated without them."""
    features = subset.features
    if subset.divisions:
        return judges.held_out.judge(features, subset.divisions)
    if not job.settings.estimate:
        return Judged(None)
    if len(features) == 0:
        return Judged(Estimate(0.0, 0.0, 0))
    if job.plan.search == "working_set" and subset.budget not in job.plan.streamed_budgets:
        return Judged(unknown(len(features)))
    estimate = judges.that_chose.estimate(np.searchsorted(judges.columns, features))
    return Judged(replace(estimate, is_optimistic=True))


@dataclass(frozen=True)
class _Judges:
    """Rows that say what sets of some columns explain."""

    dataset: Dataset
    columns: Indices
    units: Units

    @cached_property
    def held_out(self) -> HeldOutRows:
        units = self.units.of_column[self.columns]
        return HeldOutRows(self.sample, self.columns, units, self.dataset.splits)

    @cached_property
    def that_chose(self) -> Learnability:
        return Learnability.from_sample(self.sample, order=len(self.dataset.filters[-1]))

    @cached_property
    def sample(self) -> RowSample:
        return self.dataset.sample(self.columns)
