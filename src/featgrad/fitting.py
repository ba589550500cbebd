"""From parameters and rows to a job for a search, and from its outcome to the choice.

A fit takes these steps, one after the other: a storage of rows, a plan, a search, estimates.
"""

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
from featgrad.dataset.source import Streamed
from featgrad.dataset.splits import Belonging, random_splits
from featgrad.estimates.diagnosis import Finding, findings, looked_at
from featgrad.estimates.estimate import Estimate, PathPoint, Sizes, decisions_of, unknown
from featgrad.estimates.held_out import HeldOutRows
from featgrad.estimates.learnability import Learnability
from featgrad.math.tasks import Task
from featgrad.plan import (
    ESTIMATE_ROWS,
    HELD_OUT_GROUPS,
    Plan,
    PlanFacts,
    PlanLine,
    Wanted,
    folds_of,
    plan,
)
from featgrad.readers import Source
from featgrad.search.base import Job, OnStep, Outcome, Reporter, Search, Subset, joined
from featgrad.search.minibatch import MiniBatch
from featgrad.search.units import Budgets, Units, read_budgets
from featgrad.search.working_set import WorkingSet

# Those that "auto" chooses from: the first unless sets are larger than it is meant for.
SEARCHES: tuple[Search, ...] = (WorkingSet(), MiniBatch())


def filtering(search: Any) -> Search:
    """The search whose filter is used: those that "auto" chooses from have the same one."""
    return search if isinstance(search, Search) else SEARCHES[0]


def new_fit(
    selector: Any, storage: str, n_features: int, context: CallbackContext | None = None
) -> "Fit":
    """What the parameters ask for; refuses what cannot be done before any row is looked at."""
    given = selector.get_params(deep=False)
    methods = {"source": "fit_source", "chunks": "partial_fit", "dask": "fit with Dask"}
    if given["device"] is not None and storage in methods:
        raise ValueError(
            f"device={given['device']!r} is for fit, and {methods[storage]} takes rows on the "
            "host: leave device=None."
        )
    if given["cv"] is not None and storage == "chunks":
        raise ValueError(
            f"cv={given['cv']!r} needs all rows in their order, which partial_fit does not keep: "
            "use fit or fit_source, or pass groups to partial_fit."
        )
    search = given["search"] if isinstance(given["search"], Search) else None
    names = getattr(selector, "feature_names_in_", None)
    constraints = {name: given[name] for name in ("feature_groups", "keep", "exclude", "costs")}
    units = Units(*read_constraints(n_features, names, **constraints))
    sizes = ("n_features_to_select", "path_sizes", "max_cost", "costs", "keep",
             "min_features_to_select")  # fmt: skip
    asked = {name: given[name] for name in sizes}
    budgets = read_budgets(units, n_features, search=search, **asked)
    rng = check_random_state(selector.random_state)
    fit = Fit(storage, given, search, budgets, Reporter(selector, context), rng)
    fit.plan(n_features)
    return fit


