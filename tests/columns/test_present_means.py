"""What missing entries count as."""

import numpy as np
import pytest
from scipy import sparse

from featgrad.columns.present_means import Fill, PresentMeans, filled, present_means

CONTAINERS = [np.asarray, sparse.csr_array]


def with_holes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with zeros and holes, their weights and the part of each, -1 for those of none."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 5)) * (rng.random((90, 5)) < 0.6)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, rng.uniform(0.5, 2, 90), np.arange(90) % 4 - 1


def mean_of(values: np.ndarray, weights: np.ndarray) -> float:
    there = ~np.isnan(values)
    return np.average(values[there], weights=weights[there])


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("size", [7, 90])
def test_each_part_has_the_means_of_what_is_there(container, size: int):
    X, weights, parts = with_holes()
    means = PresentMeans(5, 3)
    for start in range(0, 90, size):
        rows = slice(start, start + size)
        means.add(container(X)[rows], weights[rows], parts[rows])
    found = means.means()
    for part in range(3):
        own = parts == part
        expected = [mean_of(column[own], weights[own]) for column in X.T]
        np.testing.assert_allclose(found[part], expected)


def test_part_without_an_entry_takes_the_mean_of_all_parts():
    X, weights, parts = with_holes()
    X[parts == 1, 2] = np.nan
    X[:, 3] = np.nan
    means = PresentMeans(5, 3)
    means.add(X, weights, parts)
    used = parts >= 0
    assert means.means()[1, 2] == pytest.approx(mean_of(X[used, 2], weights[used]))
    np.testing.assert_array_equal(means.means()[:, 3], 0)


def test_nothing_is_missing():
    means = PresentMeans(2, 1)
    means.add(np.ones((3, 2)), np.ones(3), np.zeros(3, np.intp))
    assert means.means() is None
    assert present_means(np.ones((3, 2)), np.ones(3)) is None


@pytest.mark.parametrize("container", CONTAINERS)
def test_entries_are_filled_by_the_part_of_their_row(container):
    X, _, _ = with_holes()
    cells = np.arange(90) % 6
    fill = Fill(np.arange(15.0).reshape(3, 5), np.array([0, 0, 1, 1, 2, 2]))
    expected = np.where(np.isnan(X), fill.means[cells // 2], X)
    whole, some = fill(container(X), cells), fill.only([3, 1])(container(X)[:, [3, 1]], cells)
    np.testing.assert_array_equal(dense(whole), expected)
    np.testing.assert_array_equal(dense(some), expected[:, [3, 1]])


@pytest.mark.parametrize("container", CONTAINERS)
def test_filling_leaves_the_rows_as_they_were(container):
    matrix = container(np.array([[1.0, np.nan], [np.nan, 2.0]]))
    found = filled(matrix, np.array([7.0, 8.0]))
    np.testing.assert_array_equal(dense(found), [[1, 8], [7, 2]])
    assert np.isnan(dense(matrix)).sum() == 2


def dense(matrix) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
