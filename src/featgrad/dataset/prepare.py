"""From a validated matrix, target and weights to a prepared problem."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from featgrad.dataset.checks import PREPROCESS, check_option, check_weights
from featgrad.dataset.rows import distinct_rows
from featgrad.math import filters
from featgrad.math.targets import Target, centre, encode
from featgrad.moments.array_api import namespace
from featgrad.moments.dense import DenseEngine
from featgrad.moments.problem import Problem
from featgrad.moments.spectrum import top_eigenvalue
from featgrad.moments.sweeps import Engine

Floats = NDArray[np.float64]

# Most rows of many that tell how much the chosen columns explain: to a hundredth of the variance.
ESTIMATE_ROWS = 10_000


class Prepared(NamedTuple):
    """A problem at scale 1, its target, and the rows of X in the order that it visits them."""

    problem: Problem
    target: Target
    rows: NDArray[np.intp]


def prepare(
    X: Any,
    y: Any,
    *,
    order: int,
    filter: str | ArrayLike,
    task: str,
    preprocess: str,
    sample_weight: Any,
    rng: np.random.RandomState,
) -> Prepared:
    """Encode the target, order the rows and choose the engine."""
    check_option("preprocess", preprocess, PREPROCESS)
    weights = check_weights(sample_weight, X.shape[0])
    options: Any = {"order": order, "filter": filter, "preprocess": preprocess}
    return prepare_encoded(X, *encode(y, task), weights, rng=rng, **options)


def prepare_encoded(
    X: Any,
    raw: Floats,
    task: str,
    weights: Floats,
    *,
    order: int,
    filter: str | ArrayLike,
    preprocess: str,
    rng: np.random.RandomState,
) -> Prepared:
    """Order the rows and choose the engine; the target is in output columns."""
    rows, weights = distinct_rows(X, raw, weights, rng)
    order = usable_order(order, filter, len(rows))
    target = centre(raw[rows], task, weights)
    engine = build_engine(X, rows, weights, preprocess)
    family = filters.up_to(filter, order)
    problem = Problem(engine, target.outputs, weights, target.variance, family, scale=1.0)
    return Prepared(problem, target, rows)


def scaled(problem: Problem) -> Problem:
    """The problem with the whole spectrum within the filter's reach."""
    everything = np.ones(problem.n_features)
    return replace(problem, scale=top_eigenvalue(problem.engine, everything, problem.weights))


def build_engine(X: Any, rows: NDArray[np.intp], weights: Floats, preprocess: str) -> Engine:
    if not sparse.issparse(X):
        return DenseEngine.from_array(X, namespace(X), rows, weights, preprocess)
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.moments.sparse import SparseEngine

    return SparseEngine.from_csr(X, rows, weights, preprocess)


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
