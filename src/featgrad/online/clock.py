"""Forgetting: the weight of a row doubles with every half-life that it comes later.

Sums of weighted rows then need no decay: a new row is added, whatever their number of columns.
Before weights become too large, all sums are divided by the same number.
"""

import numpy as np

from featgrad._support.types import Floats

# Half-lives after which sums are divided: far below what double precision takes.
_LONGEST = 200


class Clock:
    """Counts rows and weighs them by the time at which they come: one unit for each row."""

    def __init__(self, half_life: float) -> None:
        self.half_life, self.n_rows, self.time = half_life, 0, 0.0
        self._origin = 0.0

    def weights(self, time: float, count: int) -> Floats:
        """Weights of rows that came from a time on."""
        later = np.arange(1, count + 1) + (time - self._origin)
        return np.asarray(np.exp2(later / self.half_life))

    def advance(self, count: int) -> float:
        """Let rows pass; what sums have to be multiplied by, mostly 1."""
        self.n_rows += count
        self.time += count
        passed = self.time - self._origin
        if passed <= _LONGEST * self.half_life:
            return 1.0
        self._origin = self.time
        return float(np.exp2(-passed / self.half_life))

    def skip(self, half_lives: float) -> None:
        """Let time pass without rows: all rows so far count less."""
        self.time += half_lives * self.half_life

    def relative_to(self, other: "Clock") -> float:
        """What sums of another clock have to be multiplied by: both stand at the same moment."""
        here, there = self.time - self._origin, other.time - other._origin
        return float(np.exp2((here - there) / self.half_life))
