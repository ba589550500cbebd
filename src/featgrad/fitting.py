"""From parameters and rows to chosen sets, for each home of the rows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from featgrad.arrays import Indices
from featgrad.dataset.accumulated import Accumulated, MarginalSums, SampledChunks
from featgrad.dataset.all_moments import FoldMoments, MomentDataset, with_all_moments
from featgrad.dataset.base import Dataset, Sample
from featgrad.dataset.checkpoint import Checkpoint
from featgrad.dataset.in_memory import InMemory
from featgrad.dataset.prepare import Preparation, Prepared, prepare, prepare_encoded, scaled
from featgrad.dataset.row_sums import Rows
from featgrad.dataset.streamed import Streamed
from featgrad.estimate import Estimate, unknown
from featgrad.explained_variance import Learnability
from featgrad.held_out import HeldOutRows, Judged
from featgrad.knockoffs.choose import Discoveries, discover
from featgrad.moments.array_api import on_accelerator
from featgrad.moments.threads import one_blas_thread
from featgrad.path import PathPoint
from featgrad.plan import ESTIMATE_ROWS, Facts, Plan, Wanted, folds_of, plan
from featgrad.readers import Source
from featgrad.search.base import Subset
from featgrad.search.comparison import held_out_groups
from featgrad.search.progress import OnStep
from featgrad.search.run import Job, Outcome, run, run_penalty, run_stream_penalty
from featgrad.search.settings import Settings
from featgrad.search.sizes import Budgets


class Choice(NamedTuple):
    """What comes of one fit."""

    task: str
    plan: Plan
    outcome: Outcome
    path: list[PathPoint]
    discoveries: Discoveries | None = None


@dataclass(frozen=True)
class Fit:
    """One fit: what is wanted, what is called at each step, and where chance comes from."""

    settings: Settings
    defaults: dict[str, Any]  # of the settings
    budgets: Budgets | None  # None where the penalty decides the size
    on_step: OnStep
    rng: np.random.RandomState  # the order of rows, and halves of them

    def from_rows(self, X: Any, y: Any, sample_weight: Any) -> Choice:
        """Choose from a validated matrix."""
        settings = self.settings
        if settings.device is not None or on_accelerator(X):
            settings.check_on_host("an accelerator")
            return self._from_device(X, y, sample_weight)
        prepared = prepare(X, y, sample_weight, self._preparation)
        facts = Facts("memory", len(prepared.rows), X.shape[1], prepared.target.outputs.shape[1])
        return self._from_matrix(X, prepared, self._plan(facts))

    def _from_device(self, X: Any, y: Any, sample_weight: Any) -> Choice:
        """Choose on an accelerator."""
        # Imported here: it needs torch.
        from featgrad.dataset.device.prepare import on_device

        dataset = on_device(X, y, sample_weight, self.settings.device, self._preparation)
        return self._from_home(
            "device", dataset, lambda job: run_penalty(scaled(dataset.problem()[0]), job)
        )

    def from_source(self, source: Source, checkpoint: Checkpoint) -> Choice:
        """Choose from rows that are read block by block."""
        # What cannot be done is refused before anything is read.
        self._plan(Facts("source", 0, source.n_features, 1))
        # The paper's search takes classes by their shares.
        balance = self.budgets is not None
        dataset = Streamed(source, self._preparation, checkpoint, balance)
        return self._from_home("source", dataset, lambda job: run_stream_penalty(dataset, job))

    def from_dask(self, X: Any, y: Any, sample_weight: Any) -> Choice:
        """Choose from the partitions of Dask collections."""
        # Imported here: it needs Dask.
        from featgrad.dataset.dask.home import on_dask

        return self._on_dask(X.shape[1], partial(on_dask, X, y, sample_weight))

    def from_files(self, source: Source) -> Choice:
        """Choose from files that workers of Dask read."""
        from featgrad.dataset.dask.home import files_on_dask

        return self._on_dask(source.n_features, partial(files_on_dask, source))

    def _on_dask(self, n_features: int, opened: Callable[..., Any]) -> Choice:
        self.settings.check_on_host("Dask")
        # What cannot be done is refused before anything is computed.
        self._plan(Facts("dask", 0, n_features, 1))
        dataset = opened(self._preparation)
        return self._search(dataset, self._plan(_facts("dask", dataset)))

    @property
    def _preparation(self) -> Preparation:
        given = self.settings
        columns = given.task, given.preprocess, given.missing
        return Preparation(given.order, given.filter, *columns, self.rng, folds_of(given.order))

    def _from_home(
        self, home: str, dataset: Dataset, penalised: Callable[[Job], Outcome]
    ) -> Choice:
        """Choose by the search that is planned, or by the penalised one where it finds the size."""
        planned = self._plan(_facts(home, dataset))
        if self.budgets is None:
            return self._choice(planned, penalised(self._job(dataset)), dataset)
        return self._search(dataset, planned)

    def from_chunks(self, state: Accumulated) -> Choice:
        """Choose from rows that came in chunks."""
        kept = state.rows()
        if not state.is_complete:
            kept = kept.take(slice(ESTIMATE_ROWS))
        encoded = kept.outputs, state.encoding.task, kept.weights / kept.weights.sum()
        prepared = prepare_encoded(kept.X, *encoded, self._preparation)
        planned = self._plan(Facts("chunks", state.n_rows, state.n_features, kept.outputs.shape[1]))
        if state.is_complete or self.budgets is None:
            return self._from_matrix(kept.X, prepared, planned)
        return self._search(self._chunked(state, kept, prepared), planned)

    def _chunked(self, state: Accumulated, kept: Rows, prepared: Prepared) -> Dataset:
        """Exact sums over all rows, and a sample for everything else."""
        preprocess = self.settings.preprocess
        sample = SampledChunks(kept.X, prepared, preprocess, state.n_folds)
        if isinstance(state.sums, FoldMoments):
            sample.take_folds(kept.folds)
            return MomentDataset(state.sums, sample, preprocess)
        assert isinstance(state.sums, MarginalSums)
        sample.exact = state.sums.prices()
        return sample

    def _from_matrix(self, X: Any, prepared: Prepared, planned: Plan) -> Choice:
        preprocess = self.settings.preprocess
        dataset = InMemory(X, prepared, preprocess, planned.n_folds)
        if planned.search == "knockoffs":
            return self._by_knockoffs(X, prepared, planned, dataset)
        if self.budgets is None:
            problem = scaled(prepared.problem(X, preprocess))
            return self._choice(planned, run_penalty(problem, self._job(dataset)), dataset)
        return self._search(dataset, planned)

    def _by_knockoffs(self, X: Any, prepared: Prepared, planned: Plan, dataset: Dataset) -> Choice:
        assert self.budgets is not None
        assert self.settings.fdr is not None
        with one_blas_thread():
            found = discover(X, prepared, self.budgets.units, self.settings.fdr, self.rng)
        choice = self._choice(planned, Outcome([found.subset()], 0), dataset)
        return choice._replace(discoveries=found)

    def _search(self, dataset: Dataset, planned: Plan) -> Choice:
        assert self.budgets is not None
        # Products are short: threads that share them would mostly wait for each other.
        with one_blas_thread():
            if planned.moments_of_all_columns and not isinstance(dataset, MomentDataset):
                dataset = with_all_moments(dataset, self.settings.preprocess)
            budgets = self.budgets.for_rows(dataset.n_rows)
            outcome = run(planned, dataset, budgets, self._job(dataset))
            return self._choice(replace(planned, held_out=outcome.held_out), outcome, dataset)

    def _choice(self, planned: Plan, outcome: Outcome, dataset: Dataset) -> Choice:
        """With estimates of what each set explains."""
        everywhere = [subset.features for subset in outcome.subsets]
        everywhere += [found for subset in outcome.subsets for found in subset.divisions]
        judges = _Judges(dataset, np.unique(np.concatenate(everywhere)), self.budgets)
        path = []
        for place, subset in enumerate(outcome.subsets):
            # Where held-out rows have chosen the size, others than those have to judge it.
            if place == outcome.chosen and len(subset.features) and outcome.divisions:
                subset = replace(subset, divisions=outcome.divisions)
            judged = self._judged(subset, planned, judges)
            path.append(PathPoint(len(subset.features), subset.features, *judged))
        return Choice(dataset.task, planned, outcome, path)

    def _judged(self, subset: Subset, planned: Plan, judges: "_Judges") -> Judged:
        """What is known of a set: from held-out rows where the search was repeated without them."""
        features = subset.features
        if subset.divisions:
            return judges.held_out.judge(features, subset.divisions)
        if not self.settings.estimate:
            return Judged(None)
        if len(features) == 0:
            return Judged(Estimate(0.0, 0.0, 0))
        if planned.search == "working_set" and subset.budget not in planned.streamed_budgets:
            return Judged(unknown(len(features)))
        estimate = judges.that_chose.estimate(np.searchsorted(judges.columns, features))
        return Judged(replace(estimate, is_optimistic=True))

    def _plan(self, facts: Facts) -> Plan:
        settings, budgets = self.settings, self._budgets(facts.n_rows)
        wanted = Wanted(
            settings.search,
            () if budgets is None else tuple(budgets.values),
            budgets is None or budgets.units.are_single_columns,
            settings.order,
            budgets is not None and budgets.chosen is None,
            settings.estimate,
            settings.n_resamples,
            settings.fdr,
        )
        planned = plan(facts, wanted)
        if facts.n_rows:
            settings.warn_of_ignored(planned.search, self.defaults)
        return planned

    def _budgets(self, n_rows: int) -> Budgets | None:
        return None if self.budgets is None else self.budgets.for_rows(n_rows)

    def _job(self, dataset: Dataset) -> Job:
        link = self.settings.link_for(dataset.task)
        return Job(self.settings, dataset.filters[-1], link, self.on_step, self.rng)


def _facts(home: str, dataset: Dataset) -> Facts:
    return Facts(home, dataset.n_rows, dataset.n_features, dataset.n_outputs)


@dataclass(frozen=True)
class _Judges:
    """Rows that say what sets of some columns explain."""

    dataset: Dataset
    columns: Indices
    budgets: Budgets | None

    @cached_property
    def held_out(self) -> HeldOutRows:
        assert self.budgets is not None
        units = self.budgets.units.of_column[self.columns]
        groups = held_out_groups(self.dataset.n_folds)
        return HeldOutRows(self._sample, self.columns, units, groups)

    @cached_property
    def that_chose(self) -> Learnability:
        return Learnability.from_prepared(self._sample.problem, self._sample.target)

    @cached_property
    def _sample(self) -> Sample:
        return self.dataset.sample(self.columns)
