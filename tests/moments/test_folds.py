from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import reference
from device_builders import a_device
from featgrad._support.array_api import to_numpy
from featgrad.math import formulas
from featgrad.moments.folds import Folds, Gradient, gradients
from matrix_kinds import Example, example, relative_error
from search_data import folds_of_parts, value_and_gradient

TOLERANCE = 1e-4  # folds hold single precision
SCALE = 7.0


def cut(n_rows: int, n_folds: int) -> list[np.ndarray]:
    """Folds of different sizes."""
    sizes = np.arange(1, n_folds + 1)
    ends = np.round(np.cumsum(sizes) / sizes.sum() * n_rows).astype(int)
    return np.split(np.arange(n_rows), ends[:-1])


@pytest.fixture(params=["host", "device"])
def storage(request: pytest.FixtureRequest) -> str:
    if request.param == "device":
        pytest.importorskip("torch")
    return request.param


def folds_of(data: Example, parts: list[np.ndarray], storage: str = "host") -> Folds:
    folds = folds_of_parts(data.X, data.outputs, data.weights, parts)
    if storage == "host":
        return folds
    from featgrad.dataset.device import sent

    return replace(folds, matrix=sent(folds.grams, a_device()), is_gram=True)


def covariance_of(folds: Folds) -> np.ndarray:
    return to_numpy(folds.totals().covariance)


def alpha(data: Example, parts, coefficients) -> np.ndarray:
    """Coefficients over ``e_(i+2)`` of the folds' weights and over the variance."""
    weights = data.weights / data.weights.sum()
    of_folds = [weights[rows].sum() for rows in parts]
    tuples = [
        sum(np.prod(chosen) for chosen in combinations(of_folds, i + 2))
        for i in range(len(coefficients))
    ]
    return coefficients / tuples / np.sum(weights @ data.outputs**2)


def by_definition(data: Example, parts, mask, factors, sequence) -> complex:
    """``y^T T^(i+1) y`` with T strictly triangular over folds, pair by pair of rows."""
    weights = data.weights / data.weights.sum()
    root = np.sqrt(weights)[:, None]
    X, y = data.X * root, data.outputs * root
    place = np.empty(len(X))
    for step, fold in enumerate(sequence):
        place[parts[fold]] = step
    T = (X * mask) @ X.T / SCALE * (place[:, None] < place)
    total, power = 0.0, y
    for factor in factors:
        power = T @ power
        total += factor * np.sum(y * power)
    return total


def expected(data: Example, parts, coefficients, sequence) -> tuple[float, np.ndarray]:
    """Value and gradient; the value is a polynomial in the mask, so complex steps are exact."""
    factors = alpha(data, parts, coefficients)
    steps = 1e-30j * np.eye(len(data.mask))
    gradient = [
        by_definition(data, parts, data.mask + step, factors, sequence).imag / 1e-30
        for step in steps
    ]
    return by_definition(data, parts, data.mask, factors, sequence).real, np.array(gradient)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(("n_rows", "n_features"), [(60, 9), (50, 40)])
@pytest.mark.parametrize("order", range(1, 7))
def test_value_and_gradient(
    storage: str, order: int, n_rows: int, n_features: int, n_outputs: int, weighted: bool
):
    data = example(n_rows, n_features, n_outputs=n_outputs, weighted=weighted)
    parts, sequence = cut(n_rows, 8), [3, 0, 7, 5, 1, 2, 6, 4]
    coefficients = formulas.coefficients("monotone", order)
    folds = folds_of(data, parts, storage)
    found = value_and_gradient(folds, data.mask, coefficients, SCALE, sequence)
    value, gradient = expected(data, parts, coefficients, sequence)
    assert relative_error(found[0], value) <= TOLERANCE
    assert relative_error(found[1], gradient) <= TOLERANCE


def test_folds_of_different_shapes_are_asked_at_once(storage: str, monkeypatch):
    if storage == "device":
        # One batch has two of them, the other one.
        monkeypatch.setattr("featgrad.moments.folds._AT_ONCE_ON_DEVICE", 2 * 8 * 9 * 9)
    tasks, values = [], []
    for n_folds, n_features, order in [(8, 9, 4), (6, 7, 3), (3, 4, 2)]:
        data, parts = example(60, n_features), cut(60, n_folds)
        coefficients, sequence = formulas.coefficients("monotone", order), range(n_folds)[::-1]
        folds = folds_of(data, parts, storage)
        tasks.append(Gradient(folds, data.mask, coefficients, SCALE, list(sequence)))
        values.append(expected(data, parts, coefficients, sequence))
    for _ in range(2):
        for found, (value, gradient) in zip(gradients(tasks), values, strict=True):
            assert relative_error(found[0], value) <= TOLERANCE
            assert relative_error(found[1], gradient) <= TOLERANCE


