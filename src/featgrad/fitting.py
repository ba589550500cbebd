"""From parameters and rows to chosen sets, for each home of the rows."""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featgrad.arrays import Floats
from featgrad.checks import MISSING, PREPROCESS, check_number, check_option
from featgrad.dataset.accumulated.marginal_sums import MarginalSums, SampledChunks
from featgrad.dataset.accumulated.state import Accumulated
from featgrad.dataset.all_moments import FoldMoments, MomentDataset, with_all_moments
from featgrad.dataset.base import Dataset
from featgrad.dataset.checkpoint import Checkpoint
from featgrad.dataset.in_memory import InMemory
from featgrad.dataset.prepare import Prepared, prepare, prepare_encoded, scaled
from featgrad.dataset.streamed import Streamed
from featgrad.learnability import Learnability
from featgrad.math.filters import check_order, up_to
from featgrad.math.links import LINKS, Link
from featgrad.math.targets import TASKS
from featgrad.moments.threads import one_blas_thread
from featgrad.path import PathPoint
from featgrad.plan import ESTIMATE_ROWS, SEARCHES, USED_BY, Facts, Plan, Wanted, plan
from featgrad.readers import Source
from featgrad.search.progress import OnStep
from featgrad.search.run import Job, Outcome, run, run_penalty, run_stream_penalty
from featgrad.search.sizes import Budgets


class Settings(NamedTuple):
    """The selector's parameters that say how to search, under their names there."""

    search: str
    n_resamples: int
    order: int
    filter: str | ArrayLike
    penalty: float
    task: str
    link: str
    preprocess: str
    learning_rate: float
    max_iter: int
    tol: float
    batch_size: int | None
    accumulate: int
    n_epochs: int
    missing: str

    def check(self) -> None:
        """Refuse what no rows could make sense of."""
        check_option("search", self.search, SEARCHES)
        check_option("link", self.link, ("auto", *LINKS))
        check_option("missing", self.missing, MISSING)
        check_option("preprocess", self.preprocess, PREPROCESS)
        check_option("task", self.task, TASKS)
        up_to(self.filter, check_order(self.order))
        for name in ("max_iter", "n_epochs", "accumulate"):
            check_number(name, getattr(self, name), Integral, at_least=1)
        if self.batch_size is not None:
            check_number("batch_size", self.batch_size, Integral, at_least=2)
        check_number("n_resamples", self.n_resamples, Integral, at_least=0)
        if self.n_resamples == 1:
            raise ValueError("n_resamples=1 has nothing to agree with: use 0, or at least 2.")
        for name in ("penalty", "tol"):
            check_number(name, getattr(self, name), Real, at_least=0)
        check_number("learning_rate", self.learning_rate, Real, above=0)

    def warn_of_ignored(self, search: str, defaults: dict[str, Any]) -> None:
        """Warn of parameters that were set and that the search does not use."""
        for name, searches in USED_BY.items():
            value = getattr(self, name)
            if search not in searches and value != defaults[name]:
                warnings.warn(
                    f"{name}={value!r} is ignored by search {search!r}: it is used by "
                    f"{' and '.join(searches)}.",
                    UserWarning,
                    stacklevel=5,
                )

    def link_for(self, task: str) -> Link:
        if self.link != "auto":
            return LINKS[self.link]
        return LINKS["residual" if task == "regression" else "root"]


class Choice(NamedTuple):
    """What comes of one fit."""

    task: str
    plan: Plan
    outcome: Outcome
    path: list[PathPoint]


