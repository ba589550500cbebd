"""Which constructed columns stay in a set: those worth more than chance, as simple as they can be.

A search takes as many columns as it is asked for. Where these are more than there is to find, the
rest would be relatives of what was found: bent copies of a product, which fit its noise.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from featgrad._support import Floats
from featgrad._support.array_api import placed_like, to_numpy
from featgrad.construct.expressions import Expression, Given
from featgrad.construct.prices import Residuals
from featgrad.plan import LEAST_OWN_VARIANCE


def pruned(
    chosen: Sequence[Expression],
    pool: Iterable[Expression],
    X: Any,
    residuals: Residuals,
    count: int,
) -> list[Expression]:
    """Chosen columns, of constructed ones those that say more than the best of so many of noise.

    They leave one after the other, the least first. Each that stays is then replaced by a smaller
    expression of the same given columns that is as good within a standard error, if the pool has
    one, and by itself otherwise.
    """
    columns = _worth(list(chosen), X, residuals, count)
    for column in sorted(columns, key=lambda one: -one.size):
        others = [one for one in columns if one != column]
        columns = [*others, _simplest(column, others, pool, X, residuals)]
    return _worth(columns, X, residuals, count)


def _worth(columns: list[Expression], X: Any, residuals: Residuals, count: int) -> list[Expression]:
    """Those that are given, or worth more than chance next to the others."""
    roots = np.sqrt(residuals.weights)[:, None]
    values = roots * residuals._replace(basis=roots).own(_built(columns, X, residuals))[0]
    while constructed := [i for i, one in enumerate(columns) if one.size > 1]:
        inverse = np.linalg.inv(values.T @ values + 1e-9 * np.eye(len(columns)))
        own_variances = 1 / np.diag(inverse)[constructed]
        own = values @ inverse[:, constructed] * np.sqrt(own_variances) / roots
        prices, worth = residuals.worth(own, own.T @ residuals.outputs, count)
        worth &= own_variances > LEAST_OWN_VARIANCE
        if worth.all():
            break
        least = constructed[int(np.argmin(np.where(worth, np.inf, prices)))]
        del columns[least]
        values = np.delete(values, least, axis=1)
    return columns


def _simplest(
    column: Expression,
    others: Sequence[Expression],
    pool: Iterable[Expression],
    X: Any,
    residuals: Residuals,
) -> Expression:
    """The column, or the smallest of the same given ones that is as good in its place.

    Covariances a and b of two columns of correlation c with the target differ by chance by
    ``sqrt(2 - 2 c)`` times the standard error of each.
    """
    given = column.given()
    known = [*map(Given, sorted(given)), *pool]
    alike = [one for one in known if one.size < column.size and one.given() <= given]
    every = [column, *(one for one in alike if one not in others)]
    roots = np.sqrt(residuals.weights)[:, None]
    basis = roots * np.nan_to_num(_built(others, X, residuals))
    model = residuals._replace(basis=np.linalg.qr(np.column_stack([roots, basis]))[0])
    own, varies = model.own(_built(every, X, residuals))
    sizes = np.linalg.norm(own.T @ residuals.outputs, axis=1)
    shared = np.abs(own.T @ (residuals.weights * own[:, 0]))
    errors = np.sqrt(np.maximum(2 - 2 * shared, 0) * np.sum(residuals.values**2))
    as_good = np.flatnonzero(varies & (sizes >= sizes[0] - errors)).tolist()
    return every[min(as_good, key=lambda i: (every[i].size, -sizes[i]), default=0)]


def _built(columns: Sequence[Expression], X: Any, residuals: Residuals) -> Floats:
    rows = placed_like(X, residuals.rows)
    built = [to_numpy(column.build(X)[rows]) for column in columns]
    return np.column_stack(built) if built else np.zeros((len(residuals.rows), 0))
