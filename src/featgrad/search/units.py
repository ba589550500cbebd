"""What is chosen as one: a feature or a group of them, with its cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Units:
    """Units over some columns.

    Attributes
    ----------
    of_column : ndarray of shape (columns,)
        The unit that each column belongs to, 0 .. units - 1; -1 for columns left out for good.
    costs : ndarray of shape (units,)
        What choosing a unit takes from the budget.
    kept : ndarray of bool, shape (units,)
        Units that are chosen whatever they bring.
    per_feature : int
        Columns that stand for one feature.
    """

    of_column: Indices
    costs: Floats
    kept: NDArray[np.bool_]
    per_feature: int = 1

    @property
    def count(self) -> int:
        return len(self.costs)

    @property
    def single(self) -> bool:
        """Whether every unit is the column of its own number."""
        return self.count == len(self.of_column) and bool(
            np.all(self.of_column == np.arange(self.count))
        )

    @property
    def simple(self) -> bool:
        """Whether every unit is one column of cost 1."""
        return self.single and bool(np.all(self.costs == 1))

    @property
    def alone(self) -> bool:
        """Whether every unit is one column of cost 1; columns may be in none."""
        columns = np.count_nonzero(self.of_column >= 0)
        return columns == self.count and bool(np.all(self.costs == 1))

    def total(self, values: Floats) -> Floats:
        """Sums over the columns of each unit."""
        total = np.bincount(self.of_column, weights=values, minlength=self.count)
        return total.astype(np.float64)

    def members(self, chosen: NDArray[np.bool_]) -> Indices:
        """Columns of the chosen units."""
        return np.flatnonzero(chosen[self.of_column])

    def only(self, units: Indices) -> tuple[Units, Indices]:
        """Some of the units, and their columns."""
        place = np.full(self.count + 1, -1)  # the last is that of columns in no unit
        place[units] = np.arange(len(units))
        columns = np.flatnonzero(place[self.of_column] >= 0)
        of_column = place[self.of_column[columns]]
        inner = replace(self, of_column=of_column, costs=self.costs[units], kept=self.kept[units])
        return inner, columns

    def twice(self) -> Units:
        """The same units over two columns in place of each: all first ones, then all second."""
        return replace(self, of_column=np.tile(self.of_column, 2), per_feature=2)

    def best_within(self, scores: Floats, budget: float) -> NDArray[np.bool_]:
        """Kept units, then those with the best scores that the budget still has room for."""
        chosen = self.kept.copy()
        left = budget - float(self.costs[chosen].sum())
        # Rounding in sums of costs must not cost a unit.
        slack = 1e-9 * budget
        ranked = np.argsort(-scores, kind="stable")
        if np.all(self.costs == 1):
            free = ranked[~chosen[ranked]]
            chosen[free[: int(left + slack)]] = True
            return chosen
        for unit in ranked:
            if not chosen[unit] and self.costs[unit] <= left + slack:
                chosen[unit] = True
                left -= float(self.costs[unit])
        return chosen
