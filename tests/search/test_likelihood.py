import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from featgrad.moments.folds import Rows
from featgrad.search import likelihood


def two_classes(separable: bool) -> tuple[Rows, np.ndarray]:
    """Rows of two classes with unequal weights, and their classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6))
    y = X[:, 0] - X[:, 1] + (0 if separable else 1) * rng.logistic(size=120) > 0.3
    weights = rng.uniform(0.5, 2, 120)
    weights /= weights.sum()
    return Rows(X, (y - weights @ y)[:, None], weights), y


@pytest.mark.parametrize("separable", [False, True])
def test_moments_are_those_of_the_reweighted_rows(separable: bool):
    rows, y = two_classes(separable)
    chosen = np.array([0, 1, 4])
    model = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    model.fit(rows.values[:, chosen], y, sample_weight=120 * rows.weights)
    p = model.predict_proba(rows.values[:, chosen])[:, 1]
    v = np.maximum(p * (1 - p), 1e-4)
    target = model.decision_function(rows.values[:, chosen]) + (y - p) / v
    together = np.column_stack([rows.values, target])
    expected = np.cov(together.T, aweights=rows.weights * v, ddof=0)
    found = likelihood.moments(rows, y, chosen)
    np.testing.assert_allclose(found.covariance, expected[:-1, :-1], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.cross[:, 0], expected[:-1, -1], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found.variance, expected[-1, -1], rtol=1e-3)
    assert found.n_rows == 120


def test_classes_are_told_by_the_values_of_the_target():
    rows, y = two_classes(separable=False)
    np.testing.assert_array_equal(likelihood.two_classes(rows), y)


@pytest.mark.parametrize("outputs", [np.arange(120.0)[:, None], np.eye(120)[:, :2]])
def test_other_targets_have_no_two_classes(outputs: np.ndarray):
    rows, _ = two_classes(separable=False)
    assert likelihood.two_classes(rows._replace(outputs=outputs)) is None
