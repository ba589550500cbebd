"""What predictions of rows not yet seen say: learnability now, and alarms when something changes.

Every block of rows is predicted before anything is learned from it. Errors have risen if a
cumulative sum exceeds its threshold: of standardised logarithms of the mean squared errors of
blocks, less half a standard deviation each, that stays at 0 or above. For normal ones it exceeds
``h`` after ``2 (exp(h + 1.166) - h - 2.166)`` blocks on average where nothing has changed (Siegmund
1985).

The set has changed beyond chance if the same sum does so for the errors of the set of before, less
those of the present one. Both are predicted beforehand, so that nothing was chosen by them.

How much of the past is still true is told by the rows since the sum of errors left 0: the slope of
their targets on their predictions is 1 if nothing has changed, 0 if predictions say nothing.
"""

import math

import numpy as np

from featgrad.arrays import Floats
from featgrad.estimate import Estimate, unknown
from featgrad.plan import (
    ALARM_LARGEST,
    ALARM_MEMORY,
    ALARM_REFERENCE,
    ALARM_WARM_UP,
    ONLINE_BLOCK,
    SHIFT_REFERENCE,
)

_OVERSHOOT = 1.166


class Prequential:
    """Explained fraction of the target's variance, of rows that were predicted before."""

    def __init__(self) -> None:
        self._base = self._gain = 0.0
        # Of all rows, without forgetting.
        self.squared_error = 0.0
        # Sums over squared weights: of gain^2, gain base, base^2.
        self._products = np.zeros(3)

    def add(self, deviations: Floats, residuals: Floats, weights: Floats) -> None:
        """Outputs less their mean so far, and less their predictions."""
        base = np.sum(deviations**2, axis=1)
        gain = base - np.sum(residuals**2, axis=1)
        self.squared_error += float(np.sum(residuals**2))
        self._base += float(weights @ base)
        self._gain += float(weights @ gain)
        self._products += weights**2 @ np.stack([gain**2, gain * base, base**2], axis=1)

    def rescale(self, factor: float) -> None:
        self._base *= factor
        self._gain *= factor
        self._products *= factor**2

    def merge(self, other: "Prequential") -> None:
        self._base += other._base
        self._gain += other._gain
        self._products += other._products
        self.squared_error += other.squared_error

    def learnability(self, n_features: int) -> Estimate:
        if self._base <= 0:
            return unknown(n_features)
        value = self._gain / self._base
        spread = float(self._products @ np.array([1.0, -2 * value, value**2]))
        return Estimate(value, math.sqrt(max(spread, 0.0)) / self._base, n_features)


class Dependence:
    """How many rows of the stream say as much about columns as one would, if all were independent.

    The sum of products of a column and residuals over a block has so many times the variance that
    it would have over independent rows. Each column gives the square of its sum, divided by its sum
    of squares, so that an outlier counts no more than other rows; the factor is the mean over
    columns that vary and over blocks.

    Parameters
    ----------
    half_life : float
        Of the selector, in rows.
    """

    def __init__(self, half_life: float) -> None:
        self._decay = _memory(half_life)
        self._total = self._weight = 0.0

    @property
    def factor(self) -> float:
        return max(1.0, self._total / self._weight) if self._weight > 0 else 1.0

    def add(self, centred: Floats, residuals: Floats) -> None:
        """Take columns of a block less their means, and what their model leaves."""
        squares = (centred**2).T @ residuals**2
        varies = (np.ptp(centred, axis=0) > 0)[:, None] & (squares > 0)
        if not varies.any():
            return
        ratios = (centred.T @ residuals)[varies] ** 2 / squares[varies]
        self._total = self._decay * self._total + float(np.mean(ratios))
        self._weight = self._decay * self._weight + 1

    def merge(self, other: "Dependence") -> None:
        self._total += other._total
        self._weight += other._weight


class CumulativeSum:
    """How far standardised values of blocks have been above 0 for a while.

    Parameters
    ----------
    rate : float
        False alarms for each row.
    reference : float
        What is forgiven of each value.
    """

    def __init__(self, rate: float, reference: float) -> None:
        self.height, self._reference = 0.0, reference
        self._threshold = threshold(rate * ONLINE_BLOCK, reference)

    def add(self, standardised: float, uncertainty: float = 0.0) -> bool:
        """Take a value, less what is forgiven of it; whether the sum is too high."""
        forgiven = self._reference + uncertainty
        self.height = max(0.0, self.height + min(standardised, ALARM_LARGEST) - forgiven)
        return self.height > self._threshold


class RisenErrors:
    """Whether the errors of blocks have risen, and how much of the past is still true since.

    Parameters
    ----------
    rate : float
        False alarms for each row.
    half_life : float
        Of the selector, in rows; errors that others are compared with live longer.
    """

    def __init__(self, rate: float, half_life: float) -> None:
        self._decay = _memory(half_life)
        self._sum = CumulativeSum(rate, ALARM_REFERENCE)
        self.restart()

    def restart(self) -> None:
        """Forget what errors were like."""
        self._sum.height, self._count = 0.0, 0
        self._weight = self._total = self._squares = 0.0
        self._agreement = self._power = 0.0

    @property
    def still_true(self) -> float:
        """Slope of targets on predictions, since errors began to rise."""
        return self._agreement / self._power if self._power > 0 else 1.0

    def add(self, deviations: Floats, residuals: Floats) -> bool:
        """Take outputs less their mean, and less their predictions."""
        if self._sum.height == 0:
            self._agreement = self._power = 0.0
        predictions = deviations - residuals
        self._agreement += float(np.sum(predictions * deviations))
        self._power += float(np.sum(predictions**2))
        return self._add(math.log(max(float(np.mean(np.sum(residuals**2, axis=1))), 1e-300)))

    def _add(self, error: float) -> bool:
        risen = False
        if self._count >= ALARM_WARM_UP:
            mean = self._total / self._weight
            deviation = math.sqrt(max(self._squares / self._weight - mean**2, 0.0))
            if deviation > 1e-9 * abs(mean):
                # The mean is uncertain itself, most of all soon after a restart.
                uncertainty = 1 / math.sqrt(self._weight)
                risen = self._sum.add((error - mean) / deviation, uncertainty)
        self._count += 1
        self._weight = self._decay * self._weight + 1
        self._total = self._decay * self._total + error
        self._squares = self._decay * self._squares + error**2
        return risen


class Shift:
    """Whether a set of before predicts worse than the present one."""

    def __init__(self, rate: float) -> None:
        self._sum = CumulativeSum(rate, SHIFT_REFERENCE)

    def restart(self) -> None:
        self._sum.height = 0.0

    def add(self, before: Floats, now: Floats) -> bool:
        """Take the residuals of both."""
        worse = np.sum(before**2 - now**2, axis=1)
        error = float(np.std(worse)) / math.sqrt(len(worse))
        return error > 0 and self._sum.add(float(np.mean(worse)) / error)


def _memory(half_life: float) -> float:
    """What is kept of sums over blocks after each one."""
    return float(2.0 ** (-ONLINE_BLOCK / (ALARM_MEMORY * half_life)))


def threshold(rate: float, reference: float) -> float:
    """Height of the cumulative sum that is passed at this rate per block."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        reach = middle + _OVERSHOOT
        drift = 2 * reference
        blocks = 2 * (math.exp(drift * reach) - drift * reach - 1) / drift**2
        low, high = (middle, high) if blocks * rate < 1 else (low, middle)
    return high
