"""Sums over chunks against all rows in memory."""

import numpy as np
import pytest
from scipy import sparse

from dataset_builders import mixed_columns, preparation
from featgrad import plan
from featgrad.dataset.all_moments import AllMoments, FoldMoments
from featgrad.dataset.chunks import Accumulated, MarginalSums, SampledChunks
from featgrad.dataset.memory import InMemory, prepare_encoded
from featgrad.dataset.splits import RowRoles
from featgrad.dataset.sums import Prices
from featgrad.math.targets import Encoding

CONTAINERS = [np.asarray, sparse.csr_array]
N_ROWS, N_COLUMNS, N_FOLDS = 900, 9, 20
KEPT_ENTRIES = 1200


def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    return X, 1000 + Y[:, 0], weight


def accumulated(X, y, preprocess: str = "zscore", n_folds: int = N_FOLDS, seed: int = 0):
    encoding, rng = Encoding.of(y, "auto"), np.random.RandomState(seed)
    return Accumulated(encoding, X.shape[1], sparse.issparse(X), preprocess, n_folds, rng, None)


def in_chunks(X, y, weights, state: Accumulated, size: int = 70) -> Accumulated:
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        state.add(X[rows], y[rows], weights[rows])
    return state


@pytest.fixture(params=["few columns", "many columns"])
def kind(request: pytest.FixtureRequest, monkeypatch) -> str:
    """How sums are kept; rows that can be kept as such are few."""
    monkeypatch.setattr(plan, "KEPT_ENTRIES", KEPT_ENTRIES)
    if request.param == "many columns":
        monkeypatch.setattr(plan, "MOMENT_ENTRIES", 0)
    return request.param


def marginals_of(state: Accumulated) -> Prices:
    """What the sums tell of each column by itself."""
    if isinstance(state.sums, MarginalSums):
        return state.sums.prices()
    moments = moments_of(state)
    return moments.marginals([moments.division(range(state.n_folds))])[0]


def moments_of(state: Accumulated) -> AllMoments:
    kept = state.rows()
    encoded = kept.outputs, state.encoding.task, kept.weights / kept.weights.sum()
    prepared = prepare_encoded(
        kept.X, *encoded, preparation(n_folds=state.n_folds), RowRoles(None, None)
    )
    sample = InMemory(kept.X, prepared, state.preprocess)
    return AllMoments(state.sums, sample, state.preprocess)


def standardised(X, y, weights, preprocess: str = "zscore"):
    """Columns and target in double precision; weights sum to one."""
    Z = X - weights @ X
    if preprocess == "zscore":
        Z /= np.where(X.std(axis=0) > 1e-12, np.sqrt(weights @ Z**2), 1)
    Z[:, X.std(axis=0) < 1e-12] = 0
    y = y - weights @ y
    return Z, y / np.sqrt(weights @ y**2)


def expected_marginals(X, y, weights, preprocess: str = "zscore") -> np.ndarray:
    """Squared covariance with the target, less what it is for noise."""
    weights = weights / weights.sum()
    Z, target = standardised(X, y, weights, preprocess)
    found = (Z.T @ (weights * target)) ** 2 - np.sum((weights * target) ** 2)
    return np.where(Z.any(axis=0), found, 0)


def assert_marginals_of_all_rows(state: Accumulated, X, y, weights, preprocess="zscore") -> None:
    expected = expected_marginals(X, y, weights, preprocess)
    # What noise adds is that of columns of variance 1.
    atol = 1e-4 * expected.max() if preprocess == "zscore" else 10 / len(y)
    np.testing.assert_allclose(marginals_of(state).values, expected, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_marginals_are_those_of_all_rows(kind: str, container, preprocess: str):
    X, y, weights = table()
    state = in_chunks(container(X), y, weights, accumulated(container(X), y, preprocess))
    assert not state.is_complete
    assert_marginals_of_all_rows(state, X, y, weights, preprocess)


def test_columns_that_do_not_vary_are_worth_exactly_nothing(kind: str):
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y))
    assert np.flatnonzero(marginals_of(state).values == 0).tolist() == [6]


