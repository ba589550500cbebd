"""The features that keep the false discovery rate."""

import math
from typing import Any

import numpy as np
from scipy import sparse

from featgrad._support.threads import one_blas_thread
from featgrad._support.types import Flags, Floats
from featgrad.columns.present_means import present_means
from featgrad.dataset.in_memory import InMemory
from featgrad.dataset.prepare import Prepared
from featgrad.knockoffs.filter import by_e_values, frequencies, step_up
from featgrad.knockoffs.gaussian import Knockoffs
from featgrad.knockoffs.p_values import p_values
from featgrad.knockoffs.statistic import differences, weighted
from featgrad.plan import (
    KNOCKOFF_COLUMNS,
    KNOCKOFF_COPIES,
    KNOCKOFF_MAJORITY,
    SCREENED_PER_ROW,
    SCREENING_ROWS,
    TESTED_RATE,
)
from featgrad.search.base import Discoveries
from featgrad.search.run import Job, Outcome
from featgrad.search.units import Units, best_first


@one_blas_thread()
def by_knockoffs(job: Job) -> Outcome:
    """As many features as the false discovery rate allows."""
    assert isinstance(job.dataset, InMemory)
    assert job.settings.fdr is not None
    rows = job.dataset.X, job.dataset.prepared
    found = discover(*rows, job.budgets.units, job.settings.fdr, job.rng)
    return Outcome([found.subset()], 0, discoveries=found)


def discover(
    X: Any, prepared: Prepared, units: Units, fdr: float, rng: np.random.RandomState
) -> Discoveries:
    """Compare each unit with its knockoffs, and test each where these choose none."""
    rows, weights, outputs = X[prepared.rows], prepared.weights, prepared.target.outputs
    usable = units.of_column >= 0
    if X.shape[1] > KNOCKOFF_COLUMNS:
        # The rows that screen are not used again.
        n_first = round(SCREENING_ROWS * len(weights))
        part, others = slice(n_first), slice(n_first, None)
        count = min(KNOCKOFF_COLUMNS, math.ceil(SCREENED_PER_ROW * (len(weights) - n_first)))
        usable &= _screened(rows[part], outputs[part], weights[part], units, count)
        rows, outputs, weights = rows[others], outputs[others], weights[others]
        weights = weights / weights.sum()
    rows = rows[:, np.flatnonzero(usable)]
    # Knockoffs are dense, so that a dense copy of a sparse matrix does not change what is needed.
    rows = rows.toarray() if sparse.issparse(rows) else rows
    columns = _standardised(rows.astype(np.float64), weights)
    varies = columns.any(axis=0)
    usable[usable] = varies
    # Units of the usable columns, numbered.
    names, of_column = np.unique(units.of_column[usable], return_inverse=True)
    columns, outputs = np.ascontiguousarray(columns[:, varies]), _standardised(outputs, weights)
    knockoffs = Knockoffs(columns, weights, of_column)
    statistics = np.array(
        [
            differences(columns, copies, outputs, weights, of_column, rng)
            for copies in knockoffs.draw(KNOCKOFF_COPIES, rng)
        ]
    )
    often = frequencies(statistics, fdr)
    chosen, tested = often > KNOCKOFF_MAJORITY, None
    if not chosen.any():
        tested = p_values(weighted(columns, weights), weighted(outputs, weights), of_column)
        chosen = step_up(tested, TESTED_RATE * fdr)

    def spread(of_units: Any, excluded: float = 0.0) -> Floats:
        every = np.full(units.count, excluded)
        every[names] = of_units
        return np.where(usable, units.spread(every, excluded), excluded)

    return Discoveries(
        fdr,
        spread(statistics.mean(axis=0)),
        spread(often),
        None if tested is None else spread(tested, 1.0),
        spread(by_e_values(statistics, fdr)) > 0,
        spread(chosen) > 0,
        usable,
    )


def _screened(X: Any, outputs: Floats, weights: Floats, units: Units, count: int) -> Flags:
    """Columns of the units that are most correlated with the outputs by themselves."""
    X = X.toarray() if sparse.issparse(X) else X
    columns = weighted(_standardised(X.astype(np.float64), weights), weights)
    along = np.linalg.norm(columns @ weighted(_standardised(outputs, weights), weights).T, axis=1)
    largest = np.zeros(units.count)
    inside = units.of_column >= 0
    np.maximum.at(largest, units.of_column[inside], along[inside])
    kept = np.zeros(X.shape[1], bool)
    kept[units.columns_of(np.sort(best_first(largest, count)))] = True
    return kept


def _standardised(X: Floats, weights: Floats) -> Floats:
    """Columns of mean 0 and variance 1, or 0 where they do not vary; missing entries are 0."""
    weights = weights / weights.sum()
    means = present_means(X, weights)
    if means is not None:
        X = np.where(np.isnan(X), means, X)
    X = X - weights @ X
    deviation = np.sqrt(weights @ X**2)
    varies = deviation > np.finfo(np.float32).eps * np.abs(X).max(axis=0)
    return np.asarray(np.where(varies, X, 0.0) / np.where(varies, deviation, 1.0))
