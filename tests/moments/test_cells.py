"""Moments of divisions against NumPy on their rows in double precision."""

from typing import NamedTuple

import numpy as np
import pytest

import reference
from device_builders import a_device
from featgrad._support.array_api import to_numpy
from featgrad.columns.sums import Standardiser
from featgrad.dataset.sums import CellSums
from featgrad.dataset.sums import Rows as BlockOfRows
from featgrad.math import formulas
from featgrad.moments.cells import Cells, CellShape, Division, OutputMoments, shares_of_classes
from featgrad.moments.folds import Folds
from matrix_kinds import relative_error
from search_data import folds_of_parts, value_and_gradient

N_ROWS, N_FOLDS = 120, 6
TRAINING, TEST = (0, 2, 3, 5), (1, 4)
TOLERANCE = 1e-4  # cells hold single precision
# Columns; of 200 cells keep their rows.
WIDTHS = [6, 30, 200]


class Rows(NamedTuple):
    """Rows in folds of different sizes; the second of two classes is rare."""

    X: np.ndarray
    outputs: np.ndarray
    weights: np.ndarray
    folds: np.ndarray
    classes: np.ndarray
    n_strata: int

    @property
    def cells(self) -> np.ndarray:
        return self.folds * self.n_strata + self.classes


def rows_of(width: int, *, is_binary: bool) -> Rows:
    """Column 2 does not vary among the training rows; column 3 has a large mean."""
    rng = np.random.default_rng(width)
    X = rng.standard_normal((N_ROWS, width))
    X[:, 3] += 5
    weights = rng.uniform(0.5, 2, N_ROWS)
    folds = np.searchsorted(np.cumsum([0.1, 0.15, 0.2, 0.15, 0.2]), np.linspace(0, 1, N_ROWS))
    X[np.isin(folds, TRAINING), 2] = 0.7
    classes = (np.arange(N_ROWS) % 6 == 0).astype(int) if is_binary else np.zeros(N_ROWS, int)
    outputs = rng.standard_normal((N_ROWS, 2)) + X[:, :1] + 0.3 * folds[:, None]
    if is_binary:
        outputs = 2.0 * classes[:, None] - 1
    return Rows(X, outputs, weights / weights.sum(), folds, classes, 2 if is_binary else 1)


def cells_of(rows: Rows, storage: str) -> Cells:
    width, shape = rows.X.shape[1], CellShape(N_FOLDS, rows.n_strata, rows.outputs.shape[1])
    as_they_are = Standardiser(np.zeros(width), "center", is_sparse=False)
    arrays, like = (rows.outputs, rows.weights, rows.cells, rows.X), None
    if storage == "device":
        import torch

        like = torch.zeros(1, device=a_device())
        arrays = tuple(torch.from_numpy(array).to(like.device) for array in arrays)
    sums, block = CellSums(shape, np.arange(width), as_they_are, like), BlockOfRows(*arrays)
    own = [(i, np.flatnonzero(rows.cells == i)) for i in range(shape.n_cells)]
    sums.add(block if like is None else block._replace(of_cells=own))
    return sums.cells()


def division_of(rows: Rows, folds: tuple[int, ...]) -> Division:
    cells = np.eye(N_FOLDS * rows.n_strata)[rows.cells].T * rows.weights
    weights = cells.sum(axis=1), cells @ rows.weights
    moments = *weights, cells @ rows.outputs, cells @ rows.outputs**2
    return OutputMoments(*moments, rows.n_strata).division(folds)


def weights_of(rows: Rows, folds: tuple[int, ...]) -> np.ndarray:
    """Weights of rows in some folds, which sum to one; two classes count alike."""
    weights = np.where(np.isin(rows.folds, folds), rows.weights, 0)
    for value in np.unique(rows.classes):
        own = rows.classes == value
        weights[own] /= weights[own].sum()
    return weights / weights.sum()


def folds_of(Z, outputs, weights, rows: Rows, folds: tuple[int, ...]) -> Folds:
    parts = [np.flatnonzero(rows.folds == fold) for fold in folds]
    return folds_of_parts(Z, outputs, weights, parts)


@pytest.fixture(params=["host", "device"])
def storage(request: pytest.FixtureRequest) -> str:
    if request.param == "device":
        pytest.importorskip("torch")
    return request.param