@pytest.mark.parametrize("at_once", [1, 1000])
def test_masks_of_the_same_folds_are_asked_at_once(at_once: int, monkeypatch):
    monkeypatch.setattr("featgrad.moments.folds._AT_ONCE", at_once)
    data, parts = example(60, 9, n_outputs=2), cut(60, 8)
    folds, coefficients = folds_of(data, parts), formulas.coefficients("monotone", 4)
    asked = [
        (data.mask, SCALE, range(8)),
        (data.mask[::-1], 2 * SCALE, range(8)),
        (data.mask, SCALE, range(8)[::-1]),
    ]
    tasks = [Gradient(folds, mask, coefficients, *others) for mask, *others in asked]
    for found, task in zip(gradients(tasks), tasks, strict=True):
        value, gradient = value_and_gradient(folds, *task[1:])
        assert found[0] == pytest.approx(value)
        np.testing.assert_allclose(found[1], gradient, rtol=1e-4, atol=1e-7)


def test_totals_of_few_rows_are_kept_as_rows():
    folds = folds_of(example(20, 40), cut(20, 4))
    totals, chosen = folds.totals(), np.array([1, 5, 30])
    assert totals.matrix.shape == (20, 40)
    some = totals.columns(chosen)
    expected = folds.grams.sum(axis=0)[np.ix_(chosen, chosen)]
    assert relative_error(some.covariance, expected) <= TOLERANCE
    assert relative_error(some.variances, np.diagonal(expected)) <= TOLERANCE


def test_gradient_is_the_slope_of_the_value():
    data = example(80, 6)
    folds, coefficients = folds_of(data, cut(80, 6)), formulas.coefficients("monotone", 4)
    direction = np.linspace(-1, 1, 6)

    def along(step: float) -> float:
        mask = data.mask + step * direction
        return value_and_gradient(folds, mask, coefficients, SCALE, range(6))[0]

    _, gradient = value_and_gradient(folds, data.mask, coefficients, SCALE, range(6))
    # A polynomial of degree 4: two central differences give its slope but for rounding.
    slope = (8 * (along(0.1) - along(-0.1)) - (along(0.2) - along(-0.2))) / 1.2
    assert gradient @ direction == pytest.approx(slope, rel=1e-3)


def test_folds_of_one_row_are_the_estimate_over_rows():
    data = example(30, 5, n_outputs=2)
    coefficients = formulas.coefficients("monotone", 4)
    folds = folds_of(data, [np.array([n]) for n in range(30)])
    found = value_and_gradient(folds, data.mask, coefficients, SCALE, range(30))
    value, gradient = reference.value_and_gradient(
        data.X, data.outputs, data.mask, data.weights, coefficients, SCALE
    )
    variance = np.sum(data.weights @ data.outputs**2)
    assert relative_error(found[0], value / variance) <= TOLERANCE
    assert relative_error(found[1], gradient / variance) <= TOLERANCE


def test_moments_are_unbiased():
    rng = np.random.default_rng(0)
    mixing, slopes = rng.standard_normal((3, 3)), np.array([1.0, -0.5, 0.3])
    mask, coefficients = np.array([1.0, 0.4, 0.7]), formulas.coefficients("monotone", 3)
    covariance = mixing.T @ mixing
    power, population = covariance @ slopes, 0.0
    first = power
    for i, coefficient in enumerate(coefficients):
        population += coefficient * first @ (mask * power) / SCALE ** (i + 1)
        power = covariance @ (mask * power)
    values = []
    for _ in range(2000):
        X = rng.standard_normal((20, 3)) @ mixing
        y = (X @ slopes + rng.standard_normal(20))[:, None]
        parts = np.split(np.arange(20), [4, 8, 12, 16])
        folds = folds_of(Example(X, y, np.ones(20), mask), parts)
        value, _ = value_and_gradient(folds, mask, coefficients, SCALE, range(5))
        values.append(value * folds.variance[0])
    error = np.std(values) / np.sqrt(len(values))
    assert error < 0.05 * population
    assert np.mean(values) == pytest.approx(population, abs=3 * error)


