"""Outliers are found, and clipped at Tukey's outer fences wherever rows are kept."""

import numpy as np
import pytest
from scipy import sparse

from featgrad import DataWarning, FeatureGradientSelector, Learnability, open_source
from featgrad.columns.extremes import Fences, clipped, far_off

N_ROWS = 300


def planted(rng) -> tuple[np.ndarray, np.ndarray]:
    """The first five columns matter; the first two of them have fill values, the target errors."""
    X = rng.normal(size=(N_ROWS, 100))
    y = X[:, :5] @ np.array([1, -1, 1, -1, 1]) + rng.normal(size=N_ROWS)
    X[[3, 77], 0] = X[[5, 90], 1] = -999
    y[rng.permutation(N_ROWS)[:6]] *= 100
    return X, y


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def of_source(X, y, **options):
    source = open_source(X, target=y, block_rows=70)
    return FeatureGradientSelector(5, **options).fit_source(source)


def of_chunks(X, y, **options):
    selector = FeatureGradientSelector(5, **options)
    for start in range(0, N_ROWS, 100):
        selector.partial_fit(X[start : start + 100], y[start : start + 100])
    return selector.finalize()


def of_shards(X, y, **options):
    selector = FeatureGradientSelector(5, **options).partial_fit(X[:150], y[:150])
    return selector.merge(selector.shard().partial_fit(X[150:], y[150:])).finalize()


def of_dask(X, y, **options):
    array = pytest.importorskip("dask.array")
    there = array.from_array(X, chunks=(60, 100)), array.from_array(y, chunks=60)
    return FeatureGradientSelector(5, **options).fit(*there)


def on_device(X, y, **options):
    pytest.importorskip("torch")
    return FeatureGradientSelector(5, device="cpu", **options).fit(X, y)


STORAGES = {
    "dense": lambda X, y, **options: FeatureGradientSelector(5, **options).fit(X, y),
    "csr": lambda X, y, **o: FeatureGradientSelector(5, **o).fit(sparse.csr_array(X), y),
    "source": of_source,
    "chunks": of_chunks,
    "shards": of_shards,
    "dask": of_dask,
    "device": on_device,
}


@pytest.mark.parametrize("storage", STORAGES)
def test_clipped_columns_are_found_in_every_storage(storage, rng):
    selector = STORAGES[storage](*planted(rng), preprocess="robust", random_state=0)
    assert selector.get_support(indices=True).tolist() == [0, 1, 2, 3, 4]
    assert selector.learnability_.value > 0.5
    assert not [each for each in selector.concerns_ if each.kind == "outliers"]


@pytest.mark.parametrize("storage", ["dense", "csr", "chunks"])
def test_one_value_far_beyond_all_others_is_clipped(storage, rng):
    X, y = planted(rng)
    X[7, 2] = 1e155
    found = STORAGES[storage](X, y, preprocess="robust", random_state=0)
    assert found.get_support(indices=True).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("storage", STORAGES)
def test_outliers_are_named_and_counted(storage, rng):
    with pytest.warns(DataWarning, match=r"x0 \(2\), x1 \(2\), the target \(6\)"):
        found = STORAGES[storage](*planted(rng), random_state=0).concerns_
    assert "preprocess=" in found[0].advice


def test_estimates_clip_as_well(rng):
    X, y = planted(rng)
    assert Learnability(X, y, preprocess="robust").estimate(range(5)).value > 0.5
    assert Learnability(X, y).estimate(range(5)).value < 0.3


def test_fences_lie_three_ranges_outside_the_quartiles():
    X = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    low, high, _ = Fences.of(X, np.zeros(5), "regression")
    assert (low[0], high[0]) == (2 - 3 * 2, 4 + 3 * 2)


def test_zeros_say_nothing_and_stay(rng):
    X = np.zeros((200, 2))
    X[:40, 0] = rng.uniform(1, 2, 40)
    X[0, 0] = 1000.0
    X[:40, 1] = 1.0  # does not spread
    X[0, 1] = 5.0
    dense, _ = clipped(X, np.zeros(200), None, "regression")
    assert 2 < dense[0, 0] < 10
    np.testing.assert_array_equal(dense[1:], X[1:])
    assert dense[0, 1] == 5.0
    csr, _ = clipped(sparse.csr_array(X), np.zeros(200), None, "regression")
    np.testing.assert_array_equal(csr.toarray(), dense)


def test_missing_entries_stay_missing(rng):
    X = rng.normal(size=(100, 1))
    X[:10] = np.nan
    X[10] = 1e6
    found, _ = clipped(X, np.zeros(100), None, "regression")
    assert np.isnan(found[:10]).all()
    assert found[10, 0] < 10


def test_classes_are_not_clipped(rng):
    y = (np.arange(100) < 3).astype(int)
    _, found = clipped(rng.normal(size=(100, 2)), y, None, "auto")
    np.testing.assert_array_equal(found, y)


def test_rows_of_weight_zero_have_no_part_in_fences(rng):
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    weights = np.ones(100)
    weights[:60], there = 0.0, X.copy()
    there[:60] = 1e6
    found, _ = clipped(there, y, weights, "regression")
    expected, _ = clipped(X, y, weights, "regression")
    np.testing.assert_array_equal(found[60:], expected[60:])


@pytest.mark.parametrize("kind", ["normal", "t3", "lognormal", "counts", "words"])
def test_heavy_tails_are_rarely_taken_for_outliers(kind, rng):
    draw = {
        "normal": lambda: rng.normal(size=(N_ROWS, 100)),
        "t3": lambda: rng.standard_t(3, size=(N_ROWS, 100)),
        "lognormal": lambda: rng.lognormal(size=(N_ROWS, 100)),
        "counts": lambda: rng.negative_binomial(0.3, 0.05, size=(N_ROWS, 100)).astype(float),
        "words": lambda: sparse.random_array(
            (N_ROWS, 100), density=0.02, random_state=rng, format="csr"
        ),
    }[kind]
    assert sum(len(far_off(draw())) for _ in range(5)) <= 1
