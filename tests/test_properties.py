"""What must not change a result, whatever the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from featgrad import Learnability
from matrix_kinds import KINDS, Example
from searches import published, with_search

few = settings(max_examples=8, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**31)
sizes = st.tuples(st.integers(12, 60), st.integers(2, 15))


def table(seed: int, size: tuple[int, int]):
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal(size) * (rng.random(size) < 0.7), 3)
    return rng, X, X[:, 0] + rng.standard_normal(size[0])


def scores(X, y, k: int | None, **options) -> np.ndarray:
    weights = options.pop("sample_weight", None)
    options = {"max_iter": 8, "random_state": 0} | options
    selector = published(**options) if k is None else with_search(n_features_to_select=k, **options)
    return selector.fit(X, y, sample_weight=weights).scores_


def learnable(X, y, **options) -> tuple[float, float]:
    estimate = Learnability(X, y, **options).estimate()
    return estimate.value, estimate.standard_error


@few
@given(seeds, sizes)
def test_order_of_the_rows(seed, size):
    rng, X, y = table(seed, size)
    order = rng.permutation(len(y))
    assert learnable(X[order], y[order]) == pytest.approx(learnable(X, y), rel=1e-7)
    np.testing.assert_allclose(scores(X[order], y[order], 1), scores(X, y, 1), rtol=1e-3, atol=1e-5)


def moved(kind: str, seed: int, size: tuple[int, int], change, columns=slice(None)):
    """Value and gradient before and after a change of X, rows in one order."""
    rng, X, y = table(seed, size)
    weights = rng.uniform(0.5, 2, len(y))
    weights /= weights.sum()
    outputs = (y - weights @ y)[:, None]
    mask = rng.random(X.shape[1])
    results = []
    for data in (
        Example(X, outputs, weights, mask),
        Example(change(X), outputs, weights, mask[columns]),
    ):
        problem, _, _ = data.problem(KINDS[kind], 3)
        results.append(problem.value_and_gradient(data.mask))
    return results


kinds = st.sampled_from(["dense-float64", "csr-float64-int32"])


@few
@given(kinds, seeds, sizes)
def test_order_of_the_columns(kind, seed, size):
    order = np.random.default_rng(seed).permutation(size[1])
    before, after = moved(kind, seed, size, lambda X: X[:, order], order)
    assert after[0] == pytest.approx(before[0], rel=1e-8)
    np.testing.assert_allclose(after[1], before[1][order], rtol=1e-6, atol=1e-10)


@few
@given(kinds, seeds, sizes, st.floats(-1e3, 1e3))
def test_constant_added_to_a_column(kind, seed, size, constant):
    before, after = moved(kind, seed, size, lambda X: X + constant * (np.arange(size[1]) == 0))
    assert after[0] == pytest.approx(before[0], rel=1e-8)
    np.testing.assert_allclose(after[1], before[1], rtol=1e-6, atol=1e-8)


@few
@given(kinds, seeds, sizes, st.floats(1e-3, 1e3))
def test_scale_of_a_column_under_zscore(kind, seed, size, factor):
    factors = np.where(np.arange(size[1]) == 0, factor, 1.0)
    before, after = moved(kind, seed, size, lambda X: X * factors)
    assert after[0] == pytest.approx(before[0], rel=1e-8)
    np.testing.assert_allclose(after[1], before[1], rtol=1e-6, atol=1e-8)


@few
@given(seeds, sizes)
def test_rows_of_weight_zero(seed, size):
    rng, X, y = table(seed, size)
    kept = rng.random(len(y)) < 0.7
    kept[:8] = True
    weights = np.where(kept, rng.uniform(0.5, 2, len(y)), 0.0)
    whole = learnable(X, y, sample_weight=weights)
    assert whole == pytest.approx(
        learnable(X[kept], y[kept], sample_weight=weights[kept]), rel=1e-7
    )


@few
@given(seeds, sizes, st.floats(0.1, 10))
def test_weight_of_a_class(seed, size, factor):
    _, X, y = table(seed, size)
    y = y > np.quantile(y, 0.7)
    weighted = scores(X, y, 1, sample_weight=np.where(y, factor, 1.0))
    np.testing.assert_allclose(weighted, scores(X, y, 1), rtol=1e-3, atol=1e-5)


@few
@given(seeds, sizes, st.sampled_from([None, 1]))
def test_dense_and_sparse(seed, size, k):
    _, X, y = table(seed, size)
    dense, compressed = scores(X, y, k), scores(sparse.csr_array(X), y, k)
    np.testing.assert_allclose(compressed, dense, rtol=1e-3, atol=1e-5)
