"""What chosen features explain on rows that had no part in choosing them.

Groups of folds are held out in turn, and the search is repeated without them. Each set that is
found is measured on the rows held out from it: what the best linear model on it explains
(`featgrad.moments.least_squares`), and how well a ridge model of the other rows predicts. The mean
over groups is about the set from all rows, which is found from more of them and can be better: by
how much at most is what it explains more of all rows, the margin of the estimate. Where it explains
less of them, chosen or not, it is worse: that is subtracted.

A feature's gain is what held-out rows lose without it, as far as it was found without them: fully
where it was, nearly so where a near-copy was found in its place, and not at all where the columns
that were found say nothing of it. Features that were chosen by chance are not found again.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import placed_like, to_numpy
from featgrad.dataset.base import RowSample
from featgrad.dataset.splits import Split
from featgrad.estimates.estimate import Estimate, PathPoint, Predictions, Score, estimated, unknown
from featgrad.moments.least_squares import (
    Gains,
    Weighted,
    adjusted,
    each_explained,
    losses_without,
    ridge_coefficients,
    variance_left,
)
from featgrad.plan import HELD_OUT_RIDGE, ROWS_PER_COLUMN

# Models of different groups share most of their rows, so that groups are not independent (Bates,
# Hastie & Tibshirani 2024): errors as if they were, times this, cover simulated designs.
_SHARED_ROWS = 1.2
# Rows and entries of predictions that are kept for pictures.
_SHOWN_ROWS, _SHOWN = 4000, 1 << 15


class HeldOutRows:
    """Rows that sets are estimated from, with all columns that are chosen anywhere.

    `columns` are those, rising; `units` says which feature or group of features each is; `splits`
    have the folds that a set is found from, and those that are held out from it.
    """

    def __init__(
        self, sample: RowSample, columns: Indices, units: Indices, splits: Sequence[Split]
    ) -> None:
        self._sample, self._columns, self._units = sample, columns, units
        self._divisions = [
            (np.flatnonzero(np.isin(sample.folds, own)), np.flatnonzero(np.isin(sample.folds, out)))
            for own, out in splits
        ]
        n_rows = len(sample.folds)
        given = np.arange(n_rows) if sample.clusters is None else sample.clusters
        _, self._clusters = np.unique(given, return_inverse=True)
        # How often each row is held out, times its weight; sums to one.
        held_out = np.concatenate([test for _, test in self._divisions])
        weights = sample.weights * np.bincount(held_out, minlength=n_rows)
        self._total = float(weights.sum())
        self._weights = weights / self._total

    def estimate(self, chosen: Indices, found: Sequence[Indices]) -> PathPoint:
        """Estimate what a set explains from those that were found in each division."""
        parts = [self._part(*one) for one in zip(found, self._divisions, strict=True)]
        gains = self._gains(chosen, found) if len(chosen) else None
        score = self._score(chosen, [part.centred for part in parts])
        learnability = self._learnability(chosen, parts)
        # In a part outputs are less their mean in other rows.
        y = [self._sample.outputs[test] for _, test in self._divisions]
        errors = [part.prediction.values - part.prediction.outputs for part in parts]
        shown = _some(np.concatenate(errors), np.concatenate(y))
        return PathPoint(len(chosen), chosen, learnability, score, gains, shown)

    def _gains(self, chosen: Indices, found: Sequence[Indices]) -> Gains:
        """What rows lose without each feature or its group, as far as found without them."""
        own = np.searchsorted(self._columns, chosen)
        _, units = np.unique(self._units[own], return_inverse=True)
        rows, counted = self._rows(chosen), []
        for (training, _), features in zip(self._divisions, found, strict=True):
            shares = each_explained(rows.take(training), self._rows(features).take(training))
            counted.append(np.bincount(units, shares) / np.bincount(units))
        gains = losses_without(rows, units, self._divisions, np.array(counted), HELD_OUT_RIDGE)
        return Gains(*(part[units] for part in gains))

    def _learnability(self, chosen: Indices, parts: "Sequence[_Part]") -> Estimate:
        """What the best model on the sets leaves, relative to what a constant leaves."""
        slope = _slope([part.centred for part in parts])
        shares = np.array([part.prediction.weights.sum() for part in parts])
        both, excess = [], 0.0
        for part, share in zip(parts, shares, strict=True):
            rows = part.white
            predicted = placed_like(rows.outputs, slope * part.prediction.values)
            model = variance_left(rows._replace(outputs=rows.outputs - predicted))
            constant = variance_left(rows._replace(values=0 * rows.values[:, :1] + 1))
            both.append((model, constant))
            excess += share**2 * max(model.excess - constant.excess, 0.0)
        left = shares @ [[one.value for one in pair] for pair in both]
        influences = np.zeros((2, int(self._clusters.max()) + 1))
        for pair, share, (_, test) in zip(both, shares, self._divisions, strict=True):
            weights = np.bincount(self._clusters[test], self._sample.weights[test])
            own = np.flatnonzero(weights)
            # Clusters move the value of their part, and parts may differ.
            for moved, one, of_all in zip(influences, pair, left, strict=True):
                part_moves = (one.value - of_all) * weights[own] / weights.sum()
                moved[own] += share * (part_moves + one.influences)
        if left[1] <= 0:
            return unknown(len(chosen))
        ratio = left[0] / left[1]
        moved = (influences[0] - ratio * influences[1]) / left[1]
        error = _SHARED_ROWS * self._error(moved, excess=excess / left[1] ** 2)
        whole = self._rows(chosen).whitened()
        enough = _is_enough(whole) and all(part.is_enough for part in parts)
        more = adjusted(whole) - float(shares @ [part.explained for part in parts])
        value = 1 - ratio + (min(more, 0.0) if enough else 0.0)
        margin = max(more, 0.0) if enough else math.inf
        if value <= 0 and not enough:
            return unknown(len(chosen))
        return estimated(float(value), error, len(chosen), margin=margin)

    def _score(self, chosen: Indices, found: "Sequence[Weighted]") -> Score:
        """How well models of the sets predict.

        The set of all rows may be better than those sets. By how much at most is how much better it
        predicts the same rows, which had a part in choosing it: half of that is a standard error.
        """
        numbers = self._sample.task == "regression"
        measure = self._r_squared if numbers else self._area
        again = [self._part(chosen, one).centred for one in self._divisions]
        (value, error), (best, _) = measure(found), measure(again)
        error = math.hypot(_SHARED_ROWS * error, (best - value) / 2)
        return Score("R2" if numbers else "AUC", value, error)

    def _area(self, predictions: Sequence[Weighted]) -> tuple[float, float]:
        """Mean area under the curve of outputs; those of one class in a part have none there."""
        values, n_least, influences = list[float](), 0, np.zeros(len(self._weights))
        # One after the other: arrays of all outputs would be several times as large as the target.
        for output, column in enumerate(self._sample.outputs.T):
            positive, (beaten, own) = column > 0, np.zeros((2, len(column)))
            for (_, test), rows in zip(self._divisions, predictions, strict=True):
                here = positive[test]
                if here.any() and not here.all():
                    shares = _shares_beaten(rows.values[:, output], here, rows.weights)
                    beaten[test] += shares[0]
                    own[test] += shares[1]
            if (total := float(own.sum())) > 0:
                values.append(float(beaten.sum()) / total)
                # Each pair of rows counts once for the positive one and once for the other.
                influences += 2 * (beaten - values[-1] * own) / total
                n_least = max(n_least, min(map(self._n_clusters, (positive, ~positive))))
        if not values:
            return 0.5, 0.5
        return float(np.mean(values)), self._error(influences / len(values), n_least)

    def _r_squared(self, predictions: Sequence[Weighted]) -> tuple[float, float]:
        y = self._sample.outputs
        y = y - self._weights @ y
        squares, errors = np.zeros((2, len(y)))
        for (_, test), rows in zip(self._divisions, predictions, strict=True):
            errors[test] += rows.weights * np.sum((rows.outputs - rows.values) ** 2, axis=1)
            centred = rows.outputs if self._n_clusters(test) == 1 else y[test]
            squares[test] += rows.weights * np.sum(centred**2, axis=1)
        variance = float(squares.sum())
        left = float(errors.sum()) / variance
        return 1 - left, self._error((errors - left * squares) / variance)

    def _n_clusters(self, rows: Flags | Indices) -> int:
        """Clusters of some of the rows that are held out."""
        held_out = self._weights[rows] > 0
        return int(np.count_nonzero(np.bincount(self._clusters[rows][held_out])))

    def _error(
        self, influences: Floats, n_clusters: int | None = None, excess: float = 0.0
    ) -> float:
        """Standard error, from how much each row or cluster moves a value.

        Of few clusters it is larger, so that 1.96 of it are an interval by Student's t.
        """
        n = self._n_clusters(self._weights > 0) if n_clusters is None else n_clusters
        if n < 2:
            return math.inf
        if len(influences) == len(self._clusters):
            influences = np.bincount(self._clusters, influences).astype(np.float64)
        variance = max(float(np.sum(influences**2)) - excess, excess)
        return float(stdtrit(n - 1, 0.975) / ndtri(0.975)) * math.sqrt(variance * n / (n - 1))

    def _part(self, columns: Indices, division: tuple[Indices, Indices]) -> "_Part":
        training, test = division
        rows = self._rows(columns).standardised(training)
        white, outside = rows.whitened(), rows.take(test)
        # What a model of training rows predicts for test rows, in place of the columns. Weights of
        # all divisions sum to one.
        coefficients = ridge_coefficients(rows.take(training), HELD_OUT_RIDGE)
        predicted = to_numpy(outside.values @ placed_like(rows.values, coefficients))
        weights = self._sample.weights[test] / self._total
        prediction = Weighted(predicted, to_numpy(outside.outputs), weights)
        held_out, is_single = white.without_leverage().take(test), self._n_clusters(test) == 1
        enough = _is_enough(white) and not is_single
        return _Part(prediction, held_out, enough, is_single, adjusted(white))

    def _rows(self, columns: Indices) -> Weighted:
        sample = self._sample
        values = np.zeros((len(sample.weights), 0))
        if len(columns):
            values = sample.columns.columns(np.searchsorted(self._columns, columns)).values()
        outputs, weights = (placed_like(values, part) for part in (sample.outputs, sample.weights))
        return Weighted(values, outputs, weights, sample.clusters)


class _Part(NamedTuple):
    """Rows that are held out in one division, next to what was found without them."""

    prediction: Weighted
    white: Weighted  # whitened columns, where the rows are
    is_enough: bool  # whether rows are enough for least squares on these columns
    # Whether all belong together, and may have a level of their own: they say nothing of a better
    # model than that of other rows.
    is_single: bool
    explained: float  # of all rows

    @property
    def centred(self) -> Weighted:
        """The prediction and what is predicted, without the level of a single cluster."""
        if not self.is_single:
            return self.prediction
        share = self.prediction.weights / self.prediction.weights.sum()
        values, outputs = self.prediction.values, self.prediction.outputs
        return self.prediction._replace(
            values=values - share @ values, outputs=outputs - share @ outputs
        )


def _some(errors: Floats, outputs: Floats) -> Predictions:
    """Evenly spaced rows, so few that those of many sizes and outputs can be kept."""
    step = -(-len(outputs) // max(1, min(_SHOWN_ROWS, _SHOWN // outputs.shape[1])))
    return Predictions(*(p[::step].astype(np.float32) for p in (outputs + errors, outputs)))


def _is_enough(white: Weighted) -> bool:
    """Whether there are enough rows for least squares."""
    return bool(ROWS_PER_COLUMN * (white.values.shape[1] - 1) <= white.n_independent)


def _slope(predictions: Sequence[Weighted]) -> float:
    """By what predictions overshoot: what noise makes of them is shrunk."""
    along = sum(float(np.sum(p.weights @ (p.values * p.outputs))) for p in predictions)
    square = sum(float(np.sum(p.weights @ p.values**2)) for p in predictions)
    return min(max(along / max(square, 1e-300), 0.0), 1.0)


def _shares_beaten(scores: Floats, positive: Flags, weights: Floats) -> tuple[Floats, Floats]:
    """Of each row half its share of its class, times the share of the other class that it beats.

    A row of the positive class beats those with lower scores, one of the other class those with
    higher ones, and half of those with the same: either class adds up to half the area under the
    curve, times the weight of all rows. The half shares come second.
    """
    _, place = np.unique(scores, return_inverse=True)
    own, beaten = np.zeros((2, len(scores)))
    for side, sign in ((positive, 1), (~positive, -1)):
        own[side] = weights[side] / weights[side].sum() * weights.sum() / 2
        others = np.bincount(place, weights * ~side)[::sign]
        below = ((np.cumsum(others) - others / 2) / others.sum())[::sign]
        beaten[side] = own[side] * below[place[side]]
    return beaten, own
