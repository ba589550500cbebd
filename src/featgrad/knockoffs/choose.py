"""The features that keep the false discovery rate."""

from typing import Any

import numpy as np
from scipy import sparse

from featgrad.arrays import Floats
from featgrad.dataset.in_memory import InMemory
from featgrad.dataset.prepare import Prepared
from featgrad.knockoffs.filter import frequencies
from featgrad.knockoffs.gaussian import Knockoffs
from featgrad.knockoffs.statistic import differences
from featgrad.math.targets import to_one_variance
from featgrad.moments.threads import one_blas_thread
from featgrad.plan import KNOCKOFF_COPIES, KNOCKOFF_MAJORITY
from featgrad.preprocess.present_means import present_means
from featgrad.search.base import Discoveries
from featgrad.search.run import Job, Outcome
from featgrad.search.units import Units


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
    """Compare each unit with its knockoffs."""
    weights, usable = prepared.weights, units.of_column >= 0
    rows = X[prepared.rows]
    # Knockoffs are dense, so that a dense copy of a sparse matrix does not change what is needed.
    rows = rows.toarray() if sparse.issparse(rows) else rows
    columns = _standardised(rows.astype(np.float64), weights)
    usable &= columns.any(axis=0)
    # Units of the usable columns, numbered.
    names, of_column = np.unique(units.of_column[usable], return_inverse=True)
    columns = np.ascontiguousarray(columns[:, usable])
    outputs = to_one_variance(prepared.target.outputs, weights)
    knockoffs = Knockoffs(columns, weights, of_column)
    statistics = np.array(
        [
            differences(columns, copies, outputs, weights, of_column, rng)
            for copies in knockoffs.draw(KNOCKOFF_COPIES, rng)
        ]
    )
    often = frequencies(statistics, fdr)

    def spread(of_units: Floats) -> Floats:
        every = np.zeros(units.count)
        every[names] = of_units
        return np.where(usable, units.spread(every, 0.0), 0.0)

    return Discoveries(
        fdr,
        spread(statistics.mean(axis=0)),
        spread(often),
        spread(often) > KNOCKOFF_MAJORITY,
        usable,
    )


def _standardised(X: Floats, weights: Floats) -> Floats:
    """Columns of mean 0 and variance 1, or 0 where they do not vary; missing entries are 0."""
    means = present_means(X, weights)
    if means is not None:
        X = np.where(np.isnan(X), means, X)
    X = X - weights @ X
    deviation = np.sqrt(weights @ X**2)
    varies = deviation > np.finfo(np.float32).eps * np.abs(X).max(axis=0)
    return np.asarray(np.where(varies, X, 0.0) / np.where(varies, deviation, 1.0))
