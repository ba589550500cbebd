"""Cells whose rows come in parts."""

import pickle

import numpy as np
import pytest

from featgrad.columns.sums import Standardiser
from featgrad.dataset.checkpoint import take_up
from featgrad.dataset.sums import CellSums, Rows
from featgrad.moments.cells import Cells, CellShape
from matrix_kinds import Example, example, relative_error

TOLERANCE = 1e-4  # cells hold single precision


def empty_sums(n_features: int, n_outputs: int) -> CellSums:
    """Of two cells and columns that are left as they are."""
    as_they_are = Standardiser(np.zeros(n_features), "center", is_sparse=False)
    return CellSums(CellShape(2, 1, n_outputs), np.arange(n_features), as_they_are)


def add(sums: CellSums, data: Example, rows: slice) -> None:
    """Some rows, all of the first cell."""
    weights = data.weights[rows]
    sums.add(Rows(data.outputs[rows], weights, np.zeros(len(weights), int), data.X[rows]))


@pytest.mark.parametrize("n_features", [3, 25, 130])
@pytest.mark.parametrize("size", [1, 7, 60])
def test_cell_of_rows_in_parts_is_that_of_all_of_them(n_features: int, size: int):
    data, sums = example(60, n_features, n_outputs=2, far=3.0), empty_sums(n_features, 2)
    for start in range(0, 60, size):
        add(sums, data, slice(start, start + size))
    assert_same(sums.cells(), data)


@pytest.mark.parametrize("n_features", [3, 25, 130])
@pytest.mark.parametrize("seen", [0, 1, 59, 60])
def test_merged_cells_are_the_cell_of_the_rows_of_both(n_features: int, seen: int):
    data = example(60, n_features, n_outputs=2, far=3.0)
    one, other = empty_sums(n_features, 2), empty_sums(n_features, 2)
    add(one, data, slice(seen))
    add(other, data, slice(seen, 60))
    one.merge(other)
    assert_same(one.cells(), data)


def test_cell_without_rows_has_no_weight():
    found = empty_sums(4, 2).cells()
    assert (found.outputs.weights[1], found.outputs.squared_weights[1]) == (0, 0)
    assert found.crosses.shape == (2, 4, 3)
    assert not found.matrix.any()


def assert_same(found: Cells, data: Example) -> None:
    """The first cell has all rows."""
    weighted, outputs = data.weights[:, None] * data.X, found.outputs
    assert outputs.weights[0] == pytest.approx(data.weights.sum())
    assert outputs.squared_weights[0] == pytest.approx(np.sum(data.weights**2))
    np.testing.assert_allclose(outputs.squares[0], data.weights @ data.outputs**2)
    np.testing.assert_allclose(outputs.sums[0], data.weights @ data.outputs, atol=1e-12)
    assert relative_error(found.crosses[0, :, 0], weighted.sum(axis=0)) <= TOLERANCE
    assert relative_error(found.crosses[0, :, 1:], weighted.T @ data.outputs) <= TOLERANCE
    matrix = found.matrix[0] if found.roots is None else found.matrix[0].T @ found.matrix[0]
    assert relative_error(matrix, weighted.T @ data.X) <= TOLERANCE


@pytest.mark.parametrize("n_features", [3, 25, 119, 121])
def test_rows_of_a_cell_are_kept_where_they_are_fewer_than_half_the_columns(n_features: int):
    data = example(60, n_features, n_outputs=2, far=3.0)
    sums = empty_sums(n_features, 2)
    add(sums, data, slice(60))
    assert (sums.cells().roots is None) == (n_features < 120)
    assert_same(sums.cells(), data)


@pytest.mark.parametrize("seen", [2, 30, 31])
def test_cells_go_on_from_what_was_stored(seen: int):
    """Of 2 rows the cell has the rows, of more their products."""
    data, whole, resumed = example(60, 10), empty_sums(10, 1), empty_sums(10, 1)
    add(whole, data, slice(seen))
    take_up(resumed, pickle.loads(pickle.dumps(whole.added())))
    for sums in (whole, resumed):
        add(sums, data, slice(seen, 60))
    found, expected = resumed.cells(), whole.cells()
    for one, other in zip(found.outputs, expected.outputs, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(one, other)
