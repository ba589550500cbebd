"""The exact steps: units leave or, as another start for swaps, enter one after the other.

Elimination leaves out, one after another, the unit that ridge regression misses least.

With ``H = (C + ridge I)^-1`` and coefficients ``B = H b``, leaving out the columns g costs
``B_g^T H_gg^-1 B_g`` of explained variance, and H and B without them follow by a rank-|g| update.
While many units are present a few go at once.

Units of several columns explain more by chance than single ones, and lose as much on new rows: of
noise with the variance v of n rows about ``v / n w``, ``w = |g| - ridge tr H_gg``. Twice that of
w - 1 is taken off their losses, as by Mallows' C_p: what new rows gain is compared.

Forward selection knows nothing of the descent. Columns that sum to a constant, as those of a
category do, explain the same in many ways: where the descent begins with the wrong ones, neither
elimination nor swaps of one column lead out of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from featgrad._support import Flags, Floats, Indices, Singles
from featgrad._support.array_api import is_foreign, namespace, placed_like, to_numpy
from featgrad.moments.folds import Totals, stacked
from featgrad.plan import ELIMINATED_AT_ONCE
from featgrad.search.units import Units


class Candidates(NamedTuple):
    """Units to choose from within a budget."""

    totals: Totals
    units: Units
    candidates: Indices
    budget: float
    ridge: float
    # Is added to the square roots of the losses of candidates.
    advantage: Floats | None = None


def eliminate(tasks: Sequence[Candidates]) -> list[Flags]:
    """Leave out candidates until the rest fits the budget, then refill it; kept units stay.

    One task after the other or, single columns on an accelerator, all at once.
    """
    at_once = bool(tasks) and is_foreign(tasks[0].totals.matrix)
    at_once = at_once and all(task.units.are_single_columns for task in tasks)
    left_in = _columns_at_once(tasks) if at_once else [_units_of(task) for task in tasks]
    chosen = [np.zeros(task.units.count, bool) for task in tasks]
    for flags, task, own in zip(chosen, tasks, left_in, strict=True):
        flags[task.candidates[own]] = True
    return chosen


def _units_of(task: Candidates) -> Flags:
    """The candidates of one task that are left."""
    units, columns = task.units.only(task.candidates)
    everything = units
    names, budget = np.arange(units.count), task.budget
    totals = task.totals.columns(columns)
    H = _inverse(totals, task.ridge)
    B = H @ totals.cross.astype(np.float32)
    noise = 0.0 if units.count == len(columns) else _noise(totals, H, B, task.ridge)
    is_free, left_out = ~units.kept, list[int]()
    n_present, excess = units.count, float(units.costs.sum()) - budget
    n_free = int(np.count_nonzero(is_free))
    while excess > 1e-9 * budget and n_free:
        losses = unit_losses(H, B, units)
        if task.advantage is not None:
            losses = (np.sqrt(losses) + task.advantage[names]) ** 2
        if noise:
            widths = units.total(1 - task.ridge * H.diagonal().astype(np.float64))
            losses -= 2 * noise * np.maximum(widths - 1, 0)
        losses = np.where(is_free, losses / units.costs, np.inf)
        count = min(max(1, n_present // ELIMINATED_AT_ONCE), n_free)
        # Of equal losses the later columns go first.
        going = len(losses) - 1 - losses[::-1].argsort(kind="stable")[:count]
        # No more of them than the budget asks for.
        costs = units.costs[going]
        going = going[costs.cumsum() - costs < excess]
        is_free[going] = False
        excess -= float(units.costs[going].sum())
        n_present, n_free = n_present - len(going), n_free - len(going)
        left_out += names[going].tolist()
        _leave_out(H, B, units.columns_of(going))
        if 4 * n_present < 3 * units.count:
            rest = np.flatnonzero(is_free | units.kept)
            units, staying = units.only(rest)
            H, B = H[np.ix_(staying, staying)], B[staying]
            names, is_free = names[rest], is_free[rest]
    # The last to go comes back first, where a dearer unit has made that possible.
    scores = np.full(everything.count, float(everything.count))
    scores[left_out] = np.arange(len(left_out))
    return everything.best_within(scores, budget)


def _leave_out(H: Singles, B: Singles, gone: Indices) -> None:
    """With ``H_gg = L L^T``: H and B lose ``W^T W`` and ``W^T L^-1 B_g``, ``W = L^-1 H_g:``.

    Of H only the lower triangle is kept up to date.
    """
    out = np.where(np.arange(len(H)) <= gone[:, None], H[gone], H[:, gone].T)
    factor, _ = lapack.spotrf(out[:, gone], lower=True)
    W, _ = lapack.strtrs(factor, out, lower=True)
    along, _ = lapack.strtrs(factor, B[gone], lower=True)
    B -= W.T @ along
    blas.ssyrk(-1.0, W, beta=1.0, c=H.T, trans=True, overwrite_c=True)
    # What is gone explains nothing of the rest.
    H[gone, gone] = 1.0


def _columns_at_once(tasks: Sequence[Candidates]) -> list[Flags]:
    """The same for single columns, of all tasks at once: H keeps its size, in double."""
    units = [task.units.only(task.candidates)[0] for task in tasks]
    budget = np.array([task.budget for task in tasks])
    present = np.array([own.count for own in units])
    totals = [task.totals.columns(task.candidates) for task in tasks]
    C, b = stacked(totals, [task.ridge for task in tasks], present.max())
    xp, sets = namespace(C), placed_like(C, np.arange(len(units))[:, None])
    free = np.zeros((len(units), present.max()), bool)
    for flags, own in zip(free, units, strict=True):
        flags[: own.count] = ~own.kept
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
    return [flags[: own.count] for flags, own in zip(left_in, units, strict=True)]


class Remaining(NamedTuple):
    """Ridge regression on chosen units."""

    units: Indices  # rising
    columns: Indices  # of the units, rising
    losses: Floats  # explained variance that would be lost without each unit


def remaining(totals: Totals, units: Units, chosen: Flags, ridge: float) -> Remaining:
    """Ridge regression on the columns of the chosen units."""
    inner, columns = units.only(np.flatnonzero(chosen))
    own = totals.columns(columns)
    H = _inverse(own, ridge)
    losses = unit_losses(H, H @ own.cross.astype(np.float32), inner)
    return Remaining(np.flatnonzero(chosen), columns, losses)


def _inverse(totals: Totals, ridge: float) -> Singles:
    """``(C + ridge I)^-1``.

    Single precision will do: the ridge leaves condition numbers of some thousands at most.
    """
    if totals.has_few_rows:  # ridge H = I - X^T (X X^T + ridge I)^-1 X
        rows = totals.rows.astype(np.float64)
        factor, _ = lapack.dpotrf(rows @ rows.T + ridge * np.eye(len(rows)), lower=True)
        V, _ = lapack.dtrtrs(factor, rows, lower=True)
        return np.asarray((np.eye(V.shape[1]) - V.T @ V) / ridge, np.float32)
    penalised = to_numpy(totals.covariance).astype(np.float32)
    penalised[np.diag_indices(len(penalised))] += np.float32(ridge)
    factor, _ = lapack.spotrf(penalised.T, overwrite_a=True)
    triangle, _ = lapack.spotri(factor, overwrite_c=True)
    return np.ascontiguousarray(triangle + np.triu(triangle, 1).T)


def _noise(totals: Totals, H: Singles, B: Singles, ridge: float) -> float:
    """What a column of noise explains, by the rows that ridge regression leaves free."""
    freedom = totals.n_effective - float(np.sum(1 - ridge * H.diagonal()))
    left = totals.variance - float(np.sum(B * to_numpy(totals.cross)))
    return max(left, 0.0) / max(freedom, 1.0)


def unit_losses(H: Floats | Singles, B: Floats | Singles, units: Units) -> Floats:
    """Explained variance that would be lost without each unit, from the lower triangle of H."""
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
        blocks = np.tril(H[columns[:, :, None], columns[:, None, :]])
        blocks += np.tril(blocks, -1).mT
        losses[alike] = np.sum(B[columns] * np.linalg.solve(blocks, B[columns]), axis=(1, 2))
    return losses


def forward(totals: Totals, units: Units, size: int, ridge: float) -> tuple[Flags, float]:
    """Kept units, and up to a size the one each time that explains most beyond those before.

    Returns them, and what they explain.
    """
    rest, inside = _Rest(totals, units, ridge), np.zeros(units.count, bool)
    for _ in range(size):
        gains = np.where(units.kept, np.inf, rest.gains())
        best = int(np.argmax(np.where(inside, -np.inf, gains)))
        inside[best] = True
        rest.take(best)
    return inside, rest.explained


class _Rest:
    """What chosen columns leave of the others and of the outputs.

    With rows L of the Cholesky factor of ``C + ridge I`` of the chosen columns, the columns g of a
    unit have ``C_gg + ridge I - L_:g^T L_:g`` of their own and leave ``l_g = b_g - L_:g^T L^-T b``:
    they explain ``l_g^T (..)^-1 l_g``.
    """

    def __init__(self, totals: Totals, units: Units, ridge: float) -> None:
        self._totals, self._ridge, self._is_gram = totals, ridge, not totals.has_few_rows
        matrix = totals.covariance if self._is_gram else totals.rows
        self._matrix, self._left = to_numpy(matrix).astype(np.float64), totals.cross.astype(float)
        self._factor, self.explained = np.zeros((0, len(self._left))), 0.0
        # Units of the same number of columns, these, and what each unit has of its own.
        widths = np.bincount(units.of_column, minlength=units.count)
        by_unit = np.argsort(units.of_column, kind="stable")
        self._columns = np.split(by_unit, np.cumsum(widths)[:-1])
        self._alike = [np.flatnonzero(widths == width) for width in np.unique(widths)]
        self._places = [np.array([self._columns[i] for i in alike]) for alike in self._alike]
        self._own = [self._among(places) for places in self._places]

    def gains(self) -> Floats:
        """What each unit would explain; of wide ones less twice that of noise, see elimination."""
        found, noise = np.empty(len(self._columns)), self._totals.variance - self.explained
        noise = max(noise, 0.0) / max(self._totals.n_effective - len(self._factor), 1.0)
        for alike, places, own in zip(self._alike, self._places, self._own, strict=True):
            left, width = self._left[places], places.shape[1]
            along = left / own if width == 1 else np.linalg.solve(own, left)
            found[alike] = np.sum(left * along, axis=(1, 2)) - 2 * noise * (width - 1)
        return found

    def take(self, unit: int) -> None:
        """Choose a unit."""
        for column in self._columns[unit]:
            known = self._matrix
            row = known[column] if self._is_gram else known.T @ known[:, column]
            row = row - self._factor[:, column] @ self._factor
            row[column] += self._ridge
            share = self._left[column] / np.sqrt(row[column])
            row /= np.sqrt(row[column])
            self.explained += float(np.sum(share**2))
            self._left -= np.outer(row, share)
            self._factor = np.vstack([self._factor, row])
            for places, own in zip(self._places, self._own, strict=True):
                own -= row[places][:, :, None] * row[places][:, None]
        for alike, own in zip(self._alike, self._own, strict=True):
            own[alike == unit] = np.eye(own.shape[1])

    def _among(self, places: Indices) -> Floats:
        """Products of the columns of each unit with each other, and the ridge."""
        if self._is_gram:
            products = self._matrix[places[:, :, None], places[:, None]]
        else:
            rows = self._matrix[:, places]
            products = np.einsum("nud,nue->ude", rows, rows)
        return np.asarray(products + self._ridge * np.eye(places.shape[1]))