def test_marginals_do_not_depend_on_the_first_rows(kind: str):
    """Sums begin with rows whose target and columns are far from those of the others."""
    X, y, weights = table()
    order = np.argsort(X[:, 0])
    X, y, weights = X[order], y[order], weights[order]
    state = in_chunks(X, y, weights, accumulated(X, y))
    found, expected = marginals_of(state).values, expected_marginals(X, y, weights)
    np.testing.assert_allclose(found, expected, atol=5 / N_ROWS)


@pytest.mark.parametrize("first", [0, 1])
def test_first_rows_may_all_be_of_one_class(kind: str, first: int):
    X, y, _ = table()
    is_first = y > np.median(y)
    order = np.argsort(~is_first, kind="stable")
    X, y, weights = X[order], np.where(is_first, first, 1 - first)[order], np.ones(N_ROWS)
    state = in_chunks(X, y, weights, accumulated(X, y))
    assert len(np.unique(y[: KEPT_ENTRIES // N_COLUMNS])) == 1
    found, expected = marginals_of(state).values, expected_marginals(X, y, weights)
    np.testing.assert_allclose(found, expected, atol=5 / N_ROWS)


def test_sums_are_chosen_by_the_number_of_columns(kind: str):
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y))
    assert isinstance(state.sums, FoldMoments if kind == "few columns" else MarginalSums)
    assert state.n_rows == N_ROWS


def test_folds_of_few_columns_add_up_to_all_rows(monkeypatch):
    monkeypatch.setattr(plan, "KEPT_ENTRIES", KEPT_ENTRIES)
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y))
    weights = weights / weights.sum()
    chosen = np.array([0, 2, 5])
    moments = moments_of(state)
    division = moments.division(range(N_FOLDS))
    moments.marginals([division])
    standard = moments.standard(division).of(chosen)
    folds, _ = moments.cell_moments(chosen).divided(division, *standard)
    assert folds.n_effective == pytest.approx(1 / np.sum(weights**2))
    Z, target = standardised(X, y, weights)
    Z = Z[:, chosen]
    assert folds.variance == pytest.approx(1)
    np.testing.assert_allclose(folds.totals().covariance, Z.T @ (weights[:, None] * Z), atol=1e-4)
    np.testing.assert_allclose(folds.totals().cross[:, 0], Z.T @ (weights * target), atol=1e-4)


def test_squared_weights_of_folds(monkeypatch):
    monkeypatch.setattr(plan, "KEPT_ENTRIES", KEPT_ENTRIES)
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y))
    assert state.sums.squared_weights.sum() == pytest.approx(np.sum(weights**2))


@pytest.mark.parametrize("n_folds", [5, 20])
@pytest.mark.parametrize("size", [7, 70, 900])
def test_folds_have_equal_shares(n_folds: int, size: int, monkeypatch):
    monkeypatch.setattr(plan, "KEPT_ENTRIES", KEPT_ENTRIES)
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y, n_folds=n_folds), size)
    np.testing.assert_array_equal(state.sums.n_rows, N_ROWS // n_folds)


def test_folds_are_drawn_within_a_chunk():
    """Rows of a sorted chunk would otherwise fall into folds in turn."""
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y), size=N_ROWS)
    rows = state.rows()
    folds = rows.cells[np.argsort(rows.outputs[:, 0])]
    assert np.mean(np.diff(folds.astype(int)) % N_FOLDS == 1) < 0.2


def test_all_rows_are_kept_while_they_fit():
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y))
    assert state.is_complete
    assert state.sums is None
    rows = state.rows()
    order, expected = np.argsort(rows.X[:, 0]), np.argsort(X[:, 0])
    np.testing.assert_array_equal(rows.X[order], X[expected])
    np.testing.assert_array_equal(rows.weights[order], weights[expected])
    np.testing.assert_array_equal(rows.outputs[order, 0], y[expected])


