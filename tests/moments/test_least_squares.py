"""Least squares on rows, against sums over pairs and against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from featgrad.moments.least_squares import (
    Weighted,
    adjusted,
    best_linear,
    ridge_coefficients,
    variance_left,
)


def rows(n_rows: int = 40, n_columns: int = 3, n_outputs: int = 1, seed: int = 0) -> Weighted:
    """Centred columns, of which the first decides the outputs, and weights that sum to one."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2, n_rows)
    weights /= weights.sum()
    X = rng.standard_normal((n_rows, n_columns))
    X[:, -1] += X[:, 0]
    Y = X[:, :1] + rng.standard_normal((n_rows, n_outputs))
    return Weighted(X - weights @ X, Y - weights @ Y, weights)


def test_whitened_columns_are_uncorrelated():
    white = rows().whitened()
    products = white.values.T @ (white.weights[:, None] * white.values)
    np.testing.assert_allclose(products, np.eye(4), atol=1e-10)


def test_copies_and_constants_are_no_directions():
    X, Y, weights, _ = rows()
    doubled = Weighted(np.hstack([X, X[:, :1], np.zeros((40, 1))]), Y, weights)
    assert doubled.whitened().values.shape == (40, 4)


def test_ridge_is_that_of_scikit_learn():
    X, Y, *_ = rows()
    even = Weighted(X, Y, np.full(40, 1 / 40))
    model = Ridge(alpha=4.0, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(ridge_coefficients(even, 4.0)[:, 0], model.coef_.ravel())


def test_adjusted_is_that_of_the_textbook():
    X, Y, *_ = rows()
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    score = LinearRegression().fit(X, Y).score(X, Y)
    even = Weighted(X, Y, np.full(40, 1 / 40))
    assert adjusted(even.whitened()) == pytest.approx(1 - (1 - score) * 39 / 36)


def left_by_pairs(white: Weighted) -> float:
    """The definition."""
    z, r, w, clusters = white
    clusters = np.arange(len(w)) if clusters is None else clusters
    pairs = np.multiply.outer(w, w) * (clusters[:, None] != clusters)
    missed = np.sum(pairs * (z @ z.T) * (r @ r.T)) / pairs.sum()
    return float(w @ np.sum(r**2, axis=1) / w.sum() - missed)


CLUSTERS = [None, np.arange(40) // 3 % 9]


@pytest.mark.parametrize("clusters", CLUSTERS, ids=["rows", "clusters"])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_variance_left_is_a_sum_over_pairs_of_rows_of_different_clusters(n_outputs: int, clusters):
    white = rows(n_outputs=n_outputs).whitened()._replace(clusters=clusters)
    assert variance_left(white).value == pytest.approx(left_by_pairs(white))


@pytest.mark.parametrize("clusters", CLUSTERS, ids=["rows", "clusters"])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_influence_is_what_the_value_loses_without_the_row_or_cluster(n_outputs: int, clusters):
    white = rows(n_outputs=n_outputs).whitened()._replace(clusters=clusters)
    found = variance_left(white)
    labels = np.arange(40) if clusters is None else clusters
    for label in (0, 7):
        without = left_by_pairs(white.take(np.flatnonzero(labels != label)))
        assert found.influences[label] == pytest.approx(found.value - without)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_variance_of_noise_is_known(n_outputs: int, size: int):
    """Of what is left of noise: its spread over draws, less that of the noise, is what it says."""
    rng = np.random.default_rng(1)
    values, variances = [], []
    labels = np.arange(30 * size) // size
    for _ in range(1000):
        weights = np.full(len(labels), 1 / len(labels))
        numbers = (rng.standard_normal((30, count))[labels] for count in (4, n_outputs))
        drawn = Weighted(*numbers, weights, None if size == 1 else labels)
        found = variance_left(drawn)
        values.append(found.value - np.mean(np.sum(drawn.outputs**2, axis=1)))
        variances.append(found.excess)
    assert np.mean(values) == pytest.approx(0, abs=3 * np.std(values) / np.sqrt(1000))
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.25)


def test_copies_of_rows_in_clusters_count_as_one_row_each():
    once = rows()
    twice = once.take(np.tile(np.arange(40), 2))
    twice = twice._replace(weights=twice.weights / 2, clusters=np.tile(np.arange(40), 2))
    found, expected = (variance_left(each.whitened().without_leverage()) for each in (twice, once))
    assert found.value == pytest.approx(expected.value)
    np.testing.assert_allclose(found.influences, expected.influences, rtol=1e-6)
    assert found.excess == pytest.approx(expected.excess)


@pytest.mark.parametrize("is_even", [True, False], ids=["even", "uneven"])
@pytest.mark.parametrize("n_columns", [8, 32])
@pytest.mark.parametrize("r2", [0.0, 0.3, 0.9])
def test_standard_error_of_the_adjusted_r2(r2: float, n_columns: int, is_even: bool):
    """Not too small where noise differs from row to row; too large if columns are many."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        X = rng.standard_normal((80, n_columns))
        signal = X.sum(axis=1) / np.sqrt(n_columns)
        noise = rng.standard_normal(80) * (1 if is_even else np.abs(X[:, 0]))
        y = np.sqrt(r2) * signal + np.sqrt(1 - r2) * noise
        drawn = Weighted(X - X.mean(axis=0), (y - y.mean())[:, None], np.full(80, 1 / 80))
        found.append(best_linear(drawn))
    values, errors = np.array(found).T
    assert values.mean() == pytest.approx(r2, abs=3 * values.std() / np.sqrt(300) + 0.025)
    assert 0.85 < np.sqrt(np.mean(errors**2)) / values.std() < 1.75
