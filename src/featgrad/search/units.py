"""What is chosen as one: a feature or a group of them, with its cost."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from featgrad._support.types import Flags, Floats, Indices


@dataclass(frozen=True)
class Units:
    """Units over some columns."""

    of_column: Indices  # the unit of each column, 0 .. units - 1; -1 for excluded columns
    costs: Floats  # what choosing a unit takes from the budget
    kept: Flags  # units that are always chosen

    @property
    def count(self) -> int:
        return len(self.costs)

    @property
    def n_available(self) -> int:
        """Columns that can be chosen."""
        return int(np.count_nonzero(self.of_column >= 0))

    @cached_property
    def _are_the_columns(self) -> bool:
        """Whether units are the columns, in their order: nothing has to be looked up."""
        return np.array_equal(self.of_column, np.arange(self.count))

    @cached_property
    def are_single_columns(self) -> bool:
        """Whether every unit is one column of cost 1; columns may be excluded."""
        return self.n_available == self.count and bool(np.all(self.costs == 1))

    @property
    def smallest_budget(self) -> float:
        """Cost of the kept units, or of the cheapest one where none are kept."""
        return float(self.costs[self.kept].sum() if self.kept.any() else self.costs.min())

    def total(self, values: Floats) -> Floats:
        """Sums over the columns of each unit."""
        if self._are_the_columns:
            return np.asarray(values, np.float64)
        inside = self.of_column >= 0
        total = np.bincount(self.of_column[inside], values[inside], minlength=self.count)
        return total.astype(np.float64)

    def spread(self, values: Floats, excluded: float) -> Floats:
        """The value of its unit for each column."""
        if self._are_the_columns:
            return values
        return np.where(self.of_column >= 0, values[self.of_column], excluded)

    def members(self, chosen: Flags) -> Indices:
        """Columns of the chosen units."""
        if self._are_the_columns:
            return np.flatnonzero(chosen)
        return np.flatnonzero(np.append(chosen, False)[self.of_column])

    def columns_of(self, units: Indices) -> Indices:
        """Columns of some units."""
        if self._are_the_columns:
            return units
        chosen = np.zeros(self.count, bool)
        chosen[units] = True
        return self.members(chosen)

    def only(self, units: Indices) -> "tuple[Units, Indices]":
        """Some of the units, rising, and their columns."""
        if self._are_the_columns:
            return Units(np.arange(len(units)), self.costs[units], self.kept[units]), units
        place = np.full(self.count + 1, -1)  # the last is that of excluded columns
        place[units] = np.arange(len(units))
        columns = np.flatnonzero(place[self.of_column] >= 0)
        of_column = place[self.of_column[columns]]
        return Units(of_column, self.costs[units], self.kept[units]), columns

    def fit_within(self, budget: float) -> Flags:
        """Kept units, and those that the budget allows together with these."""
        left = budget - float(self.costs[self.kept].sum())
        return np.asarray(self.kept | (self.costs <= left + 1e-9 * budget))

    def best_within(self, scores: Floats, budget: float) -> Flags:
        """Kept units, then those with the best scores that the budget still allows."""
        chosen = self.kept.copy()
        left = budget - float(self.costs[chosen].sum())
        # Rounding in sums of costs must not cost a unit.
        slack = 1e-9 * budget
        if np.all(self.costs == 1):
            count = max(0, int(left + slack))
            ranked = best_first(scores, count + int(np.count_nonzero(chosen)))
            chosen[ranked[~chosen[ranked]][:count]] = True
            return chosen
        for unit in np.argsort(-scores, kind="stable"):
            if not chosen[unit] and self.costs[unit] <= left + slack:
                chosen[unit] = True
                left -= float(self.costs[unit])
        return chosen


def best_first(scores: Floats, count: int) -> Indices:
    """Places of the largest scores, the largest first; of equal ones the first.

    Where there are many more scores, sorting them all would take longer than the search.
    """
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    smallest = np.partition(scores, -count)[-count] if count else np.inf
    among = np.flatnonzero(scores >= smallest)
    return among[np.argsort(-scores[among], kind="stable")][:count]
