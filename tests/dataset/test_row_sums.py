"""Cells whose rows come in parts."""

import numpy as np
import pytest

from featgrad.dataset.sums import GrowingCell
from featgrad.moments.cells import Cell, make_cell
from matrix_kinds import Example, example, relative_error

TOLERANCE = 1e-4  # cells hold single precision


@pytest.mark.parametrize("n_features", [3, 25])
@pytest.mark.parametrize("size", [1, 7, 60])
def test_growing_cell_is_the_cell_of_all_its_rows(n_features: int, size: int):
    data = example(60, n_features, n_outputs=2, far=3.0)
    growing = GrowingCell()
    for start in range(0, 60, size):
        rows = slice(start, start + size)
        growing.add(data.X[rows].astype(np.float32), data.outputs[rows], data.weights[rows])
    assert_same(growing.cell(n_features, 2), data)


@pytest.mark.parametrize("n_features", [3, 25])
@pytest.mark.parametrize("seen", [0, 1, 59, 60])
def test_merged_cells_are_the_cell_of_the_rows_of_both(n_features: int, seen: int):
    data = example(60, n_features, n_outputs=2, far=3.0)
    one, other = GrowingCell(), GrowingCell()
    for growing, rows in ((one, slice(seen)), (other, slice(seen, 60))):
        if len(data.X[rows]):
            growing.add(data.X[rows].astype(np.float32), data.outputs[rows], data.weights[rows])
    one.merge(other)
    assert_same(one.cell(n_features, 2), data)


def test_cell_without_rows_has_no_weight():
    found = GrowingCell().cell(4, 2)
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
def test_growing_cell_goes_on_from_its_state(seen: int):
    """After 2 rows all wait, after 30 none do, after 31 one does."""
    data = example(60, 10)

    def add(cell: GrowingCell, rows: slice) -> None:
        cell.add(data.X[rows].astype(np.float32), data.outputs[rows], data.weights[rows])

    whole, resumed = GrowingCell(), GrowingCell()
    for start in range(0, seen, 10):
        add(whole, slice(start, min(start + 10, seen)))
    resumed.restore(whole.state())
    for cell in (whole, resumed):
        add(cell, slice(seen, 60))
    for one, other in zip(resumed.cell(10, 1), whole.cell(10, 1), strict=True):
        np.testing.assert_array_equal(one, other)
