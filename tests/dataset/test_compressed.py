import numpy as np
import pytest
from scipy import sparse

from engine_kinds import relative_error
from featgrad.dataset.compressed import CompressedColumns
from featgrad.dataset.dealt import of_one_variance
from featgrad.preprocess.compression import Compression

N_ROWS = 200
LIGHT, HEAVY, COUNTS, CONSTANT, FAR = range(5)
EVERYTHING = [slice(0, N_ROWS)]


def table() -> np.ndarray:
    """Columns that are uniform, far-reaching, mostly zero, constant, and far from zero."""
    rng = np.random.default_rng(0)
    X = np.empty((N_ROWS, 5))
    X[:, LIGHT] = rng.uniform(-1, 1, N_ROWS)
    X[:, HEAVY] = rng.standard_t(2, N_ROWS)
    X[:, COUNTS] = rng.poisson(3, N_ROWS) * (rng.random(N_ROWS) < 0.3)
    X[:, CONSTANT] = 7.3
    X[:, FAR] = 1e4 + rng.uniform(-1.7, 1.7, N_ROWS)
    return X


def outputs(weights: np.ndarray) -> np.ndarray:
    y = np.random.default_rng(1).standard_normal((len(weights), 2))
    return of_one_variance(y - weights @ y, weights)


def some_weights(weighted: bool) -> np.ndarray:
    weights = np.random.default_rng(2).uniform(0.1, 2, N_ROWS) if weighted else np.ones(N_ROWS)
    return weights / weights.sum()


def read(X, preprocess: str = "zscore", weights: np.ndarray | None = None):
    """Columns after their first pass, the products with the outputs, and all values."""
    weights = some_weights(True) if weights is None else weights
    rows = np.random.default_rng(3).permutation(N_ROWS)
    columns = CompressedColumns(X, rows, weights[rows], outputs(weights)[rows], preprocess)
    cross = columns.cross(EVERYTHING)[:, 0]
    values = np.empty((N_ROWS, X.shape[1]))
    values[rows] = columns._compression.standardised(X[rows], np.arange(X.shape[1]))
    return columns, cross, values


