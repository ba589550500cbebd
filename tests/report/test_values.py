"""Profiles: rows and the target in bins of a feature's values."""

import numpy as np
import pytest
from scipy import sparse

from featgrad.report.profiles import profiles, target_series


def series(y, task="regression", weights=None):
    return target_series(y, task, "y", np.ones(len(y)) if weights is None else weights)


def profile(x, y, task="regression", weights=None):
    x = np.asarray(x, dtype=float)
    x = x[:, None] if x.ndim == 1 else x
    names = [f"x{i}" for i in range(x.shape[1])]
    units = [np.arange(x.shape[1])]
    found = profiles(x, series(y, task, weights), units, names, {}.get).get(0)
    return found


def test_few_values_have_a_bin_each():
    x, y = np.repeat([0.0, 1.0, 5.0], 10), np.arange(30.0)
    found = profile(x, y)
    assert found.bins == ["0", "1", "5"]
    assert found.counts.tolist() == [10, 10, 10]
    np.testing.assert_allclose(found.means[:, 0], [4.5, 14.5, 24.5])
    np.testing.assert_allclose(found.errors[:, 0], np.std(np.arange(10)) / np.sqrt(10))


def test_numbers_are_binned_and_far_values_go_to_the_outer_bins():
    x = np.append(np.linspace(0, 1, 999), 1e9)
    found = profile(x, x < 0.5, task="binary")
    assert len(found.bins) == 12
    assert found.counts.sum() == 1000
    assert found.counts.min() > 50
    assert found.means[0, 0] == 1
    assert found.means[-1, 0] == 0


def test_missing_values_are_in_no_bin_and_few_rows_have_no_mean():
    found = profile([0.0] * 6 + [1.0] * 2 + [np.nan] * 4, np.arange(12.0))
    assert found.counts.tolist() == [6, 2]
    np.testing.assert_allclose(found.means[:, 0], [2.5, np.nan])
    assert profile([np.nan] * 3, np.arange(3.0)) is None


def test_a_value_that_most_rows_share_has_its_own_bin():
    x = np.append(np.zeros(970), np.linspace(1, 5, 30))
    found = profile(x, x)
    assert found.bins[0] == "0"
    assert [name.split(" ")[0] for name in found.bins[1:]] == ["1.04", "2.35", "3.65"]
    assert found.counts.tolist() == [970, 10, 10, 10]
    assert found.means[0] == pytest.approx(0)
    assert np.all(np.diff(found.means[1:, 0]) > 1)


def test_few_rows_have_few_bins():
    assert len(profile(np.arange(20.0), np.arange(20.0)).bins) == 2
    assert len(profile(np.arange(3.0), np.arange(3.0)).bins) == 1


def test_categories_of_a_group_come_by_their_mean():
    X = np.repeat(np.eye(3), 5, axis=0)
    found = profile(X, np.repeat([2.0, 3.0, 1.0], 5))
    assert found.bins == ["x2", "x0", "x1"]
    np.testing.assert_allclose(found.means[:, 0], [1, 2, 3])
    assert profile(X + 0.5, np.arange(15.0)) is None


def test_weights_count_as_repeated_rows_do_and_0_as_absent():
    x, y = np.repeat([0.0, 1.0], 8), np.arange(16.0) ** 2
    weights = np.resize([0.0, 3.0, 1.0, 1.0], 16)
    found = profile(x, y, weights=weights)
    np.testing.assert_array_equal(found.counts, [6, 6])
    np.testing.assert_allclose(found.means[0, 0], np.average(y[:8], weights=weights[:8]))


def test_large_targets_keep_their_errors():
    x, y = np.repeat([0.0, 1.0], 10), np.resize([1.0, -1.0], 20)
    np.testing.assert_allclose(profile(x, 1e9 + y).errors, profile(x, y).errors)


def test_sparse_columns_are_as_dense_ones():
    x = np.repeat([0.0, 1.0, 2.0], 7)[:, None]
    target = series(np.arange(21.0))
    dense, of_sparse = (profiles(X, target, [np.array([0])], ["x"], {}.get)[0]
                        for X in (x, sparse.csr_array(x)))  # fmt: skip
    np.testing.assert_array_equal(dense.means, of_sparse.means)


@pytest.mark.parametrize(
    ("y", "task", "names"),
    [
        (np.arange(4.0), "regression", ["mean of y"]),
        (np.array(["a", "b"] * 2), "binary", ["share of y = b"]),
        (np.array(["a", "b"]), "multiclass", ["share of y = a", "share of y = b"]),
        (np.arange(4), "ordinal", ["mean rank of y"]),
        (np.eye(2), "multilabel", ["mean of output 1", "mean of output 2"]),
    ],
)
def test_what_is_drawn_of_the_target(y, task, names):
    assert series(y, task).names == names


def test_of_many_classes_the_most_frequent_are_drawn():
    y = np.concatenate([np.full(10 - i, i) for i in range(6)])
    assert series(y, "multiclass").names == [f"share of y = {i}" for i in range(4)]


def test_ordered_classes_are_drawn_by_rank():
    np.testing.assert_array_equal(series(np.array([5, 7, 9]), "ordinal").values[:, 0], [0, 1, 2])
