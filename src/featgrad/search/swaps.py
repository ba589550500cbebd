"""The exact choice: elimination, then swaps of one column for another while they pay.

Swaps are made where rows are many relative to the set: the best one, and so on until none brings
more than chance, which is what the best of so many columns of noise would explain.

Smaller swaps follow the noise where many columns explain a little each, as words do. They are made
only if they end in a complete set: each of its columns explains more than chance, and no other
column does. Where rows are fewer, that is asked of all swaps, and that together they bring more
than chance for each column that comes in.

Where forward selection brings clearly more than that, its set takes the place of the other one,
and is swapped in turn.

Where a part of the set is complete already, the rest of it would be columns that happen to fit the
noise. Those that explain most by themselves take their places: they do less harm.

For a set A let ``H = (C_AA + ridge I)^-1``, ``B = H b_A`` and ``M = C_:A H``; column m leaves
``l_m = b_m - C_mA B`` of the target and ``o_m = C_mm - M_m C_Am`` of itself unexplained. With j out
of A these become ``l_m + M_mj B_j / H_jj`` and ``o_m + M_mj^2 / H_jj``, and m explains
``l_m^2 / o_m`` beyond the rest; j itself explains ``B_j^2 / H_jj``. All pairs come out at once.

Units of several columns are swapped by the same formulas with the blocks of their columns in place
of numbers, worked out anew after each swap.

After a swap of columns everything follows by corrections of rank two. Without j, H loses
``h_j h_j^T / H_jj`` and M ``M_:j h_j^T / H_jj``. With m in its place let ``w = H C_Am``, and -1 at
the place of m, and ``e_d = C_dm - M_d C_Am``: H gains ``w w^T / o_m``, M loses ``e w^T / o_m``, B
loses ``w l_m / o_m``, and the others ``e l_m / o_m`` and ``e^2 / o_m``.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import captured, is_foreign, namespace, placed_like, to_numpy
from featgrad.moments.folds import Totals, stacked
from featgrad.plan import (
    CANDIDATES_FACTOR,
    COMPLETE_ROWS_PER_UNIT,
    FILL_ROWS_PER_UNIT,
    FORWARD_MARGIN,
    SWAP_RIDGE,
    SWAP_ROWS_PER_UNIT,
)
from featgrad.search.elimination import Candidates, eliminate, forward, unit_losses
from featgrad.search.units import Units

# What is left of a column that others explain is no less.
_LEAST = 1e-12
# A gain below this share of the variance is rounding.
_ROUNDING = 1e-9
# Swaps after which an accelerator is asked whether any set still wants one.
_AT_ONCE = 8


def choose(tasks: Sequence[Candidates]) -> list[Flags]:
    """The best of the candidates of each task within its budget, before swaps.

    A ridge takes copies of good columns for good ones. Units of unequal costs, which are not
    swapped, are therefore chosen twice: by least squares from twice the budget.
    """
    unequal = [i for i, task in enumerate(tasks) if not task.units.has_equal_costs]
    twice = {i: CANDIDATES_FACTOR * tasks[i].budget for i in unequal}
    chosen = eliminate(
        [task._replace(budget=twice.get(i, task.budget)) for i, task in enumerate(tasks)]
    )
    again = []
    for i in unequal:
        task, flags = tasks[i], chosen[i]
        n_columns = len(task.units.columns_of(np.flatnonzero(flags)))
        few = n_columns * FILL_ROWS_PER_UNIT > task.totals.n_effective
        ridge = task.ridge if few else swap_ridge(task.totals)
        again.append(task._replace(candidates=np.flatnonzero(flags), ridge=ridge))
    for i, flags in zip(unequal, eliminate(again), strict=True):
        chosen[i] = flags
    return chosen


def refine(tasks: Sequence[Candidates], chosen: Sequence[Flags]) -> list[Flags]:
    """Sets after all swaps that pay, without columns that fit noise only; kept units stay.

    Sets with fewer rows for each of their columns are left as they are unless swaps complete them,
    those with very few and sets of units of unequal costs in any case.
    """
    found, swapping, incomplete = list(chosen), list[int](), list[int]()
    for i, (task, own) in enumerate(zip(tasks, chosen, strict=True)):
        size, n_effective = int(np.count_nonzero(own)), task.totals.n_effective
        few = size * FILL_ROWS_PER_UNIT > n_effective
        if task.units.has_equal_costs and not task.units.are_single_columns:
            found[i] = _swapped_units(task, own)
        elif not few and size < task.units.count and task.units.are_single_columns:
            is_possible = size * COMPLETE_ROWS_PER_UNIT <= n_effective
            (swapping if is_possible else incomplete).append(i)
    sets = [Swapping(tasks[i].totals, chosen[i], tasks[i].units.kept) for i in swapping]
    for i, (careful, free) in zip(swapping, swapped(sets), strict=True):
        totals, count = tasks[i].totals, int(np.count_nonzero(free))
        significant, leaves_noise, explained = _fitted(totals, free)
        is_complete = leaves_noise and np.array_equal(significant, free)
        if not can_swap(totals.n_effective, count):
            careful = chosen[i]
            is_complete &= _exceeds_chance(tasks[i], free, explained, careful)
        found[i] = free if is_complete else careful
        incomplete += [] if is_complete else [i]
    again = _clearly_better(tasks, found)
    single = [i for i in again if tasks[i].units.are_single_columns]
    sets = [Swapping(tasks[i].totals, again[i], tasks[i].units.kept) for i in single]
    for i, (careful, _) in zip(single, swapped(sets), strict=True):
        found[i] = careful
    for i in again.keys() - set(single):
        found[i] = _swapped_units(tasks[i], again[i])
    # Then what the columns leave that explain more than chance.
    for i in incomplete:
        totals, units = tasks[i].totals, tasks[i].units
        needed = units.kept | _fitted(totals, found[i])[0]
        if can_swap(totals.n_effective, int(needed.sum())) and _fitted(totals, needed)[1]:
            explained = np.sum(totals.cross**2, axis=1) / (totals.variances + swap_ridge(totals))
            scores = np.where(needed, np.inf, explained)
            found[i] = units.best_within(scores, float(found[i].sum()))
    return found


def _clearly_better(tasks: Sequence[Candidates], chosen: Sequence[Flags]) -> dict[int, Flags]:
    """By place, what forward selection finds where that explains clearly more than a set."""
    found = {}
    for i, (task, own) in enumerate(zip(tasks, chosen, strict=True)):
        totals, units, size = task.totals, task.units, int(np.count_nonzero(own))
        count = len(units.columns_of(np.flatnonzero(own)))
        few = count * COMPLETE_ROWS_PER_UNIT > totals.n_effective
        if units.has_equal_costs and 0 < size < units.count and not few:
            other, explained = forward(totals, units, size, swap_ridge(totals))
            if _exceeds_chance(task, other, explained, own, FORWARD_MARGIN):
                found[i] = other
    return found


def _swapped_units(task: Candidates, chosen: Flags) -> Flags:
    """A set of units of several columns after swaps that bring more than chance."""
    totals, units, inside = task.totals, task.units, chosen.copy()
    C = to_numpy(totals.covariance).astype(np.float64)
    C[np.diag_indices(len(C))] += swap_ridge(totals)
    b, widths = to_numpy(totals.cross), units.total(np.ones(len(C)))
    for _ in range(int(np.count_nonzero(inside))):
        count = int(widths[inside].sum())
        if not can_swap(totals.n_effective, count):
            break
        gains, explained = _gains_of_units(C, b, units, inside)
        left = max(totals.variance - explained, 0.0)
        least = np.array([_chance(totals, count, int(width)) for width in widths])
        gains -= least * left + _ROUNDING * totals.variance
        out, into = np.unravel_index(gains.argmax(), gains.shape)
        if gains[out, into] <= 0:
            break
        inside[out], inside[into] = False, True
    return inside


def _gains_of_units(C: Floats, b: Floats, units: Units, inside: Flags) -> tuple[Floats, float]:
    """What is gained with each unit in the place of each other one, and what the set explains."""
    members = units.columns_of(np.flatnonzero(inside))
    H = np.linalg.inv(C[np.ix_(members, members)])
    M, B = C[:, members] @ H, H @ b[members]
    left, own = b - C[:, members] @ B, C - M @ C[members]
    gains = np.full((units.count, units.count), -np.inf)
    for unit in np.flatnonzero(inside & ~units.kept):
        places = np.flatnonzero(units.of_column[members] == unit)
        along = M[:, places] @ np.linalg.inv(H[np.ix_(places, places)])
        rest = own + along @ M[:, places].T
        stay = np.delete(members, places)
        rest[stay, stay] = 1.0  # nothing is left of them
        worth = unit_losses(rest, left + along @ B[places], units)
        gains[unit] = np.where(inside, -np.inf, worth - worth[unit])
    return gains, float(np.sum(B * b[members]))


def _fitted(totals: Totals, inside: Flags) -> tuple[Flags, bool, float]:
    """Least squares on a set of columns.

    Returns those that explain more than chance beyond the other ones, whether no column outside
    explains more than chance beyond the set, and what the set explains.
    """
    swaps = _swaps_of([Swapping(totals, inside, inside)], np.zeros(1, np.intp))
    losses, brought, explained = (to_numpy(part)[0] for part in swaps.worth())
    count = int(np.count_nonzero(inside))
    least = _chance(totals, count) * max(totals.variance - float(explained), 0.0)
    significant = np.zeros(len(inside), bool)
    significant[inside] = losses > least
    return significant, bool(np.all(brought[~inside] <= least)), float(explained)


def _exceeds_chance(
    task: Candidates, other: Flags, explained: float, own: Flags, times: float = 1.0
) -> bool:
    """Whether a set brings more than chance, so many times, for each unit that another lacks.

    Both have as many units, and this one explains so much.
    """
    totals, units = task.totals, task.units
    widths = units.total(np.ones(len(units.of_column)))
    count, new = int(widths[other].sum()), widths[other & ~own]
    least = times * sum(_chance(totals, count, int(width)) for width in new)
    mine = totals.columns(units.columns_of(np.flatnonzero(own)))
    C = to_numpy(mine.covariance) + swap_ridge(totals) * np.eye(len(mine.cross))
    more = explained - float(np.sum(mine.cross * np.linalg.solve(C, mine.cross)))
    return more > least * max(totals.variance - explained, 0.0) + _ROUNDING * totals.variance


def can_swap(n_effective: float, count: int) -> bool:
    """Whether rows are many enough for least squares on so many units."""
    return count * SWAP_ROWS_PER_UNIT <= n_effective


def swap_ridge(totals: Totals) -> float:
    """A small ridge, relative to the mean variance of columns."""
    return SWAP_RIDGE * totals.mean_variance


def _chance(totals: Totals, count: int, width: int = 1) -> float:
    """What the best of p columns of noise explains of C outputs, as a share of the residual.

    A bound of the largest of p chi-squares: with ``L = log(p)`` and ``d = width C - 1``,
    ``d + 2 sqrt(d L) + 2 L`` times the variance of one coefficient, by the rows that so many chosen
    columns leave free. Width is the number of columns that enter as one.
    """
    n_columns, n_outputs = totals.cross.shape
    others, log = width * n_outputs - 1, math.log(n_columns)
    quantile = others + 2 * math.sqrt(others * log) + 2 * log
    return float(quantile / n_outputs / (totals.n_effective - count))


class Swapping(NamedTuple):
    """A set to be swapped: by swaps that bring more than chance, and then by all that pay."""

    totals: Totals
    inside: Flags
    kept: Flags


def swapped(tasks: Sequence[Swapping]) -> list[tuple[Flags, Flags]]:
    """Each set after swaps that bring more than chance, and after all that pay."""
    found: dict[int, tuple[Flags, Flags]] = {}
    for places in _together(tasks):
        some = [tasks[i] for i in places]
        sizes = np.array([np.count_nonzero(task.inside) for task in some])
        swaps = _swaps_of(some, max(1, sizes.max()) - sizes)
        chances = np.array(
            [_chance(task.totals, size) for task, size in zip(some, sizes, strict=True)]
        )
        variances = np.array([task.totals.variance for task in some])
        sets = []
        for worth in (1.0, 0.0):
            limits = worth * chances, variances, _ROUNDING * variances, sizes
            swaps.begin(*(placed_like(swaps.members, limit) for limit in limits))
            step, at_once = swaps.step, 1
            if swaps.wants_more and getattr(swaps.members, "is_cuda", False):
                step, at_once = captured(swaps.step, swaps.members.device), _AT_ONCE
            while swaps.wants_more:
                for _ in range(at_once):
                    step()
            members = to_numpy(swaps.members)
            sets.append(
                [
                    np.isin(np.arange(len(task.inside)), own)
                    for task, own in zip(some, members, strict=True)
                ]
            )
        found |= zip(places, zip(*sets, strict=True), strict=True)
    return [found[i] for i in range(len(tasks))]


def _swaps_of(tasks: Sequence[Swapping], more: Indices) -> "Swaps":
    """With so many more members in each set, which explain nothing and stay."""
    totals = [task.totals for task in tasks]
    width = max(len(task.inside) + own for task, own in zip(tasks, more, strict=True))
    members, kept = [], np.ones((len(tasks), width), bool)
    for task, own, flags in zip(tasks, more, kept, strict=True):
        count = len(task.inside)
        members.append(np.append(np.flatnonzero(task.inside), count + np.arange(own)))
        flags[:count] = task.kept
    C, b = stacked(totals, [swap_ridge(one) for one in totals], width)
    return Swaps(C, b, placed_like(C, np.array(members)), placed_like(C, kept))


def _together(tasks: Sequence[Swapping]) -> Iterator[list[int]]:
    """Tasks that are worked on at once: on the host single ones, else those of similar sizes.

    Each set takes as many operations as the largest of those that are swapped together.
    """
    if not tasks or not is_foreign(tasks[0].totals.matrix):
        yield from ([i] for i in range(len(tasks)))
        return
    sizes = {i: int(np.count_nonzero(task.inside)) for i, task in enumerate(tasks)}
    while sizes:
        similar = [i for i, size in sizes.items() if 2 * size >= max(sizes.values())]
        yield similar
        for i in similar:
            del sizes[i]


class Swaps:
    """Sets of equally many columns, each of which swaps one of its members at a time.

    Parameters
    ----------
    covariance, cross : array of shape (sets, columns, columns) and (sets, columns, outputs)
        ``C + ridge I``, and covariances with outputs; of NumPy or, on an accelerator, of torch.
    members : array of int of shape (sets, members)
        The sets.
    kept : array of bool of shape (sets, columns)
        Columns that stay in them.
    """

    def __init__(self, covariance: Any, cross: Any, members: Any, kept: Any) -> None:
        xp = self._xp = namespace(covariance)
        self._C, self._b, self.members = covariance, cross, members + 0
        self._sets = xp.arange(len(members), device=covariance.device)
        sets = self._sets[:, None]
        self._S = xp.permute_dims(covariance[sets, :, members], (0, 2, 1)) + 0.0
        self._target = cross[sets, members]
        self._H = xp.linalg.inv(self._S[sets, members])
        self._M, self._B = self._S @ self._H, self._H @ self._target
        self._left = cross - self._S @ self._B
        self._own = xp.linalg.diagonal(covariance) - (self._M * self._S).sum(2)
        # Numbers of the host may not be copied while operations are recorded.
        self._zero, self._infinity = self._own[0, 0] * 0, self._own[0, 0] * 0 + xp.inf
        # What bars members from coming in, and those that are kept from going out.
        self._barred = xp.zeros_like(self._own)
        self._barred[sets, members] = self._infinity
        self._stay = xp.where(kept[sets, members], self._infinity, self._zero)

    def begin(self, shares: Any, variances: Any, least: Any, most: Any) -> None:
        """Swap, step by step, while that brings more than the least and a share.

        The share is of what the set leaves of a variance. No more than the most swaps are made.
        """
        self._shares, self._variances, self._least = shares, variances, least
        self._wanted, self._count = most > 0, most + 0

    @property
    def wants_more(self) -> bool:
        return bool(self._wanted.any())

    def step(self) -> None:
        """Make the best swap of each set that still wants one."""
        gain, into, out = self.best()
        left = (self._variances - self.explained).clip(0.0)
        self._wanted &= (gain > self._shares * left + self._least) & (self._count > 0)
        self._count -= 1
        self.swap(into, out, self._wanted)

    @property
    def explained(self) -> Any:
        """Variance that each set explains."""
        return (self._B * self._target).sum((1, 2))

    def worth(self) -> tuple[Any, Any, Any]:
        """What is lost without each member, what each column would bring, and `explained`."""
        losses = (self._B**2).sum(2) / self._xp.linalg.diagonal(self._H)
        brought = (self._left**2).sum(2) / self._own.clip(_LEAST)
        return losses, brought, self.explained

    def best(self) -> tuple[Any, Any, Any]:
        """What the best swap of each set brings, the column that comes in, and the place."""
        inverse = 1 / self._xp.linalg.diagonal(self._H)
        own = self._M * self._M
        own *= inverse[:, None]
        own += (self._own + self._barred)[:, :, None]
        gains = None
        for c in range(self._B.shape[2]):
            brought = self._M * (self._B[:, :, c] * inverse)[:, None]
            brought += self._left[:, :, c, None]
            brought *= brought
            gains = brought if gains is None else gains + brought
        gains /= own.clip(_LEAST)
        gains -= ((self._B**2).sum(2) * inverse + self._stay)[:, None]
        flat = gains.reshape(len(gains), -1)
        place, size = flat.argmax(1), self.members.shape[1]
        return flat[self._sets, place], place // size, place % size

    def swap(self, into: Any, out: Any, wanted: Any) -> None:
        """In each set that wants it, let a column come in for the member at a place."""
        xp, sets = self._xp, self._sets
        # Without the member, h_j / H_jj, and M_:j, B_j and H_jj as they were.
        gone, along, coefficients = self._H[sets, out], self._M[sets, :, out], self._B[sets, out]
        inner = gone[sets, out][:, None]
        h = gone / inner
        # Of the column that comes in: w, what is left of it and what it explains.
        moved = along[sets, into][:, None]
        w = self._M[sets, into] - moved * h
        w[sets, out] = self._zero
        e = self._C[sets, into] - (self._S @ w[:, :, None])[:, :, 0]
        w[sets, out] = self._zero - 1
        own = self._own[sets, into][:, None] + moved**2 / inner
        left = self._left[sets, into] + moved * coefficients / inner
        # Sets that do not want to swap lose and gain nothing.
        both = xp.concat([along[:, :, None], e[:, :, None]], axis=2)
        columns = xp.where(wanted[:, None, None], both, self._zero)
        rows = xp.where(wanted[:, None, None], xp.stack([h, w / own], axis=1), self._zero)
        across = xp.permute_dims(rows, (0, 2, 1))
        self._M -= columns @ rows
        self._H -= across @ xp.stack([gone, -w], axis=1)
        self._B -= across @ xp.stack([coefficients, left], axis=1)
        self._left += columns @ xp.stack([coefficients / inner, -left / own], axis=1)
        squares = both * columns
        self._own += squares[:, :, 0] / inner - squares[:, :, 1] / own
        # The member that is there at last: the old one or the new one.
        before = self.members[sets, out]
        after = xp.where(wanted, into, before)
        self._S[sets, :, out], self._target[sets, out] = self._C[sets, after], self._b[sets, after]
        self._barred[sets, before] = self._zero
        self._barred[sets, after] = self._infinity
        self.members[sets, out] = after
