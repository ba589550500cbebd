"""The best sets within the budgets asked for."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from featgrad.choosing.choice import Sets
from featgrad.choosing.request import Request
from featgrad.dataset.dealt import DealtRows
from featgrad.moments.threads import one_blas_thread
from featgrad.search.asked import MOST_LISTED, Asked, large_budgets
from featgrad.search.stability import agreement
from featgrad.search.subsets import Columns, Subset, SubsetSearch
from featgrad.search.units import Units

Floats = NDArray[np.float64]

# Features up to which all matrices of a search are too small to be shared by threads.
_SHORT = 300


@dataclass(frozen=True)
class BudgetSearch:
    """A search through columns, by a shortlist where a set is small and all of them otherwise.

    Parameters
    ----------
    request : Request
        How to search.
    columns : Columns
        What to choose from.
    coefficients : ndarray
        The filter.
    curved : Columns or None
        The same columns, then a curve of each, where a shortlist is to look at both.
    """

    request: Request
    columns: Columns
    coefficients: Floats
    curved: Columns | None = None

    def best(self, asked: Asked) -> Sets:
        """The best set for each budget."""
        large = large_budgets(asked, self.columns.n_features)
        if not large or not isinstance(self.columns, DealtRows):
            return self._listed(asked)
        if asked.chosen is None or self.request.settings.n_resamples:
            raise ValueError(
                f"{asked.budgets[-1]:g} features are too many to compare sizes or to resample: ask "
                f"for {MOST_LISTED} at most, or leave n_features_to_select='auto' and n_resamples."
            )
        small = asked.budgets[: -len(large)]
        subsets = [self._passed(self.columns, asked.units, int(budget)) for budget in large]
        if small:
            subsets = self._listed(asked._replace(budgets=small, chosen=0)).subsets + subsets
        return Sets(subsets, asked.chosen)

    def _listed(self, asked: Asked) -> Sets:
        """Sets for which a shortlist is made."""
        columns, units = self.columns, asked.units
        if self.curved is not None:
            columns, units = self.curved, units.twice()
        search = SubsetSearch(
            columns,
            units,
            budgets=asked.budgets,
            coefficients=self.coefficients,
            max_iter=self.request.settings.max_iter,
        )
        with one_blas_thread() if self._is_short(asked) else nullcontext():
            return self._found(search, asked).of_different_sizes()

    def _is_short(self, asked: Asked) -> bool:
        return min(self.columns.n_features, asked.budgets[-1]) <= _SHORT

    def _found(self, search: SubsetSearch, asked: Asked) -> Sets:
        strategy = search.choose_strategy(asked.budgets)
        chosen = asked.chosen
        if chosen is None:
            chosen = search.choose_budget(strategy, asked.budgets)
        n_features = self.columns.n_features
        found = search.best(strategy, asked.budgets, self.request.on_step)
        subsets = [subset.among_first(n_features) for subset in found]
        n_resamples = self.request.settings.n_resamples
        if not n_resamples:
            return Sets(subsets, chosen)
        halves = search.from_halves(strategy, asked.budgets[chosen], n_resamples, self.request.rng)
        return Sets(subsets, chosen, agreement(halves[:, :n_features]))

    def _passed(self, columns: DealtRows, units: Units, budget: int) -> Subset:
        """A large set: for it all columns are looked at while rows pass."""
        # Imported here: the compiler behind it takes longer to load than everything else.
        from featgrad.search.passing import PassingSearch

        return PassingSearch(
            columns.rows,
            units,
            budget,
            coefficients=self.coefficients,
            batch_rows=self.request.settings.batch_size,
            n_epochs=self.request.settings.n_epochs,
            on_step=self.request.on_step,
        ).best()
