"""The exact step: leave out, one after another, the unit that ridge regression misses least.

With ``H = (C + ridge I)^-1`` and coefficients ``B = H b``, leaving out the columns g costs
``B_g^T H_gg^-1 B_g`` of explained variance, and H and B without them follow by a rank-|g| update.
While many units are present a few go at once.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from featgrad.arrays import Flags, Floats, Indices, Singles
from featgrad.moments.array_api import is_foreign, namespace, placed_like, to_numpy
from featgrad.moments.folds import Totals, stacked
from featgrad.plan import ELIMINATED_AT_ONCE
from featgrad.search.elimination_kernels import leave_out, loss
from featgrad.search.units import Units


class Remaining(NamedTuple):
    """Ridge regression on chosen units.

    Attributes
    ----------
    units : ndarray of int
        The units, rising.
    columns : ndarray of int
        Their columns, rising.
    inverse : ndarray of shape (columns, columns)
        ``(C + ridge I)^-1`` of these columns.
    losses : ndarray of shape (units,)
        Explained variance that would be lost without each of them.
    """

    units: Indices
    columns: Indices
    inverse: Singles
    losses: Floats


class Elimination(NamedTuple):
    """Asks for `eliminate`."""

    totals: Totals
    units: Units
    budget: float
    ridge: float

    @staticmethod
    def answers(questions: "Sequence[Elimination]") -> list[Flags]:
        on_device = is_foreign(questions[0].totals.covariance)
        if on_device and all(question.units.are_single_columns for question in questions):
            return eliminate_together(questions)
        return [eliminate(*question) for question in questions]


def eliminate(totals: Totals, units: Units, budget: float, ridge: float) -> Flags:
    """Leave out units until the rest fits the budget, then refill it; kept units stay."""
    H, B = _ridge_regression(totals, ridge)
    excess = float(units.costs.sum()) - budget
    first, columns = units.columns_of_each()
    going = leave_out(H, B, first, columns, units.costs, units.kept, excess, ELIMINATED_AT_ONCE)
    # The last to go comes back first, where a dearer unit has left room for it.
    scores = np.full(units.count, float(units.count))
    scores[going] = np.arange(len(going))
    return units.best_within(scores, budget)


def eliminate_together(questions: Sequence[Elimination]) -> list[Flags]:
    """The same for single columns, of all questions at once: H keeps its size, in double."""
    totals, units, budgets, ridges = zip(*questions, strict=True)
    present, budget = np.array([own.count for own in units]), np.array(budgets)
    C, b = stacked(totals, ridges, present.max())
    xp, sets = namespace(C), placed_like(C, np.arange(len(units))[:, None])
    free = np.zeros((len(units), present.max()), bool)
    for flags, own in zip(free, units, strict=True):
        flags[: own.count] = ~own.kept[own.of_column]
    H = xp.linalg.inv(C)
    B, stay, least = H @ b, placed_like(C, ~free), np.maximum(present - free.sum(1), budget)
    while np.any(present > least * (1 + 1e-9)):
        excess = np.ceil(present - least * (1 + 1e-9)).astype(int).clip(0)
        counts = np.minimum(np.maximum(1, present // ELIMINATED_AT_ONCE), excess)
        leaves = placed_like(C, np.arange(counts.max()) < counts[:, None])
        losses = xp.where(stay, xp.inf, (B * B).sum(2) / xp.linalg.diagonal(H))
        # Of equal losses the later columns go first.
        last_first = xp.argsort(xp.flip(losses, axis=1), axis=1)[:, : counts.max()]
        going = losses.shape[1] - 1 - last_first
        out = xp.where(leaves[:, :, None], H[sets, going], 0.0)
        both = leaves[:, :, None] & leaves[:, None]
        among = xp.permute_dims(out, (0, 2, 1))[sets, going]
        inner = xp.linalg.solve(xp.where(both, among, placed_like(C, np.eye(counts.max()))), out)
        across = xp.permute_dims(inner, (0, 2, 1))
        B -= across @ B[sets, going]
        H -= across @ out
        stay[sets, going] |= leaves
        present = present - counts
    left_in = ~(to_numpy(stay) & free)
    return [flags[np.argsort(own.of_column)] for flags, own in zip(left_in, units, strict=True)]


def remaining(totals: Totals, units: Units, chosen: Flags, ridge: float) -> Remaining:
    """Ridge regression on the columns of the chosen units."""
    inner, columns = units.only(np.flatnonzero(chosen))
    H, B = _ridge_regression(totals.columns(columns), ridge)
    first, members = inner.columns_of_each()
    losses = [loss(H, B, members[start:stop]) for start, stop in itertools.pairwise(first)]
    return Remaining(np.flatnonzero(chosen), columns, H, np.array(losses))


def _ridge_regression(totals: Totals, ridge: float) -> tuple[Singles, Singles]:
    """``(C + ridge I)^-1`` and the coefficients.

    Single precision will do: the ridge is a good part of the largest eigenvalue.
    """
    penalised = to_numpy(totals.covariance).astype(np.float32)
    penalised[np.diag_indices(len(penalised))] += np.float32(ridge)
    factor, _ = lapack.spotrf(penalised, lower=True, overwrite_a=True)
    triangle, _ = lapack.spotri(factor, lower=True, overwrite_c=True)
    below = np.tril(triangle, -1)
    H = np.ascontiguousarray(below + below.T + np.diag(np.diagonal(triangle)))
    return H, H @ totals.cross.astype(np.float32)
