"""Learnability and alarms, from predictions of rows before they are learned from.

1. Errors: a CUSUM over the logarithms of the mean squared errors of blocks, less their mean, in
   standard deviations. It stays at 0 or above and raises an alarm above a threshold ``h``. With the
   reference value 1/2, normal values reach it after ``2 (exp(h + 1.166) - h - 2.166)`` blocks on
   average while nothing changes (Siegmund 1985). The standard deviation is that of sums over many
   blocks, because neighbouring blocks may be correlated, and of values above the mean, because
   errors may be skewed.
2. Shift of the set: the same for the errors of an earlier set less those of the present one, fitted
   to the same rows. Both predict rows that chose neither.

After an alarm earlier rows keep as much weight as they are still true: the slope of targets on
predictions since the CUSUM left 0, which is 1 if nothing has changed and 0 if predictions are
useless. Half-lives are in rows, rates are false alarms for each row.
"""

import math

import numpy as np
from scipy.optimize import brentq

from featgrad import plan
from featgrad._support import Floats
from featgrad.columns.sums import ArraySums
from featgrad.estimates.estimate import Estimate, unknown

_OVERSHOOT = 1.166


class BlockSeries(ArraySums):
    """Values of blocks, of which earlier ones are forgotten: their mean and long-run variance."""

    _added = "count", "weight", "_total", "_sums"

    def __init__(self, half_life: float) -> None:
        self._decay = float(2.0 ** (-plan.ONLINE_BLOCK / half_life))
        self.count, self.weight, self._total, self._last = 0, 0.0, 0.0, 0.0
        # Of deviations from the mean so far: squares, products of neighbours, and the number and
        # squares of those above 0.
        self._sums = np.zeros(4)

    def add(self, value: float) -> None:
        if self.count:
            above = value - self.mean
            new = [above**2, above * self._last, above > 0, max(above, 0.0) ** 2]
            self._sums = self._decay * self._sums + new
            self._last = above
        self.count += 1
        self.weight = self._decay * self.weight + 1
        self._total = self._decay * self._total + value

    @property
    def mean(self) -> float:
        return self._total / max(self.weight, 1.0)

    @property
    def long_run_variance(self) -> float:
        """What each block adds to the variance of a sum over many blocks.

        Values are taken for an autoregression of order 1, and their variance from those above the
        mean: these raise alarms, and are further away if values are skewed.
        """
        squares, products, n_above, squares_above = self._sums.tolist()
        if squares_above <= 1e-18 * n_above * self.mean**2:
            return 0.0
        # Dependence that lasts longer than the memory cannot be seen.
        correlation = min(max(products / squares, 0.0), 1 - 1 / self.weight)
        return float(squares_above / n_above * (1 + correlation) / (1 - correlation))


class Prequential(ArraySums):
    """Explained fraction of the target's variance, of rows that were predicted before."""

    def __init__(self, half_life: float) -> None:
        # Weighted sums of gain and base, and those over squared weights of gain^2, gain base,
        # base^2.
        self._sums, self._products = np.zeros(2), np.zeros(3)
        # Of all rows, without forgetting.
        self.squared_error = 0.0
        # Sums over the rows of a block of what they add to the error, and of its squares.
        self._errors, self._squares = BlockSeries(half_life), BlockSeries(half_life)

    def add(self, deviations: Floats, residuals: Floats, weights: Floats) -> None:
        """Outputs less their mean so far, and less their predictions."""
        base, left = np.sum(deviations**2, axis=1), np.sum(residuals**2, axis=1)
        gain = base - left
        self.squared_error += float(left.sum())
        self._sums += weights @ np.stack([gain, base], axis=1)
        self._products += weights**2 @ np.stack([gain**2, gain * base, base**2], axis=1)
        errors = gain - self._value * base
        self._errors.add(float(np.sum(errors)))
        self._squares.add(float(errors @ errors))

    def rescale(self, factor: float) -> None:
        self._sums *= factor
        self._products *= factor**2

    def learnability(self, n_features: int) -> Estimate:
        base, value = float(self._sums[1]), self._value
        if base <= 0:
            return unknown(n_features)
        spread = float(self._products @ np.array([1.0, -2 * value, value**2]))
        # Times the rows that are worth one independent row.
        spread *= max(1.0, self._errors.long_run_variance / max(self._squares.mean, 1e-300))
        return Estimate(value, math.sqrt(max(spread, 0.0)) / base, n_features)

    @property
    def _value(self) -> float:
        gain, base = self._sums.tolist()
        return gain / base if base > 0 else 0.0


