"""From a validated matrix, target and weights to a prepared problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from featgrad.engines.array_api import namespace
from featgrad.engines.dense import DenseEngine
from featgrad.engines.problem import Problem
from featgrad.engines.spectrum import top_eigenvalue
from featgrad.engines.sweeps import Engine
from featgrad.objective import filters
from featgrad.objective.targets import Target, encode

Floats = NDArray[np.float64]

PREPROCESS = ("zscore", "center")
MISSING = ("error", "mean")


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
) -> tuple[Problem, Target]:
    """Shuffle rows, encode the target, choose the engine and find the scale.

    Rows are visited in random order because the estimate is over ordered tuples of rows: rows
    sorted by the target would not be exchangeable.
    """
    check_option("preprocess", preprocess, PREPROCESS)
    weights = check_weights(sample_weight, X.shape[0])
    target = encode(y, task, weights)
    rows = rng.permutation(np.flatnonzero(weights))
    order = usable_order(order, filter, len(rows))
    coefficients = filters.coefficients(filter, order)
    weights = weights[rows]
    engine = build_engine(X, rows, weights, preprocess)
    scale = top_eigenvalue(engine, np.ones(engine.n_features), weights)
    problem = Problem(
        engine, target.outputs[rows], weights, target.variance, coefficients, scale
    )
    return problem, target


def build_engine(X: Any, rows: NDArray[np.intp], weights: Floats, preprocess: str) -> Engine:
    if not sparse.issparse(X):
        return DenseEngine.from_array(X, namespace(X), rows, weights, preprocess)
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.engines.sparse import SparseEngine

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


def check_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Weights that sum to one."""
    if sample_weight is None:
        return np.full(n_rows, 1 / n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape} but X has {n_rows} rows: give one weight per "
            "row."
        )
    if not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight contains NaN or infinity: give finite weights.")
    if np.any(weights < 0):
        raise ValueError(
            f"sample_weight contains {weights.min()}: give weights of zero or more."
        )
    total = weights.sum()
    if total == 0:
        raise ValueError("sample_weight is zero for every row: give some row a positive weight.")
    return np.asarray(weights / total)


def check_option(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name}={value!r} is unknown: use one of {list(allowed)}.")
