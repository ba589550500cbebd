"""The estimate with its standard error, from the sweeps themselves.

The exact leave-one-row-out jackknife costs nothing beyond a pair of sweeps: the paths through a
row are the products of its two vectors. For a statistic of degree c the jackknife overstates the
variance c-fold, which matters where features outnumber rows. How much it does so is measured on
targets with random signs, whose true value is 0: there the variance shows directly.

The same replicates tell which order the rows can bear: all orders come from the same moments, and
the highest is taken whose noise is not out of proportion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from featgrad.arrays import Floats
from featgrad.math.normalise import tuple_weights
from featgrad.moments.problem import Problem
from featgrad.moments.sweeps import TwoSweeps

_REPLICATES = 32
# As many tell already where what they measure hardly counts: at most this share of the jackknife's
# variance.
_FIRST = 8
_HARDLY = 0.1
# An order whose noise alone is this large a share of the target's variance tells nothing.
_BEARABLE_NOISE = 0.1
# Replicates are outputs of one pair of sweeps as far as what they need per row and per feature
# stays within this many floats.
_MAX_FLOATS = 1 << 21


class Measured(NamedTuple):
    value: float
    standard_error: float
    order: int


def measure(problem: Problem, mask: Floats) -> Measured:
    """Estimate with the highest of the problem's filters that its rows can bear."""
    candidates = problem.candidates
    value, jackknife = _replicates(problem, mask, candidates, problem.outputs)
    null_values, null_jackknife = _null(problem, mask, candidates, jackknife[0])
    null = np.mean(null_values**2, axis=0)
    chosen = _highest_bearable(null, _BEARABLE_NOISE)
    excess = np.mean(null_jackknife, axis=0) - null
    variance = max(float(jackknife[0, chosen] - excess[chosen]), float(null[chosen]))
    order = problem.order - len(candidates) + chosen + 1
    return Measured(float(value[0, chosen]), math.sqrt(variance), order)


def _highest_bearable(null_variance: Floats, noise: float) -> int:
    bearable = np.flatnonzero(np.sqrt(null_variance) <= noise)
    return int(np.max(bearable, initial=0))


def _null(
    problem: Problem, mask: Floats, candidates: Floats, jackknife: Floats
) -> tuple[Floats, Floats]:
    """Estimates and their jackknife variances for targets with random signs."""
    values = variances = np.zeros((0, len(candidates)))
    for outputs in _sign_flips(problem):
        more_values, more_variances = _replicates(problem, mask, candidates, outputs)
        values = np.concatenate([values, more_values])
        variances = np.concatenate([variances, more_variances])
        if len(values) >= _FIRST and _hardly_count(values, variances, jackknife):
            break
    return values, variances


def _hardly_count(values: Floats, variances: Floats, jackknife: Floats) -> bool:
    """Whether noise neither changes the standard error nor rules out an order."""
    null = np.mean(values**2, axis=0)
    larger = np.maximum(null, np.mean(variances, axis=0))
    bearable = np.sqrt(null) <= _BEARABLE_NOISE / 2
    return bool(np.all((larger <= _HARDLY * jackknife) & bearable))


def _sign_flips(problem: Problem) -> Iterator[Floats]:
    """Targets with random signs, as many side by side as fit."""
    rng = np.random.default_rng(0)
    n_rows, n_outputs = problem.outputs.shape
    room = _MAX_FLOATS // (max(n_rows, problem.n_features) * problem.order * n_outputs)
    made = 0
    while made < _REPLICATES:
        wanted = (_FIRST if made < _FIRST else _REPLICATES) - made
        count = int(np.clip(room, 1, wanted))
        made += count
        signs = rng.choice([-1.0, 1.0], size=(n_rows, count))
        outputs = signs[:, :, None] * problem.outputs[:, None, :]
        yield outputs.reshape(n_rows, -1)


def _replicates(
    problem: Problem, mask: Floats, candidates: Floats, outputs: Floats
) -> tuple[Floats, Floats]:
    """Estimates and jackknife variances, both (replicates, filters).

    `outputs` hold whole replicates of the target side by side.
    """
    sweeps, raw = _raw(problem, mask, outputs)
    n_rows, n_outputs = problem.outputs.shape
    through = sweeps.paths_through_rows().reshape(n_rows, problem.order, -1, n_outputs)
    variances = [
        _jackknife(problem, candidates, raw[:, i], through[:, :, i].sum(axis=2))
        for i in range(raw.shape[1])
    ]
    return _values(problem, candidates, raw), np.array(variances)


def _raw(problem: Problem, mask: Floats, outputs: Floats) -> tuple[TwoSweeps, Floats]:
    """The sweeps for some replicates and their raw moments, shape (order, replicates)."""
    sweeps = replace(problem, outputs=outputs).sweeps(mask)
    n_outputs = problem.outputs.shape[1]
    return sweeps, sweeps.moments().reshape(problem.order, -1, n_outputs).sum(axis=2)


def _values(problem: Problem, candidates: Floats, raw: Floats) -> Floats:
    """Estimates, shape (replicates, filters)."""
    divisor = tuple_weights(problem.weights, problem.order) * problem.variance
    return (candidates @ (raw / divisor[:, None])).T


def _jackknife(problem: Problem, candidates: Floats, raw: Floats, through: Floats) -> Floats:
    """Variance of each filter's estimate from its values with each row left out in turn."""
    weights = problem.weights
    # e_(i+2) of the other rows is 0 where they are too few for a tuple, which then adds nothing.
    left = problem.without_each
    moments = np.divide(raw - through, left, out=np.zeros_like(through), where=left > 0)
    # The target's variance is estimated from the same rows and shrinks with them.
    squares = np.sum(problem.outputs**2, axis=1)
    variance = (problem.variance - weights * squares) / (1 - weights)
    share = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > 0)
    values = (moments @ candidates.T) * share[:, None]
    influence = (weights @ values - values) * (1 - weights)[:, None]
    n_rows = len(weights)
    return np.asarray(np.sum(influence**2, axis=0) * n_rows / (n_rows - 1))
