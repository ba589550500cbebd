"""What missing entries count as."""

import numpy as np
import pytest
from scipy import sparse

from featgrad.columns.sums import ColumnSums, Fill, filled, statistics

CONTAINERS = [np.asarray, sparse.csr_array]


def with_holes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with zeros and holes, their weights and the part of each, -1 for those of none."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 5)) * (rng.random((90, 5)) < 0.6)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X, rng.uniform(0.5, 2, 90), np.arange(90) % 4 - 1


def by_part(weights: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Weights of rows in three parts."""
    return np.where(parts[:, None] == np.arange(3), weights[:, None], 0.0)


def mean_of(values: np.ndarray, weights: np.ndarray) -> float:
    there = ~np.isnan(values)
    return np.average(values[there], weights=weights[there])


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("size", [7, 90])
def test_each_part_has_the_means_of_what_is_there(container, size: int):
    X, weights, parts = with_holes()
    sums = ColumnSums(5, 3, missing=True)
    for start in range(0, 90, size):
        rows = slice(start, start + size)
        sums.add(container(X)[rows], 0.0, by_part(weights, parts)[rows])
    found = sums.means()
    for part in range(3):
        own = parts == part
        expected = [mean_of(column[own], weights[own]) for column in X.T]
        np.testing.assert_allclose(found[part], expected)


def test_part_without_an_entry_takes_the_mean_of_all_parts():
    X, weights, parts = with_holes()
    X[parts == 1, 2] = np.nan
    X[:, 3] = np.nan
    sums = ColumnSums(5, 3, missing=True)
    sums.add(X, 0.0, by_part(weights, parts))
    used = parts >= 0
    assert sums.means()[1, 2] == pytest.approx(mean_of(X[used, 2], weights[used]))
    np.testing.assert_array_equal(sums.means()[:, 3], 0)


def test_nothing_is_missing():
    sums = ColumnSums(2, 1, missing=True)
    sums.add(np.ones((3, 2)), 0.0, np.ones((3, 1)))
    assert sums.n_missing[0] == 0
    assert not statistics(np.ones((3, 2)), np.ones(3)).has_missing


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