@dataclass(frozen=True)
class Fit:
    """One fit: where the rows are, what is wanted, and where chance comes from."""

    storage: str  # see `PlanFacts`
    given: dict[str, Any]  # the selector's parameters
    search: Search | None  # None where the plan decides
    budgets: Budgets
    on_step: OnStep
    rng: np.random.RandomState  # the order of rows, and halves of them

    def of_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Dataset:
        """A validated matrix, or Dask collections."""
        # Imported where they are needed: Dask and torch need not be there.
        if self.storage == "dask":
            from featgrad.dataset.dask import on_dask

            return on_dask(X, y, sample_weight, groups, self._preparation())
        sample_weight, preparation = on_host(sample_weight), self._preparation(on_host(groups))
        if self.storage == "device":
            from featgrad.dataset.device import on_device

            return on_device(X, y, sample_weight, self.given["device"], preparation)
        prepared = prepare(X, y, sample_weight, preparation)
        return InMemory(X, prepared, self.given["preprocess"])

    def of_source(self, source: Source, checkpoint: Checkpoint) -> Dataset:
        """Rows that are read block by block, or by workers of Dask."""
        if self.storage == "dask":
            from featgrad.dataset.dask import files_on_dask

            return files_on_dask(source, self._preparation())
        balance = filtering(self.search).balances_classes
        return Streamed(source, self._preparation(), checkpoint, balance)

    def of_chunks(self, state: Accumulated) -> Dataset:
        """Rows that came in chunks: all of them, or exact sums and a sample for all else."""
        kept, preprocess = state.rows(), self.given["preprocess"]
        if not state.is_complete:
            kept = kept.take(slice(ESTIMATE_ROWS))
        encoded = kept.outputs, state.encoding.task, kept.weights / kept.weights.sum()
        preparation = self._preparation(kept.groups)
        roles = preparation.belonging.roles(None, len(kept.weights))
        prepared = prepare_encoded(kept.X, *encoded, preparation, roles)
        if state.is_complete or filtering(self.search).needs.streams:
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
        return replace(self, given={**self.given, "task": Task("regression", reason)})

    def choose(self, dataset: Dataset, n_rows: int | None = None, X: Any = None) -> "Choice":
        """Plan, search, estimate; of so many rows, where some are known by their sums.

        X where it is in memory.
        """
        n_rows = dataset.n_rows if n_rows is None else n_rows
        shape = dataset.n_features, n_rows, dataset.n_outputs
        planned = self.plan(*shape, len(dataset.splits), dataset.held_out_by)
        if planned.moments_of_all_columns and isinstance(dataset, Storage):
            dataset = with_all_moments(dataset, self.given["preprocess"])
        task = PlanLine("task", str(dataset.task), dataset.task.reason)
        planned = replace(planned, decisions=(*planned.decisions, task))
        estimates, n_resamples = self.given["estimate"], self.given["n_resamples"]
        every, outcomes = self.budgets.for_rows(dataset.n_rows), []
        for search, values in planned.parts:
            budgets = every.only(values)
            job = Job(dataset, budgets, estimates, n_resamples, self.on_step, self.rng)
            outcomes.append(search.run(job))
        return self._estimated(dataset, planned, joined(every, outcomes), X)

    def plan(
        self,
        n_features: int,
        n_rows: int = 0,
        n_outputs: int = 1,
        n_splits: int = HELD_OUT_GROUPS,
        held_out_by: str = "rows",
    ) -> Plan:
        """The plan; refuses what cannot be done, also where no row is known yet."""
        budgets = self.budgets.for_rows(n_rows)
        wanted = Wanted(
            self.search,
            tuple(budgets.values),
            budgets.units.are_single_columns,
            filtering(self.search).order,
            budgets.chosen is None,
            self.given["estimate"],
            self.given["n_resamples"],
        )
        facts = PlanFacts(self.storage, n_rows, n_features, n_outputs, n_splits, held_out_by)
        return plan(facts, wanted, SEARCHES)

    def _preparation(self, groups: Any = None) -> Preparation:
        given, search = self.given, filtering(self.search)
        columns = given["task"], given["preprocess"], given["missing"]
        belonging = Belonging(given["cv"], groups)
        kind = search.order, search.filter
        return Preparation(*kind, *columns, self.rng, folds_of(search.order), belonging)

    @one_blas_thread()
    def _estimated(self, dataset: Dataset, planned: Plan, outcome: Outcome, X: Any) -> "Choice":
        """The choice, with estimates of what each set explains."""
        columns = [subset.features for subset in outcome.subsets]
        columns += [found for subset in outcome.subsets for found in subset.divisions]
        chosen, estimates = outcome.subsets[outcome.chosen], self.given["estimate"]
        if estimates:
            features = looked_at(chosen.scores, dataset.n_rows)
            columns.append(features)
        of_sets = _Estimates(dataset, np.unique(np.concatenate(columns)), self.budgets.units)
        repeated = {b for search, own in planned.parts if search.needs.repeats for b in own}
        path = []
        for place, subset in enumerate(outcome.subsets):
            # Where held-out rows have chosen the size, the estimate is from others than those.
            if place == outcome.chosen and len(subset.features) and outcome.divisions:
                subset = replace(subset, divisions=outcome.divisions)
            path.append(of_sets.known(subset, estimates, subset.budget in repeated))
        budgets = self.budgets.for_rows(dataset.n_rows)
        sizes = _sizes(budgets, outcome, path) if outcome.held_out else None
        decisions = planned.decisions + (() if sizes is None else decisions_of(sizes))
        planned = replace(planned, held_out=outcome.held_out, decisions=decisions)
        found = []
        if estimates:
            among = of_sets.sample, of_sets.columns, features, len(chosen.features)
            independent = self.given["cv"] is None and of_sets.sample.clusters is None
            found = findings(*among, as_independent=independent, X=X)
        return Choice(dataset.task, planned, outcome, path, found, sizes)


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


def _sizes(budgets: Budgets, outcome: Outcome, path: list[PathPoint]) -> Sizes:
    """The chosen set, and the best one where it is better than noise."""
    smallest = path[outcome.chosen]
    if outcome.best is None:
        return Sizes(smallest, None)
    best = path[outcome.best]
    is_largest = outcome.subsets[outcome.best].budget == budgets.values[-1]
    more = best.size < budgets.units.n_available
    return Sizes(smallest, best, best.size if is_largest and more else None)


@dataclass(frozen=True)
class _Estimates:
    """What sets of some columns explain."""

    dataset: Dataset
    columns: Indices
    units: Units

    def known(self, subset: Subset, estimates: bool, is_repeated: bool) -> PathPoint:
        """What is known of a set: from held-out rows where the search was repeated without them."""
        features, n_features = subset.features, len(subset.features)
        if subset.divisions:
            return self.held_out.estimate(features, subset.divisions)
        if not estimates:
            return PathPoint(n_features, features, None)
        if n_features == 0:
            return PathPoint(n_features, features, Estimate(0.0, 0.0, 0))
        if is_repeated:  # but rows were too few
            return PathPoint(n_features, features, unknown(n_features))
        estimate = self.in_sample.estimate(np.searchsorted(self.columns, features))
        return PathPoint(n_features, features, replace(estimate, is_optimistic=True))

    @cached_property
    def held_out(self) -> HeldOutRows:
        units = self.units.of_column[self.columns]
        return HeldOutRows(self.sample, self.columns, units, self.dataset.splits)

    @cached_property
    def in_sample(self) -> Learnability:
        return Learnability.from_sample(self.sample, order=len(self.dataset.filters[-1]))

    @cached_property
    def sample(self) -> RowSample:
        return self.dataset.sample(self.columns)
