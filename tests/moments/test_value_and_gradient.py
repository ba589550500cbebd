from dataclasses import replace

import numpy as np
import pytest

from featgrad._support.array_api import to_numpy
from featgrad.math import formulas
from featgrad.moments.sweeps import RowMoments
from matrix_kinds import KINDS, Kind, example, relative_error


def check(
    problem: RowMoments, mask: np.ndarray, value: float, gradient: np.ndarray, tolerance: float
):
    found, found_gradient = problem.value_and_gradient(mask)
    assert relative_error(found, value) <= tolerance
    assert relative_error(found_gradient, gradient) <= tolerance


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("order", range(1, 13))
def test_every_order(kind: Kind, order: int, preprocess: str):
    data = example(70, 24, n_outputs=2)
    problem, *expected = data.problem(kind, order, preprocess=preprocess)
    check(problem, data.mask, *expected, kind.tolerance)


@pytest.mark.parametrize(
    ("n_rows", "n_features"),
    [(2, 3), (3, 1), (5, 40), (33, 129), (40, 2100), (129, 300), (256, 8), (259, 7)],
)
def test_shapes_on_both_sides_of_the_block_boundaries(kind: Kind, n_rows: int, n_features: int):
    data = example(n_rows, n_features)
    problem, *expected = data.problem(kind, min(4, n_rows - 1))
    check(problem, data.mask, *expected, kind.tolerance)


@pytest.mark.parametrize("n_outputs", [1, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_outputs_and_weights(kind: Kind, n_outputs: int, weighted: bool):
    data = example(45, 30, n_outputs=n_outputs, weighted=weighted)
    problem, *expected = data.problem(kind, 3)
    check(problem, data.mask, *expected, kind.tolerance)


@pytest.mark.parametrize("order", [1, 4, 12])
@pytest.mark.parametrize("shape", [(150, 20), (40, 60)])
@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_mean_far_from_zero(kind: Kind, order: int, shape: tuple[int, int], preprocess: str):
    data = example(*shape, far=1e4)
    problem, *expected = data.problem(kind, order, preprocess=preprocess)
    check(problem, data.mask, *expected, kind.tolerance)


@pytest.mark.parametrize("order", [4, 6, 12])
def test_tabulated_coefficients(kind: Kind, order: int):
    data = example(90, 40, n_outputs=2)
    problem, *expected = data.problem(kind, order, filter="kong-valiant")
    check(problem, data.mask, *expected, kind.tolerance)


def test_paths_through_rows_give_the_value(kind: Kind):
    data = example(40, 10)
    problem, value, _ = data.problem(replace(kind, in_blocks=False), 3)
    through = problem.paths_through_rows(data.mask, data.outputs).sum(axis=(0, 2))
    found = problem.alpha @ (through / np.arange(2, 5))
    assert relative_error(found, value) <= kind.tolerance


def test_a_problem_answers_again_for_another_mask(kind: Kind):
    data = example(40, 10)
    problem, *expected = data.problem(kind, 3)
    problem.value_and_gradient(np.ones(10))
    check(problem, data.mask, *expected, kind.tolerance)


def test_mask_of_zeros_gives_zero_and_the_gradient_of_single_features(kind: Kind):
    data = example(50, 12)
    problem, _, _ = data.problem(kind, 4)
    value, gradient = problem.value_and_gradient(np.zeros(12))
    first_order = replace(problem, filters=(problem.coefficients[:1],))
    singles = [first_order.value_and_gradient(row)[0] for row in np.eye(12)]
    assert value == 0
    assert relative_error(gradient, singles) <= kind.tolerance


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.float16])
def test_dense_matrices_of_small_and_whole_numbers(dtype: type):
    data = example(60, 12)
    X = (data.X > 0.3) if dtype is np.bool_ else np.abs(np.round(4 * data.X)).astype(dtype)
    stored = Kind(lambda values: values.astype(dtype))
    exact = Kind(lambda values: values)
    tolerance = 1e-9 if np.dtype(dtype).itemsize > 2 else 1e-4
    matrices = [kind.standardised(X.astype(np.float64), data.weights) for kind in (stored, exact)]
    coefficients = formulas.coefficients("monotone", 4)
    found, expected = (
        RowMoments(rows, data.outputs, data.weights, 1.0, (coefficients,), 5.0).value_and_gradient(
            data.mask
        )
        for rows in matrices
    )
    assert relative_error(found[0], expected[0]) <= tolerance
    assert relative_error(found[1], expected[1]) <= tolerance


def test_the_matrix_is_left_as_it_was(kind: Kind):
    data = example(40, 10, far=1e4)
    matrix = kind.make(data.X)
    before = matrix.copy() if hasattr(matrix, "copy") else matrix + 0.0
    same = Kind(lambda X: matrix, kind.dtype)
    problem, _, _ = data.problem(same, 3)
    problem.value_and_gradient(data.mask)
    difference = matrix - before
    entries = difference if kind.is_sparse else to_numpy(difference)
    assert abs(entries).max() == 0


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_sparse_matrix_of_whole_numbers(index: str):
    data = example(60, 12)
    whole = np.round(3 * data.X)
    make = KINDS[f"csr-float64-{index}"].make
    matrices = [
        Kind(lambda X: make(X).astype(np.int64)).standardised(whole, data.weights),
        KINDS["dense-float64"].standardised(whole, data.weights),
    ]
    coefficients = formulas.coefficients("monotone", 4)
    found, expected = (
        RowMoments(rows, data.outputs, data.weights, 1.0, (coefficients,), 5.0).value_and_gradient(
            data.mask
        )
        for rows in matrices
    )
    assert relative_error(found[0], expected[0]) <= 1e-9
