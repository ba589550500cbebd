"""Folds whose rows come in parts."""

import numpy as np
import pytest

from engine_kinds import example, relative_error
from featgrad.dataset.row_sums import GrowingFold
from featgrad.moments.folds import make_fold

TOLERANCE = 1e-4  # folds hold single precision


@pytest.mark.parametrize("n_features", [3, 25])
@pytest.mark.parametrize("size", [1, 7, 60])
def test_growing_fold_is_the_fold_of_all_its_rows(n_features: int, size: int):
    data = example(60, n_features, n_outputs=2)
    growing = GrowingFold()
    for start in range(0, 60, size):
        rows = slice(start, start + size)
        growing.add(data.X[rows].astype(np.float32), data.outputs[rows], data.weights[rows])
    found = growing.fold()
    whole = make_fold(data.X.astype(np.float32), data.outputs, data.weights)
    assert found.squared_weights == pytest.approx(whole.squared_weights)
    assert found.weight == pytest.approx(whole.weight)
    np.testing.assert_allclose(found.squares, whole.squares)
    assert relative_error(found.cross, whole.cross) <= TOLERANCE
    assert relative_error(found.covariance(), whole.covariance()) <= TOLERANCE


@pytest.mark.parametrize("seen", [2, 30, 31])
def test_growing_fold_goes_on_from_its_state(seen: int):
    """After 2 rows all wait, after 30 none do, after 31 one does."""
    data = example(60, 10)

    def add(fold: GrowingFold, rows: slice) -> None:
        fold.add(data.X[rows].astype(np.float32), data.outputs[rows], data.weights[rows])

    whole, resumed = GrowingFold(), GrowingFold()
    for start in range(0, seen, 10):
        add(whole, slice(start, min(start + 10, seen)))
    resumed.restore(whole.state())
    for fold in (whole, resumed):
        add(fold, slice(seen, 60))
    np.testing.assert_array_equal(resumed.fold().cross, whole.fold().cross)
    np.testing.assert_array_equal(resumed.fold().covariance(), whole.fold().covariance())
    assert resumed.fold()[:2] == whole.fold()[:2]