@pytest.mark.parametrize("n_features", [9, 40])
def test_moments_of_all_rows(storage: str, n_features: int):
    data = example(60, n_features, n_outputs=2)
    folds = folds_of(data, cut(60, 8), storage)
    weighted = data.weights[:, None] * data.X
    assert folds.n_columns == n_features
    effective = 1 / np.sum(data.weights**2)
    assert folds.n_effective == pytest.approx(effective, abs=1e-5)
    np.testing.assert_allclose(folds.weights.sum(), 1)
    assert relative_error(folds.totals().cross, weighted.T @ data.outputs) <= TOLERANCE
    assert relative_error(covariance_of(folds), weighted.T @ data.X) <= TOLERANCE
    assert relative_error(folds.variance, data.weights @ data.outputs**2) <= 1e-12


@pytest.mark.parametrize("n_features", [9, 40])
def test_squares_of_columns(storage: str, n_features: int):
    data = example(60, n_features)
    found = folds_of(data, cut(60, 8), storage).column_squares()
    np.testing.assert_allclose(found, data.weights @ data.X**2, rtol=1e-5)


@pytest.mark.parametrize("n_features", [9, 40])
def test_divided_folds_are_those_of_divided_rows(storage: str, n_features: int):
    data, parts = example(60, n_features, n_outputs=2), cut(60, 8)
    columns, outputs = np.linspace(1, 2, n_features), np.array([0.5, 3.0])
    columns[4] = np.inf
    found = folds_of(data, parts, storage).divided(columns, outputs)
    rows = Example(data.X / columns, data.outputs / outputs, data.weights, data.mask)
    same = folds_of(rows, parts, storage)
    np.testing.assert_allclose(found.variance, same.variance)
    assert not covariance_of(found)[4].any()
    assert relative_error(covariance_of(found), covariance_of(same)) <= TOLERANCE
    assert relative_error(found.totals().cross, same.totals().cross) <= TOLERANCE
    value, same_value = (
        value_and_gradient(folds, data.mask, formulas.coefficients("monotone", 3), SCALE, range(8))[
            0
        ]
        for folds in (found, same)
    )
    assert relative_error(value, same_value) <= TOLERANCE


@pytest.mark.parametrize("n_features", [9, 40])
def test_only_some_columns_are_a_mask_of_zeros_and_ones(storage: str, n_features: int):
    data = example(60, n_features)
    chosen = np.array([2, 5, 8])
    mask = np.zeros(n_features)
    mask[chosen] = 1
    folds, coefficients = folds_of(data, cut(60, 8), storage), formulas.coefficients("monotone", 3)
    all_columns = value_and_gradient(folds, mask, coefficients, SCALE, range(8))
    some = value_and_gradient(folds.columns(chosen), np.ones(3), coefficients, SCALE, range(8))
    assert relative_error(some[0], all_columns[0]) <= TOLERANCE
    assert relative_error(some[1], all_columns[1][chosen]) <= TOLERANCE


@pytest.mark.parametrize("ridge", [0.05, 2.0])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("n_features", [4, 40])
def test_coefficients_without_a_fold_are_those_of_solving_anew(
    storage: str, n_features: int, n_outputs: int, ridge: float
):
    data = example(60, n_features, n_outputs=n_outputs)
    data = Example(data.X, data.outputs, 3 * data.weights, data.mask)
    parts = cut(60, 6)
    folds = folds_of(data, parts, storage)
    found = folds.without_each(ridge)
    for place, left_out in enumerate(parts):
        # Sums are over the other rows, while all rows together have the weight 1.
        rest = np.setdiff1d(np.arange(60), left_out)
        weighted = (data.weights / data.weights.sum())[rest, None] * data.X[rest]
        anew = np.linalg.solve(
            weighted.T @ data.X[rest] + ridge * np.eye(n_features), weighted.T @ data.outputs[rest]
        )
        assert relative_error(found[place], anew) <= 10 * TOLERANCE


def test_folds_of_forty_columns_hold_rows():
    """What the tests above rely on."""
    kinds = {width: folds_of(example(60, width), cut(60, 8)).is_gram for width in (9, 40)}
    assert kinds == {9: True, 40: False}
