"""Rounds of construction: search, price what could be constructed, let in what is more than chance.

1. The usual search, in each division among the given columns and those constructed in it.
2. Residuals of cross-fitted ridge models of the chosen columns.
3. Every operation prices all that it could make of the given columns and of those constructed ones
   that are chosen. What is worth more than the best of as many columns of noise would be enters.

All this happens once with all rows and once without each part of them that is held out, so that
knots, means and choices know nothing of these. At last sets with and without constructed columns
predict the held-out rows, which decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from featgrad._support import Floats, Indices
from featgrad._support.array_api import dense
from featgrad._support.threads import one_blas_thread
from featgrad.columns.sums import ArraySums
from featgrad.construct.expressions import Constructed, Expression, Given, with_columns
from featgrad.construct.operations import Operation
from featgrad.construct.prices import Parts, Residuals, on_one_scale
from featgrad.dataset.memory import InMemory, Prepared
from featgrad.dataset.sums import Rows
from featgrad.moments.least_squares import Weighted, ridge_coefficients
from featgrad.plan import BUILT, CONSTRUCTED, HELD_OUT_RIDGE
from featgrad.search import rounds
from featgrad.search.base import Job, Outcome, SearchTask, go_on
from featgrad.search.units import Units, best_first
from featgrad.search.working_set import Comparison, WorkingSet, compare

Folds = tuple[int, ...]
# What was constructed, with its price.
Pool = dict[Constructed, float]


@dataclass(frozen=True)
class Settings:
    """What is constructed, and how."""

    operations: Sequence[Operation]
    rounds: int
    most_parents: float
    size: int  # of the sets whose residuals are priced
    preprocess: str


class Pools(NamedTuple):
    """What was constructed in each division; all columns of the first one come first."""

    of_division: dict[Folds, Pool]

    @property
    def columns(self) -> list[Constructed]:
        """Those of all divisions."""
        return list({column: None for pool in self.of_division.values() for column in pool})

    def units(self, units: Units, folds: Folds) -> Units:
        """Of all columns those of a division."""
        own, columns = self.of_division.get(folds, {}), self.columns
        others = np.zeros(len(units.of_column), bool)
        others[len(others) - len(columns) :] = [column not in own for column in columns]
        return units.without(others)


def construct(
    X: Any, prepared: Prepared, divisions: Sequence[Folds], given: Units, settings: Settings
) -> Pools:
    """Columns that are worth more than chance in each division, with their prices."""
    pools, active = Pools({folds: {} for folds in divisions}), list(divisions)
    for _ in range(settings.rounds):
        columns = pools.columns
        dataset = InMemory(with_columns(X, X, columns), prepared, settings.preprocess)
        units = given.with_more(len(columns))
        size = float(min(settings.size, units.n_available))
        tasks = [SearchTask(size, folds, pools.units(units, folds)) for folds in active]
        options = dataset.filters[-1], WorkingSet().max_iter, go_on
        with one_blas_thread():
            subsets = rounds.search(dataset, units, tasks, *options)
        before, active = active, []
        for folds, subset in zip(before, subsets, strict=True):
            residuals = _residuals(dataset, subset.features, folds)
            pool, n_given = pools.of_division[folds], X.shape[1]
            chosen = [columns[i] for i in subset.features[subset.features >= n_given] - n_given]
            usable = np.flatnonzero(units.of_column[:n_given] >= 0)
            usable = usable[best_first(subset.scores[usable], len(usable))]
            found = _entering(X, usable, chosen, residuals, settings)
            if found.keys() - pool.keys():
                active.append(folds)
                pools.of_division[folds] = {column: pool[column] for column in chosen} | found
        if not active:
            break
    return pools


def _entering(
    X: Any, given: Indices, chosen: list[Constructed], residuals: Residuals, settings: Settings
) -> Pool:
    """The best of what is worth more than chance; of given columns, the most promising first."""
    places = np.argsort(given)
    expressions: list[Expression] = [*map(Given, given[places].tolist()), *chosen]
    values = with_columns(X, X, chosen)[residuals.rows]
    columns = np.append(given[places], X.shape[1] + np.arange(len(chosen)))
    if len(columns) < values.shape[1]:
        values = values[:, columns]
    ranked = np.append(len(given) + np.arange(len(chosen)), np.argsort(places)).astype(np.intp)
    scaled = on_one_scale(values)
    parts = Parts(X, residuals.rows, expressions, ranked, settings.most_parents, *scaled)
    candidates, counts = dict[Constructed, None](), 0
    for operation in settings.operations:
        count, best = operation.best(parts, residuals, BUILT)
        counts, candidates = counts + count, candidates | dict.fromkeys(best)
    built_from, found = list(candidates), Pool()
    for start in range(0, len(built_from), BUILT):
        some = built_from[start : start + BUILT]
        built = np.column_stack([column.build(X)[residuals.rows] for column in some])
        prices, worth = residuals.price(built, counts)
        found |= {some[i]: float(prices[i]) for i in np.flatnonzero(worth)}
    best = sorted(found, key=lambda column: -found[column])[:CONSTRUCTED]
    return {column: found[column] for column in best}


class _Chosen(ArraySums):
    """Outputs, weights, cells and some columns of all rows."""

    def __init__(self, columns: Indices) -> None:
        self._columns, self.parts = columns, list[Rows]()

    def add(self, rows: Rows) -> None:
        X = np.asarray(dense(rows.X[:, self._columns]), np.float64)
        self.parts.append(Rows(rows.outputs, rows.weights, rows.cells, X))


def _residuals(dataset: InMemory, columns: Indices, folds: Folds) -> Residuals:
    """What ridge models of some columns leave of each fold of a division, of its other folds."""
    division = dataset.division(folds)
    rows = Rows.joined(dataset.visit("residuals", lambda: _Chosen(columns)).parts)
    weights = rows.weights * division.shares[rows.cells]
    used = np.flatnonzero(weights)
    of_row = rows.cells[used] // division.n_strata
    outputs = (rows.outputs[used] - division.means) / division.deviations
    given = Weighted(rows.X[used], outputs, weights[used])
    left: Floats = np.empty_like(outputs)
    for fold in folds:
        own = of_row == fold
        others = np.flatnonzero(~own)
        model = given.standardised(others)
        coefficients = ridge_coefficients(model.take(others), HELD_OUT_RIDGE)
        left[own] = model.outputs[own] - model.values[own] @ coefficients
    left -= given.weights @ left
    roots = np.sqrt(given.weights)[:, None]
    basis = np.linalg.qr(roots * np.column_stack([np.ones(len(used)), given.values]))[0]
    return Residuals(used, given.weights, given.weights[:, None] * left, basis)


class Verdict(NamedTuple):
    """Mean correlation with held-out rows of sets without and with constructed columns.

    Parameters
    ----------
    without, constructed : float
        Mean correlation of prediction and target over parts of the rows that are held out.
    is_kept : bool
        Whether constructed columns may be chosen.
    """

    without: float
    constructed: float
    is_kept: bool


class WithConstructed(WorkingSet):
    """Sets with and without constructed columns, of which held-out rows choose."""

    pools: Pools
    n_given: int
    verdict: Verdict | None = None
    _every: Units  # of all columns
    _are_given: bool  # whether only given ones are to be chosen

    def run(self, job: Job) -> Outcome:
        self._every, self._are_given = job.budgets.units, False
        more = super().run(job)
        if not (job.repeats and self.pools.columns):
            return more
        self._are_given = True
        plain = super().run(job)
        ways = [one.divisions or one.subsets[one.chosen].divisions for one in (plain, more)]
        sets = [replace(more.subsets[more.chosen], divisions=each) for each in ways]
        comparison = compare(job.dataset, sets)
        self.verdict = _verdict(comparison)
        found = [_verdict(comparison.without(split)).is_kept for split in comparison.splits]
        divisions = tuple(ways[is_kept][i] for i, is_kept in enumerate(found))
        outcome = more if self.verdict.is_kept else plain
        return outcome._replace(divisions=divisions)

    def _units(self, folds: Folds) -> Units:
        if not self._are_given:
            return self.pools.units(self._every, folds)
        return self._every.without(np.arange(len(self._every.of_column)) >= self.n_given)


def _verdict(comparison: Comparison) -> Verdict:
    without, constructed = comparison.correlations.mean(axis=1).tolist()
    return Verdict(without, constructed, constructed > without)
