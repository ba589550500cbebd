"""Rounds of construction: search, price what could be constructed, let in what is more than chance.

1. The usual search, in each division among the given columns and those constructed in it.
2. Residuals of cross-fitted ridge models of the chosen columns.
3. Constructed columns that say no more than chance next to the others leave the set: relatives of
   what was found, such as bent copies of a product, which would fill it and fit noise.
4. Every operation prices all that it could make of the given columns and of the constructed ones
   that stay. What is worth more than the best of as many columns of noise would be enters.

All this happens once with all rows and once without each part of them that is held out, so that
knots, means and choices know nothing of these. At last sets with and without constructed columns
predict the held-out rows, which decide.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
from sklearn.linear_model import LogisticRegression

from featgrad._support import Floats, Indices
from featgrad._support.array_api import placed_like, to_numpy
from featgrad._support.threads import one_blas_thread
from featgrad.construct.expressions import (
    Constructed,
    Expression,
    Given,
    in_columns,
    limited,
    with_columns,
)
from featgrad.construct.operations import Operation
from featgrad.construct.prices import Parts, Residuals, on_one_scale
from featgrad.dataset.base import Dataset
from featgrad.dataset.memory import InMemory
from featgrad.moments.least_squares import Weighted, ridge_coefficients
from featgrad.plan import BUILT, CONSTRUCTED, HELD_OUT_RIDGE, LEAST_OWN_VARIANCE, PARENTS
from featgrad.search import rounds
from featgrad.search.base import Job, Outcome, SearchTask, Subset, go_on
from featgrad.search.units import Units, best_first
from featgrad.search.working_set import WorkingSet, compare

Folds = tuple[int, ...]


class Entry(NamedTuple):
    """How a constructed column entered."""

    price: float
    rivals: float  # columns of noise, the best of which it had to exceed


# What was constructed.
Pool = dict[Constructed, Entry]


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
    X: Any,
    given: InMemory,
    divisions: Sequence[Folds],
    units_of_given: Units,
    size: int,
    n_rounds: int,
    most_parents: float,
    operations: Sequence[Operation],
) -> Pools:
    """Columns that are worth more than chance in each division, with their prices.

    Residuals are those of sets of a size. Each pair has one of so many columns at most.
    """
    pools, active = Pools({folds: {} for folds in divisions}), list(divisions)
    for round_ in range(n_rounds + 1):
        columns = pools.columns
        matrix = with_columns(X, columns)
        dataset = given.with_matrix(matrix)
        units = units_of_given.with_more(len(columns))
        budget = float(min(size, units.n_available))
        tasks = [SearchTask(budget, folds, pools.units(units, folds)) for folds in active]
        options = dataset.filters[-1], WorkingSet().max_iter, go_on
        with one_blas_thread():
            subsets = rounds.search(dataset, units, tasks, *options)
        before, active = active, []
        every = [*map(Given, range(X.shape[1])), *columns]
        for folds, subset in zip(before, subsets, strict=True):
            pool, chosen = pools.of_division[folds], [every[i] for i in subset.features]
            residuals, values = _residuals(dataset, subset.features, folds)
            pools.of_division[folds] = stay = _staying(chosen, values, residuals, pool)
            if round_ == n_rounds:
                continue
            # Parts of others are given columns, and constructed ones that are chosen.
            is_part = (units.of_column >= 0) & (np.arange(len(every)) < X.shape[1])
            is_part |= [one in stay for one in every]
            own = np.flatnonzero(is_part)
            expressions = [every[i] for i in own]
            values = matrix[placed_like(matrix, residuals.rows)]
            ranked = best_first(subset.scores[own], len(own))
            scaled = on_one_scale(values if is_part.all() else values[:, placed_like(matrix, own)])
            most = min(most_parents, PARENTS) if round_ else most_parents
            parts = Parts(X, residuals.rows, expressions, ranked, most, *scaled)
            found = _entering(parts, residuals, operations)
            if found.keys() - pool.keys():
                active.append(folds)
                pools.of_division[folds] = stay | found
        if not active:
            break
    return pools


def _entering(parts: Parts, residuals: Residuals, operations: Sequence[Operation]) -> Pool:
    """The best that are worth more than the best of all candidates would be if these were noise."""
    best = [operation.best(parts, residuals, BUILT) for operation in operations]
    total, found = sum(count for count, _ in best), Pool()
    for count, columns in best:
        if columns:
            rows = placed_like(parts.X, parts.rows)
            built = [column.build(parts.X)[rows] for column in columns]
            rivals = parts.rivals(columns, len(operations) * count, total)
            prices, worth = residuals.price(in_columns(built), rivals)
            found |= {
                limited(columns[i], built[i]): Entry(float(prices[i]), float(rivals[i]))
                for i in np.flatnonzero(worth)
            }
    return dict(sorted(found.items(), key=lambda item: -item[1].price)[:CONSTRUCTED])


def _staying(columns: list[Expression], values: Floats, residuals: Residuals, pool: Pool) -> Pool:
    """Constructed ones among columns that add more to all others than the best of noise would.

    The others leave one after the other, the least first.
    """
    roots = np.sqrt(residuals.weights)[:, None]
    values = roots * residuals._replace(basis=roots).own(values)[0]
    while constructed := [i for i, one in enumerate(columns) if not isinstance(one, Given)]:
        inverse = np.linalg.inv(values.T @ values + 1e-9 * np.eye(len(columns)))
        own_variances = 1 / np.diag(inverse)[constructed]
        own = values @ inverse[:, constructed] * np.sqrt(own_variances) / roots
        rivals = np.array([pool[one].rivals for one in columns if not isinstance(one, Given)])
        prices, worth = residuals.worth(own, own.T @ residuals.outputs, rivals)
        worth &= own_variances > LEAST_OWN_VARIANCE
        if worth.all():
            break
        least = constructed[int(np.argmin(np.where(worth, np.inf, prices)))]
        columns = [*columns[:least], *columns[least + 1 :]]
        values = np.delete(values, least, axis=1)
    return {one: pool[one] for one in columns if not isinstance(one, Given)}


def _residuals(dataset: InMemory, columns: Indices, folds: Folds) -> tuple[Residuals, Floats]:
    """What ridge models of some columns leave of each fold of a division, of its other folds.

    And these columns in the rows of the division.
    """
    sample = dataset.sample(columns, to_price=True)
    used = np.flatnonzero(np.isin(sample.folds, folds))
    of_row, outputs, weights = sample.folds[used], sample.outputs[used], sample.weights[used]
    if sample.task == "binary":  # classes count alike
        is_second = outputs[:, 0] > 0
        weights = weights / np.where(is_second, weights @ is_second, weights @ ~is_second)
    weights = weights / weights.sum()
    given = Weighted(to_numpy(sample.columns.values())[used], outputs, weights)
    left: Floats = np.empty_like(outputs)
    for fold in folds:
        own = of_row == fold
        others = np.flatnonzero(~own)
        model = given.standardised(others)
        coefficients = ridge_coefficients(model.take(others), HELD_OUT_RIDGE)
        left[own] = model.outputs[own] - model.values[own] @ coefficients
    left -= weights @ left
    outputs = outputs - weights @ outputs
    deviations = np.sqrt(weights @ outputs**2)
    left, outputs = (part / np.where(deviations > 0, deviations, 1.0) for part in (left, outputs))
    constant_too = np.column_stack([np.ones(len(used)), given.values])
    basis = np.linalg.qr(np.sqrt(weights)[:, None] * constant_too)[0]
    left, outputs = weights[:, None] * left, weights[:, None] * outputs
    return Residuals(sample.places[used], weights, left, basis, outputs), given.values


class Verdict(NamedTuple):
    """Score of held-out rows, on average over parts of these."""

    without: float  # constructed columns
    constructed: float
    is_kept: bool  # whether constructed columns may be chosen


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
        scores, splits = _scores(job.dataset, sets), job.dataset.splits
        self.verdict = _verdict(scores)
        divisions = []
        for i, split in enumerate(splits):
            others = [not set(one.test) & set(split.test) for one in splits]
            is_kept = _verdict(scores[:, others] if any(others) else scores).is_kept
            divisions.append(ways[is_kept][i])
        outcome = more if self.verdict.is_kept else plain
        return outcome._replace(divisions=tuple(divisions))

    def _units(self, folds: Folds) -> Units:
        if not self._are_given:
            return self.pools.units(self._every, folds)
        return self._every.without(np.arange(len(self._every.of_column)) >= self.n_given)


def _verdict(scores: Floats) -> Verdict:
    without, constructed = scores.mean(axis=1).tolist()
    return Verdict(without, constructed, constructed > without)


def _scores(dataset: Dataset, sets: Sequence[Subset]) -> Floats:
    """How well sets predict the held-out rows of each split: log-likelihoods, or correlations.

    The ridge model of a class needs products where a logistic model does not.
    """
    if dataset.task not in ("binary", "multiclass"):
        return compare(dataset, sets).correlations
    found = np.zeros((len(sets), len(dataset.splits)))
    columns = np.unique(np.concatenate([own for one in sets for own in one.divisions]))
    sample = dataset.sample(columns)
    # Of centred outputs: one per class, or one that is positive for the second.
    labels = np.argmax(np.column_stack([0 * sample.weights, sample.outputs]), axis=1)
    weights = len(labels) * sample.weights
    values = np.column_stack([0 * weights, to_numpy(sample.columns.values())])
    for j, split in enumerate(dataset.splits):
        train, test = (np.flatnonzero(np.isin(sample.folds, folds)) for folds in split)
        test = test[np.isin(labels[test], labels[train])]
        for i, one in enumerate(sets):
            X = values[:, np.append(0, 1 + np.searchsorted(columns, one.divisions[j]))]
            if len(np.unique(labels[train])) > 1:
                with catch_warnings():
                    simplefilter("ignore")  # of steps that are left
                    model = LogisticRegression().fit(X[train], labels[train], weights[train])
                chances = model.predict_proba(X[test])
                own = chances[np.arange(len(test)), np.searchsorted(model.classes_, labels[test])]
                logs = np.log(np.maximum(own, np.finfo(float).tiny))
                found[i, j] = np.average(logs, weights=weights[test])
    return found
