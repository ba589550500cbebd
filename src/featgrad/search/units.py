"""What is chosen as one, a feature or a group of them with its cost, and the budgets asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from featgrad._support import Flags, Floats, Indices
from featgrad.plan import AUTO_SIZES, AUTO_STAGES, EVERY_SIZE


@dataclass(frozen=True)
class Variables:
    """Columns of a table, each of which one or more columns of a matrix stand for, or none."""

    of_column: Indices  # the variable of each column of the matrix
    count: int

    def of(self, columns: Indices) -> Indices:
        """Variables that some columns belong to, rising."""
        return np.unique(self.of_column[columns])

    def columns(self, variables: Indices) -> Indices:
        """All columns of some variables, rising."""
        return np.flatnonzero(np.isin(self.of_column, variables))

    def largest(self, values: Any, otherwise: Any) -> Any:
        """The largest of the values of each variable's columns."""
        found = np.full(self.count, otherwise, np.asarray(values).dtype)
        found[self.of_column] = values
        np.maximum.at(found, self.of_column, values)
        return found


@dataclass(frozen=True)
class Units:
    """Units over some columns."""

    of_column: Indices  # the unit of each column, 0 .. units - 1; -1 for excluded columns
    costs: Floats  # what choosing a unit takes from the budget
    kept: Flags  # units that are always chosen
    variables: Variables | None = None  # None where columns are the variables

    def of_variables(self, variables: Variables | None) -> "Units":
        """Of units of variables those of their columns; a variable without any cannot be chosen."""
        if variables is None:
            return self
        units = self.of_column[variables.of_column]
        used = np.unique(units[units >= 0])
        place = np.full(self.count + 1, -1)  # the last is that of excluded columns
        place[used] = np.arange(len(used))
        return Units(place[units], self.costs[used], self.kept[used], variables)

    def n_variables(self, columns: Indices) -> int:
        """Variables that some columns belong to."""
        return len(columns) if self.variables is None else len(self.variables.of(columns))

    @property
    def count(self) -> int:
        return len(self.costs)

    @property
    def n_available(self) -> int:
        """Variables that can be chosen."""
        return self.n_variables(np.flatnonzero(self.of_column >= 0))

    @cached_property
    def _are_the_columns(self) -> bool:
        """Whether units are the columns, in their order: nothing has to be looked up."""
        return np.array_equal(self.of_column, np.arange(self.count))

    @cached_property
    def are_single_columns(self) -> bool:
        """Whether every unit is one column of cost 1, in their order; columns may be excluded."""
        single = np.array_equal(self.of_column[self.of_column >= 0], np.arange(self.count))
        return single and self.has_equal_costs

    @cached_property
    def has_equal_costs(self) -> bool:
        """Whether every unit takes 1 from the budget."""
        return bool(np.all(self.costs == 1))

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

    def columns_of(self, units: Indices) -> Indices:
        """Columns of some units, rising."""
        return self.only(np.sort(units))[1]

    def only(self, units: Indices) -> "tuple[Units, Indices]":
        """Some of the units, rising, and their columns."""
        if self._are_the_columns:
            return Units(np.arange(len(units)), self.costs[units], self.kept[units]), units
        place = np.full(self.count + 1, -1)  # the last is that of excluded columns
        place[units] = np.arange(len(units))
        columns = np.flatnonzero(place[self.of_column] >= 0)
        of_column = place[self.of_column[columns]]
        return Units(of_column, self.costs[units], self.kept[units]), columns

    def without(self, columns: Flags) -> "Units":
        """Those that have other columns, which keep their places."""
        of_column = np.where(columns, -1, self.of_column)
        inside = of_column >= 0
        present, of_column[inside] = np.unique(of_column[inside], return_inverse=True)
        return Units(of_column, self.costs[present], self.kept[present])

    def with_more(self, count: int) -> "Units":
        """And so many further columns, each by itself."""
        of_column = np.append(self.of_column, self.count + np.arange(count))
        return Units(
            of_column,
            np.append(self.costs, np.ones(count)),
            np.append(self.kept, np.zeros(count, bool)),
        )

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
        if self.has_equal_costs:
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


