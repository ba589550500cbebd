"""Cells whose rows come in parts."""

import numpy as np
import pytest

from featgrad.columns.sums import Standardiser
from featgrad.dataset.sums import CellSums, Rows
from featgrad.moments.cells import Cell, CellShape, make_cell
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
    assert_same(sums.cells().cells[0], data)


@pytest.mark.parametrize("n_features", [3, 25, 130])
@pytest.mark.parametrize("seen", [0, 1, 59, 60])
def test_merged_cells_are_the_cell_of_the_rows_of_both(n_features: int, seen: int):
    data = example(60, n_features, n_outputs=2, far=3.0)
    one, other = empty_sums(n_features, 2), empty_sums(n_features, 2)
    add(one, data, slice(seen))
    add(other, data, slice(seen, 60))
    one.merge(other)
    assert_same(one.cells().cells[0], data)


def test_cell_without_rows_has_no_weight():
    found = empty_sums(4, 2).cells().cells[1]
    assert (found.weight, found.squared_weights) == (0, 0)
    assert found.cross.shape == (4, 2)
    assert not found.products().any()


def assert_same(found: Cell, data: Example) -> None:
    """The cell of all rows."""
    weighted = data.weights[:, None] * data.X
    assert found.weight == pytest.approx(data.weights.sum())
    assert found.squared_weights == pytest.approx(np.sum(data.weights**2))
    np.testing.assert_allclose(found.squares, data.weights @ data.outputs**2)
    np.testing.assert_allclose(found.output_sums, data.weights @ data.outputs, atol=1e-12)
    assert relative_error(found.sums, weighted.sum(axis=0)) <= TOLERANCE
    assert relative_error(found.cross, weighted.T @ data.outputs) <= TOLERANCE
    assert relative_error(found.products(), weighted.T @ data.X) <= TOLERANCE


@pytest.mark.parametrize("n_features", [3, 25, 119, 121])
def test_rows_of_a_cell_are_kept_where_they_are_fewer_than_half_the_columns(n_features: int):
    data = example(60, n_features, n_outputs=2, far=3.0)
    cell = make_cell(data.X.astype(np.float32), data.outputs, data.weights)
    assert (cell.roots is None) == (n_features < 120)
    assert_same(cell, data)


@pytest.mark.parametrize("seen", [2, 30, 31])
def test_cells_go_on_from_their_state(seen: int):
    """Of 2 rows the cell has the rows, of more their products."""
    data, whole, resumed = example(60, 10), empty_sums(10, 1), empty_sums(10, 1)
    add(whole, data, slice(seen))
    resumed.restore(whole.state())
    for sums in (whole, resumed):
        add(sums, data, slice(seen, 60))
    found, expected = resumed.cells().cells[0], whole.cells().cells[0]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
