"""Copies that can change places with their columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.covariance import ledoit_wolf

from featgrad.search.copies import knockoff_copies, maximum_entropy


def ar(r: float, size: int) -> np.ndarray:
    places = np.arange(size)
    return r ** np.abs(np.subtract.outer(places, places))


def rows(covariance: np.ndarray, n_rows: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, len(covariance))) @ np.linalg.cholesky(covariance).T
    return (X - X.mean(axis=0)) / X.std(axis=0)


def copies_of(X: np.ndarray, units: np.ndarray, count: int = 1) -> list[np.ndarray]:
    weights, rng = np.full(len(X), 1 / len(X)), np.random.RandomState(0)
    return list(knockoff_copies(X, weights, units, count, rng))


GROUPS = {"single columns": np.arange(6), "groups": np.array([0, 0, 1, 2, 2, 2])}


@pytest.mark.parametrize("units", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("r", [0.0, 0.5, 0.9])
def test_second_moments_stay_when_units_change_places(r: float, units: np.ndarray):
    X = rows(ar(r, 6), 40_000)
    both = np.hstack([X, *copies_of(X, units)])
    moments = both.T @ both / len(both)
    for unit in np.unique(units):
        order = np.arange(12)
        members = np.flatnonzero(units == unit)
        order[members], order[members + 6] = members + 6, members
        np.testing.assert_allclose(moments[np.ix_(order, order)], moments, atol=0.03)


def test_copies_differ_from_their_columns():
    X = rows(ar(0.5, 6), 10_000)
    [copies] = copies_of(X, np.arange(6))
    assert np.all(np.abs(np.mean(X * copies, axis=0)) < 0.6)


def test_copies_are_as_many_as_asked_for_and_differ():
    X = rows(ar(0.5, 6), 200)
    first, second, third = copies_of(X, np.arange(6), 3)
    assert min(np.abs(first - second).max(), np.abs(first - third).max()) > 0.1
    # The noise of the second is that of the first with other signs.
    covariance, _ = ledoit_wolf(X, assume_centered=True)
    expected = X - X @ np.linalg.solve(covariance, maximum_entropy(covariance, np.arange(6)))
    np.testing.assert_allclose((first + second) / 2, expected, atol=1e-4)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), n_rows=st.integers(3, 30), grouped=st.booleans())
def test_difference_is_feasible_and_block_diagonal(seed: int, n_rows: int, grouped: bool):
    X = np.random.default_rng(seed).standard_normal((n_rows, 8))
    X[:, 1] = X[:, 0]
    units = np.arange(8) // 2 if grouped else np.arange(8)
    covariance = X.T @ X / n_rows + 1e-3 * np.eye(8)
    S = maximum_entropy(covariance, units)
    assert np.linalg.eigvalsh(S)[0] > 0
    assert np.linalg.eigvalsh(2 * covariance - S)[0] > 0
    assert np.all(S[units[:, None] != units] == 0)


@pytest.mark.parametrize("r", [0.3, 0.9])
def test_difference_has_the_largest_entropy(r: float):
    covariance = ar(r, 5)

    def negative(log_s: np.ndarray) -> float:
        sign, log_det = np.linalg.slogdet(2 * covariance - np.diag(np.exp(log_s)))
        return np.inf if sign <= 0 else -log_det - log_s.sum()

    best = minimize(negative, np.full(5, -4.0), method="Nelder-Mead", options={"maxiter": 5000})
    found = negative(np.log(np.diagonal(maximum_entropy(covariance, np.arange(5)))))
    assert found == pytest.approx(best.fun, abs=0.005)


def test_noise_has_the_weights_of_the_rows():
    X, weights = rows(ar(0.5, 4), 2000), np.repeat([1.0, 9.0], 1000) / 10_000
    weighted = X * np.sqrt(2000 * weights)[:, None]
    first, second = knockoff_copies(weighted, weights, np.arange(4), 2, np.random.RandomState(0))
    light, heavy = np.split((first - second).std(axis=1), 2)
    assert heavy.mean() / light.mean() == pytest.approx(3, rel=0.1)
