import numpy as np
import pytest

from featgrad.moments.folds import Totals
from featgrad.moments.spectrum import best_ridge, spectrum, top_of_covariance
from matrix_kinds import KINDS, Kind


def gaussian(n_rows: int, n_features: int, spike: float = 1.0) -> np.ndarray:
    """Unit variance but for one direction, which has variance `spike`."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    direction = np.ones(n_features) / np.sqrt(n_features)
    return X + (np.sqrt(spike) - 1) * np.outer(X @ direction, direction)


def test_sample_spectrum_where_rows_are_many(kind: Kind):
    X = gaussian(4000, 6, spike=3.0)
    weights = np.full(4000, 1 / 4000)
    mask = np.linspace(0.5, 1, 6)
    eigenvalues = np.linalg.eigvalsh(np.sqrt(mask[:, None] * mask) * np.cov(X.T, bias=True))
    found = spectrum(kind.standardised(X, weights, "center"), mask, weights)
    centre = np.sum(eigenvalues**2) / np.sum(eigenvalues)
    assert found.top == pytest.approx(eigenvalues[-1], rel=0.01)
    assert found.centre == pytest.approx(centre, rel=0.01)
    assert found.mean == pytest.approx(np.mean(eigenvalues), rel=0.01)


@pytest.mark.parametrize("spike", [10.0, 40.0])
def test_a_spike_is_found_where_features_outnumber_rows(spike: float):
    X = gaussian(150, 300, spike)
    weights = np.full(150, 1 / 150)
    sample = np.linalg.norm((X - X.mean(axis=0)) / np.sqrt(150), 2) ** 2
    rows = KINDS["dense-float64"].standardised(X, weights, "center")
    found = spectrum(rows, np.ones(300), weights).top
    assert abs(found - spike) < abs(sample - spike)
    assert found == pytest.approx(spike, rel=0.35)


def test_without_a_spike_the_top_stays_below_the_samples():
    X = gaussian(100, 400)
    weights = np.full(100, 1 / 100)
    sample = np.linalg.norm((X - X.mean(axis=0)) / 10, 2) ** 2
    found = spectrum(
        KINDS["dense-float64"].standardised(X, weights, "center"), np.ones(400), weights
    )
    assert 1 < found.top < 0.5 * sample
    assert found.centre == pytest.approx(1.0, abs=0.3)


def test_nothing_switched_on_gives_one(kind: Kind):
    X = gaussian(20, 3)
    weights = np.full(20, 1 / 20)
    assert spectrum(kind.standardised(X, weights), np.zeros(3), weights) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("n_columns", [5, 30])
def test_few_rows_have_the_top_of_their_covariance(n_columns: int):
    X = gaussian(12, n_columns, spike=20.0) / np.sqrt(12)
    cross = np.zeros((n_columns, 1))
    expected = top_of_covariance(Totals(X.T @ X, cross, 1.0, 12.0))
    found = top_of_covariance(Totals(X, cross, 1.0, 12.0, is_gram=False))
    assert found == pytest.approx(expected, rel=1e-4)


def noisy(noise: float) -> tuple[np.ndarray, np.ndarray, Totals]:
    X = gaussian(200, 30, spike=20.0)
    X /= np.sqrt(np.mean(X**2))
    rng = np.random.default_rng(1)
    Y = X @ rng.standard_normal((30, 2)) + noise * rng.standard_normal((200, 2))
    return X, Y, Totals(X.T @ X / 200, X.T @ Y / 200, float(np.sum(Y**2)) / 200, 200.0)


@pytest.mark.parametrize("noise", [0.1, 3.0, 30.0])
def test_best_ridge_has_the_least_error_by_cross_validation(noise: float):
    X, Y, totals = noisy(noise)
    ridges = np.geomspace(1e-3, 10.0, 9)
    errors = []
    for ridge in ridges:
        hat = X @ np.linalg.solve(X.T @ X + 200 * ridge * np.eye(30), X.T)
        errors.append(np.sum((Y - hat @ Y) ** 2) / (1 - np.trace(hat) / 200) ** 2)
    assert best_ridge(totals, ridges, freedom=0.5) == pytest.approx(ridges[np.argmin(errors)])


def test_best_ridge_follows_the_unit_of_columns():
    _, _, totals = noisy(3.0)
    ridges = np.geomspace(1e-3, 10.0, 9)
    larger = totals._replace(matrix=1e4 * totals.covariance, cross=1e2 * totals.cross)
    expected = 1e4 * best_ridge(totals, ridges, freedom=0.5)
    assert best_ridge(larger, ridges, freedom=0.5) == pytest.approx(expected)


def test_best_ridge_leaves_degrees_of_freedom():
    _, _, totals = noisy(0.1)
    ridges = np.geomspace(1e-3, 10.0, 9)
    eigenvalues = np.linalg.eigvalsh(totals.covariance)
    ridge = best_ridge(totals, ridges, freedom=0.05)
    assert ridge > best_ridge(totals, ridges, freedom=0.5)
    assert np.sum(eigenvalues / (eigenvalues + ridge)) <= 0.05 * 200
