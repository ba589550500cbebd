"""Curves: functions of one column with a number that is learned, a knot or a lag.

A new one is a class here and a line in `OPERATIONS` of `featgrad.construct.operations`. `numbers`
gives those to try, of each column one in each row, NaN where the curve does not exist; `apply`
takes a column and its number, or columns and theirs, and `text` says what that is. Rows of an
ordered curve see themselves and those before them. Curves of the same parameters are equal.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featgrad._support import Floats
from featgrad.construct.expressions import minus, rounded
from featgrad.plan import KNOTS, LONGEST_LAG


@dataclass(frozen=True)
class Hinge:
    """``max(a - knot, 0)``, with knots at quantiles."""

    name: str = "hinge"
    is_ordered: bool = False

    def numbers(self, X: Floats) -> Any:
        knots = np.quantile(X, np.linspace(0, 1, KNOTS + 2)[1:-1], axis=0)
        knots = rounded(knots, X.std(axis=0))
        low, high = X.min(axis=0), X.max(axis=0)
        bends = ((low < X) & (high > X)).any(axis=0) & (knots > low) & (knots < high)
        return np.where(bends, knots, np.nan)

    def apply(self, x: Floats, number: Any) -> Floats:
        return np.asarray(np.maximum(x - number, 0.0))

    def text(self, part: str, number: float) -> str:
        return f"max({minus(part, number)}, 0)"


@dataclass(frozen=True)
class Power:
    """A "log", "sqrt" or "reciprocal" where it exists; new values are no smaller than others."""

    name: str
    is_ordered: bool = False

    def numbers(self, X: Floats) -> Any:
        low, high = X.min(axis=0), X.max(axis=0)
        exists = (low >= 0) if self.name == "sqrt" else (low > 0)
        return np.where(exists & (high > low), low, np.nan)[None]

    def apply(self, x: Floats, number: Any) -> Floats:
        return np.asarray(getattr(np, self.name)(np.maximum(x, number)))

    def text(self, part: str, number: float) -> str:
        return f"1 / {part}" if self.name == "reciprocal" else f"{self.name}({part})"


@dataclass(frozen=True)
class Lag:
    """``a[t-7]``: the value so many rows before; of the first rows that of the first one."""

    longest: int = LONGEST_LAG
    name: str = "lag"
    is_ordered: bool = True

    def numbers(self, X: Floats) -> Any:
        lags = np.arange(1.0, min(self.longest, len(X) // 2) + 1)
        return np.repeat(lags[:, None], X.shape[1], axis=1)

    def apply(self, x: Floats, number: Any) -> Floats:
        return x[np.maximum(np.arange(len(x)) - int(np.min(number)), 0)]

    def text(self, part: str, number: float) -> str:
        return f"{part}[t-{number:g}]"


@dataclass(frozen=True)
class RollingMean(Lag):
    """``mean(a[t-6..t])``: of a row and those before it, of 2, 4, 8 rows and so on."""

    name: str = "rolling mean"

    def numbers(self, X: Floats) -> Any:
        lags = super().numbers(X)
        return lags[np.log2(lags[:, 0] + 1) % 1 == 0]

    def apply(self, x: Floats, number: Any) -> Floats:
        sums, window = np.cumsum(x, axis=0), int(np.min(number)) + 1
        sums[window:] = sums[window:] - sums[:-window]
        return np.asarray((sums.T / np.minimum(np.arange(1, len(x) + 1), window)).T)

    def text(self, part: str, number: float) -> str:
        return f"mean({part}[t-{number:g}..t])"


Curve = Hinge | Power | Lag
