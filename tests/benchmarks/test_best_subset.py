"""The protocol of Hastie, Tibshirani & Tibshirani (2020)."""

import numpy as np
import pytest
from benchmarks.helpers.best_subset import summary
from benchmarks.helpers.best_subset.picture import curves
from benchmarks.helpers.best_subset.protocol import (
    SETTINGS,
    Drawn,
    Setting,
    coefficients_of,
    draw,
    validated,
    variance_of,
)

MEASURED = {"command": "c", "date": "d", "commit": "e", "machine": "m"}


def entry(setting: Setting, error: float) -> dict:
    return setting._asdict() | {"errors": [error], "F": [0.5], "sizes": [3], "seconds": [0.1]}


def test_there_are_as_many_settings_as_published():
    assert len(SETTINGS) == 480
    assert Setting("hi5", 3, 0.35, 0.0851) in SETTINGS


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_variance_is_that_of_the_covariance(rho):
    beta, places = np.random.default_rng(0).standard_normal(6), np.arange(6)
    covariance = rho ** np.abs(places[:, None] - places)
    np.testing.assert_allclose(variance_of(beta, rho), beta @ covariance @ beta)


@pytest.mark.parametrize(("beta_type", "nonzero"), [(1, 5), (2, 5), (3, 5), (5, 100)])
def test_coefficients_of_each_type(beta_type, nonzero):
    beta = coefficients_of(beta_type, 100)
    assert np.count_nonzero(beta) == nonzero
    assert beta[0] == (10 if beta_type == 3 else 1)


def test_rows_have_the_correlation_and_the_ratio_of_their_setting():
    drawn = [draw(Setting("med", 2, 0.7, 6.0), repetition) for repetition in range(5)]
    X = np.concatenate([one.X for one in drawn])
    np.testing.assert_allclose(np.corrcoef(X.T)[10, 11:13], [0.7, 0.49], atol=0.05)
    noise = np.concatenate([one.y - one.X @ one.beta for one in drawn])
    signal = np.concatenate([one.X @ one.beta for one in drawn])
    np.testing.assert_allclose(signal.var() / noise.var(), 6, rtol=0.15)


def planted(noise: float) -> Drawn:
    rng, beta = np.random.default_rng(0), np.array([2.0, -1.0, 0.0, 0.0])
    X = rng.standard_normal((80, 4))
    y = X @ beta + noise * rng.standard_normal(80)
    return Drawn(X[:40], y[:40], X[40:], y[40:], beta, 1.0, 0.0)


def test_validation_rows_choose_the_support():
    drawn = planted(0.01)
    best = validated(drawn, [[0], [0, 1], [0, 2]])
    error, F, size = drawn.measures(best)
    assert (F, size) == (1.0, 2)
    assert 1 <= error < 1.001


def test_nothing_is_chosen_where_nothing_predicts():
    drawn = planted(1.0)._replace(beta=np.zeros(4))
    drawn = drawn._replace(y_valid=-drawn.y_valid)
    assert not validated(drawn, [[0], [0, 1]]).any()


def test_our_means_stand_below_the_published_ones(monkeypatch):
    ours, other = SETTINGS[0], SETTINGS[1]
    figures = {"err_test_over_sigma2": 2.0, "F1": 0.75, "nonzeros": 3.0}
    monkeypatch.setattr(summary, "published", lambda: {("Lasso", ours): figures})
    page = summary.markdown(MEASURED, [entry(ours, 1.5), entry(other, 9.0)])
    assert "| Lasso | 2.000 |\n| featgrad | **1.500** |" in page
    assert "| Lasso | **0.750** |" in page
    assert "Measured by `c`, d, commit e, m." in page


def test_a_page_says_at_which_ratio_another_method_is_ahead(monkeypatch):
    low, high = (Setting("lo", 2, 0.35, ratio) for ratio in (0.05, 6.0))
    theirs = {"err_test_over_sigma2": 2.0, "F1": 0.75, "nonzeros": 3.0}
    worse = theirs | {"err_test_over_sigma2": 9.0}
    found = {
        ("Lasso", low): theirs,
        ("Lasso", high): theirs,
        ("L0", low): worse,
        ("L0", high): worse,
    }
    monkeypatch.setattr(summary, "published", lambda: dict(found))
    page = summary.markdown(MEASURED, [entry(low, 1.5), entry(high, 2.25)])
    assert "| signal-to-noise ratio | n = 100, p = 10: Lasso |" in page
    assert "| 0.05 | -0.500 |" in page
    assert "| 6.00 | +0.250 |" in page


def test_curves_have_gaps_where_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(summary, "published", dict)
    ours = Setting("lo", 2, 0.35, 0.05)
    values = curves([entry(ours, 1.5)])["err_test_over_sigma2"]["lo"]["featgrad"]
    assert values == [1.5, *9 * [None]]
