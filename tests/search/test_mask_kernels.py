"""Loops over all features against NumPy."""

import numpy as np
import pytest
from scipy.special import expit

from featgrad._support.compiled import PIECES, shared
from featgrad.search import mask_kernels
from featgrad.search.stream import _solved

V = np.random.default_rng(0).normal(size=5001).astype(np.float32)


@pytest.mark.parametrize("sharpness", [2.0, 20.0])
def test_opened_is_a_sigmoid_to_four_digits(sharpness: float):
    mask = np.full(V.shape, np.nan, np.float32)
    shared(mask_kernels.opened, PIECES, V, 0.5, sharpness, mask)
    expected = expit(sharpness * (V.astype(float) - 0.5))
    near = sharpness * (V - 0.5) > -mask_kernels.FAR
    np.testing.assert_allclose(mask[near], expected[near], rtol=1e-4)
    np.testing.assert_array_equal(mask[~near], 0)


def test_counted_puts_features_into_bins_but_for_those_below():
    counts = np.zeros((PIECES, 10), np.int64)
    shared(mask_kernels.counted, PIECES, V, -1.0, 1.0, counts)
    edges = [*np.linspace(-1, 1, 11)[:-1], np.inf]
    np.testing.assert_array_equal(counts.sum(axis=0), np.histogram(V, edges)[0])


@pytest.mark.parametrize("start", [0.0, 100.0, -100.0])
@pytest.mark.parametrize(("sharpness", "wanted"), [(2.0, 40.0), (20.0, 3.0), (20.0, 4000.0)])
def test_solved_mask_adds_up_to_what_is_wanted(start: float, sharpness: float, wanted: float):
    theta = _solved(V, start, sharpness, wanted)
    assert expit(sharpness * (V - theta)).sum() == pytest.approx(wanted, rel=0.02)


def test_move_is_a_step_along_the_gradient_in_its_deviations():
    rng = np.random.default_rng(1)
    gradient, momentum = rng.normal(size=(2, 5001)).astype(np.float32)
    v, before = V.copy(), momentum.copy()
    shared(mask_kernels.move, PIECES, v, momentum, gradient, 0.3, 2.0, 0.9, 0.2)
    expected = 0.9 * before + 0.1 * (gradient - 0.3) / 2.0
    np.testing.assert_allclose(momentum, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(v, V + 0.2 * expected, rtol=1e-4, atol=1e-6)
