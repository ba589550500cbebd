"""Prices of columns that are not built, compared with those of columns that are."""

import numpy as np
import pytest
from scipy import sparse

from featgrad.construct.curves import Hinge
from featgrad.construct.expressions import Curved, Given, Product
from featgrad.construct.prices import Parts, Residuals, best_pairs, on_one_scale
from featgrad.plan import PAIR_WORK


@pytest.fixture(params=[1, 3])
def residuals(request: pytest.FixtureRequest) -> Residuals:
    """Of 60 rows and some outputs."""
    rng = np.random.default_rng(0)
    weights = rng.random(60)
    weights /= weights.sum()
    values = rng.standard_normal((60, request.param))
    values -= weights @ values
    left = weights[:, None] * values
    return Residuals(np.arange(60), weights, left, np.zeros((60, 0)), left)


def columns(n_columns: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((60, n_columns)).astype(np.float32)


def by_hand(u: np.ndarray, v: np.ndarray, residuals: Residuals) -> float:
    product = u * v
    return np.sum((product @ residuals.values) ** 2) / np.sum((product - product.mean()) ** 2)


def test_pairs_are_priced_as_their_products_are(residuals):
    X = columns(9)
    found = {(i, j): price for i, j, price in best_pairs(X[:, :4], X, residuals, 1000, True)}
    assert sorted(found) == [(i, j) for i in range(4) for j in range(i, 9)]
    for (i, j), price in found.items():
        assert price == pytest.approx(by_hand(X[:, i], X[:, j], residuals), rel=1e-4)


def test_pairs_of_columns_that_are_mostly_0_are_priced_as_their_products_are():
    rng = np.random.default_rng(0)
    levels, residual = rng.integers(30, size=(4000, 2)), rng.standard_normal(4000)
    X = np.column_stack([np.eye(30)[levels[:, 0]], np.eye(30)[levels[:, 1]], residual[::-1]])
    X = on_one_scale(X.astype(np.float32))[0]
    left = (residual - residual.mean())[:, None] / 4000
    residuals = Residuals(np.arange(4000), np.full(4000, 1 / 4000), left, left, left)
    for i, j, price in best_pairs(X, X, residuals, 9999, True):
        if i != j:
            assert price == pytest.approx(by_hand(X[:, i], X[:, j], residuals), rel=1e-3)


def test_only_the_best_pairs_are_kept(residuals):
    X = columns(9)
    every, best = (sorted(p for *_, p in best_pairs(X, X, residuals, n, True)) for n in (99, 5))
    assert best == every[-5:]


def test_sparse_pairs_are_priced_as_dense_ones_are(residuals):
    X = columns(9)
    X[X < 0.5] = 0
    dense, few = (sorted(best_pairs(M, M, residuals, 99, True)) for M in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(dense, few, rtol=1e-4)


def test_noise_is_worth_no_more_than_chance(residuals):
    rng = np.random.default_rng(2)
    _, worth = residuals.price(rng.standard_normal((60, 5000)), 5000)
    assert np.count_nonzero(worth) <= 1


def test_a_few_rows_are_not_enough_evidence():
    values = np.zeros((1000, 1))
    values[:3] = 30
    values -= values.mean()
    weights = np.full(1000, 1e-3)
    left = weights[:, None] * values
    residuals = Residuals(np.arange(1000), weights, left, np.zeros((1000, 0)), left)
    column = np.zeros((1000, 1))
    column[:3] = 1
    prices, worth = residuals.price(column, 100)
    assert prices[0] > 1
    assert not worth[0]


def test_origins_are_means_unless_0_says_something():
    X = np.stack([np.tile([48.13, 49.17], 30), np.tile([0.0, 1], 30), np.tile([-1.0, 1.001], 30)])
    X = np.append(X, [np.linspace(3, 9, 60)], axis=0).T
    values, origins, scales, is_binary = on_one_scale(X)
    assert origins.tolist() == [48.65, 0, 0, 6]
    assert is_binary.tolist() == [True, True, True, False]
    np.testing.assert_allclose(values * scales + origins, X, rtol=1e-5)


@pytest.mark.parametrize("n_columns", [10, 4000])
def test_parents_are_as_many_as_the_work_allows(n_columns: int):
    values = np.broadcast_to(np.float32(0), (PAIR_WORK // 4000**2, n_columns))
    ranked, numbers = np.arange(n_columns)[::-1], np.zeros((3, n_columns))
    parts = Parts(values, np.arange(1), [Given(0)] * n_columns, ranked, np.inf, values, *numbers)
    assert len(parts.parents(1)) >= min(n_columns, 3999)
    few = parts.parents(8)
    assert len(few) == (10 if n_columns == 10 else 500)
    assert few[-1] == n_columns - 1


def test_an_accelerator_prices_all_pairs_of_more_columns():
    torch = pytest.importorskip("torch")
    n_rows, n_columns = PAIR_WORK // 4000**2, 8000
    parts = Parts(None, None, range(n_columns), np.arange(n_columns), np.inf, None, *([None] * 3))
    host = parts._replace(values=np.broadcast_to(np.float32(0), (n_rows, n_columns)))
    device = parts._replace(values=torch.zeros(1).expand(n_rows, n_columns))
    assert len(host.parents(1)) < n_columns == len(device.parents(1))


def test_prices_are_of_what_the_model_does_not_have(residuals):
    model = columns(1).astype(float)
    basis = np.linalg.qr(
        np.sqrt(residuals.weights)[:, None] * np.column_stack([np.ones(60), model])
    )
    residuals = residuals._replace(basis=basis[0])
    other = columns(2)[:, 1:].astype(float)
    alone, mixed = (residuals.price(each, 10)[0] for each in (other, other + 3 * model))
    np.testing.assert_allclose(alone, mixed)
    assert residuals.price(2 * model, 10)[0] == 0


def test_sparse_pairs_without_a_row_in_common_cost_nothing(residuals):
    X = sparse.csr_array(columns(3) * np.repeat(np.eye(3), 20, axis=0))
    found = list(best_pairs(X, X, residuals, 99, True))
    assert sorted((i, j) for i, j, _ in found) == [(0, 0), (1, 1), (2, 2)]


def parts_of(ranked: np.ndarray) -> Parts:
    """Of columns in the order of their promise."""
    X, every = columns(len(ranked)), [Given(i) for i in range(len(ranked))]
    return Parts(X, np.arange(60), every, ranked, np.inf, *on_one_scale(X))


def test_chances_of_all_candidates_add_up_to_one():
    """Each has the chance of the best of so many columns of noise; half of it follows the ranks."""
    parts = parts_of(np.random.default_rng(0).permutation(9))
    products = [Product((Given(i), Given(j)), (0.0, 0.0)) for i in range(9) for j in range(i, 9)]
    hinges = [Curved(Hinge(), Given(i), 0.0) for i in range(9) for _ in range(8)]
    total = len(products) + len(hinges)
    chance = sum(
        np.sum(1 / parts.rivals(columns, 2 * len(columns), total)) for columns in (products, hinges)
    )
    assert 0.5 < chance <= 1


def test_promising_parts_have_to_exceed_fewer_columns_of_noise():
    parts = parts_of(np.arange(9))
    products = [Product((Given(i), Given(i)), (0.0, 0.0)) for i in range(9)]
    counts = parts.rivals(products, 45, 45)
    assert np.all(np.diff(counts) >= 0)
    assert counts[0] < 45 < counts[-1] <= 2 * 45
