"""The state of a selector on a stream: bounded, mergeable, the same however rows are cut.

Rows wait until a block of a fixed number of them is complete, so that all that is learned and
decided depends on the order of the rows alone.
"""

from collections import deque
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from featgrad import plan
from featgrad._support import Flags, Floats, Indices
from featgrad._support.threads import one_blas_thread
from featgrad.checks import check_alike
from featgrad.columns.extremes import Limits, less
from featgrad.columns.sums import filled, has_missing, statistics
from featgrad.math.targets import Encoding
from featgrad.moments.folds import Totals
from featgrad.online.drift import Dependence, ErrorIncrease, Prequential, Shift
from featgrad.online.history import History, TimelinePoint
from featgrad.online.moments import PricedColumns, RecentBlock, WorkingMoments, improved, ridge_fit
from featgrad.readers.block import stack_rows
from featgrad.search.base import signed_scores
from featgrad.search.units import best_first

# Half-lives after which sums are divided: far below what double precision takes.
_LONGEST = 200


class Predictor(NamedTuple):
    """Predicts outputs by the columns of a set, and what is lost without each of them."""

    features: Indices
    coefficients: Floats
    offset: Floats
    losses: Floats

    def residuals(self, working: WorkingMoments, values: Floats, outputs: Floats) -> Floats:
        """What is left of outputs, given the columns of the working set."""
        used = values[:, working.places(self.features)]
        return np.asarray(outputs - self.offset - used @ self.coefficients)


