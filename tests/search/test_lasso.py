"""Differences of lasso coefficients."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, MultiTaskLasso

from featgrad.plan import PATH_END, PATH_POINTS
from featgrad.search.knockoffs import differences, lasso


def data(n_outputs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 30))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = X[:, :4] @ rng.standard_normal((4, n_outputs)) + rng.standard_normal((80, n_outputs))
    return X, (Y - Y.mean(axis=0)) / Y.std(axis=0)


def error(X: np.ndarray, Y: np.ndarray, beta: np.ndarray) -> float:
    """Of generalised cross-validation."""
    return np.sum((Y - X @ beta) ** 2) / (1 - np.mean(beta.any(axis=1)) * X.shape[1] / len(X)) ** 2


@pytest.mark.parametrize("gram", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_coefficients_are_about_the_best_of_the_path(n_outputs: int, gram: bool):
    X, Y = data(n_outputs)
    largest = np.linalg.norm(X.T @ Y, axis=1).max() / len(X)
    path = []
    for penalty in largest * np.geomspace(1, PATH_END, PATH_POINTS):
        peer = (Lasso if n_outputs == 1 else MultiTaskLasso)(penalty, tol=1e-8, fit_intercept=False)
        path.append(peer.fit(X, Y).coef_.reshape(n_outputs, -1).T)
    found = lasso(X, Y, X.T @ X if gram else None)
    assert min(np.abs(found - beta).max() for beta in path) < 0.01
    # The path may end before a penalty that is a little better.
    assert error(X, Y, found) < 1.05 * min(error(X, Y, beta) for beta in path)


def test_penalty_keeps_what_matters_and_little_else():
    active = lasso(*data(1)).any(axis=1)
    assert active[:4].sum() >= 3
    assert active.sum() < 20


def test_columns_that_explain_nothing_have_no_coefficients():
    X, Y = data(1)
    assert not lasso(0 * X, Y).any()


@pytest.mark.parametrize("units", [np.arange(15), np.repeat(np.arange(5), 3)])
def test_a_unit_and_its_knockoff_are_treated_alike(units: np.ndarray):
    """Changing places before or after the random change is the same."""
    X, Y = data(2)
    own, copies = X[:, :15], X[:, 15:]
    signs = np.random.RandomState(0).choice([-1.0, 1.0], units.max() + 1)
    stays = signs[units] > 0

    class Stay(np.random.RandomState):
        def choice(self, values, size):
            return np.ones(size)

    found = differences(own, copies, Y, units, np.random.RandomState(0))
    by_hand = differences(
        np.where(stays, own, copies), np.where(stays, copies, own), Y, units, Stay()
    )
    np.testing.assert_allclose(found, signs * by_hand)


def test_signs_of_noise_are_fair():
    rng = np.random.default_rng(0)
    units, random = np.arange(10), np.random.RandomState(0)
    signs = []
    for _ in range(150):
        X, copies = rng.standard_normal((2, 60, 10))
        found = differences(X, copies, rng.standard_normal((60, 1)), units, random)
        signs += np.sign(found[found != 0]).tolist()
    assert len(signs) > 100
    assert abs(np.mean(signs)) < 3 / np.sqrt(len(signs))