def assert_same(found: Folds, expected: Folds) -> None:
    assert found.n_effective == pytest.approx(expected.n_effective, abs=1e-4)
    np.testing.assert_allclose(found.weights, expected.weights)
    np.testing.assert_allclose(found.variance, expected.variance)
    np.testing.assert_allclose(found.crosses, expected.crosses, atol=TOLERANCE)
    assert relative_error(to_numpy(found.grams), expected.grams) <= TOLERANCE
    # Its gradient takes the products of every fold.
    mask = np.linspace(0.1, 1, found.n_columns)
    n_folds = len(found.weights)
    question = mask, formulas.coefficients("monotone", min(2, n_folds - 1)), 5.0, range(n_folds)
    value, gradient = value_and_gradient(found, *question)
    same_value, same_gradient = value_and_gradient(expected, *question)
    assert value == pytest.approx(same_value, rel=10 * TOLERANCE)
    assert relative_error(gradient, same_gradient) <= 10 * TOLERANCE


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("is_binary", [False, True], ids=["numbers", "two classes"])
@pytest.mark.parametrize("width", WIDTHS)
def test_divided_cells_are_folds_of_rows_that_the_division_standardises(
    storage: str, width: int, is_binary: bool, preprocess: str
):
    rows = rows_of(width, is_binary=is_binary)
    weights, division = weights_of(rows, TRAINING), division_of(rows, TRAINING)
    Z = reference.standardise(rows.X, weights, preprocess)
    Z[:, 2] = 0
    outputs = reference.standardise(rows.outputs, weights, "zscore")
    varies = np.arange(width) != 2
    variances = np.where(varies, weights @ Z**2, 1)
    found, scale = cells_of(rows, storage).divided(division, variances, varies)
    assert_same(found, folds_of(Z, outputs, weights, rows, TRAINING))
    assert not found.grams[:, 2].any()
    np.testing.assert_allclose(scale.means, weights @ rows.X, rtol=1e-4, atol=1e-5)
    deviations = np.sqrt(weights @ (rows.X - weights @ rows.X) ** 2)
    expected = np.where(varies, deviations if preprocess == "zscore" else 1, np.inf)
    np.testing.assert_allclose(scale.columns, expected, rtol=1e-4)
    spread = rows.outputs - weights @ rows.outputs
    np.testing.assert_allclose(scale.outputs, np.sqrt(weights @ spread**2))


@pytest.mark.parametrize("is_binary", [False, True], ids=["numbers", "two classes"])
@pytest.mark.parametrize("width", WIDTHS)
def test_centred_cells_of_some_columns_are_folds_of_centred_rows(
    storage: str, width: int, is_binary: bool
):
    rows = rows_of(width, is_binary=is_binary)
    weights, columns = weights_of(rows, TEST), np.array([4, 2, 3])
    found, means = cells_of(rows, storage).columns(columns).centred(division_of(rows, TEST))
    X, outputs = rows.X[:, columns], rows.outputs
    centred = X - weights @ X, outputs - weights @ outputs
    np.testing.assert_allclose(means, weights @ X, rtol=1e-4, atol=1e-5)
    assert_same(found, folds_of(*centred, weights, rows, TEST))


@pytest.mark.parametrize("is_binary", [False, True], ids=["numbers", "two classes"])
def test_effective_rows_of_a_division(storage: str, is_binary: bool):
    rows = rows_of(6, is_binary=is_binary)
    found = cells_of(rows, storage).n_effective(division_of(rows, TRAINING))
    assert found == pytest.approx(1 / np.sum(weights_of(rows, TRAINING) ** 2))


@pytest.mark.parametrize("is_binary", [False, True], ids=["numbers", "two classes"])
def test_cells_hold_rows_where_these_are_few(is_binary: bool):
    """What the tests of divided cells rely on."""
    cells = [cells_of(rows_of(width, is_binary=is_binary), "host") for width in WIDTHS]
    assert [one.roots is None for one in cells] == [True, True, False]


def test_classes_count_alike_and_one_without_rows_as_it_comes():
    np.testing.assert_allclose(shares_of_classes(np.array([0.8, 0.2])), [0.5 / 0.8, 0.5 / 0.2])
    np.testing.assert_allclose(shares_of_classes(np.array([0.0, 0.4])), [1 / 0.4, 1 / 0.4])


def test_output_that_does_not_vary_in_a_division_is_not_scaled():
    rows = rows_of(6, is_binary=False)
    rows.outputs[np.isin(rows.folds, TRAINING), 1] = 0.3
    division = division_of(rows, TRAINING)
    assert division.deviations[1] == 1
    assert division.means[1] == pytest.approx(0.3)
    assert division_of(rows, (0, 1)).deviations[1] != 1
