"""The state of a selector on a stream: bounded, mergeable, the same however rows are cut.

Rows wait until a block of a fixed number of them is complete, so that all that is learned and
decided depends on the order of the rows alone.
"""

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from featgrad._support.threads import one_blas_thread
from featgrad._support.types import Flags, Floats, Indices
from featgrad.math.targets import Encoding
from featgrad.moments.folds import Totals
from featgrad.online import choice
from featgrad.online.drift import Dependence, ErrorIncrease, Prequential, Shift
from featgrad.online.history import History, TimelinePoint
from featgrad.online.moments import Clock, PricedColumns, RecentBlock, RecentRows, WorkingMoments
from featgrad.plan import (
    ALARM_ADVANTAGE,
    ALARM_HALF_LIVES,
    ALARM_LEARNING,
    ENTERING,
    ENTERING_NOISE,
    LEARNING_HALF_LIVES,
    ONLINE_ADVANTAGE,
    ONLINE_BLOCK,
    ONLINE_DECISION,
    ONLINE_ENTRY,
    WORKING_SET,
    WORKING_SET_FACTOR,
)
from featgrad.readers.block import stack_rows
from featgrad.search.base import signed_scores
from featgrad.search.units import best_first


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
    """All that is known of a stream.

    Parameters
    ----------
    encoding : Encoding
        Of the target.
    n_features : int
        Columns so far.
    is_sparse : bool
        Whether rows are kept as CSR; their columns may become more.
    size : int
        Features to choose.
    half_life : float
        Rows after which a row counts half.
    alarm_rate : float
        False alarms for each row.
    """

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
        self.size, self._capacity = size, max(WORKING_SET, WORKING_SET_FACTOR * size)
        self.clock, self.recent = Clock(half_life), RecentRows(half_life)
        self.prequential, self.history = Prequential(half_life), History()
        self._dependence = Dependence(half_life)
        # Each kind of alarm has half of the rate.
        self._errors = ErrorIncrease(alarm_rate / 2, half_life)
        self._shift = Shift(alarm_rate / 2, half_life)
        self.features = np.zeros(0, np.intp)
        self._waiting: list[tuple[Any, Floats]] = []
        self._n_waiting = 0
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
        return self.clock.n_rows + self._n_waiting

    def add(self, X: Any, outputs: Floats) -> None:
        """More rows."""
        self.n_features = max(self.n_features, X.shape[1])
        self._early = None
        self._waiting.append((X, outputs))
        self._n_waiting += len(outputs)
        if self._n_waiting < ONLINE_BLOCK:
            return
        X, outputs = self._joined()
        complete = self._n_waiting - self._n_waiting % ONLINE_BLOCK
        with one_blas_thread():
            for start in range(0, complete, ONLINE_BLOCK):
                own = slice(start, start + ONLINE_BLOCK)
                self._learn(X[own], outputs[own])
        self._n_waiting -= complete
        # Copied: a view would keep the whole block in memory.
        self._waiting = [(X[complete:].copy(), outputs[complete:].copy())]

    def current(self) -> "OnlineState":
        """The state to ask: before the first block is complete, one that chooses early."""
        if self.clock.n_rows:
            return self
        if self._early is None:
            early = deepcopy(self)
            early._learn(*early._joined())
            self._early = early
        return self._early

    def merge(self, other: "OnlineState") -> None:
        """Rows of another stream, as if they had come at the same time; it stays as it is."""
        if min(self.clock.n_rows, other.clock.n_rows) == 0:
            raise ValueError(
                f"other and this selector need {ONLINE_BLOCK} rows each before they can be merged."
            )
        other = deepcopy(other)
        self._grow(max(self.n_features, other.n_features))
        other._grow(self.n_features)
        here, there = self._working.columns, other._working.columns
        self._enter(np.setdiff1d(there, here))
        other._enter(np.setdiff1d(here, there))
        other._rescale(self.clock.relative_to(other.clock))
        other._columns.move(self._columns.origin)
        self._columns.merge(other._columns)
        self._working.merge(other._working)
        self.prequential.merge(other.prequential)
        self._dependence.merge_mean(other._dependence)
        self.recent.merge(other.recent, self.clock.time - other.clock.time)
        before, self.features = self.features, np.union1d(self.features, other.features)
        totals = self._totals()
        places = self._working.places(self.features)
        best = choice.best_set(totals.columns(places), min(self.size, len(places)))
        self.features = np.sort(self._working.columns[places[best]])
        self.history.changed(self.clock.n_rows, before, self.features)
        self._fit_models()
        for X, outputs in other._waiting:
            self.add(X, outputs)

    def _joined(self) -> tuple[Any, Floats]:
        """All rows that wait; sparse ones may have had fewer columns."""
        if len(self._waiting) == 1:
            return self._waiting[0]
        Xs, outputs = zip(*self._waiting, strict=True)
        if self.is_sparse:
            for X in Xs:
                X.resize(X.shape[0], self.n_features)
        return stack_rows(Xs), np.concatenate(outputs)

    def scores(self) -> Floats:
        """Above 0 for chosen columns, what is lost without them; below for others, by price."""
        totals = self._totals()
        gains = self._columns.prices().values / max(totals.variance, 1e-300)
        gains[self._working.columns] = choice.ridge_fit(totals, self._chosen()).gains
        chosen, losses = np.zeros(self.n_features, bool), np.zeros(self.n_features)
        chosen[self.features], losses[self.features] = True, self._model.losses
        return signed_scores(losses, gains, chosen, self._columns.spread() > 0)

    def _learn(self, X: Any, outputs: Floats) -> None:
        """Predict a block of rows, then learn from it."""
        time, count = self.clock.time, len(outputs)
        weights = self.clock.weights(time, count)
        increased = shifted = False
        if self.clock.n_rows == 0:
            mean = outputs.mean(axis=0)
            origin = None if self.is_sparse else X.mean(axis=0)
            self._columns = PricedColumns(self.n_features, outputs.shape[1], origin)
            self._working = WorkingMoments(self.n_features, mean)
            values, left = np.zeros((count, 0)), outputs - mean
        else:
            self._grow(self.n_features)
            values = self._working.values(X)
            residuals = self._model.residuals(self._working, values, outputs)
            deviations = outputs - self._working.output_means()
            self.prequential.add(deviations, residuals, weights)
            increased = self._errors.add(deviations, residuals)
            if self._model_before is not None:
                before = self._model_before.residuals(self._working, values, outputs)
                shifted = self._shift.add(before, residuals, self._dependence.factor)
            left = self._pricing.residuals(self._working, values, outputs)
            self._dependence.add_block(self._working.centred(values), left)
        self._working.add(values, outputs, weights)
        self._columns.learn(X, weights, left)
        self.recent.add(RecentBlock(time, X.astype(np.float32), outputs))
        factor = self.clock.advance(count)
        if factor != 1:
            self._rescale(factor)
        if increased:
            self._raise_alarm()
        elif shifted and self._model_before is not None:
            self.history.shift(self.clock.n_rows, self._model_before.features, self.features)
            self._compare_from_now()
        if self.clock.n_rows >= self._next_choice:
            self._choose()
        else:
            self._fit_models()

    def _raise_alarm(self) -> None:
        """Note the change, let earlier rows count as far as they are true, and choose anew."""
        self.history.alarm(self.clock.n_rows, self.features)
        kept = min(max(self._errors.still_true, 2.0**-ALARM_HALF_LIVES), 1.0)
        self.clock.skip(-np.log2(kept))
        self._errors.restart()
        self._model_before = None
        self._since = self.clock.n_rows
        self._next_choice = self._next_entry = self.clock.n_rows + ONLINE_BLOCK

    def _compare_from_now(self) -> None:
        """Let later sets be compared with the present one."""
        self._model_before = self._model
        self._shift.height = 0.0

    def _rescale(self, factor: float) -> None:
        for sums in (self._columns, self._working, self.prequential):
            sums.rescale(factor)

    def _grow(self, n_features: int) -> None:
        self.n_features = n_features
        if len(self._columns.records) < n_features:
            self._columns.grow(n_features)
            self._working.grow(n_features)

    def _choose(self) -> None:
        """Let columns enter and leave the working set, and then the chosen one."""
        n_rows = self.clock.n_rows
        age = n_rows - self._since
        if self._since:
            learning, advantage = ALARM_LEARNING, ALARM_ADVANTAGE
        else:
            learning, advantage = LEARNING_HALF_LIVES, 0.0
        if has_learned := age > learning * self.clock.half_life:
            advantage = ONLINE_ADVANTAGE
        enters = n_rows >= self._next_entry
        self._next_choice = n_rows + min(ONLINE_DECISION, age)
        if enters:
            self._enter(self._entering())
            self._limit()
            self._next_entry = n_rows + min(ONLINE_ENTRY, age)
        before = self.features
        totals = self._totals()
        size = min(self.size, len(totals.cross))
        chosen = choice.improved(totals, self._chosen(), size, advantage, not enters)
        self.features = np.sort(self._working.columns[chosen])
        self.history.changed(n_rows, before, self.features)
        self._fit_models()
        self.history.decided(TimelinePoint(n_rows, self.features, self._model.losses))
        if has_learned and self._model_before is None:
            self._compare_from_now()

    def _entering(self) -> Indices:
        """Columns outside the working set that are worth more than chance."""
        outside, free = ~self._working.inside, self._capacity - len(self._working.columns)
        if not self.is_sparse and np.count_nonzero(outside) <= free:
            # All columns of a narrow table: what does not vary yet may do so later.
            return np.flatnonzero(outside)
        prices = self._columns.prices()
        # Anything that varies may enter while places are free.
        count, least = free, -np.inf
        if free <= 0:
            count = max(ENTERING, self.size)
            least = prices.chance(max(1, round(ENTERING_NOISE * count)))
        able = np.flatnonzero(outside & (prices.values != 0) & (prices.values > least))
        return np.sort(able[best_first(prices.values[able], count)])

    def _enter(self, columns: Indices) -> None:
        if len(columns):
            means, spread = self._columns.centres()[columns], self._columns.spread()[columns]
            self._working.enter(columns, means, spread, self.recent, self.clock)

    def _limit(self) -> None:
        """Let the columns of least gain leave the working set where it is too large."""
        if len(self._working.columns) <= self._capacity or len(self.features) == 0:
            return
        chosen = self._chosen()
        totals = self._totals()
        gains = np.where(chosen, np.inf, choice.ridge_fit(totals, chosen).gains)
        if self._model_before is not None:
            gains[self._working.places(self._model_before.features)] = np.inf
        self._working.keep(np.sort(best_first(gains, self._capacity)))

    def _fit_models(self) -> None:
        """The models that predict the next rows."""
        self._model = self._fitted(self.features)
        self._pricing = self._fitted(self.features, predicts=False)
        if self._model_before is not None:
            self._model_before = self._fitted(self._model_before.features)

    def _fitted(self, features: Indices, *, predicts: bool = True) -> Predictor:
        places = self._working.places(features)
        totals, means, deviations = self._working.totals(self._columns.n_rows, places)
        fitted = choice.ridge_fit(totals, predicts=predicts)
        coefficients = fitted.coefficients / deviations[:, None]
        offset = self._working.output_means() - means @ coefficients
        return Predictor(features, coefficients, offset, fitted.losses)

    def _totals(self) -> Totals:
        return self._working.totals(self._columns.n_rows / self._dependence.factor)[0]

    def _chosen(self) -> Flags:
        chosen = np.zeros(len(self._working.columns), bool)
        chosen[self._working.places(self.features)] = True
        return chosen