class OnlineState:
    """All that is known of a stream; the columns of sparse rows may become more."""

    def __init__(
        self,
        encoding: Encoding,
        n_features: int,
        is_sparse: bool,
        size: int,
        half_life: float,
        alarm_rate: float,
    ) -> None:
        self.encoding, self.n_features, self.is_sparse = encoding, n_features, is_sparse
        self.size, self._capacity = size, max(plan.WORKING_SET, plan.WORKING_SET_FACTOR * size)
        # Rows learned from, and half-lives of the weights since sums were divided last.
        self._half_life, self._n_learned, self._age = half_life, 0, 0.0
        n_blocks = max(1, int(plan.RECENT_HALF_LIVES * half_life / plan.ONLINE_BLOCK))
        self._recent: deque[RecentBlock] = deque(maxlen=n_blocks)
        self.prequential, self.history = Prequential(half_life), History()
        self._dependence = Dependence(half_life)
        # Each kind of alarm has half of the rate.
        self._alarm_rate = alarm_rate / 2
        self._errors = ErrorIncrease(self._alarm_rate, half_life)
        self._shift = Shift(self._alarm_rate, half_life)
        self.features = np.zeros(0, np.intp)
        self._waiting: list[tuple[Any, Floats, Floats]] = []
        self.first_limits: Limits | None = None
        # These four from the first block on.
        self._columns: PricedColumns
        self._working: WorkingMoments
        self._model: Predictor
        # With the ridge of choices, so that prices are what columns would add to the set.
        self._pricing: Predictor
        # Of the set that learning ended with, or the one of the last shift.
        self._model_before: Predictor | None = None
        self._early: OnlineState | None = None
        # The first row of the stream, or the first one after the last alarm.
        self._since = 0
        self._next_choice = self._next_entry = 0

    @property
    def n_rows(self) -> int:
        """Rows seen, those that wait included."""
        return self._n_learned + sum(len(weights) for *_, weights in self._waiting)

    def add(self, X: Any, outputs: Floats, weights: Floats) -> None:
        """More rows, of positive weights; missing entries are NaN."""
        self.n_features = max(self.n_features, X.shape[1])
        self._early = None
        self._waiting.append((X, outputs, weights))
        if self.n_rows - self._n_learned < plan.ONLINE_BLOCK:
            return
        rows = self._joined()
        complete = len(rows[1]) - len(rows[1]) % plan.ONLINE_BLOCK
        with one_blas_thread():
            for own in gen_batches(complete, plan.ONLINE_BLOCK):
                self._learn(*(part[own] for part in rows))
        # Copied: a view would keep the whole block in memory.
        X, outputs, weights = (part[complete:].copy() for part in rows)
        self._waiting = [(X, outputs, weights)]

    def current(self) -> "OnlineState":
        """The state to ask: before the first block is complete, one that chooses early."""
        if self._n_learned:
            return self
        if self._early is None:
            early = deepcopy(self)
            early._learn(*early._joined())
            self._early = early
        return self._early

    def merge(self, other: "OnlineState") -> None:
        """Rows of another stream, as if both had ended at the same time; it stays as it is."""
        check_alike(self, other, ("is_sparse", "encoding"))
        here, other, self._early = deepcopy(self), deepcopy(other), None
        if other._n_learned and not self._n_learned:
            vars(self).update(vars(other))
            other = here
        if other._n_learned:
            with one_blas_thread():
                self._merge_learned(other)
        for rows in other._waiting:
            self.add(*rows)

    def _merge_learned(self, other: "OnlineState") -> None:
        columns = np.union1d(self._working.columns, other._working.columns)
        for state in (self, other):
            state._rescale()
            state._columns.grow(self.n_features)
            state._enter(np.setdiff1d(columns, state._working.columns))
        blocks = sorted([*self._recent, *other._recent], key=lambda block: block.weights.max())
        self._recent = deque(blocks, self._recent.maxlen)
        for name in ("_columns", "_working", "prequential", "_dependence", "_errors", "_shift"):
            vars(self)[name].merge(vars(other)[name])
        self.history.merge(self.features, other.history.events(other.features))
        self._n_learned += other._n_learned
        self._since += other._since
        before, self.features = self.features, np.union1d(self.features, other.features)
        self._next_entry = 0
        self._choose(before)

    def _joined(self) -> tuple[Any, Floats, Floats]:
        if len(self._waiting) == 1:
            return self._waiting[0]
        Xs, outputs, weights = zip(*self._waiting, strict=True)
        X = stack_rows(Xs)
        if self.is_sparse:
            X.resize(X.shape[0], self.n_features)
        return X, np.concatenate(outputs), np.concatenate(weights)

    def scores(self) -> Floats:
        """Above 0 for chosen columns, what is lost without them; below for others, by price."""
        self._columns.grow(self.n_features)
        totals = self._totals()
        gains = self._columns.prices().values / max(totals.variance, 1e-300)
        gains[self._working.columns] = ridge_fit(totals, self._chosen()).gains
        chosen, losses = np.zeros(self.n_features, bool), np.zeros(self.n_features)
        chosen[self.features], losses[self.features] = True, self._model.losses
        return signed_scores(losses, gains, chosen, self._columns.spread() > 0)

    def _learn(self, X: Any, outputs: Floats, given: Floats) -> None:
        """Predict a block of rows, then learn from it."""
        # What is told of a block is told of rows of the same weight, by deviations times a root.
        usual = given.mean()
        relative = (given / usual)[:, None]
        root = np.sqrt(relative)
        recency = usual * np.exp2(self._age + np.arange(1, len(outputs) + 1) / self._half_life)
        weights = recency * relative[:, 0]
        X, increased, shifted = self._filled(X), False, False
        if self._n_learned == 0:
            mean = np.average(outputs, axis=0, weights=given)
            self.first_limits = Limits.of(X)
            shape, origin = (self.n_features, outputs.shape[1]), None
            if not self.is_sparse:
                origin = X.mean(axis=0, dtype=np.float64)
            elif len(outputs) > 2:  # of two rows all columns that vary explain the same
                origin = self.first_limits.shift()
            self._columns = PricedColumns(*shape, origin, self.is_sparse)
            self._working = WorkingMoments(mean)
            values, left = np.zeros((len(outputs), 0)), outputs - mean
        else:
            self._columns.grow(self.n_features)
            values = self._working.values(X)
            residuals = root * self._model.residuals(self._working, values, outputs)
            deviations = root * (outputs - self._working.output_means())
            self.prequential.add(deviations, residuals, recency)
            increased = self._errors.add(deviations, residuals)
            if self._model_before is not None:
                before = root * self._model_before.residuals(self._working, values, outputs)
                shifted = self._shift.add(before, residuals, self._dependence.factor)
            left = self._pricing.residuals(self._working, values, outputs)
            self._dependence.add_block(relative * self._working.centred(values), left)
        self._working.add(values, outputs, weights)
        origin = self._columns.origin
        X = X if origin is None else less(X, origin)
        self._columns.learn(X, weights, left)
        self._recent.append(RecentBlock(X.astype(np.float32), origin, outputs, weights))
        n_entries = sum(block.X.size for block in self._recent)
        while n_entries > plan.RECENT_ENTRIES and len(self._recent) > 1:
            n_entries -= self._recent.popleft().X.size
        self._n_learned += len(outputs)
        self._age += len(outputs) / self._half_life
        if self._age > _LONGEST:
            self._rescale()
        if increased:
            self._raise_alarm()
        elif shifted and self._model_before is not None:
            earlier = self._model_before.features
            self.history.add(self._n_learned, "shift", earlier, self.features)
            self._compare_from_now()
        if self._n_learned >= self._next_choice:
            self._choose()
        else:
            self._fit_models()

    def _filled(self, X: Any) -> Any:
        """Missing entries count as the mean of their column in rows before, or in the first."""
        if not has_missing(X):
            return X
        means = self._columns.centres() if self._n_learned else statistics(X).mean
        return filled(X, np.append(means, np.zeros(self.n_features - len(means))))

    def _raise_alarm(self) -> None:
        """Note the change, let earlier rows count as far as they are true, and choose anew."""
        self.history.add(self._n_learned, "alarm", self.features, self.features)
        kept = min(max(self._errors.still_true, 2.0**-plan.ALARM_HALF_LIVES), 1.0)
        self._age -= float(np.log2(kept))
        self._errors = ErrorIncrease(self._alarm_rate, self._half_life)
        self._model_before = None
        self._since = self._n_learned
        self._next_choice = self._next_entry = self._n_learned + plan.ONLINE_BLOCK

    def _compare_from_now(self) -> None:
        """Let later sets be compared with the present one."""
        self._model_before = self._model
        self._shift.height = 0.0

    def _rescale(self) -> None:
        """Divide all sums and weights by the weight of the last row."""
        factor, self._age = float(np.exp2(-self._age)), 0.0
        for sums in (self._columns, self._working, self.prequential):
            sums.rescale(factor)
        for block in self._recent:
            block.weights[:] *= factor

    def _choose(self, before: Indices | None = None) -> None:
        """Let columns enter and leave the working set, and then the chosen one.

        After a merge the present set has those of both selectors, and an earlier one was `before`.
        """
        before = self.features if before is None else before
        n_rows, age = self._n_learned, self._n_learned - self._since
        if self._since:
            learning, advantage = plan.ALARM_LEARNING, plan.ALARM_ADVANTAGE
        else:
            learning, advantage = plan.LEARNING_HALF_LIVES, 0.0
        if has_learned := age > learning * self._half_life:
            advantage = plan.ONLINE_ADVANTAGE
        enters = n_rows >= self._next_entry
        self._next_choice = n_rows + min(plan.ONLINE_DECISION, age)
        if enters:
            self._enter(self._entering())
            self._limit()
            self._next_entry = n_rows + min(plan.ONLINE_ENTRY, age)
        totals = self._totals()
        size = min(self.size, len(totals.cross))
        chosen = improved(totals, self._chosen(), size, advantage, not enters)
        self.features = self._working.columns[chosen]
        if not np.array_equal(before, self.features):
            self.history.add(n_rows, "choice", before, self.features)
        self._fit_models()
        known = self.prequential.learnability(len(self.features))
        self.history.decided(TimelinePoint(n_rows, self.features, self._model.losses, known))
        if has_learned and self._model_before is None:
            self._compare_from_now()

    def _entering(self) -> Indices:
        """Columns outside the working set that are worth more than chance."""
        outside, free = np.ones(self.n_features, bool), self._capacity - len(self._working.columns)
        outside[self._working.columns] = False
        if not self.is_sparse and np.count_nonzero(outside) <= free:
            # All columns of a narrow table: what does not vary yet may do so later.
            return np.flatnonzero(outside)
        prices = self._columns.prices()
        # Anything that varies may enter while places are free.
        count, least = free, -np.inf
        if free <= 0:
            count = max(plan.ENTERING, self.size)
            least = prices.chance(max(1, round(plan.ENTERING_NOISE * count)))
        able = np.flatnonzero(outside & (prices.values != 0) & (prices.values > least))
        return np.sort(able[best_first(prices.values[able], count)])

    def _enter(self, columns: Indices) -> None:
        if len(columns):
            means, spread = self._columns.centres()[columns], self._columns.spread()[columns]
            self._working.enter(columns, means, spread, self._recent)

    def _limit(self) -> None:
        """Let the columns of least gain leave the working set where it is too large."""
        if len(self._working.columns) <= self._capacity or len(self.features) == 0:
            return
        chosen = self._chosen()
        gains = np.where(chosen, np.inf, ridge_fit(self._totals(), chosen).gains)
        if self._model_before is not None:
            gains[self._working.places(self._model_before.features)] = np.inf
        self._working.keep(np.sort(best_first(gains, self._capacity)))

    def _fit_models(self) -> None:
        self._model = self._fitted(self.features)
        self._pricing = self._fitted(self.features, predicts=False)
        if self._model_before is not None:
            self._model_before = self._fitted(self._model_before.features)

    def _fitted(self, features: Indices, *, predicts: bool = True) -> Predictor:
        places = self._working.places(features)
        totals, means, deviations = self._working.totals(self._columns.n_rows, places)
        fitted = ridge_fit(totals, predicts=predicts)
        coefficients = fitted.coefficients / deviations[:, None]
        offset = self._working.output_means() - means @ coefficients
        return Predictor(features, coefficients, offset, fitted.losses)

    def _totals(self) -> Totals:
        return self._working.totals(self._columns.n_rows / self._dependence.factor)[0]

    def _chosen(self) -> Flags:
        return np.isin(self._working.columns, self.features)
