import numpy as np
import pytest

from featgrad.moments.columns import DenseColumnMoments, inverse_variance


@pytest.mark.parametrize("mean", [0.0, 1e4, -1e8])
@pytest.mark.parametrize("cuts", [[], [1], [1, 2, 3], [20, 21, 40]])
def test_merged_blocks_equal_the_whole(mean: float, cuts: list[int]):
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((50, 4))
    X = mean + np.round(noise * 2**10) / 2**10  # exact relative to the mean
    weights = rng.random(50)
    moments = DenseColumnMoments(4)
    for block, w in zip(np.split(X, cuts), np.split(weights, cuts), strict=True):
        moments.add(np, block, w)
    offsets = X - mean
    average = weights @ offsets / weights.sum()
    variance = weights @ (offsets - average) ** 2 / weights.sum()
    np.testing.assert_allclose(moments.mean, mean + average, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(moments.variance, variance, rtol=1e-6)


def test_block_without_any_value_of_a_column_changes_nothing_of_its_mean():
    moments = DenseColumnMoments(1)
    moments.add(np, np.array([[1.0], [3.0]]), np.ones(2))
    moments.add(np, np.array([[np.nan], [np.nan]]), np.ones(2))
    assert moments.has_missing
    assert moments.mean == [2.0]
    assert moments.variance == [0.5]


def test_first_block_without_values_leaves_the_mean_to_the_next():
    moments = DenseColumnMoments(1)
    moments.add(np, np.array([[np.nan]]), np.ones(1))
    moments.add(np, np.array([[5.0], [7.0]]), np.ones(2))
    assert moments.mean == [6.0]


@pytest.mark.parametrize(
    ("preprocess", "expected"), [("zscore", [0.25, 0.0, 0.0]), ("center", [1.0, 0.0, 0.0])]
)
def test_inverse_variance_is_zero_for_constants_and_for_rounding(preprocess: str, expected: list):
    mean, variance = np.array([1.0, 3.0, 1e6]), np.array([4.0, 0.0, 1e-16])
    np.testing.assert_array_equal(inverse_variance(mean, variance, preprocess), expected)
