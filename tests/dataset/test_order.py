import numpy as np
import pytest
from scipy import sparse

from featgrad.checks import check_weights
from featgrad.dataset.memory import distinct_rows
from matrix_kinds import KINDS


def visit(X, weights=None, seed: int = 0, y=None, labels=None):
    n_rows = X.shape[0]
    weights = np.full(n_rows, 1 / n_rows) if weights is None else weights
    outputs = np.zeros((n_rows, 1)) if y is None else y[:, None]
    return distinct_rows(X, outputs, weights, np.random.RandomState(seed), labels)


@pytest.fixture(name="X")
def table() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((50, 3))


@pytest.mark.parametrize("name", ["dense-float64", "csr-float64-int32"])
def test_every_row_is_visited_once_in_a_random_order(X, name: str):
    rows, _ = visit(KINDS[name].make(X))
    assert sorted(rows) == list(range(50))
    assert abs(np.corrcoef(rows, np.arange(50))[0, 1]) < 0.4


def test_another_seed_gives_another_order(X):
    assert not np.array_equal(visit(X)[0], visit(X, seed=1)[0])


def test_order_comes_from_content_not_place(X):
    shuffle = np.random.default_rng(1).permutation(50)
    np.testing.assert_array_equal(X[visit(X)[0]], X[shuffle][visit(X[shuffle])[0]])


def test_last_bits_of_values_do_not_change_the_order(X):
    y = X.sum(axis=1)
    order = visit(X, y=y)[0]
    np.testing.assert_array_equal(visit(np.nextafter(X, 9), y=np.nextafter(y, 9))[0], order)
    np.testing.assert_array_equal(visit(X.astype(np.float32), y=y)[0], order)


def test_rows_that_differ_in_last_bits_are_no_copies():
    X = np.repeat(1 + np.arange(50) * 2.0**-40, 2)[:, None]
    rows, weights = visit(X)
    assert len(rows) == 50
    np.testing.assert_allclose(weights, 1 / 50)
    assert abs(np.corrcoef(rows, np.arange(50))[0, 1]) < 0.4


def test_order_does_not_follow_the_values():
    X = np.arange(400.0)[:, None]
    rows, _ = visit(X)
    assert abs(np.corrcoef(rows, np.arange(400))[0, 1]) < 0.15


def test_dense_and_sparse_rows_come_in_one_order():
    X = np.random.default_rng(0).standard_normal((60, 5))
    X[X < 0.3] = 0
    X[[0, 20, 59]] = 0
    X[3, 2] = -0.0
    np.testing.assert_array_equal(visit(X)[0], visit(sparse.csr_array(X))[0])


def test_rows_without_weight_are_left_out(X):
    weights = np.where(np.arange(50) < 20, 1 / 20, 0)
    rows, kept = visit(X, weights)
    assert sorted(rows) == list(range(20))
    np.testing.assert_array_equal(kept, weights[rows])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_copies_are_merged_into_their_common_weight(X, container):
    again = np.repeat(np.arange(50), 3)
    rows, weights = visit(container(X[again]))
    assert len(rows) == 50
    np.testing.assert_allclose(weights, 3 / 150)


def test_copies_with_another_label_are_other_rows(X):
    again = np.repeat(np.arange(50), 3)
    rows, weights = visit(X[again], labels=np.tile([0, 1, 0], 50))
    assert len(rows) == 100
    np.testing.assert_allclose(weights[rows % 3 == 0], 2 / 150)
    np.testing.assert_allclose(weights[rows % 3 == 1], 1 / 150)


def test_copies_with_another_target_are_other_rows(X):
    again = np.repeat(np.arange(50), 2)
    rows, _ = visit(X[again], y=np.arange(100.0))
    assert len(rows) == 100


def test_rows_that_agree_by_chance_are_left_alone():
    X = np.random.default_rng(0).integers(0, 2, (100, 3)).astype(float)
    assert len(visit(X)[0]) == 100


def test_a_handful_of_rows_is_left_alone(X):
    assert len(visit(np.repeat(X[:4], 2, axis=0))[0]) == 8


def test_weights_sum_to_one():
    np.testing.assert_allclose(check_weights([1, 3], 2), [0.25, 0.75])
    np.testing.assert_allclose(check_weights(None, 4), 0.25)
    np.testing.assert_allclose(check_weights(2.0, 4), 0.25)


def test_wide_sparse_rows_are_not_densified():
    # A dense copy of these rows, each of which is there twice, would take 80 GB.
    indices = np.repeat(np.arange(1000), 2) * 1000
    X = sparse.csr_array((np.ones(2000), indices, np.arange(2001)), shape=(2000, 10_000_000))
    rng = np.random.RandomState(0)
    rows, _ = distinct_rows(X, np.zeros((2000, 1)), np.full(2000, 1 / 2000), rng)
    assert len(rows) == 2000