def standardised(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    centred = x - weights @ x
    return centred / np.sqrt(weights @ centred**2)


def rooted(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.sqrt(np.abs(x))


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_sparse_columns_are_those_of_the_dense_matrix(preprocess: str):
    _, cross, values = read(table(), preprocess)
    _, sparse_cross, sparse_values = read(sparse.csr_array(table()), preprocess)
    assert relative_error(sparse_cross, cross) <= 1e-6  # means of 1e4 cancel
    np.testing.assert_allclose(sparse_values, values, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_are_standardised_and_far_reaching_ones_rooted(weighted: bool):
    weights, X = some_weights(weighted), table()
    _, _, values = read(X, weights=weights)
    transformed = {
        LIGHT: X[:, LIGHT],
        HEAVY: rooted(X[:, HEAVY] - np.median(X[:, HEAVY])),
        COUNTS: rooted(X[:, COUNTS]),
        FAR: X[:, FAR] - 1e4,
    }
    for column, expected in transformed.items():
        np.testing.assert_allclose(
            values[:, column], standardised(expected, weights), rtol=1e-4, atol=1e-5
        )


def test_center_only_centres():
    X, weights = table(), some_weights(True)
    _, _, values = read(X, "center")
    np.testing.assert_allclose(values, X - weights @ X, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_cross_is_that_of_the_values(container, preprocess: str):
    weights = some_weights(True)
    _, cross, values = read(container(table()), preprocess)
    np.testing.assert_allclose(cross, (weights[:, None] * values).T @ outputs(weights), atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_cross_of_outputs_that_are_zero_in_some_rows(container):
    """Such outputs have a mean; the columns' means must not leak through it."""
    X, weights = table(), some_weights(True)
    part = outputs(weights)
    part[N_ROWS // 3 :] = 0
    part = of_one_variance(part, weights)
    columns = CompressedColumns(container(X), np.arange(N_ROWS), weights, part, "zscore")
    cross = columns.cross(EVERYTHING)[:, 0]
    values = columns._compression.standardised(X, np.arange(5))
    np.testing.assert_allclose(cross, (weights[:, None] * values).T @ part, atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("constant", [0.0, 7.3, 1e6, -1e-6])
@pytest.mark.parametrize("preprocess", ["zscore", "center"])
def test_constant_columns_tell_nothing(container, constant: float, preprocess: str):
    X = table()
    X[:, CONSTANT] = constant
    _, cross, values = read(container(X), preprocess)
    np.testing.assert_array_equal(cross[CONSTANT], 0)
    np.testing.assert_allclose(values[:, CONSTANT], 0, atol=1e-9 * max(1, abs(constant)))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_missing_entries_count_as_their_columns_mean(container):
    X, weights = table(), some_weights(True)
    gaps = np.random.default_rng(4).random(X.shape) < 0.1
    present = np.where(gaps, 0.0, weights[:, None])
    filled = np.where(gaps, (present * X).sum(axis=0) / present.sum(axis=0), X)
    X[gaps] = np.nan
    _, cross, values = read(container(X))
    _, expected_cross, expected = read(filled)
    np.testing.assert_allclose(cross, expected_cross, atol=1e-9)
    np.testing.assert_allclose(values, expected, atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_column_of_nothing_but_missing_entries_tells_nothing(container):
    X = table()
    X[:, LIGHT] = np.nan
    _, cross, values = read(container(X))
    np.testing.assert_array_equal(cross[LIGHT], 0)
    np.testing.assert_array_equal(values[:, LIGHT], 0)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("change", [lambda X: X + 37, lambda X: 1e3 * X, lambda X: -5 * X - 2])
def test_units_of_measurement_do_not_matter(container, change):
    X = table()[:, [LIGHT, HEAVY, FAR]]
    _, cross, values = read(container(X))
    _, changed_cross, changed = read(container(change(X)))
    sign = np.sign(change(np.ones(1)) - change(np.zeros(1)))
    np.testing.assert_allclose(sign * changed_cross, cross, atol=1e-6)
    np.testing.assert_allclose(sign * changed, values, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_types_of_numbers(dtype: type, container):
    whole = np.round(3 * table()[:, [LIGHT, HEAVY, COUNTS]]).clip(-99, 99).astype(dtype)
    _, cross, values = read(container(whole))
    _, expected_cross, expected = read(whole.astype(np.float64))
    np.testing.assert_allclose(cross, expected_cross, atol=1e-9)
    np.testing.assert_allclose(values, expected, atol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_folds_of_some_rows_and_columns(container):
    rows = np.arange(N_ROWS)[::-1]
    weights = some_weights(False)
    y = outputs(weights)
    columns = CompressedColumns(container(table()), rows, weights, y, "zscore")
    columns.cross(EVERYTHING)
    (fold,) = columns.folds([slice(20, 30)], np.array([4, 1]))
    values = columns._compression.standardised(table()[rows][20:30][:, [4, 1]], np.array([4, 1]))
    np.testing.assert_allclose(fold.covariance(), values.T @ values / N_ROWS, rtol=1e-5)
    np.testing.assert_allclose(fold.cross, values.T @ y[20:30] / N_ROWS, atol=1e-7)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_that_are_not_in_use_do_not_matter(container):
    X = table()
    rows = np.arange(50, N_ROWS)
    weights = np.full(150, 1 / 150)
    y = outputs(weights)
    used = CompressedColumns(container(X), rows, weights, y, "zscore")
    alone = CompressedColumns(container(X[50:]), np.arange(150), weights, y, "zscore")
    np.testing.assert_allclose(used.cross(EVERYTHING), alone.cross(EVERYTHING), atol=1e-9)


def test_several_blocks_of_rows_add_up(monkeypatch):
    _, cross, values = read(table())
    monkeypatch.setattr("featgrad.preprocess.compression._BLOCK_ENTRIES", 250)
    _, in_blocks, same = read(table())
    np.testing.assert_allclose(in_blocks, cross, atol=1e-12)
    np.testing.assert_allclose(same, values, atol=1e-6)


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_the_matrix_is_left_as_it_was(container):
    X = table()
    X[3, LIGHT] = np.nan
    matrix = container(X)
    read(matrix)
    kept = matrix.toarray() if sparse.issparse(matrix) else matrix
    np.testing.assert_array_equal(kept, X)


@pytest.mark.parametrize("change", ["none", "shifted", "heavy-tailed", "no longer zero"])
def test_compression_suits_rows_like_its_sample(change: str):
    rng = np.random.default_rng(0)
    samples = [rng.standard_normal((500, 6)) for _ in range(2)]
    for sample in samples:
        sample[:, :2] = np.exp(sample[:, :2])
        sample[:, 2] *= rng.random(500) < 0.3
    if change == "shifted":
        samples[1][:, 3] += 1
    elif change == "heavy-tailed":
        samples[1][:, 4] **= 3
    elif change == "no longer zero":
        samples[1][:, 2] += 1
    compression = Compression(samples[0], None, "zscore")
    assert compression.suits(samples[1]) == (change == "none")
    assert Compression(samples[0], None, "center").suits(samples[1])