class Budgets(NamedTuple):
    """Budgets, rising, and the place of the wanted one; None where held-out rows decide.

    There are none where something other than a budget decides the size.
    """

    units: Units
    values: list[float]
    chosen: int | None
    # Whether the sizes are those that are tried where none are given.
    by_default: bool = False
    # Whether no features at all may be chosen.
    may_be_none: bool = False

    def only(self, values: Sequence[float]) -> "Budgets":
        """Some of the budgets; the first of them is chosen where the chosen one is not there."""
        if self.chosen is None or not self.values:
            return self
        wanted = self.values[self.chosen]
        place = values.index(wanted) if wanted in values else 0
        return self._replace(values=list(values), chosen=place)

    def for_rows(self, n_rows: int) -> "Budgets":
        """Without sizes that are too large for so few rows, where none were asked for."""
        if not self.by_default:
            return self
        few = [value for value in self.values if 2 * value <= n_rows]
        return self._replace(values=few or self.values[:1])

    def stages(self) -> list[list[float]]:
        """Budgets that are tried together; larger ones only if smaller ones leave something."""
        if not self.by_default:
            return [self.values]
        ends = np.searchsorted(self.values, AUTO_STAGES, side="right").tolist()
        bounds = [0, *ends, len(self.values)]
        parts = [self.values[start:stop] for start, stop in pairwise(bounds)]
        return [part for part in parts if part]


def read_budgets(
    units: Units,
    n_features: int,
    *,
    n_features_to_select: Any,
    path_sizes: Any,
    max_cost: float | None,
    costs: Any,
    keep: Any,
    search: Any,
    min_features_to_select: int,
) -> Budgets:
    """Check the sizes; there are none where the search is to decide."""
    if search is not None and search.size_rule is not None:
        wanted = {"n_features_to_select": n_features_to_select, "path_sizes": path_sizes}
        wanted["min_features_to_select"] = min_features_to_select or None
        for name, value in {**wanted, "max_cost": max_cost, "costs": costs, "keep": keep}.items():
            if value is not None and not (isinstance(value, str) and value == "auto"):
                raise ValueError(
                    f"search={search!r} decides which features are chosen and how many: leave out "
                    f"{name}, which is {value!r}."
                )
        return Budgets(units, [], 0)
    available = units.n_available
    if costs is not None and max_cost is None:
        raise ValueError(
            "costs are given without max_cost: set max_cost, the total they may reach."
        )
    if max_cost is not None:
        if n_features_to_select != "auto" or path_sizes is not None:
            raise ValueError(
                f"max_cost={max_cost!r} takes the place of n_features_to_select="
                f"{n_features_to_select!r} and path_sizes={path_sizes!r}: leave those out."
            )
        _check_budget(units, float(max_cost), f"max_cost={max_cost!r}")
        return Budgets(units, [float(max_cost)], 0)
    auto = isinstance(n_features_to_select, str) and n_features_to_select == "auto"
    sizes = _path(path_sizes, available, auto)
    if auto:
        if min_features_to_select > available:
            raise ValueError(
                f"min_features_to_select={min_features_to_select} is more than the {available} "
                "features that can be chosen: ask for fewer."
            )
        least = max(units.smallest_budget, min_features_to_select)
        budgets = sorted({float(size) for size in sizes if size >= least} or {float(least)})
        may_be_none = not (min_features_to_select or units.kept.any())
        return Budgets(units, budgets, None, path_sizes is None, may_be_none)
    size = _size(n_features_to_select, n_features, available)
    _check_budget(units, size, f"n_features_to_select={n_features_to_select!r}")
    for other in sizes:
        _check_budget(units, other, f"path_sizes with {other}")
    budgets = sorted({float(other) for other in (*sizes, size)})
    return Budgets(units, budgets, budgets.index(float(size)))


def _size(k: Any, n_features: int, available: int) -> int:
    whole = isinstance(k, Integral) and not isinstance(k, bool)
    if whole and 1 <= int(k) <= available:
        return int(k)
    if isinstance(k, Real) and not isinstance(k, Integral) and 0 < float(k) <= 1:
        return min(available, max(1, int(float(k) * n_features)))
    raise ValueError(
        f"n_features_to_select={k!r} does not fit n_features={n_features} of X, {available} of "
        f"them available: use a whole number from 1 to {available}, a fraction between 0 and 1 or "
        "'auto'."
    )


def _path(path_sizes: Any, available: int, auto: bool) -> list[int]:
    if path_sizes is None:
        every = range(1, available + 1) if available <= EVERY_SIZE else AUTO_SIZES
        return [size for size in every if size <= available] if auto else []
    sizes = np.asarray(path_sizes)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or len(sizes) == 0:
        raise ValueError(f"path_sizes={path_sizes!r} is not a list of whole numbers: give sizes.")
    if sizes.min() < 1 or sizes.max() > available:
        raise ValueError(
            f"path_sizes={path_sizes!r} goes beyond 1 to {available}, the number of features that "
            "can be chosen: leave those sizes out."
        )
    return [int(size) for size in sizes]


def _check_budget(units: Units, budget: float, argument: str) -> None:
    least = units.smallest_budget
    if least <= budget:
        return
    if units.kept.any():
        raise ValueError(
            f"keep asks for features that count {least:g} together but {argument}: keep fewer or "
            "allow more."
        )
    raise ValueError(
        f"{argument} is too little for any feature or group, the smallest of which counts "
        f"{least:g}: allow more."
    )
