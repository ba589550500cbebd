"""The search for a given number of features, over all columns.

1. The working set begins with the columns that explain most by themselves.
2. Descent on a budgeted mask over the working set, then exact elimination among the best units, by
   a ridge that follows the noise of the data.
3. Every column is priced by its covariance with the residuals that cross-fitted ridge models of the
   chosen columns leave: the gradient of their explained fraction. The best enter the working set,
   those whose mask has closed leave it, and the descent goes on.
4. This ends when no column outside is worth more than chance, when those that entered have not
   changed the set, or after some rounds.

All sets of a path, and those of held-out divisions, take these steps together: one round is one
pass over the rows for prices and one for moments, however many sets there are.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from featgrad import plan
from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import is_foreign
from featgrad.dataset.base import Dataset
from featgrad.dataset.sums import Model, Prices
from featgrad.math.formulas import first_peak
from featgrad.moments.cells import Division, Scale
from featgrad.moments.folds import Folds, Totals
from featgrad.moments.spectrum import best_ridge, top_of_covariance
from featgrad.search.base import Certificate, OnStep, SearchTask, Step, Subset, signed_scores
from featgrad.search.descent import Descent, descend
from featgrad.search.elimination import Candidates, Remaining, remaining
from featgrad.search.swaps import can_swap, choose, refine, swap_ridge
from featgrad.search.units import Units, best_first


def search(
    dataset: Dataset,
    units: Units,
    tasks: Sequence[SearchTask],
    coefficients: Floats,
    max_iter: int,
    on_step: OnStep,
) -> list[Subset]:
    """The best set for each task."""
    # Tasks of the same folds share their marginals.
    divisions = {task.folds: dataset.division(task.folds) for task in tasks}
    marginals = dict(zip(divisions, dataset.marginals(list(divisions.values())), strict=True))
    standards = {folds: dataset.standard(division) for folds, division in divisions.items()}
    watch = _Watch(on_step)
    states = [
        _State(
            task,
            task.units or units,
            divisions[task.folds],
            marginals[task.folds],
            standards[task.folds].variance,
            coefficients,
            max_iter,
            watch,
        )
        for task in tasks
    ]
    active, ridges = states, dict[tuple[int, ...], float]()
    while active:
        for together in _groups(dataset, active, divisions, ridges):
            descents = [one.state.descent(one.moments, one.totals) for one in together]
            descend(descents)
            candidates = [one.state.candidates(one.totals) for one in together]
            chosen = refine(candidates, choose(candidates))
            for one, flags in zip(together, chosen, strict=True):
                one.state.fit(flags, one.moments, one.scale, one.totals)
        del together, descents, candidates, one  # They hold the moments of the round.
        prices = dataset.price([state.model for state in active])
        active = [
            state for state, price in zip(active, prices, strict=True) if not state.settle(price)
        ]
    return [state.subset() for state in states]


def _groups(
    dataset: Dataset,
    active: Sequence["_State"],
    divisions: dict[tuple[int, ...], Division],
    ridges: dict[tuple[int, ...], float],
) -> Iterator[list["_Own"]]:
    """States that take a round together, with the moments of their working sets."""
    columns = np.unique(np.concatenate([state.columns for state in active]))
    moments = dataset.cell_moments(columns)
    # Each division has a working set of its own, which shares few columns with the others.
    working = {state.folds: np.zeros(0, np.intp) for state in active}
    for state in active:
        working[state.folds] = np.union1d(working[state.folds], state.columns)
    parts = {
        folds: moments.columns(np.searchsorted(columns, own)).divided(
            divisions[folds], *dataset.standard(divisions[folds]).of(own)
        )
        for folds, own in working.items()
    }
    del moments  # The largest arrays of a search.
    totals = {folds: part.totals() for folds, (part, _) in parts.items()}
    for state in active:
        if state.folds not in ridges:
            places = np.searchsorted(working[state.folds], state.leading)
            leading = totals[state.folds].columns(places)
            ridges[state.folds] = best_ridge(leading, plan.RIDGES, plan.RIDGE_FREEDOM)
        state.take_ridge(ridges[state.folds])
    # An accelerator takes them all at once; the host has memory for those that share moments.
    alike = _alike(active, parts, totals, working)
    on_device = any(is_foreign(one.matrix) for one in totals.values())
    yield from [list(chain(*alike))] if on_device else alike


class _Own(NamedTuple):
    """A state, and what is known of its working set."""

    state: "_State"
    moments: Folds
    scale: Scale  # what was done to columns and outputs in the division
    totals: Totals


def _alike(
    states: Sequence["_State"],
    parts: dict[tuple[int, ...], tuple[Folds, Scale]],
    totals: dict[tuple[int, ...], Totals],
    working: dict[tuple[int, ...], Indices],
) -> Iterator[list[_Own]]:
    """States with the same folds and working set, which share its moments."""
    alike: dict[tuple[tuple[int, ...], bytes], list[_State]] = {}
    for state in states:
        alike.setdefault((state.folds, state.columns.tobytes()), []).append(state)
    for (folds, _), together in alike.items():
        (moments, scale), places = (
            parts[folds],
            np.searchsorted(working[folds], together[0].columns),
        )
        scale = scale._replace(means=scale.means[places], columns=scale.columns[places])
        own = moments.columns(places), scale, totals[folds].columns(places)
        yield [_Own(state, *own) for state in together]


class _Watch:
    """Passes steps on, and remembers that the search was stopped."""

    def __init__(self, on_step: OnStep) -> None:
        self._on_step, self.stopped = on_step, False

    def __call__(self, step: Step, scores: Floats) -> bool:
        self.stopped = self.stopped or self._on_step(step, scores)
        return self.stopped


class _State:
    """The search for one set."""

    def __init__(
        self,
        task: SearchTask,
        units: Units,
        division: Division,
        marginals: Prices,
        variances: Floats,
        coefficients: Floats,
        max_iter: int,
        watch: _Watch,
    ) -> None:
        self._task, self._units, self._watch = task, units, watch
        self._division, self._max_iter = division, max_iter
        self._coefficients = coefficients[: max(1, len(task.folds) - 1)]
        self._peak = first_peak(self._coefficients)
        self._prices, self._variances = marginals, variances
        # Columns that do not vary are worth exactly nothing.
        self._usable = (marginals.values != 0) & (units.of_column >= 0)
        by_unit = units.total(marginals.values) / units.costs
        by_unit[units.total(self._usable.astype(float)) == 0] = -np.inf
        # Units that cost more than kept ones leave cannot be chosen.
        self._affordable = units.fit_within(task.budget)
        by_unit[~self._affordable] = -np.inf
        self._first = units.best_within(by_unit, task.budget)
        self._size = int(np.count_nonzero(self._first))
        count = max(plan.WORKING_SET, plan.WORKING_SET_FACTOR * self._size)
        n_others = int(np.count_nonzero(~self._affordable))
        ranked = best_first(np.where(units.kept, np.inf, by_unit), count + n_others)
        ranked = ranked[self._affordable[ranked]]
        working = np.union1d(ranked[:count], np.flatnonzero(self._first))
        self._inner: Units
        self._v: Floats
        self._remaining: Remaining
        self._limit = len(working)
        self._n_entering = max(plan.ENTERING, plan.ENTERING_FACTOR * self._size)
        self._take(working, np.zeros(len(working)))
        leading = best_first(marginals.values[self._columns], plan.WORKING_SET)
        self._leading = self._columns[np.sort(leading)]
        self._top = np.inf
        self._steps: list[Step] = []
        self._rounds = 0
        self._before: Indices = np.empty(0, np.intp)
        rng = np.random.default_rng(0)
        self._sequences = [
            rng.permutation(len(task.folds)).tolist() for _ in range(plan.FOLD_ORDERS)
        ]

    @property
    def columns(self) -> Indices:
        """Columns of the working set, rising."""
        return self._columns

    @property
    def folds(self) -> tuple[int, ...]:
        """Folds whose rows choose."""
        return self._task.folds

    @property
    def leading(self) -> Indices:
        """Columns that explain most by themselves, rising; of all sizes the same."""
        return self._leading

    def take_ridge(self, ridge: float) -> None:
        """The ridge that suits the leading columns."""
        self._noise_ridge = plan.RIDGE_FACTOR * ridge

    def descent(self, moments: Folds, totals: Totals) -> Descent:
        """That of this round."""
        if self._rounds == 0:
            best = self._inner.columns_of(np.flatnonzero(self._first[self._working]))
            self._top = top_of_covariance(totals.columns(best))
        schedule = plan.NEXT_SHARPNESS if self._rounds else plan.FIRST_SHARPNESS
        left = 0 if self._watch.stopped else self._max_iter - len(self._steps)
        self._descent = Descent(
            moments,
            self._inner,
            self._task.budget,
            self._coefficients,
            self._scale,
            self._sequences,
            schedule[: max(0, left)],
            self._v,
            self._steps,
            self._watch,
        )
        return self._descent

    def candidates(self, totals: Totals) -> Candidates:
        """Units that elimination starts from, after the descent."""
        self._v, budget = self._descent.v, self._task.budget
        del self._descent  # It holds the moments of the round.
        best = np.argsort(-np.where(self._inner.kept, np.inf, self._v), kind="stable")
        within = self._inner.best_within(self._v, budget)
        count = plan.candidates_of(int(np.count_nonzero(within)))
        if self._noise_ridge < self._filter_ridge:
            count = len(best)  # The mask knows too little of directions that the filter shrinks.
        candidates = np.union1d(best[:count], np.flatnonzero(within))
        return Candidates(totals, self._inner, candidates, budget, self._ridge)

    def fit(self, chosen: Flags, moments: Folds, scale: Scale, totals: Totals) -> None:
        """Models of the chosen units, and the filter's scale that follows them."""
        ridge = self._model_ridge(totals, chosen)
        found = remaining(totals, self._inner, chosen, ridge)
        self._remaining = found._replace(losses=found.losses / totals.variance)
        own = moments.columns(found.columns)
        self._cross_fitted = own.without_each(ridge)
        self._fitted_ridge = ridge
        # A set less redundant than the best columns by themselves has a smaller top eigenvalue:
        # its redundancy is looked at more closely in the next round.
        if self._rounds < plan.ROUNDS:
            self._top = min(self._top, top_of_covariance(totals.columns(found.columns)))
        # The model is for columns and outputs as they are in all divisions.
        self._cross_fitted *= scale.outputs / scale.columns[found.columns][:, None]
        self._intercepts = self._division.means - scale.means[found.columns] @ self._cross_fitted

    def settle(self, prices: Prices) -> bool:
        """Take the prices of all columns; whether the search for this set has ended."""
        self._prices = prices
        chosen = self._columns[self._remaining.columns]
        stopped = self._watch.stopped or len(self._steps) >= self._max_iter
        if stopped or self._rounds == plan.ROUNDS or np.array_equal(chosen, self._before):
            return True
        rank = max(1, round(plan.ENTERING_NOISE * self._n_entering))
        worth = self._outside() & (prices.values > prices.chance(rank) * self._variances)
        if not worth.any():
            return True
        self._rounds, self._before = self._rounds + 1, chosen
        self._enter(worth)
        return False

    @property
    def model(self) -> Model:
        """Ridge models of the chosen columns, one for each fold, without its rows."""
        chosen = self._columns[self._remaining.columns]
        parts = (self._by_cell(part) for part in (self._cross_fitted, self._intercepts))
        return Model(self._division, chosen, *parts)

    def _by_cell(self, of_folds: Floats) -> Floats:
        """Numbers of each fold in use for each of its cells; 0 for other folds."""
        n_strata = self._division.n_strata
        found = np.zeros((len(self._division.shares) // n_strata, *of_folds.shape[1:]))
        found[list(self._division.folds)] = of_folds
        return np.repeat(found, n_strata, axis=0)

    def subset(self) -> Subset:
        units, chosen = self._units, np.zeros(self._units.count, bool)
        losses = np.zeros(units.count)
        inside = self._working[self._remaining.units]
        chosen[inside], losses[inside] = True, self._remaining.losses
        of_column = units.spread(chosen.astype(float), 0.0) > 0
        scores = signed_scores(units.spread(losses, 0.0), self._gains, of_column, self._usable)
        features = np.flatnonzero(of_column)
        return Subset(
            self._task.budget, features, scores, self._steps, self._certificate(), self._rounds
        )

    @property
    def _scale(self) -> float:
        # Columns that do not vary have no spectrum; any scale will do.
        return plan.SCALE_FACTOR * (self._top or 1.0) / self._peak

    @property
    def _filter_ridge(self) -> float:
        """What shrinks weak directions as the filter does: its slope at 0 is order / scale."""
        return self._scale / len(self._coefficients)

    @property
    def _ridge(self) -> float:
        """No more than noise asks for."""
        return min(self._filter_ridge, self._noise_ridge)

    def _take(self, working: Indices, v: Floats) -> None:
        self._working, self._v = working, v
        self._inner, self._columns = self._units.only(working)

    def _model_ridge(self, totals: Totals, chosen: Flags) -> float:
        """That of the models that price: small where rows are many relative to the set.

        What a ridge leaves unexplained hides columns that matter only together with chosen ones.
        """
        if can_swap(totals.n_effective, int(np.count_nonzero(chosen))):
            return swap_ridge(totals)
        return self._ridge

    def _outside(self) -> Flags:
        """Columns that could enter."""
        inside = ~self._affordable
        inside[self._working] = True
        return np.asarray(self._usable & (self._units.spread(inside.astype(float), 1.0) == 0))

    def _enter(self, outside: Flags) -> None:
        """Let the best priced units into the working set, and drop what has closed."""
        by_unit = self._units.total(np.where(outside, self._prices.values, 0.0))
        possible = np.flatnonzero(self._units.total(outside.astype(float)))
        by_cost = by_unit[possible] / self._units.costs[possible]
        entering = possible[best_first(by_cost, self._n_entering)]
        edge = np.sort(self._v)[-min(self._size, len(self._v))]
        stay = np.union1d(
            np.argsort(-self._v, kind="stable")[: self._limit],
            np.append(self._remaining.units, np.flatnonzero(self._inner.kept)).astype(np.intp),
        )
        v = np.full(self._units.count, edge)
        # Half open again after the first descent, which has sharpened the mask too early.
        v[self._working] = self._v if self._rounds > 1 else (self._v + edge) / 2
        working = np.union1d(self._working[stay], entering)
        self._take(working, v[working])

    @property
    def _gains(self) -> Floats:
        """Explained fraction that each column would add, at first order: an estimate."""
        return np.asarray(self._prices.values / (self._variances + self._fitted_ridge))

    def _certificate(self) -> Certificate:
        chosen = np.zeros(len(self._usable), bool)
        chosen[self._columns[self._remaining.columns]] = True
        gains = np.where(self._usable & ~chosen, self._gains, -np.inf)
        best = int(np.argmax(gains))
        is_outside = bool(np.isfinite(gains[best]))
        variance = self._variances[best]
        return Certificate(
            float(self._remaining.losses.min(initial=np.inf)),
            float(gains[best]) if is_outside else 0.0,
            best if is_outside else -1,
            float(self._prices.chance(plan.RARE_RANK) * variance / (variance + self._fitted_ridge)),
        )
