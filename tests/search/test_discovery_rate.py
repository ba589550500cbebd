"""Thresholds and frequencies, by their definitions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import false_discovery_control

from featgrad.search.knockoffs import by_e_values, frequencies, knockoff_threshold, step_up

STATISTICS = arrays(float, st.integers(1, 40), elements=st.integers(-9, 9).map(float))
RATES = st.sampled_from([0.05, 0.1, 0.2, 0.5])


@given(STATISTICS, RATES)
def test_threshold_is_the_least_that_is_good_enough(W: np.ndarray, fdr: float):
    found = np.inf
    for t in sorted({abs(w) for w in W if w}, reverse=True):
        if 1 + np.sum(-t >= W) <= fdr * np.sum(t <= W):
            found = t
    assert knockoff_threshold(W, fdr) == found


@given(arrays(float, (3, 12), elements=st.integers(-9, 9).map(float)), RATES)
def test_frequencies_are_shares_of_knockoffs(W: np.ndarray, fdr: float):
    chosen = [row >= knockoff_threshold(row, fdr) for row in W]
    np.testing.assert_allclose(frequencies(W, fdr), np.sum(chosen, axis=0) / 3)


def test_one_knockoff_keeps_the_rate():
    """Signs of statistics without a say are fair coins, whatever their magnitudes."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(2000):
        W = rng.choice([-1, 1], 60) * rng.random(60)
        W[:15] = 0.6 + rng.random(15)
        chosen = frequencies(W[None], 0.2) > 0
        shares.append(chosen[15:].sum() / max(1, chosen.sum()))
    assert 0.1 < np.mean(shares) <= 0.2 + 3 * np.std(shares) / np.sqrt(len(shares))


@given(arrays(float, (3, 30), elements=st.integers(-9, 9).map(float)), RATES)
def test_e_values_are_those_of_ren_and_barber(W: np.ndarray, fdr: float):
    values = np.zeros(30)
    for row in W:
        least = knockoff_threshold(row, fdr / 2)
        values += 30 * (row >= least) / (1 + np.sum(row <= -least)) / 3
    sizes = [k for k in range(1, 31) if np.sum(values >= 30 / (fdr * k)) >= k]
    expected = values >= 30 / (fdr * max(sizes)) if sizes else np.zeros(30, bool)
    np.testing.assert_array_equal(by_e_values(W, fdr), expected)


@given(arrays(float, st.integers(1, 20), elements=st.floats(0, 1)), RATES)
def test_step_up_is_that_of_scipy(p: np.ndarray, fdr: float):
    adjusted = false_discovery_control(p)
    close = np.isclose(adjusted, fdr)
    np.testing.assert_array_equal(step_up(p, fdr)[~close], (adjusted <= fdr)[~close])
