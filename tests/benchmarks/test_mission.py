"""The benchmark's MISSION against its twin with exact weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.helpers import mission


def problem(rows=400, columns=300, active=5, seed=0):
    """Sparse rows whose label depends on the first few columns."""
    rng = np.random.default_rng(seed)
    X = sp.random_array(
        (rows, columns), density=0.1, random_state=rng, data_sampler=rng.standard_normal
    )
    X = X.tolil()
    X[:, :active] = rng.standard_normal((rows, active))
    X = X.tocsr()
    return X, (X[:, :active].sum(axis=1) > 0).astype(float)


def test_a_wide_sketch_follows_the_exact_descent():
    X, y = problem()
    settings = {"rate": 0.1, "epochs": 3, "seed": 1}
    kept, weights = mission.sketched(X, y, 20, width=2**16, **settings)
    kept_exact, weights_exact = mission.unsketched(X, y, 20, **settings)
    np.testing.assert_array_equal(kept, kept_exact)
    np.testing.assert_allclose(weights, weights_exact, rtol=1e-10)


def test_a_narrow_sketch_still_finds_the_active_columns():
    X, y = problem()
    kept, weights = mission.sketched(X, y, 20, width=64, rate=0.1, epochs=3, seed=1)
    assert set(range(5)) <= set(kept[np.argsort(-np.abs(weights))[:10]])


def test_exact_descent_over_all_columns_is_plain_sgd():
    X, y = problem(rows=50, columns=10)
    kept, weights = mission.unsketched(X, y, 10, rate=0.5, epochs=1, seed=3)
    order = np.random.default_rng(3).permutation(50)
    w, bias = np.zeros(10), 0.0
    for step, n in enumerate(order):
        x = X[[n]].toarray().ravel()
        move = 0.5 / np.sqrt(1 + step / 50) * (y[n] - 1 / (1 + np.exp(-(bias + x @ w))))
        bias += move
        w += move * x
    np.testing.assert_allclose(weights, w[kept], rtol=1e-10)


@pytest.mark.parametrize("numbers", [(3, 1, 4, 1, 5), (5, 4, 3, 2, 1), (0, 0, -1, 7, 2)])
def test_median_of_five(numbers):
    assert mission.middle_of_five(np.array(numbers, dtype=float)) == np.median(numbers)


def test_the_heap_holds_the_largest_weights():
    rng = np.random.default_rng(0)
    heap, weights = np.empty(8, np.int64), np.empty(8)
    where, used = np.full(40, -1, np.int64), 0
    latest = np.zeros(40)
    for feature in rng.integers(40, size=500):
        latest[feature] += rng.uniform(0, 1)
        used = mission.offer(heap, weights, where, used, feature, latest[feature])
    assert set(heap) == set(np.argsort(-latest)[:8])
    np.testing.assert_array_equal(weights, latest[heap])


def test_each_class_gets_weights_of_its_own():
    X, y = problem()
    settings = {"width": 1024, "rate": 0.1, "epochs": 2, "seed": 0}
    assert mission.class_weights(X, y, 20, **settings).shape == (1, 300)
    three = np.arange(400) % 3
    weights = mission.class_weights(X, three, 20, **settings)
    assert weights.shape == (3, 300)
    assert (np.count_nonzero(weights, axis=1) <= 20).all()
