"""The exact step: leave out, one after another, the unit that ridge regression misses least.

With ``H = (C + ridge I)^-1`` and coefficients ``B = H b``, leaving out the columns g costs
``B_g^T H_gg^-1 B_g`` of explained variance, and H and B without them follow by a rank-|g| update.
While many units are present a few go at once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from featgrad._support.array_api import is_foreign, namespace, placed_like, to_numpy
from featgrad._support.types import Flags, Floats, Indices, Singles
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
    losses : ndarray of shape (units,)
        Explained variance that would be lost without each of them.
    """

    units: Indices
    columns: Indices
    losses: Floats


class Elimination(NamedTuple):
    """What `eliminate` takes."""

    totals: Totals
    units: Units
    budget: float
    ridge: float


def eliminate_all(tasks: Sequence[Elimination]) -> list[Flags]:
    """One by one or, single columns on an accelerator, all at once."""
    on_device = bool(tasks) and is_foreign(tasks[0].totals.matrix)
    if on_device and all(task.units.are_single_columns for task in tasks):
        return eliminate_together(tasks)
    return [eliminate(*task) for task in tasks]


def eliminate(
    totals: Totals, units: Units, budget: float, ridge: float, advantage: Floats | None = None
) -> Flags:
    """Leave out units until the rest fits the budget, then refill it; kept units stay.

    An advantage of some units is added to the square roots of their losses.
    """
    everything, names = units, np.arange(units.count)
    regression = (
        _RowRegression(totals, ridge)
        if totals.has_few_rows and units.are_single_columns
        else _ColumnRegression(totals, ridge)
    )
    is_free, left_out = ~units.kept, list[int]()
    n_present, excess = units.count, float(units.costs.sum()) - budget
    n_free = int(np.count_nonzero(is_free))
    while excess > 1e-9 * budget and n_free:
        losses = regression.losses(units)
        if advantage is not None:
            losses = (np.sqrt(losses) + advantage[names]) ** 2
        losses = np.where(is_free, losses / units.costs, np.inf)
        count = min(max(1, n_present // ELIMINATED_AT_ONCE), n_free)
        going = _cheapest(losses, count, units.costs, excess)
        is_free[going] = False
        excess -= float(units.costs[going].sum())
        n_present, n_free = n_present - len(going), n_free - len(going)
        left_out += names[going].tolist()
        regression.leave_out(units.columns_of(going))
        if 4 * n_present < 3 * units.count:
            rest = np.flatnonzero(is_free | units.kept)
            units, staying = units.only(rest)
            regression.keep(staying)
            names, is_free = names[rest], is_free[rest]
    # The last to go comes back first, where a dearer unit has made that possible.
    scores = np.full(everything.count, float(everything.count))
    scores[left_out] = np.arange(len(left_out))
    return everything.best_within(scores, budget)


class _ColumnRegression:
    """Ridge regression by H, of which the lower triangle is kept up to date."""

    def __init__(self, totals: Totals, ridge: float) -> None:
        self._H = _lower_inverse(totals, ridge)
        self._B = _symmetric(self._H) @ totals.cross.astype(np.float32)

    def losses(self, units: Units) -> Floats:
        return _losses(self._H, self._B, units)

    def leave_out(self, gone: Indices) -> None:
        """With ``H_gg = L L^T``: H and B lose ``W^T W`` and ``W^T L^-1 B_g``, ``W = L^-1 H_g:``."""
        H, B = self._H, self._B
        is_below = np.arange(len(H)) <= gone[:, None]
        out = np.where(is_below, H[gone], H[:, gone].T)
        factor, _ = lapack.spotrf(out[:, gone], lower=True)
        W, _ = lapack.strtrs(factor, out, lower=True)
        along, _ = lapack.strtrs(factor, B[gone], lower=True)
        B -= W.T @ along
        blas.ssyrk(-1.0, W, beta=1.0, c=H.T, trans=True, overwrite_c=True)
        # What is gone explains nothing of the rest.
        H[gone, gone] = 1.0

    def keep(self, staying: Indices) -> None:
        self._H, self._B = self._H[np.ix_(staying, staying)], self._B[staying]


class _RowRegression:
    """The same for single columns of fewer rows.

    With rows X and ``K = X X^T + ridge I``, ``ridge H = I - X^T K^-1 X``, whose diagonal is kept.
    For columns g let ``L L^T = ridge H_gg`` and ``V = L^-1 X_g^T K^-1``: without them ``K^-1``
    gains ``V^T V``, B gains ``(V X)^T L^-1 B_g`` and the diagonal loses the squares of ``V X``.
    """

    def __init__(self, totals: Totals, ridge: float) -> None:
        self._columns = np.ascontiguousarray(totals.rows.T)
        columns = self._columns.astype(np.float64)
        self._inverse = np.linalg.inv(columns.T @ columns + ridge * np.eye(columns.shape[1]))
        along = columns @ self._inverse
        self._left = 1 - np.sum(along * columns, axis=1)
        self._B = (totals.cross - along @ (columns.T @ totals.cross)) / ridge
        self._ridge = ridge

    def losses(self, units: Units) -> Floats:
        return units.total(np.add.reduce(self._B**2, axis=1) / self._left * self._ridge)

    def leave_out(self, gone: Indices) -> None:
        own = self._columns[gone].astype(np.float64)
        through = own @ self._inverse
        factor, _ = lapack.dpotrf(np.eye(len(gone)) - through @ own.T, lower=True)
        V, _ = lapack.dtrtrs(factor, through, lower=True)
        along, _ = lapack.dtrtrs(factor, self._B[gone], lower=True)
        # This product takes most of the time: single precision will do.
        VX = V.astype(np.float32) @ self._columns.T
        self._inverse += V.T @ V
        self._B += VX.T @ along.astype(np.float32)
        self._left -= np.add.reduce(VX * VX, axis=0)
        self._left[gone] = 1.0

    def keep(self, staying: Indices) -> None:
        self._columns, self._B = self._columns[staying], self._B[staying]
        self._left = self._left[staying]


def eliminate_together(tasks: Sequence[Elimination]) -> list[Flags]:
    """The same for single columns, of all tasks at once: H keeps its size, in double."""
    totals, units, budgets, ridges = zip(*tasks, strict=True)
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
    own = totals.columns(columns)
    H = _symmetric(_lower_inverse(own, ridge))
    B = H @ own.cross.astype(np.float32)
    return Remaining(np.flatnonzero(chosen), columns, _losses(H, B, inner))


def _lower_inverse(totals: Totals, ridge: float) -> Singles:
    """The lower triangle of ``(C + ridge I)^-1``.

    Single precision will do: the ridge leaves condition numbers of some thousands at most.
    """
    penalised = to_numpy(totals.covariance).astype(np.float32)
    penalised[np.diag_indices(len(penalised))] += np.float32(ridge)
    factor, _ = lapack.spotrf(penalised.T, overwrite_a=True)
    triangle, _ = lapack.spotri(factor, overwrite_c=True)
    return np.asarray(triangle.T)


def _symmetric(lower: Singles) -> Singles:
    """With the upper triangle, which is zero, filled in."""
    full = lower + lower.T
    np.einsum("ii->i", full)[:] = lower.diagonal()
    return full


def _cheapest(losses: Floats, count: int, costs: Floats, excess: float) -> Indices:
    """So many units to leave out next, those whose losses are smallest."""
    # Of equal losses the later columns go first.
    if count == 1:
        return np.array([len(losses) - 1 - losses[::-1].argmin()])
    going = len(losses) - 1 - losses[::-1].argsort(kind="stable")[:count]
    # No more of them than the budget asks for.
    before = np.cumsum(costs[going]) - costs[going]
    return going[before < excess]


def _losses(H: Singles, B: Singles, units: Units) -> Floats:
    """Explained variance that would be lost without each unit."""
    # Right for units of one column; wider ones are overwritten below, by their width.
    losses = units.total(np.add.reduce(B * B, axis=1) / H.diagonal())
    if units.are_single_columns:
        return losses
    widths = np.bincount(units.of_column, minlength=units.count)
    by_unit = np.argsort(units.of_column, kind="stable")
    starts = np.cumsum(widths) - widths
    for width in np.unique(widths[widths > 1]):
        alike = np.flatnonzero(widths == width)
        columns = by_unit[starts[alike][:, None] + np.arange(width)]
        pairs = columns[:, :, None], columns[:, None, :]
        blocks = H[np.maximum(*pairs), np.minimum(*pairs)]
        losses[alike] = np.sum(B[columns] * np.linalg.solve(blocks, B[columns]), axis=(1, 2))
    return losses
