"""Honesty of the estimate and of its interval, by simulation with Gaussian features.

The mean error over the runs may reach three of its standard errors, and the share of intervals that
cover the truth may fall short of 90 % by two binomial standard deviations for that many runs.
"""

import numpy as np
import pytest
from scipy.linalg import toeplitz

from featgrad import Learnability
from featgrad.estimates.estimate import Estimate, estimated

N_FEATURES = 80
EXPLAINED = 0.6


def draw(rng, n_rows: int, n_features: int, correlation: float, r2: float, target: str):
    """Features, a target, and the explained fraction of its variance."""
    covariance = toeplitz(correlation ** np.arange(n_features))
    X = rng.standard_normal((n_rows, n_features)) @ np.linalg.cholesky(covariance).T
    slopes = rng.standard_normal(n_features)
    slopes /= np.sqrt(slopes @ covariance @ slopes)
    u = np.sqrt(r2) * X @ slopes + np.sqrt(1 - r2) * rng.standard_normal(n_rows)
    return (X, u, r2) if target == "linear" else (X, (u > 0).astype(int), 2 * r2 / np.pi)


def simulate(n_rows: int, correlation: float, target: str, order: int):
    """Errors, and whether each interval covers the truth."""
    rng = np.random.default_rng(n_rows)
    errors, covers = [], []
    for _ in range(60 if n_rows <= N_FEATURES else 30):
        X, y, truth = draw(rng, n_rows, N_FEATURES, correlation, EXPLAINED, target)
        task = "regression" if target == "linear" else "binary"
        estimate = Learnability(X, y, order=order, task=task).estimate()
        low, high = estimate.interval
        errors.append(estimate.value - truth)
        covers.append(low <= truth <= high)
    return np.array(errors), np.array(covers)


def fewest(runs: int) -> float:
    return 0.9 - 2 * np.sqrt(0.9 * 0.1 / runs)


@pytest.mark.parametrize("target", ["linear", "probit"])
@pytest.mark.parametrize("n_rows", [N_FEATURES // 4, N_FEATURES, 10 * N_FEATURES])
def test_isotropic_features(n_rows: int, target: str):
    errors, covers = simulate(n_rows, 0.0, target, order=4)
    if n_rows >= N_FEATURES:  # with fewer rows many estimates end at 1
        assert abs(errors.mean()) <= 3 * errors.std() / np.sqrt(len(errors))
    assert covers.mean() >= fewest(len(covers))


@pytest.mark.parametrize("target", ["linear", "probit"])
def test_correlated_features_where_the_filter_is_exact_enough(target: str):
    _, covers = simulate(10 * N_FEATURES, 0.5, target, order=8)
    assert covers.mean() >= fewest(len(covers))


def test_interval_is_not_wider_than_needed():
    """Half a width of 1.96 standard errors, and these within a third of the true spread."""
    rng = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(60):
        X, y, _ = draw(rng, 120, 30, 0.0, EXPLAINED, "linear")
        estimate = Learnability(X, y).estimate()
        values.append(estimate.value)
        errors.append(estimate.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=1 / 3)


def test_a_quarter_as_many_rows_as_features_still_tells():
    rng = np.random.default_rng(0)
    values = {
        r2: np.array(
            [
                Learnability(*draw(rng, 100, 400, 0.0, r2, "linear")[:2]).estimate().value
                for _ in range(10)
            ]
        )
        for r2 in (0.0, 0.8)
    }
    assert max(part.std() for part in values.values()) < 0.4
    # Standard error of the difference of two means of 10: below 0.18.
    assert values[0.8].mean() - values[0.0].mean() > 0.4


@pytest.mark.parametrize(
    ("value", "error", "ends"),
    [(0.5, 0.1, (0.304, 0.696)), (0.1, 0.1, (0, 0.296)), (-0.1, 0.1, (-0.1, 0.096))],
)
def test_interval_stays_within_what_is_possible(value, error, ends):
    assert Estimate(value, error, 1).interval == pytest.approx(ends, abs=1e-4)


@pytest.mark.parametrize(
    ("value", "error", "is_known"), [(0.5, 0.2, True), (0.5, 0.5, False), (1.6, 0.1, False)]
)
def test_what_says_nothing_is_unknown(value, error, is_known):
    assert np.isfinite(estimated(value, error, 1).value) == is_known
