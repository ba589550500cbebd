"""From parameters and rows to a job for a search, and from its outcome to the choice.

A fit takes these steps, one after the other: a storage of rows, a plan, a search, estimates.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from featgrad._support.sklearn_compat import CallbackContext
from featgrad._support.threads import one_blas_thread
from featgrad.checks import check_weights
from featgrad.columns.extremes import Limits, in_range
from featgrad.dataset import storage_of
from featgrad.dataset.all_moments import AllMoments, FoldMoments, with_all_moments
from featgrad.dataset.base import Dataset, Storage
from featgrad.dataset.checkpoint import Checkpoint
from featgrad.dataset.chunks import Accumulated, MarginalSums, SampledChunks
from featgrad.dataset.constraints import read_constraints
from featgrad.dataset.memory import InMemory, Preparation, prepare_encoded
from featgrad.dataset.source import Streamed
from featgrad.dataset.splits import Belonging, random_splits
from featgrad.estimates.concerns import looked_at, of_estimate, signs
from featgrad.estimates.diagnosis import Concern
from featgrad.estimates.estimate import PathPoint, Sizes, of_variables, unknown
from featgrad.estimates.held_out import HeldOutRows
from featgrad.estimates.learnability import Learnability
from featgrad.math.tasks import Task
from featgrad.plan import (
    ESTIMATE_ROWS,
    HELD_OUT_GROUPS,
    LARGE_FACTOR,
    MOMENT_ENTRIES,
    Part,
    Plan,
    PlanLine,
    folds_of,
    moments_fit,
)
from featgrad.readers import Source
from featgrad.search.base import Job, OnStep, Outcome, Reporter, Search, joined
from featgrad.search.minibatch import MiniBatch
from featgrad.search.units import Budgets, Units, Variables, read_budgets
from featgrad.search.working_set import WorkingSet

# Those that "auto" chooses from: the first unless sets are larger than it is meant for.
SEARCHES: tuple[Search, ...] = (WorkingSet(), MiniBatch())
# Where rows are, and what puts them there.
_STORAGES = {
    "memory": ("in memory", "X is an array"),
    "source": ("read block by block", "fit_source"),
    "chunks": ("from chunks", "partial_fit keeps a sample and exact sums"),
    "device": ("on an accelerator", "X is there, or device sends it"),
    "dask": ("in partitions", "workers of Dask have or read them"),
}
# What is held out.
_HELD_OUT = {
    "rows": "parts of the rows",
    "groups": "parts of the groups of rows",
    "cv": "test sets of cv",
}


def new_fit(
    selector: Any,
    storage: str,
    n_columns: int,
    context: CallbackContext | None = None,
    variables: Variables | None = None,
) -> "Fit":
    """What the parameters ask for; refuses what cannot be done before any row is looked at.

    Of so many columns of a matrix, which may stand for variables.
    """
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
    n_features = n_columns if variables is None else variables.count
    units = Units(*read_constraints(n_features, names, **constraints)).of_variables(variables)
    sizes = ("n_features_to_select", "path_sizes", "max_cost", "costs", "keep",
             "min_features_to_select")  # fmt: skip
    asked = {name: given[name] for name in sizes}
    budgets = read_budgets(units, n_features, search=search, **asked)
    rng = check_random_state(selector.random_state)
    fit = Fit(storage, given, search, budgets, Reporter(selector, context), rng)
    fit.plan(n_columns)
    return fit


@dataclass(frozen=True)
class Fit:
    """One fit: where the rows are, what is wanted, and where chance comes from."""

    storage: str  # as in `Needs`
    given: dict[str, Any]  # the selector's parameters
    search: Search | None  # None where the plan decides
    budgets: Budgets
    on_step: OnStep
    rng: np.random.RandomState  # the order of rows, and halves of them

    @property
    def leading(self) -> Search:
        """The search whose filter is used: those that "auto" chooses from have the same one."""
        return SEARCHES[0] if self.search is None else self.search

    @property
    def n_folds(self) -> int:
        return folds_of(self.leading.order)

    def of_rows(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Storage:
        """A validated matrix, or Dask collections."""
        rows = X, y, sample_weight, groups
        return storage_of(self.storage, rows, self._preparation(), self.given["device"])

    def of_source(self, source: Source, checkpoint: Checkpoint) -> Storage:
        """Rows that are read block by block, or by workers of Dask."""
        # Imported where it is needed: Dask need not be there.
        if self.storage == "dask":
            from featgrad.dataset.dask import files_on_dask

            return files_on_dask(source, self._preparation())
        balance = self.leading.balances_classes
        return Streamed(source, self._preparation(), checkpoint, balance)

    def of_chunks(self, state: Accumulated, names: Any) -> Dataset:
        """Rows that came in chunks: all of them, or exact sums and a sample for all else."""
        kept, preprocess = state.rows(), self.given["preprocess"]
        if not state.is_complete:
            kept = kept.take(slice(ESTIMATE_ROWS))
            Limits.of(kept.X).warn(names)
        kept = kept._replace(X=in_range(kept.X, preprocess, names))
        weights = check_weights(kept.weights, len(kept.weights))
        encoded = kept.outputs, state.encoding.task, weights
        preparation = self._preparation(kept.groups)
        roles = preparation.belonging.roles(None, len(kept.weights))
        prepared = prepare_encoded(kept.X, *encoded, preparation, roles)
        if state.is_complete or self.leading.needs.streams:
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

    def as_numbers(self, choice: "Choice") -> "Fit | None":
        """Return a fit with numbers as targets where nothing was selected for whole-number classes.

        None where something was selected or the targets cannot be numbers.
        """
        if not (choice.is_empty and choice.task.may_be_numbers):
            return None
        reason = f"{choice.task.reason}; as classes nothing would be chosen"
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
        """Decide which search runs, and refuse what none can do, also where no row is known yet."""
        budgets, n_folds = self.budgets.for_rows(n_rows), self.n_folds
        compares_sizes = budgets.chosen is None
        parts, reason = self._parts(tuple(budgets.values), n_features)
        for part in parts:
            self._check(part.search, held_out_by)
        (main, values), *others = parts
        place, because = _STORAGES[self.storage]
        rows = f"{place}, {n_rows} x {n_features}, {n_outputs} output(s)"
        lines = [PlanLine("search", repr(main), reason), PlanLine("rows", rows, because)]
        lines += main.explain(n_features, values)
        # Moments of all columns serve every size at once where they fit and rows are many.
        of_all = False
        if main.needs.moments:
            fits = moments_fit(n_features, n_outputs, n_folds)
            of_all = fits and n_rows >= max(n_features, n_folds) and self.storage != "device"
            why = f"{'at most' if fits else 'more than'} {MOMENT_ENTRIES} entries for all"
            if n_rows < max(n_features, n_folds):
                why = "fewer rows than columns"
            if self.storage == "device":
                why = "the device takes them fast and keeps them"
            lines.append(PlanLine("moments", "all columns" if of_all else "working sets", why))
        for search, more in others:
            sizes = ", ".join(f"{budget:g}" for budget in more)
            limit = f"sets above {main.needs.largest} of {n_features} features"
            lines.append(PlanLine("search of large sets", f"{search!r} for {sizes}", limit))
        held_out = f"{n_splits} {_HELD_OUT[held_out_by]}"
        if compares_sizes:
            tried = f"one of {len(values)} up to {values[-1]:g}"
            lines.append(PlanLine("size", tried, f"{held_out} are held out in turn"))
        estimates, why = "held-out rows", f"the search is repeated without each of {held_out}"
        if not (self.given["estimate"] or compares_sizes):
            estimates, why = "none", "estimate=False"
        elif not main.needs.repeats:
            estimates, why = "in-sample", f"{main!r} is not repeated"
        elif n_rows < 2 * n_folds:
            estimates, why = "none", f"fewer than {2 * n_folds} rows"
        lines.append(PlanLine("estimates", estimates, why))
        if self.given["n_resamples"]:
            halves = f"n_resamples={self.given['n_resamples']}"
            lines.append(PlanLine("stability", "complementary halves of the folds", halves))
        return Plan(tuple(parts), n_folds, of_all, tuple(lines), held_out_by=held_out_by)

    def _parts(self, budgets: tuple[float, ...], n_features: int) -> tuple[list[Part], str]:
        """Searches with their budgets, smaller ones first, and why."""
        if self.search is not None:
            return [Part(self.search, budgets)], self.search.size_rule or "asked for by search"
        first, *others = SEARCHES
        limit = first.needs.largest
        up_to = f"sets of up to {limit} features or a limited budget"
        is_large = budgets[-1] > limit and n_features > LARGE_FACTOR * limit
        larger = [other for other in others if is_large and self._serves_large_sets(other)]
        if not larger:
            return [Part(first, budgets)], up_to
        small = tuple(budget for budget in budgets if budget <= limit)
        large = Part(larger[0], budgets[len(small) :])
        if small:
            return [Part(first, small), large], up_to
        more = f"{budgets[0]:g} features are more than {limit}"
        return [large], f"{more}, the largest set for which a working set is kept"

    def _serves_large_sets(self, search: Search) -> bool:
        needs = search.needs
        # Of rows that came in chunks only a sample is left to stream.
        is_kept = not (needs.streams and self.storage == "chunks")
        fits = needs.groups_and_costs or self.budgets.units.are_single_columns
        return search.size_rule is None and self.storage in needs.storages and is_kept and fits

    def _check(self, search: Search, held_out_by: str) -> None:
        """Refuse rows and wishes that a search cannot serve."""
        needs, name = search.needs, f"search={search!r}"
        if self.storage not in needs.storages:
            places = " or ".join(_STORAGES[storage][0] for storage in needs.storages)
            raise ValueError(
                f"{name} needs rows {places} and takes none {_STORAGES[self.storage][0]}: use fit "
                "with an array, a sample of the rows, or search='auto'."
            )
        if needs.independent_rows and held_out_by != "rows":
            raise ValueError(
                f"{name} is valid for independent rows only, which {held_out_by} contradicts: give "
                "one row of each group, or use search='auto'."
            )
        if not (needs.groups_and_costs or self.budgets.units.are_single_columns):
            raise ValueError(
                f"{name} takes neither groups nor costs: use search='auto', or encode columns of "
                "text and dates, which are groups, beforehand."
            )
        if not needs.repeats and (self.budgets.chosen is None or self.given["n_resamples"]):
            raise ValueError(
                f"{name} is not repeated, as comparing sizes and resampling need it: give "
                "n_features_to_select as a number and n_resamples=0, or ask for fewer features "
                "with search='auto'."
            )

    def _preparation(self, groups: Any = None) -> Preparation:
        given, search = self.given, self.leading
        columns = given["task"], given["preprocess"], given["missing"]
        belonging = Belonging(given["cv"], groups)
        return Preparation(search.order, search.filter, *columns, self.rng, self.n_folds, belonging)

    @one_blas_thread()
    def _estimated(self, dataset: Dataset, planned: Plan, outcome: Outcome, X: Any) -> "Choice":
        """The choice, with estimates of what each set explains."""
        subsets, estimates = list(outcome.subsets), self.given["estimate"]
        chosen = subsets[outcome.chosen]
        # Where held-out rows have chosen the size, the estimate is from others than those.
        if len(chosen.features) and outcome.divisions:
            subsets[outcome.chosen] = replace(chosen, divisions=outcome.divisions)
        path = [PathPoint(len(s.features), s.features, None) for s in subsets]
        found: list[list[Concern]] = [[] for _ in subsets]
        if estimates or any(subset.divisions for subset in subsets):
            units = self.budgets.units.of_column
            features = chosen.features
            if estimates:
                features = looked_at(chosen.scores, units, dataset.n_rows)
            used = [features, *(each for s in subsets for each in (s.features, *s.divisions))]
            columns = np.unique(np.concatenate(used))
            sample = dataset.sample(columns)
            held_out = HeldOutRows(sample, columns, units[columns], dataset.splits)
            repeated = {b for search, own in planned.parts if search.needs.repeats for b in own}
            for place, subset in enumerate(subsets):
                if subset.divisions:
                    path[place] = held_out.estimate(subset.features, subset.divisions)
                elif estimates:
                    n_features = len(subset.features)
                    known = unknown(n_features)  # where rows were too few to repeat the search
                    if n_features == 0 or subset.budget not in repeated:
                        rows = Learnability._from_sample(sample, len(dataset.filters[-1]))
                        known = rows.estimate(np.searchsorted(columns, subset.features))
                        known = replace(known, is_optimistic=n_features > 0)
                    path[place] = path[place]._replace(learnability=known)
        variables = self.budgets.units.variables
        path = [of_variables(point, variables) for point in path]
        if estimates:
            among = sample, columns, features, self.budgets.units, len(chosen.features)
            independent = self.given["cv"] is None and sample.clusters is None
            seen = signs(*among, as_independent=independent, X=X)
            found = [seen.of_set(subset.features) for subset in subsets]
        for concerns, point in zip(found, path, strict=True):
            concerns += of_estimate(point, outcome.discoveries)
        sizes = Sizes(path[outcome.chosen], None) if outcome.held_out else None
        if sizes is not None and outcome.best is not None:
            best, last = path[outcome.best], self.budgets.for_rows(dataset.n_rows).values[-1]
            is_largest = subsets[outcome.best].budget == last
            more = best.size < self.budgets.units.n_available
            sizes = sizes._replace(best=best, cap=best.size if is_largest and more else None)
        decisions = planned.decisions + (() if sizes is None else sizes.decisions)
        planned = replace(planned, held_out=outcome.held_out, decisions=decisions)
        outcome = outcome.of_variables(variables)
        return Choice(dataset.task, planned, outcome, path, found, sizes)


class Choice(NamedTuple):
    """What comes of one fit."""

    task: Task
    plan: Plan
    outcome: Outcome
    path: list[PathPoint]
    concerns: list[list[Concern]]  # of each set
    sizes: Sizes | None

    @property
    def is_empty(self) -> bool:
        """Whether held-out rows chose no feature."""
        return self.sizes is not None and self.sizes.smallest.size == 0
