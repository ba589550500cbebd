"""Datasets of the same rows in the same random order, in memory and from a source."""

from __future__ import annotations

from typing import Any

import numpy as np

from featgrad.dataset.memory import InMemory, Preparation, Prepared
from featgrad.dataset.source import Streamed
from featgrad.dataset.splits import Belonging, FoldLayout
from featgrad.math import formulas
from featgrad.math.targets import centre, encode
from featgrad.readers import open_source

N_FOLDS = 6


def mixed_columns(n_rows: int, n_features: int, n_outputs: int = 1):
    """Columns of all sorts, outputs that depend on some, and whole weights from 1 to 3.

    Column 1 has a heavy tail, 2 a large mean, 3 to 5 are mostly zero and 6 is constant.
    """
    rng = np.random.default_rng([n_rows, n_features])
    X = rng.standard_normal((n_rows, n_features))
    X[:, 1] = np.exp(X[:, 1])
    X[:, 2] += 50
    X[:, 3:6] *= 3 * (rng.random((n_rows, 3)) < 0.3)
    X[:, 6] = 0.1
    Y = np.stack([X[:, 0] + (i + 1) * X[:, 3] for i in range(n_outputs)], axis=1)
    Y += rng.standard_normal(Y.shape)
    return X, Y, rng.integers(1, 4, n_rows).astype(float)


def preparation(
    *,
    task: str = "regression",
    preprocess: str = "zscore",
    missing: str = "error",
    n_folds: int = N_FOLDS,
    seed: int = 0,
) -> Preparation:
    rng = np.random.RandomState(seed)
    return Preparation(3, "monotone", task, preprocess, missing, rng, n_folds)


def order_of(weight: np.ndarray, seed: int = 0) -> np.ndarray:
    """Rows of positive weight in the random order that a source has."""
    used = np.flatnonzero(weight)
    return used[np.argsort(np.random.RandomState(seed).random_sample(len(used)))]


def folds_of_rows(weight: np.ndarray, n_folds: int = N_FOLDS, seed: int = 0) -> np.ndarray:
    """The fold of each row, -1 for rows without weight."""
    rows = order_of(weight, seed)
    folds = np.full(len(weight), -1)
    folds[rows] = np.arange(len(rows)) * n_folds // len(rows)
    return folds


def layout(rows: np.ndarray, n_folds: int) -> FoldLayout:
    """Folds of rows that do not depend on each other, in their random order."""
    return Belonging().roles(None, len(rows)).layout(rows, n_folds, order=3)


def in_memory(
    X: Any,
    Y: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    preprocess: str = "zscore",
    n_folds: int = N_FOLDS,
    seed: int = 0,
    task: str = "regression",
) -> InMemory:
    weight = np.ones(len(Y)) if weight is None else weight
    rows = order_of(weight, seed)
    weights = weight[rows] / weight.sum()
    target = centre(encode(Y, task)[0][rows], task, weights)
    prepared = Prepared(rows, weights, target, formulas.up_to("monotone", 3), layout(rows, n_folds))
    return InMemory(X, prepared, preprocess)


def streamed(
    X: Any,
    Y: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    preprocess: str = "zscore",
    n_folds: int = N_FOLDS,
    seed: int = 0,
    block_rows: int = 50,
    missing: str = "error",
    task: str = "regression",
    **options: Any,
) -> Streamed:
    source = open_source(
        X, target=Y, weight=weight, block_rows=block_rows, dtype="float64", missing="nan"
    )
    made = preparation(
        task=task, preprocess=preprocess, missing=missing, n_folds=n_folds, seed=seed
    )
    return Streamed(source, made, **options)