@dataclass(frozen=True)
class Fit:
    """One fit: what is wanted, who watches, and where chance comes from.

    Attributes
    ----------
    settings : Settings
        How to search.
    defaults : dict
        Their default values.
    units_and_budgets : Budgets or None
        What to choose; None where the penalty decides the size.
    on_step : OnStep
        Called after each step.
    rng : RandomState
        The order of rows, and halves of them.
    """

    settings: Settings
    defaults: dict[str, Any]
    budgets: Budgets | None
    on_step: OnStep
    rng: np.random.RandomState

    def from_rows(self, X: Any, y: Any, sample_weight: Any) -> Choice:
        """Choose from a validated matrix."""
        settings = self.settings
        prepared = prepare(
            X,
            y,
            order=settings.order,
            filter=settings.filter,
            task=settings.task,
            sample_weight=sample_weight,
            rng=self.rng,
        )
        facts = Facts("memory", len(prepared.rows), X.shape[1], prepared.target.outputs.shape[1])
        return self._from_matrix(X, prepared, self._plan(facts))

    def from_source(self, source: Source, checkpoint: Checkpoint) -> Choice:
        """Choose from rows that are read block by block."""
        settings = self.settings
        n_folds = self._plan(Facts("source", 0, source.n_features, 1)).n_folds
        dataset = Streamed(
            source,
            task=settings.task,
            order=settings.order,
            filter=settings.filter,
            preprocess=settings.preprocess,
            missing=settings.missing,
            n_folds=n_folds,
            rng=self.rng,
            checkpoint=checkpoint,
        )
        facts = Facts("source", dataset.n_rows, dataset.n_features, dataset.n_outputs)
        planned = self._plan(facts)
        if self.budgets is None:
            job = self._job(dataset.task, dataset.filters[-1])
            outcome = run_stream_penalty(dataset, job)
            return self._choice(dataset.task, planned, outcome, dataset)
        return self._search(dataset, dataset.task, dataset.filters[-1], planned)

    def from_chunks(self, state: Accumulated) -> Choice:
        """Choose from rows that came in chunks."""
        kept, task = state.rows(), state.encoding.task
        if not state.is_complete:
            kept = kept.take(slice(ESTIMATE_ROWS))
        prepared = prepare_encoded(
            kept.X,
            kept.outputs,
            task,
            kept.weights / kept.weights.sum(),
            order=self.settings.order,
            filter=self.settings.filter,
            rng=self.rng,
        )
        planned = self._plan(Facts("chunks", state.n_rows, state.n_features, kept.outputs.shape[1]))
        if state.is_complete or self.budgets is None:
            return self._from_matrix(kept.X, prepared, planned)
        dataset = self._chunked(state, kept.X, prepared)
        return self._search(dataset, task, prepared.filters[-1], planned)

    def _chunked(self, state: Accumulated, X: Any, prepared: Prepared) -> Dataset:
        """Exact sums over all rows, and a sample for what they do not tell."""
        assert state.beginning is not None
        preprocess, standardiser = self.settings.preprocess, state.beginning.standardiser
        sample = SampledChunks(X, prepared, preprocess, state.n_folds)
        if isinstance(state.sums, FoldMoments):
            n_outputs = sample.n_outputs
            return MomentDataset(state.sums, n_outputs, standardiser, preprocess, sample.sample)
        assert isinstance(state.sums, MarginalSums)
        sample.exact = state.sums.prices(standardiser)
        return sample

    def _from_matrix(self, X: Any, prepared: Prepared, planned: Plan) -> Choice:
        preprocess, task = self.settings.preprocess, prepared.target.task
        dataset: Dataset = InMemory(X, prepared, preprocess, planned.n_folds)
        if self.budgets is None:
            problem = scaled(prepared.problem(X, preprocess))
            outcome = run_penalty(problem, self._job(task, prepared.filters[-1]))
            return self._choice(task, planned, outcome, dataset)
        return self._search(dataset, task, prepared.filters[-1], planned)

    def _search(self, dataset: Dataset, task: str, coefficients: Floats, planned: Plan) -> Choice:
        assert self.budgets is not None
        # Products are short: threads that share them would mostly wait for each other.
        with one_blas_thread():
            if planned.moments_of_all_columns and not isinstance(dataset, MomentDataset):
                dataset = with_all_moments(dataset, self.settings.preprocess)
            outcome = run(planned, dataset, self.budgets, self._job(task, coefficients))
        planned = replace(planned, held_out=outcome.held_out)
        return self._choice(task, planned, outcome, dataset)

    def _choice(self, task: str, planned: Plan, outcome: Outcome, dataset: Dataset) -> Choice:
        """With estimates of what each set explains."""
        together = np.unique(np.concatenate([subset.features for subset in outcome.subsets]))
        explained = Learnability.from_prepared(*dataset.sample(together))
        path = []
        for subset in outcome.subsets:
            estimate = explained.estimate(np.searchsorted(together, subset.features))
            path.append(PathPoint(len(subset.features), subset.features, estimate))
        return Choice(task, planned, outcome, path)

    def _plan(self, facts: Facts) -> Plan:
        settings, budgets = self.settings, self.budgets
        wanted = Wanted(
            settings.search,
            () if budgets is None else tuple(budgets.values),
            budgets is None or budgets.units.are_single_columns,
            settings.order,
            budgets is not None and budgets.chosen is None,
            settings.n_resamples,
        )
        planned = plan(facts, wanted)
        if facts.n_rows:
            settings.warn_of_ignored(planned.search, self.defaults)
        return planned

    def _job(self, task: str, coefficients: Floats) -> Job:
        settings = self.settings
        return Job(
            coefficients=coefficients,
            n_resamples=settings.n_resamples,
            max_iter=settings.max_iter,
            batch_size=settings.batch_size,
            n_epochs=settings.n_epochs,
            accumulate=settings.accumulate,
            learning_rate=settings.learning_rate,
            tol=settings.tol,
            penalty=settings.penalty,
            link=settings.link_for(task),
            on_step=self.on_step,
            rng=self.rng,
        )
