"""The exact step: leave out, one after another, the unit that ridge regression misses least.

With ``H = (C + ridge I)^-1`` and coefficients ``B = H b``, leaving out the columns g costs
``B_g^T H_gg^-1 B_g`` of explained variance, and H and B without them follow by a rank-|g| update.
While many units are present a few go at once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from featgrad.arrays import Flags, Floats, Indices, Singles
from featgrad.moments.array_api import is_foreign, namespace, placed_like, to_numpy
from featgrad.moments.folds import Totals, stacked
from featgrad.plan import ELIMINATED_AT_ONCE
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


def eliminate(
    totals: Totals, units: Units, budget: float, ridge: float, advantage: Floats | None = None
) -> Flags:
    """Leave out units until the rest fits the budget, then refill it; kept units stay.

    An advantage of some units is added to the square roots of their losses.
    """
    everything, names = units, np.arange(units.count)
    H, B = _ridge_regression(totals, ridge)
    is_present, left_out = np.ones(units.count, bool), list[int]()
    excess = float(units.costs.sum()) - budget
    while excess > 1e-9 * budget and np.any(is_free := is_present & ~units.kept):
        losses = _losses(H, B, units)
        if advantage is not None:
            losses = (np.sqrt(losses) + advantage[names]) ** 2
        losses = np.where(is_free, losses / units.costs, np.inf)
        going = _cheapest(losses, int(np.count_nonzero(is_present)), units.costs, excess)
        excess -= float(units.costs[going].sum())
        left_out += names[going].tolist()
        leaving = np.zeros(units.count, bool)
        leaving[going] = True
        gone = units.members(leaving)
        out = H[gone]
        inner = np.linalg.solve(out[:, gone], out)
        B -= inner.T @ B[gone]
        H -= out.T @ inner
        # What is gone explains nothing of the rest.
        H[gone, gone] = 1.0
        is_present &= ~leaving
        if 2 * np.count_nonzero(is_present) < units.count:
            rest = np.flatnonzero(is_present)
            units, staying = units.only(rest)
            H, B = H[np.ix_(staying, staying)], B[staying]
            names, is_present = names[rest], is_present[rest]
    # The last to go comes back first, where a dearer unit has left room for it.
    scores = np.full(everything.count, float(everything.count))
    scores[left_out] = np.arange(len(left_out))
    return everything.best_within(scores, budget)


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
    return Remaining(np.flatnonzero(chosen), columns, H, _losses(H, B, inner))


def _ridge_regression(totals: Totals, ridge: float) -> tuple[Singles, Singles]:
    """``(C + ridge I)^-1`` and the coefficients.

    Single precision will do: the ridge leaves condition numbers of some thousands at most.
    """
    penalised = to_numpy(totals.covariance).astype(np.float32)
    penalised[np.diag_indices(len(penalised))] += np.float32(ridge)
    factor, _ = lapack.spotrf(penalised, lower=True, overwrite_a=True)
    triangle, _ = lapack.spotri(factor, lower=True, overwrite_c=True)
    below = np.tril(triangle, -1)
    H = np.ascontiguousarray(below + below.T + np.diag(np.diagonal(triangle)))
    return H, H @ totals.cross.astype(np.float32)


def _cheapest(losses: Floats, n_present: int, costs: Floats, excess: float) -> Indices:
    """Units to leave out next: the one whose loss is smallest, and a few more of many."""
    count = min(max(1, n_present // ELIMINATED_AT_ONCE), int(np.count_nonzero(losses < np.inf)))
    # Of equal losses the later columns go first.
    going = len(losses) - 1 - np.argsort(losses[::-1], kind="stable")[:count]
    # No more of them than the budget asks for.
    before = np.cumsum(costs[going]) - costs[going]
    return going[before < excess]


def _losses(H: Singles, B: Singles, units: Units) -> Floats:
    """Explained variance that would be lost without each unit."""
    # Right for units of one column; wider ones are overwritten below, by their width.
    losses = units.total(np.sum(B**2, axis=1) / np.diagonal(H))
    widths = np.bincount(units.of_column, minlength=units.count)
    if np.all(widths == 1):
        return losses
    by_unit = np.argsort(units.of_column, kind="stable")
    starts = np.cumsum(widths) - widths
    for width in np.unique(widths[widths > 1]):
        alike = np.flatnonzero(widths == width)
        columns = by_unit[starts[alike][:, None] + np.arange(width)]
        blocks = H[columns[:, :, None], columns[:, None, :]]
        losses[alike] = np.sum(B[columns] * np.linalg.solve(blocks, B[columns]), axis=(1, 2))
    return losses
