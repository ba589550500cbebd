"""Folds and units that tests of the search share."""

from __future__ import annotations

import numpy as np

from featgrad.moments.folds import Folds, Gradient, gradients
from featgrad.search.units import Units


def standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


def folds_of_parts(
    X: np.ndarray, outputs: np.ndarray, weights: np.ndarray, parts: list[np.ndarray]
) -> Folds:
    """Folds of rows that are standardised already; few rows are kept as they are."""
    weights = weights / sum(weights[rows].sum() for rows in parts)
    root, n_rows = np.sqrt(weights)[:, None], max(len(rows) for rows in parts)
    matrix = np.zeros((len(parts), n_rows, X.shape[1]), np.float32)
    for own, rows in zip(matrix, parts, strict=True):
        own[: len(rows)] = (X * root)[rows]
    is_gram = 2 * n_rows > X.shape[1]
    return Folds(
        np.array([weights[rows].sum() for rows in parts]),
        1 / sum(np.sum(weights[rows] ** 2) for rows in parts),
        np.array([(weights[rows, None] * X[rows]).T @ outputs[rows] for rows in parts]),
        np.array(sum(weights[rows] @ outputs[rows] ** 2 for rows in parts)),
        matrix.mT @ matrix if is_gram else matrix,
        is_gram,
    )


def value_and_gradient(folds: Folds, *asked) -> tuple[float, np.ndarray]:
    """Of one mask: its filter, its scale and the order of the folds are asked for, too."""
    return gradients([Gradient(folds, *asked)])[0]


def folds_of(X: np.ndarray, y: np.ndarray, n_folds: int = 8) -> Folds:
    """Folds of standardised rows of one weight."""
    parts = np.array_split(np.arange(len(X)), n_folds)
    return folds_of_parts(standard(X), standard(y.reshape(len(y), -1)), np.ones(len(X)), parts)


def units_of(of_column, costs=None, kept=()) -> Units:
    """Units that cost their number of columns, or as given."""
    of_column = np.asarray(of_column)
    sizes = np.bincount(of_column[of_column >= 0]).astype(float)
    flags = np.zeros(len(sizes), bool)
    flags[list(kept)] = True
    return Units(of_column, sizes if costs is None else np.asarray(costs, float), flags)


def singles(count: int, **options) -> Units:
    return units_of(np.arange(count), **options)


def regression(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns, of which the first three decide the target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns)) + 0.5 * rng.standard_normal((n_rows, 1))
    return X, X[:, :3] @ np.array([1.0, -0.8, 0.6]) + 0.5 * rng.standard_normal(n_rows)
