"""Forgetting: the weight of a row doubles with every half-life that it comes later.

Sums of weighted rows then need no decay: a new row is added, whatever their number of columns.
Before weights become too large, all sums are divided by the same number.
"""

import numpy as np

from featgrad.arrays import Floats

# Half-lives after which sums are divided: far below what double precision takes.
_LONGEST = 200


class Clock:
    """Counts rows and weighs them."""

    def __init__(self, half_life: float) -> None:
        self.half_life, self.n_rows = half_life, 0
        self._origin = 0

    def weights(self, first: int, count: int) -> Floats:
        """Weights of rows from one on, counted from the first of all."""
        later = np.arange(first + 1, first + count + 1) - self._origin
        return np.asarray(np.exp2(later / self.half_life))

    def advance(self, count: int) -> float:
        """Let rows pass; what sums have to be multiplied by, mostly 1."""
        self.n_rows += count
        passed = self.n_rows - self._origin
        if passed <= _LONGEST * self.half_life:
            return 1.0
        self._origin = self.n_rows
        return float(np.exp2(-passed / self.half_life))

    def relative_to(self, other: "Clock") -> float:
        """What sums of another clock have to be multiplied by: both stand at the same moment."""
        here, there = self.n_rows - self._origin, other.n_rows - other._origin
        return float(np.exp2((here - there) / self.half_life))
