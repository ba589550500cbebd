"""Pictures of constructed features."""

import numpy as np
import pytest

from featgrad.report.constructed import pictures
from featgrad.report.profiles import Series

NAMES = ["dose", "age", "max(dose - 1, 0)", "dose * age"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    dose, age = rng.uniform(-2, 4, 2000), rng.standard_normal(2000)
    X = np.column_stack([dose, age, np.maximum(dose - 1, 0), dose * age])
    return X, 5 + 2 * X[:, 2] + 0.1 * rng.standard_normal(2000)


def drawn(X, y, made):
    target = Series(["mean of y"], y[:, None], np.ones(len(y)), np.array([0]))
    return pictures(X, target, made, NAMES)


def test_a_curve_is_the_line_that_the_feature_makes_of_the_target(table):
    (curve,) = drawn(*table, {2: [0]})
    assert (curve["names"], curve["parts"]) == (["max(dose - 1, 0)"], ["dose"])
    expected = 5 + 2 * np.maximum(np.array(curve["grid"]) - 1, 0)
    np.testing.assert_allclose(curve["shape"], expected, atol=0.05)
    means = 5 + 2 * np.maximum(np.array(curve["x"]) - 1, 0)
    np.testing.assert_allclose(curve["means"], means, atol=0.1)


def test_a_map_has_means_of_the_target_in_cells_of_two_columns(table):
    X, _ = table
    (found,) = drawn(X, X[:, 3], {3: [0, 1]})
    means, counts = np.array(found["means"]), np.array(found["counts"])
    assert means.shape == counts.shape == (6, 6)
    assert counts.sum() == 2000
    # A product: high where both are low or high.
    assert min(means[0, 0], means[5, 5]) > 1 > -1 > max(means[0, 5], means[5, 0])


def test_functions_of_the_same_two_columns_have_one_map(table):
    X, y = table
    first, second = drawn(X, y, {3: [0, 1], 2: [0], 0: [0, 1]})
    assert (first["names"], second["names"]) == (["dose * age", "dose"], ["max(dose - 1, 0)"])


def test_a_column_of_two_values_has_two_cells(table):
    X, y = table
    X = X.copy()
    X[:, 1] = X[:, 1] > 0
    (found,) = drawn(X, y, {3: [0, 1]})
    assert np.array(found["counts"]).shape == (6, 2)
