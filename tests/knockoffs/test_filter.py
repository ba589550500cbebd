"""Thresholds, e-values and the set that they lead to, by their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from featgrad.knockoffs.filter import e_values, largest_set, stopping_threshold
from featgrad.plan import KNOCKOFF_SHARE

STATISTICS = arrays(float, st.integers(1, 40), elements=st.integers(-9, 9).map(float))
RATES = st.sampled_from([0.05, 0.1, 0.2, 0.5])


@given(STATISTICS, RATES)
def test_threshold_is_the_least_that_is_good_enough(W: np.ndarray, fdr: float):
    found = np.inf
    for t in sorted({abs(w) for w in W if w}, reverse=True):
        below, above = np.sum(-t >= W), np.sum(t <= W)
        if below == 0 or (1 + below) / max(1, above) <= KNOCKOFF_SHARE * fdr:
            found = t
    assert stopping_threshold(W, fdr) == found


@given(arrays(float, (3, 12), elements=st.integers(-9, 9).map(float)), RATES)
def test_e_values_are_means_over_knockoffs(W: np.ndarray, fdr: float):
    expected = np.zeros(12)
    for row in W:
        t = stopping_threshold(row, fdr)
        expected += 12 * (row >= t) / (1 + np.sum(row <= -t)) / 3
    np.testing.assert_allclose(e_values(W, fdr), expected)


@given(arrays(float, 15, elements=st.floats(0, 100)), RATES)
def test_set_is_the_largest_with_enough_evidence(values: np.ndarray, fdr: float):
    sizes = [k for k in range(1, 16) if np.sum(values >= 15 / (fdr * k) * (1 - 1e-9)) >= k]
    chosen = largest_set(values, fdr)
    assert chosen.sum() == max(sizes, default=0)
    assert values[chosen].min(initial=np.inf) >= values[~chosen].max(initial=0)


@pytest.mark.parametrize("n_signals", [0, 15])
def test_e_values_of_what_has_no_say_sum_to_no_more_than_their_number(n_signals: int):
    """Signs of statistics without a say are fair coins, whatever their magnitudes."""
    rng = np.random.default_rng(0)
    sums = []
    for _ in range(2000):
        W = rng.choice([-1, 1], 60) * rng.random(60)
        W[:n_signals] = 1 + rng.random(n_signals)
        sums.append(e_values(W[None], 0.2)[n_signals:].sum())
    assert np.mean(sums) <= 60 + 3 * np.std(sums) / np.sqrt(len(sums))
