"""Folds and units that tests of the search share."""

from __future__ import annotations

import numpy as np

from featgrad.moments.cells import make_cell
from featgrad.moments.folds import Fold, Folds, Gradient
from featgrad.search.units import Units


def standard(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


def make_fold(values: np.ndarray, outputs: np.ndarray, weights: np.ndarray) -> Fold:
    """Fold of rows that are standardised already."""
    cell = make_cell(values.astype(np.float32), outputs, weights)
    sums = cell.weight, cell.squared_weights, cell.cross, cell.squares
    return Fold(*sums, cell.matrix, cell.roots is None)


def value_and_gradient(folds: Folds, *asked) -> tuple[float, np.ndarray]:
    """Of one mask: its filter, its scale and the order of the folds are asked for, too."""
    return folds.gradients([Gradient(folds, *asked)])[0]


def folds_of(X: np.ndarray, y: np.ndarray, n_folds: int = 8) -> Folds:
    """Folds of standardised rows of one weight."""
    X, y = standard(X), standard(y.reshape(len(y), -1))
    return Folds(
        [
            make_fold(X[rows], y[rows], np.ones(len(rows)))
            for rows in np.array_split(np.arange(len(X)), n_folds)
        ]
    )


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
