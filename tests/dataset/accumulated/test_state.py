"""Sums over chunks against the same columns of all rows in memory."""

import numpy as np
import pytest
from scipy import sparse

from featgrad.dataset.accumulated import fold_moments, kept_rows
from featgrad.dataset.accumulated.kept_rows import KeptRows, Rows
from featgrad.dataset.accumulated.state import Accumulated
from featgrad.math.targets import Encoding

CONTAINERS = [np.asarray, sparse.csr_array]


def table(n_rows: int = 900, n_features: int = 9):
    """Columns of all sorts: normal, heavy-tailed, shifted, mostly zero, constant."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 1] = np.exp(2 * X[:, 1])
    X[:, 2] += 50
    X[:, 3:6] *= rng.random((n_rows, 3)) < 0.2
    X[:, 6] = 0.1
    y = 1000 + X[:, 0] + X[:, 3] + rng.standard_normal(n_rows)
    return X, y, rng.integers(1, 4, n_rows).astype(float)


def accumulated(X, y, preprocess: str = "zscore", seed: int = 0) -> Accumulated:
    rng = np.random.RandomState(seed)
    return Accumulated(Encoding.of(y, "auto"), X.shape[1], sparse.issparse(X), preprocess, rng)


def in_chunks(X, y, weights, state: Accumulated, size: int = 70) -> Accumulated:
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        state.add(X[rows], y[rows], weights[rows])
    return state


@pytest.fixture(params=["few columns", "many columns"])
def kind(request: pytest.FixtureRequest, monkeypatch) -> str:
    """How sums are kept; rows that can be kept as such are few."""
    monkeypatch.setattr(kept_rows, "MOST_ENTRIES", 1200)
    if request.param == "many columns":
        monkeypatch.setattr(fold_moments, "_MOST_ENTRIES", 0)
    return request.param


def standardised(X, y, weights, state: Accumulated):
    """Columns, compressed as the state does, and target, of mean 0 and variance 1."""
    values = state._beginning.compression.standardised(X, np.arange(X.shape[1])).astype(float)
    values -= weights @ values
    deviation = np.sqrt(weights @ values**2)
    constant = deviation < 1e-9
    if state.preprocess == "center":
        deviation[:] = 1
    y = y - weights @ y
    return np.where(constant, 0, values / np.where(constant, 1, deviation)), y / np.sqrt(
        weights @ y**2
    )


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_cross_is_that_of_all_rows(kind: str, container, preprocess: str):
    X, y, weights = table()
    state = in_chunks(container(X), y, weights, accumulated(container(X), y, preprocess))
    values, target = standardised(container(X), y, weights / weights.sum(), state)
    found = state.columns().cross()
    assert found.shape == (9, 5, 1)
    expected = values.T @ (weights / weights.sum() * target)
    np.testing.assert_allclose(found.sum(axis=1)[:, 0], expected, rtol=1e-4, atol=1e-4)
    assert not found[6].any()


def test_folds_of_few_columns_add_up_to_all_rows(monkeypatch):
    monkeypatch.setattr(kept_rows, "MOST_ENTRIES", 1200)
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y))
    weights = weights / weights.sum()
    values, target = standardised(X, y, weights, state)
    chosen = np.array([0, 2, 5])
    folds = state.columns().folds(chosen)
    assert sum(fold.n_rows for fold in folds) == 900
    assert sum(fold.weight for fold in folds) == pytest.approx(1)
    assert sum(fold.squares for fold in folds) == pytest.approx(1)
    values = values[:, chosen]
    np.testing.assert_allclose(
        sum(fold.gram for fold in folds), values.T @ (weights[:, None] * values), atol=1e-4
    )
    np.testing.assert_allclose(
        sum(fold.cross for fold in folds)[:, 0], values.T @ (weights * target), atol=1e-4
    )


def test_folds_of_many_columns_are_of_kept_rows(monkeypatch):
    monkeypatch.setattr(kept_rows, "MOST_ENTRIES", 1200)
    monkeypatch.setattr(fold_moments, "_MOST_ENTRIES", 0)
    X, y, weights = table()
    columns = in_chunks(X, y, weights, accumulated(X, y)).columns()
    folds = columns.folds(np.array([0, 2]))
    assert len(folds) == 20
    assert sum(fold.n_rows for fold in folds) == columns.n_rows == 1200 // 9


def test_folds_have_equal_shares(kind: str):
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y), size=7)
    state.shard()
    folds = np.concatenate([part.folds for part in state._kept._parts])
    assert np.bincount(folds, minlength=20).min() > 0
    if kind == "few columns":
        assert set(state._sums.n_rows) == {45}


def test_all_rows_are_kept_while_they_fit():
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y))
    assert state.columns() is None
    rows = state.rows()
    order = np.lexsort(rows.X.T)
    np.testing.assert_array_equal(rows.X[order], X[np.lexsort(X.T)])
    np.testing.assert_array_equal(rows.weights[order], weights[np.lexsort(X.T)])


@pytest.mark.parametrize("container", CONTAINERS)
def test_first_chunk_can_be_larger_than_what_is_kept(kind: str, container):
    X, y, weights = table()
    state = in_chunks(container(X), y, weights, accumulated(container(X), y), size=900)
    values, target = standardised(container(X), y, weights / weights.sum(), state)
    expected = values.T @ (weights / weights.sum() * target)
    found = state.columns().cross().sum(axis=1)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("container", CONTAINERS)
def test_sums_of_shards_add_up(kind: str, container):
    X, y, weights = table()
    X = container(X)
    first = in_chunks(X[:300], y[:300], weights[:300], accumulated(X, y))
    shards = [first.shard() for _ in range(2)]
    in_chunks(X[300:500], y[300:500], weights[300:500], shards[0])
    in_chunks(X[500:], y[500:], weights[500:], shards[1])
    merged = []
    for order in ([0, 1], [1, 0]):
        state = first.shard()
        state.merge(first)
        for i in order:
            state.merge(shards[i])
        merged.append(state)
    one, other = (state.columns() for state in merged)
    np.testing.assert_allclose(one.cross(), other.cross(), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(merged[0].rows().keys, merged[1].rows().keys)
    values, target = standardised(X, y, weights / weights.sum(), first)
    expected = values.T @ (weights / weights.sum() * target)
    np.testing.assert_allclose(one.cross().sum(axis=1)[:, 0], expected, rtol=1e-4, atol=1e-4)


def test_rows_that_are_all_kept_join_sums(kind: str):
    X, y, weights = table()
    small = in_chunks(X[:50], y[:50], weights[:50], accumulated(X, y, seed=1))
    large = in_chunks(X[50:], y[50:], weights[50:], accumulated(X, y))
    crosses = []
    for into, other in ((small, large), (large, small)):
        state = into.shard() if into is large else accumulated(X, y)
        state.merge(into)
        state.merge(other)
        crosses.append(state.columns().cross())
    np.testing.assert_allclose(crosses[0], crosses[1], rtol=1e-4, atol=1e-6)


def test_sums_that_began_apart_are_refused(kind: str):
    X, y, weights = table()
    one, other = (in_chunks(X, y, weights, accumulated(X, y, seed=seed)) for seed in (0, 1))
    with pytest.raises(ValueError, match=r"begin both with shard\(\)"):
        one.merge(other)


@pytest.mark.parametrize(
    ("difference", "named"),
    [
        ({"X": np.zeros((2, 8))}, "n_features=8"),
        ({"y": np.array(["a", "b"])}, "encoding"),
        ({"preprocess": "center"}, "preprocess='center'"),
        ({"X": sparse.csr_array((2, 9))}, "is_sparse=True"),
    ],
)
def test_other_rows_are_refused(difference: dict, named: str):
    same = {"X": np.zeros((2, 9)), "y": np.array([0.5, 1.5, 2.5])}
    with pytest.raises(ValueError, match=named):
        accumulated(**same).merge(accumulated(**same | difference))


def some_rows(keys, sizes=None) -> Rows:
    n_rows = len(keys)
    X = np.ones((n_rows, 10))
    if sizes is not None:
        X = sparse.csr_array(np.arange(10) < np.asarray(sizes)[:, None]).astype(float)
    return Rows(
        np.asarray(keys), np.zeros(n_rows, np.int8), X, np.ones((n_rows, 1)), np.ones(n_rows)
    )


@pytest.mark.parametrize("sizes", [None, 100 * [1, 9]])
def test_smallest_keys_stay_however_rows_are_divided(sizes, monkeypatch):
    monkeypatch.setattr(kept_rows, "MOST_ENTRIES", 900)
    keys = np.random.default_rng(0).random(200)
    whole = KeptRows()
    whole.add(some_rows(keys, sizes))
    parts = [KeptRows(), KeptRows()]
    for start in range(0, 200, 20):
        rows = slice(start, start + 20)
        parts[start % 40 == 0].add(some_rows(keys[rows], sizes and sizes[rows]))
    parts[0].merge(parts[1])
    assert 64 < len(whole.rows().keys) < 200
    np.testing.assert_array_equal(parts[0].rows().keys, whole.rows().keys)
    assert not parts[0].complete
    np.testing.assert_array_equal(np.sort(keys)[: len(whole.rows().keys)], whole.rows().keys)


def test_some_rows_stay_however_long_they_are(monkeypatch):
    monkeypatch.setattr(kept_rows, "MOST_ENTRIES", 1)
    kept = KeptRows()
    kept.add(some_rows(np.linspace(0, 1, 100)))
    assert len(kept.rows().keys) == 64
