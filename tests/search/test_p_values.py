"""p-values of single units."""

import numpy as np
import pytest
from scipy import stats

from featgrad.search.knockoffs import _mean_is_zero, p_values


def of(X: np.ndarray, Y: np.ndarray, units: np.ndarray) -> np.ndarray:
    X, Y = ((part - part.mean(axis=0)) / part.std(axis=0) for part in (X, Y))
    return p_values(X, Y, units)


def test_one_column_gives_students_test():
    x = np.random.default_rng(0).standard_normal(30) + 0.3
    # The mean square of the test is that about 0, as the hypothesis has it.
    z = x.sum() / np.sqrt(x @ x)
    t = z * np.sqrt(29 / (30 - z**2))
    assert _mean_is_zero(x[:, None]) == pytest.approx(2 * stats.t.sf(abs(t), 29))
    assert _mean_is_zero(np.zeros((30, 2))) == 1
    assert _mean_is_zero(np.ones((2, 2)) * x[:2]) <= 1


def test_columns_in_pairs_give_a_valid_test():
    rng = np.random.default_rng(0)
    found = [_mean_is_zero(rng.standard_normal((40, 3))) for _ in range(400)]
    assert stats.kstest(found, "uniform").pvalue > 0.01


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("width", [1, 2])
def test_p_values_of_noise_are_uniform(n_outputs: int, width: int):
    rng = np.random.default_rng(1)
    units = np.arange(12) // width
    found = []
    for _ in range(30):
        X = rng.standard_normal((80, 12)) + rng.standard_normal((80, 1))
        Y = X[:, :width] + rng.standard_normal((80, max(n_outputs, width)))[:, :width]
        Y = np.hstack([Y, rng.standard_normal((80, n_outputs))])[:, :n_outputs]
        p = of(X, Y, units)
        found += p[1:].tolist()
    assert stats.kstest(found, "uniform").pvalue > 0.001
    assert np.mean(np.array(found) < 0.05) < 0.1


def test_true_columns_have_small_p_values():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((100, 20))
    y = X[:, [0]] + X[:, [5]] * np.abs(rng.standard_normal((100, 1)))
    assert of(X, y, np.arange(20))[[0, 5]].max() < 1e-3
