"""Differences of lasso coefficients."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, MultiTaskLasso

from featgrad.plan import PATH_END, PATH_POINTS
from featgrad.search.knockoffs import differences
from featgrad.search.lasso_kernels import best_coefficients, lasso_path


def data(n_outputs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 30))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = X[:, :4] @ rng.standard_normal((4, n_outputs)) + rng.standard_normal((80, n_outputs))
    return X, (Y - Y.mean(axis=0)) / Y.std(axis=0)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("place", [5, 20])
def test_path_is_that_of_scikit_learn(n_outputs: int, place: int):
    X, Y = data(n_outputs)
    top = np.linalg.norm(X.T @ Y, axis=1).max() / len(X)
    penalty = top * np.geomspace(1, PATH_END, PATH_POINTS)[place]
    peer = (Lasso if n_outputs == 1 else MultiTaskLasso)(penalty, tol=1e-8, fit_intercept=False)
    expected = peer.fit(X, Y).coef_.reshape(n_outputs, -1).T
    for i, (beta, residuals) in enumerate(lasso_path(X.T.copy(), Y.T.copy())):
        if i == place:
            np.testing.assert_allclose(beta, expected, atol=0.01)
            np.testing.assert_allclose(residuals.T, Y - X @ beta, atol=1e-10)
            break


def test_penalty_keeps_what_matters_and_little_else():
    X, Y = data(1)
    active = best_coefficients(X.T.copy(), Y.T.copy()).any(axis=1)
    assert active[:4].sum() >= 3
    assert active.sum() < 20


@pytest.mark.parametrize("units", [np.arange(15), np.repeat(np.arange(5), 3)])
def test_a_unit_and_its_knockoff_are_treated_alike(units: np.ndarray):
    """Changing places before or after the random change is the same."""
    X, Y = data(2)
    own, copies, weights = X[:, :15], X[:, 15:], np.full(80, 1 / 80)
    signs = np.random.RandomState(0).choice([-1.0, 1.0], units.max() + 1)
    stays = signs[units] > 0

    class Stay(np.random.RandomState):
        def choice(self, values, size):
            return np.ones(size)

    found = differences(own, copies, Y, weights, units, np.random.RandomState(0))
    by_hand = differences(
        np.where(stays, own, copies), np.where(stays, copies, own), Y, weights, units, Stay()
    )
    np.testing.assert_allclose(found, signs * by_hand)


def test_signs_of_noise_are_fair():
    rng = np.random.default_rng(0)
    weights, units, random = np.full(60, 1 / 60), np.arange(10), np.random.RandomState(0)
    signs = []
    for _ in range(150):
        X, copies = rng.standard_normal((2, 60, 10))
        found = differences(X, copies, rng.standard_normal((60, 1)), weights, units, random)
        signs += np.sign(found[found != 0]).tolist()
    assert len(signs) > 100
    assert abs(np.mean(signs)) < 3 / np.sqrt(len(signs))
