"""Sums over columns and what standardises them, against NumPy in double precision."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from featgrad.columns import sums as column_sums
from featgrad.columns.sums import ColumnSums, Standardiser

N_ROWS, N_COLUMNS = 200, 7


def rows_with_zeros(dtype: type = np.float64) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_COLUMNS)) * (rng.random((N_ROWS, N_COLUMNS)) < 0.4)
    X[:, 5] = 0
    X[:, 6] += 1
    return X.astype(dtype)


def numbers_per_row() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.standard_normal((N_ROWS, 3)), rng.random((N_ROWS, 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [N_ROWS, 30])
def test_sums_of_sparse_columns(size: int, dtype: type):
    X, (linear, squared) = rows_with_zeros(dtype), numbers_per_row()
    sums, matrix = ColumnSums(N_COLUMNS, 3, 2), sparse.csr_array(X)
    for start in range(0, N_ROWS, size):
        rows = slice(start, start + size)
        sums.add(matrix[rows], np.zeros(N_COLUMNS), linear[rows], squared[rows])
    X = X.astype(float)
    np.testing.assert_allclose(sums.linear, X.T @ linear, atol=1e-12)
    np.testing.assert_allclose(sums.squared, (X**2).T @ squared, atol=1e-12)
    np.testing.assert_allclose(sums.of_linear, linear.sum(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block_entries", [1 << 20, 50])
@pytest.mark.parametrize("size", [N_ROWS, 30])
def test_sums_of_dense_columns_from_their_origin(size: int, block_entries, dtype, monkeypatch):
    monkeypatch.setattr(column_sums, "_BLOCK_ENTRIES", block_entries)
    X, (linear, squared) = rows_with_zeros(dtype), numbers_per_row()
    origin = np.linspace(-1, 1, N_COLUMNS)
    sums = ColumnSums(N_COLUMNS, 3, 2)
    for start in range(0, N_ROWS, size):
        rows = slice(start, start + size)
        sums.add(X[rows], origin, linear[rows], squared[rows])
    from_origin = X.astype(float) - origin
    np.testing.assert_allclose(sums.linear, from_origin.T @ linear, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(sums.squared, (from_origin**2).T @ squared, rtol=1e-5)
    np.testing.assert_allclose(sums.of_linear, linear.sum(axis=0))


def test_sums_without_squares():
    X, (linear, _) = rows_with_zeros(), numbers_per_row()
    for matrix in (X, sparse.csr_array(X)):
        sums = ColumnSums(N_COLUMNS, 3, 0)
        sums.add(matrix, np.zeros(N_COLUMNS), linear, np.zeros((N_ROWS, 0)))
        np.testing.assert_allclose(sums.linear, X.T @ linear, atol=1e-4)
        assert sums.squared.shape == (N_COLUMNS, 0)


def sums_of(rows: slice) -> ColumnSums:
    linear, squared = numbers_per_row()
    sums = ColumnSums(N_COLUMNS, 3, 2)
    sums.add(rows_with_zeros()[rows], np.zeros(N_COLUMNS), linear[rows], squared[rows])
    return sums


def test_merged_sums_are_those_of_all_rows():
    merged, whole = sums_of(slice(0, 80)), sums_of(slice(None))
    merged.merge(sums_of(slice(80, None)))
    for name, array in vars(whole).items():
        np.testing.assert_allclose(vars(merged)[name], array, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("many", [0, N_COLUMNS + 1])
def test_sums_come_back_as_they_were_stored(many: int, monkeypatch):
    monkeypatch.setattr(column_sums, "_MANY", many)
    stored = sums_of(slice(None))
    stored.linear[3:] = 0
    restored = pickle.loads(pickle.dumps(stored))
    np.testing.assert_array_equal(restored.linear, stored.linear)
    np.testing.assert_array_equal(restored.squared, stored.squared)
    np.testing.assert_array_equal(restored.of_linear, stored.of_linear)


CONTAINERS = [np.asarray, sparse.csr_array]


def learned(X, weights, preprocess: str = "zscore", n_first: int = 40) -> Standardiser:
    """From the first rows, and then from sums over all of them."""
    found = Standardiser.from_sample(X[:n_first], preprocess)
    sums, per_row = ColumnSums(X.shape[1], 1, 1), weights[:, None]
    sums.add(X, found.origin, per_row, per_row)
    found.learn(sums.linear[:, 0], sums.squared[:, 0])
    return found


def shifted(offset: float, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.5, 2, 500)
    return scale * rng.standard_normal((500, 4)) + offset, weights / weights.sum()


def moments(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = weights @ X
    return mean, np.sqrt(weights @ (X - mean) ** 2)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("offset", [0.0, -7.0, 1e6])
def test_means_and_deviations_of_dense_columns(offset: float, scale: float):
    X, weights = shifted(offset * scale, scale)
    mean, deviation = moments(X, weights)
    found = learned(X, weights)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12, atol=1e-6 * scale)
    np.testing.assert_allclose(1 / found.factor, deviation, rtol=1e-5)


def test_means_and_deviations_of_sparse_columns():
    X, weights = rows_with_zeros()[:, [0, 1, 2, 6]], np.full(N_ROWS, 1 / N_ROWS)
    mean, deviation = moments(X, weights)
    found = learned(sparse.csr_array(X), weights)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(1 / found.factor, deviation, rtol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_standardised_rows(preprocess: str, container):
    """Dense ones are centred about."""
    X, weights = shifted(3.0, 2.0)
    mean, deviation = moments(X, weights)
    deviation = deviation if preprocess == "zscore" else np.ones(4)
    values = learned(container(X), weights, preprocess).affine()(container(X))
    assert values.dtype == np.float32
    off = 0 if container is sparse.csr_array else weights @ values
    assert np.all(np.abs(off) < 0.5 * moments(X, weights)[1] / deviation)
    np.testing.assert_allclose(values - off, (X - mean) / deviation, atol=1e-5)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_values_far_off_do_not_move_what_is_taken_off(preprocess: str, container):
    X, weights = shifted(0.5)
    centre = learned(container(X), weights, preprocess).centre()
    X[3] = 1e9
    moved = learned(container(X), weights, preprocess).centre()
    np.testing.assert_allclose(moved, centre, atol=0.5)


@pytest.mark.parametrize("container", CONTAINERS)
def test_rows_of_some_columns_only(container):
    X, weights = shifted(3.0)
    found, columns = learned(container(X), weights), np.array([2, 0])
    some = found.affine(columns)(container(X)[:, columns])
    np.testing.assert_array_equal(some, found.affine()(container(X))[:, columns])


def test_dense_rows_keep_their_digits_beside_a_large_mean():
    X, weights = shifted(1e9)
    mean, deviation = moments(X, weights)
    values = learned(X, weights).affine()(X)
    np.testing.assert_allclose(values - weights @ values, (X - mean) / deviation, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("value", [0.0, 0.1, -1e-7, 1e9])
def test_constant_columns_are_switched_off(value: float, container, preprocess: str, dtype: type):
    X, weights = shifted(1.0)
    X[:, 1] = value
    X = X.astype(dtype)
    found = learned(container(X), weights, preprocess)
    np.testing.assert_array_equal(found.factor > 0, [True, False, True, True])
    assert not found.affine()(container(X))[:, 1].any()


def test_column_that_is_constant_in_the_first_rows_may_vary_later():
    X, weights = shifted(0.0)
    X[:40, 1] = 5
    first = Standardiser.from_sample(X[:40], "zscore")
    assert first.factor[1] == 1
    _, deviation = moments(X, weights)
    np.testing.assert_allclose(1 / learned(X, weights).factor, deviation, rtol=1e-5)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_centred_sums_are_those_of_standardised_columns(preprocess: str, container):
    X, weights = shifted(3.0, 2.0)
    rng = np.random.default_rng(4)
    linear, squared = rng.standard_normal((500, 2)), rng.random((500, 1))
    found = learned(container(X), weights, preprocess)
    sums = ColumnSums(4, 3, 1)
    sums.add(container(X), found.origin, np.concatenate([linear, squared], axis=1), squared)
    mean, deviation = moments(X, weights)
    Z = (X - mean) / (deviation if preprocess == "zscore" else 1)
    along = found.centred(sums.linear[:, :2], sums.of_linear[:2])
    np.testing.assert_allclose(along, Z.T @ linear, rtol=1e-4, atol=1e-3)
    squares = found.centred_squares(sums.squared, sums.linear[:, 2:], sums.of_linear[2:])
    np.testing.assert_allclose(squares, (Z**2).T @ squared, rtol=1e-4)


def test_squares_of_a_switched_off_column_are_zero():
    X, weights = shifted(3.0)
    X[:, 2] = 0.1
    found, per_row = learned(X, weights), weights[:, None]
    sums = ColumnSums(4, 1, 1)
    sums.add(X, found.origin, per_row, per_row)
    assert found.centred_squares(sums.squared, sums.linear, sums.of_linear)[2, 0] == 0


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_variances_of_standardised_columns_and_whether_they_vary(preprocess: str, scale: float):
    X, weights = shifted(100 * scale, scale)
    X[:, 3] = 0.1
    columns = np.array([3, 0])
    variances, varies = learned(X, weights, preprocess).of(columns)
    np.testing.assert_array_equal(varies, [False, True])
    _, deviation = moments(X, weights)
    expected = [1, 1 if preprocess == "zscore" else deviation[0] ** 2]
    np.testing.assert_allclose(variances, expected, rtol=1e-5)