def test_rows_are_kept_up_to_a_limit(kind: str):
    X, y, weights = table()
    state = in_chunks(X, y, weights, accumulated(X, y))
    assert len(state.rows().places) == KEPT_ENTRIES // N_COLUMNS


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="No rows of positive weight"):
        accumulated(*table()[:2]).rows()


@pytest.mark.parametrize("container", CONTAINERS)
def test_first_chunk_can_be_larger_than_what_is_kept(kind: str, container):
    X, y, weights = table()
    state = in_chunks(container(X), y, weights, accumulated(container(X), y), size=N_ROWS)
    assert_marginals_of_all_rows(state, X, y, weights)


def merged_shards(first: Accumulated, shards: list[Accumulated]) -> Accumulated:
    state = first.shard()
    state.merge(first)
    for shard in shards:
        state.merge(shard)
    return state


@pytest.mark.parametrize("container", CONTAINERS)
def test_sums_of_shards_add_up(kind: str, container):
    X, y, weights = table()
    rows = container(X)
    first = in_chunks(rows[:300], y[:300], weights[:300], accumulated(rows, y))
    shards = [first.shard() for _ in range(2)]
    in_chunks(rows[300:500], y[300:500], weights[300:500], shards[0])
    in_chunks(rows[500:], y[500:], weights[500:], shards[1])
    state, turned = merged_shards(first, shards), merged_shards(first, shards[::-1])
    assert state.n_rows == N_ROWS
    assert_marginals_of_all_rows(state, X, y, weights)
    np.testing.assert_array_equal(state.rows().places, turned.rows().places)


def test_merging_leaves_the_other_as_it_is(kind: str):
    X, y, weights = table()
    first = in_chunks(X[:500], y[:500], weights[:500], accumulated(X, y))
    shard = in_chunks(X[500:], y[500:], weights[500:], first.shard())
    before = marginals_of(shard).values, shard.rows().places, shard.n_rows
    first.merge(shard)
    np.testing.assert_array_equal(marginals_of(shard).values, before[0])
    np.testing.assert_array_equal(shard.rows().places, before[1])
    assert shard.n_rows == before[2]


def test_shard_of_few_rows_begins_sums_with_them(kind: str):
    X, y, weights = table()
    first = in_chunks(X[:50], y[:50], weights[:50], accumulated(X, y))
    assert first.scale is None
    shard = in_chunks(X[50:], y[50:], weights[50:], first.shard())
    assert shard.scale is first.scale
    first.merge(shard)
    assert_marginals_of_all_rows(first, X, y, weights)


@pytest.mark.parametrize("into_small", [True, False])
def test_rows_that_are_all_kept_join_sums(kind: str, into_small: bool):
    X, y, weights = table()
    small = in_chunks(X[:50], y[:50], weights[:50], accumulated(X, y, seed=1))
    large = in_chunks(X[50:], y[50:], weights[50:], accumulated(X, y))
    state, other = (small, large) if into_small else (large, small)
    state.merge(other)
    assert state.n_rows == N_ROWS
    assert_marginals_of_all_rows(state, X, y, weights)


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
        ({"n_folds": 12}, "n_folds=12"),
    ],
)
def test_other_rows_are_refused(difference: dict, named: str):
    same = {"X": np.zeros((2, 9)), "y": np.array([0.5, 1.5, 2.5])}
    with pytest.raises(ValueError, match=named):
        accumulated(**same).merge(accumulated(**same | difference))


@pytest.mark.parametrize(("n_folds", "exact"), [(5, True), (4, False)])
def test_sampled_chunks_have_marginals_of_all_rows_where_all_folds_count(n_folds, exact: bool):
    X, y, weights = table()
    encoded = y[:, None], "regression", weights / weights.sum()
    prepared = prepare_encoded(X, *encoded, preparation(n_folds=5), RowRoles(None, None))
    dataset = SampledChunks(X, prepared, "zscore")
    dataset.exact = Prices(np.arange(9.0), np.ones(1))
    [found] = dataset.marginals([dataset.division(range(n_folds))])
    assert (found is dataset.exact) == exact
