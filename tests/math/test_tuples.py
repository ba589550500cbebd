import itertools
from math import comb

import numpy as np
import pytest

from featgrad.math.formulas import elementary_symmetric, tuple_weights, tuple_weights_without_each


def brute_force(weights: np.ndarray, degree: int) -> float:
    return sum(np.prod(chosen) for chosen in itertools.combinations(weights, degree))


@pytest.mark.parametrize("n_rows", [1, 2, 5, 8, 9])
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_elementary_symmetric(n_rows: int, degree: int):
    weights = np.random.default_rng(0).random(n_rows)
    expected = [brute_force(weights, j) for j in range(degree + 1)]
    np.testing.assert_allclose(elementary_symmetric(weights, degree), expected, rtol=1e-12)


def test_equal_weights_count_tuples():
    found = elementary_symmetric(np.ones(1000), 13)
    np.testing.assert_allclose(found, [float(comb(1000, j)) for j in range(14)], rtol=1e-12)


def test_tuple_weights_start_at_pairs():
    weights = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(tuple_weights(weights, 2), [0.31, 0.03])


@pytest.mark.parametrize("order", [1, 3, 5])
def test_tuple_weights_without_each(order: int):
    weights = np.random.default_rng(0).random(7)
    expected = [[brute_force(np.delete(weights, n), i + 2) for i in range(order)] for n in range(7)]
    np.testing.assert_allclose(
        tuple_weights_without_each(weights, order), expected, rtol=1e-10, atol=1e-14
    )
