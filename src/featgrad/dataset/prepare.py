"""From a validated matrix, target and weights to rows in random order."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featgrad._support.types import Floats, Indices
from featgrad.checks import check_weights
from featgrad.dataset.order import distinct_rows
from featgrad.dataset.splits import Belonging, FoldLayout, RowRoles
from featgrad.math import filters
from featgrad.math.targets import Target, centre, encode
from featgrad.math.tasks import RowsOf, Task
from featgrad.moments.rows import StandardisedRows
from featgrad.moments.sweeps import RowMoments


class Preparation(NamedTuple):
    """The parameters that say what is made of rows before a search."""

    order: int
    filter: str | ArrayLike
    task: str
    preprocess: str
    missing: str
    rng: np.random.RandomState  # the random order of the rows
    n_folds: int
    belonging: Belonging = Belonging()


class Prepared(NamedTuple):
    """Rows of X in the order in which they are visited, their weights, target and filters."""

    rows: Indices
    weights: Floats
    target: Target
    filters: tuple[Floats, ...]
    layout: FoldLayout

    def row_moments(self, X: Any, preprocess: str) -> RowMoments:
        """All columns, at scale 1."""
        rows = StandardisedRows.of(X, self.rows, self.weights, preprocess)
        target = self.target
        return RowMoments(rows, target.outputs, self.weights, target.variance, self.filters)


def prepare(X: Any, y: Any, sample_weight: Any, preparation: Preparation) -> Prepared:
    """Encode the target and put the rows into a random order."""
    weights = check_weights(sample_weight, X.shape[0])
    roles = preparation.belonging.roles(y, X.shape[0])
    rows = RowsOf(X.__getitem__, np.flatnonzero(weights), roles.groups)
    raw, task = encode(y, preparation.task, rows)
    return prepare_encoded(X, raw, task, weights, preparation, roles)


def prepare_encoded(
    X: Any, raw: Floats, task: Task, weights: Floats, preparation: Preparation, roles: RowRoles
) -> Prepared:
    """Put the rows into a random order; the target is in output columns."""
    rows, weights = distinct_rows(X, raw, weights, preparation.rng, roles.labels)
    target = centre(raw[rows], task, weights)
    layout = roles.layout(rows, preparation.n_folds, preparation.order)
    return Prepared(rows, weights, target, usable_filters(preparation, len(rows)), layout)


def usable_filters(preparation: Preparation, n_rows: int) -> tuple[Floats, ...]:
    """The filter and those of lower orders, as far as there are rows for them."""
    order, filter = preparation.order, preparation.filter
    return filters.up_to(filter, usable_order(order, filter, n_rows))


def usable_order(order: int, filter: str | ArrayLike, n_rows: int) -> int:
    """The order, lowered where there are too few distinct rows for its longest tuples."""
    order = filters.check_order(order)
    if n_rows < 2:
        raise ValueError(
            f"Found {n_rows} sample(s) of positive weight while a minimum of 2 is required: pass "
            "more rows."
        )
    if order < n_rows:
        return order
    if not isinstance(filter, str):
        raise ValueError(
            f"order={order} needs at least {order + 1} rows of positive weight but X has {n_rows}: "
            "pass more rows or fewer coefficients in filter."
        )
    return n_rows - 1
