"""Means and variances of the columns of whole matrices."""

import numpy as np
import pytest
from scipy import sparse

from featgrad.columns import sums as column_sums
from featgrad.columns.sums import Statistics, statistics

CONTAINERS = [np.asarray, sparse.csr_array]


@pytest.mark.parametrize("mean", [0.0, 1e4, -1e8])
@pytest.mark.parametrize("block_rows", [1, 3, 20, 50])
def test_blocks_of_rows_equal_the_whole(mean: float, block_rows: int, monkeypatch):
    monkeypatch.setattr(column_sums, "_BLOCK_ENTRIES", 4 * block_rows)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((50, 4))
    X = mean + np.round(noise * 2**10) / 2**10  # exact relative to the mean
    weights = rng.random(50)
    found = statistics(X, weights)
    offsets = X - mean
    average = weights @ offsets / weights.sum()
    variance = weights @ (offsets - average) ** 2 / weights.sum()
    np.testing.assert_allclose(found.mean, mean + average, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-6)


@pytest.mark.parametrize("container", CONTAINERS)
def test_some_rows_only(container):
    X, rows = np.random.default_rng(1).standard_normal((30, 3)), np.array([4, 2, 29])
    weights = np.array([1.0, 2.0, 1.0])
    found = statistics(container(X), weights, rows)
    np.testing.assert_allclose(found.mean, np.average(X[rows], axis=0, weights=weights))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("block_rows", [1, 2, 4])
def test_missing_entries_count_as_the_mean(block_rows: int, container, monkeypatch):
    monkeypatch.setattr(column_sums, "_BLOCK_ENTRIES", block_rows)
    for column in ([1.0, 3.0, np.nan, np.nan], [np.nan, np.nan, 1.0, 3.0]):
        found = statistics(container(np.array(column)[:, None]))
        assert found.has_missing
        assert found.mean == [2.0]
        assert found.variance == [0.5]


@pytest.mark.parametrize("value", [0.1, 1e9])
def test_constants_do_not_vary_where_the_first_rows_are_missing(value: float, monkeypatch):
    monkeypatch.setattr(column_sums, "_BLOCK_ENTRIES", 5)
    X = np.full((100, 1), value)
    X[:20] = np.nan
    assert statistics(X).inverse_variance() == [0.0]


@pytest.mark.parametrize(
    ("preprocess", "expected"), [("zscore", [0.25, 0.0, 0.0]), ("center", [1.0, 0.0, 0.0])]
)
def test_inverse_variance_is_zero_for_constants_and_for_rounding(preprocess: str, expected: list):
    found = Statistics(np.array([1.0, 3.0, 1e6]), np.array([4.0, 0.0, 1e-16]), False)
    np.testing.assert_array_equal(found.inverse_variance(preprocess), expected)


def test_no_columns_have_no_statistics():
    """Sets that are compared may be empty."""
    found = statistics(np.zeros((5, 0)))
    assert found.mean.shape == found.variance.shape == (0,)