class Dependence(BlockSeries):
    """How many rows are worth one independent row, for what they show about columns.

    The sum of products of a column and residuals over a block has so many times the variance that
    it would have over independent rows. Each column gives the square of its sum, divided by its sum
    of squares, so that an outlier counts no more than other rows; the factor is the mean over
    columns that vary and over blocks.
    """

    def __init__(self, half_life: float) -> None:
        super().__init__(plan.ALARM_MEMORY * half_life)

    @property
    def factor(self) -> float:
        return max(1.0, self.mean)

    def add_block(self, centred: Floats, residuals: Floats) -> None:
        """Take columns of a block less their means, and what their model leaves."""
        squares = (centred**2).T @ residuals**2
        varies = (np.ptp(centred, axis=0) > 0)[:, None] & (squares > 0)
        if varies.any():
            ratios = (centred.T @ residuals)[varies] ** 2 / squares[varies]
            self.add(float(np.mean(ratios)))


class CumulativeSum(ArraySums):
    """CUSUM: how far values of blocks have been above their mean lately, in standard deviations.

    The reference value is subtracted from each of them. What is merged is what values are compared
    with, so that the sum goes on as it was.
    """

    def __init__(self, rate: float, reference: float) -> None:
        self.height, self._reference = 0.0, reference
        self._threshold = alarm_height(rate * plan.ONLINE_BLOCK, reference)
        self._variance = 0.0

    def exceeds(self, above: float, variance: float, uncertainty: float = 0.0) -> bool:
        """Take a value less its mean, and the variance; whether the sum is too high.

        The variance is kept while the sum is above 0: a change must not raise it.
        """
        if self.height == 0:
            self._variance = variance
        if self._variance == 0:
            return False
        value = min(above / math.sqrt(self._variance), plan.ALARM_LARGEST)
        self.height = max(0.0, self.height + value - self._reference - uncertainty)
        return self.height > self._threshold


class ErrorIncrease(CumulativeSum):
    """Whether the errors of blocks have increased, and how much of the past is still true since.

    Errors that others are compared with live longer than rows of the selector.
    """

    _added = ("_errors",)

    def __init__(self, rate: float, half_life: float) -> None:
        super().__init__(rate, plan.ALARM_REFERENCE)
        self._agreement = self._power = 0.0
        self._errors = BlockSeries(plan.ALARM_MEMORY * half_life)

    @property
    def still_true(self) -> float:
        """Slope of targets on predictions, since errors began to increase."""
        return self._agreement / self._power if self._power > 0 else 1.0

    def add(self, deviations: Floats, residuals: Floats) -> bool:
        """Take outputs less their mean, and less their predictions."""
        if self.height == 0:
            self._agreement = self._power = 0.0
        predictions = deviations - residuals
        self._agreement += float(np.sum(predictions * deviations))
        self._power += float(np.sum(predictions**2))
        error = math.log(max(float(np.mean(np.sum(residuals**2, axis=1))), 1e-300))
        errors, increased = self._errors, False
        if errors.count >= plan.ALARM_WARM_UP:
            # The mean is uncertain itself, most of all soon after a restart.
            uncertainty = plan.ALARM_UNCERTAINTY / math.sqrt(errors.weight)
            increased = self.exceeds(error - errors.mean, errors.long_run_variance, uncertainty)
        errors.add(error)
        return increased


class Shift(CumulativeSum):
    """Whether an earlier set predicts worse than the present one."""

    _added = ("_differences",)

    def __init__(self, rate: float, half_life: float) -> None:
        super().__init__(rate, plan.SHIFT_REFERENCE)
        self._differences = BlockSeries(plan.ALARM_MEMORY * half_life)

    def add(self, before: Floats, now: Floats, dependence: float = 1.0) -> bool:
        """Take the residuals of both, and how many rows are worth one independent row."""
        worse = np.sum(before**2 - now**2, axis=1)
        length = float(np.linalg.norm(worse))
        if length == 0:
            return False
        # Of variance 1 if rows are independent and both sets predict as well as each other.
        difference = float(np.sum(worse)) / length
        variance = max(dependence, self._differences.long_run_variance)
        self._differences.add(difference)
        return self.exceeds(difference, variance)


def alarm_height(rate: float, reference: float) -> float:
    """Height of the cumulative sum that is passed at this rate per block."""
    drift = 2 * reference

    def excess(height: float) -> float:
        reach = drift * (height + _OVERSHOOT)
        return 2 * (math.exp(reach) - reach - 1) / drift**2 * rate - 1

    return max(0.0, float(brentq(excess, -_OVERSHOOT, 100.0)))
