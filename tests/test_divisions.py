"""What is done without some rows does not depend on their X, y or weights."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataset_builders import N_FOLDS, folds_of_rows
from featgrad import plan
from featgrad._support.array_api import to_numpy
from featgrad.dataset.all_moments import with_all_moments
from featgrad.dataset.base import Dataset
from featgrad.dataset.splits import random_splits
from featgrad.dataset.sums import Model, Prices
from featgrad.math import formulas
from featgrad.moments.cells import Division
from featgrad.moments.folds import Folds
from featgrad.search import rounds
from featgrad.search.base import SearchTask, Subset, go_on
from search_data import singles
from storages import ON_HOST, STORAGES, with_missing

N_ROWS, N_COLUMNS = 240, 24
TRAINING, HELD_OUT = random_splits(N_FOLDS)[1]
COLUMNS = np.array([0, 1, 3, 6, 7, 20])
STORAGES = [*STORAGES, *(f"moments of {storage}" for storage in ON_HOST)]
TASKS = {"regression": "regression", "binary": "binary", "multiclass": "multiclass",
         "two outputs": "regression"}  # fmt: skip

Table = tuple[np.ndarray, np.ndarray, np.ndarray]


def target_of(kind: str, score: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Of two classes the second is rare."""
    if kind == "two outputs":
        return np.stack([score, 3 * noise - score], axis=1)
    limits = {"binary": [1.8], "multiclass": [-1.0, 1.0]}
    return np.digitize(score, limits[kind]) if kind in limits else score


@cache
def table(kind: str, missing: bool) -> Table:
    """Column 4 does not vary among the training rows, 5 is 0 there, and 6 mostly."""
    rng = np.random.default_rng(len(kind))
    X = rng.standard_normal((N_ROWS, N_COLUMNS))
    X[:, 1] = np.exp(X[:, 1])
    X[:, 2] += 20
    score = X[:, 0] - 0.5 * X[:, 3] + 0.7 * rng.standard_normal(N_ROWS)
    X[~held_out(), 4], X[~held_out(), 5] = 0.3, 0.0
    X[:, 6] *= rng.random(N_ROWS) < 0.3
    if missing:
        X[:, 7:][rng.random((N_ROWS, N_COLUMNS - 7)) < 0.1] = np.nan
    return X, target_of(kind, score, rng.standard_normal(N_ROWS)), rng.uniform(0.5, 2, N_ROWS)


def held_out() -> np.ndarray:
    return np.isin(folds_of_rows(np.ones(N_ROWS)), HELD_OUT)


def changed(rows: Table, kind: str, seed: int, far: float = 4.0, heavy: float = 5.0) -> Table:
    """Other held-out rows: larger columns with another mean and other holes, y, and weights."""
    X, y, weights = (part.copy() for part in rows)
    rng, others = np.random.default_rng(seed), held_out()
    count = int(others.sum())
    missing = np.isnan(X).any()
    X[others] = far * (rng.standard_normal((count, N_COLUMNS)) + rng.standard_normal(N_COLUMNS))
    if missing:
        X[others] = np.where(rng.random((count, N_COLUMNS)) < 0.3, np.nan, X[others])
    score = far * (rng.standard_normal(count) + X[others, 1])
    y[others] = target_of(kind, np.nan_to_num(score), rng.standard_normal(count))
    weights[others] = heavy * rng.uniform(0.1, 2, count)
    return X, y, weights


def stored(storage: str, rows: Table, kind: str, preprocess: str = "zscore") -> Dataset:
    storage = storage.removeprefix("moments of ")
    dataset = with_missing(storage, *rows, task=TASKS[kind], preprocess=preprocess)
    return dataset if storage == storage else with_all_moments(dataset, preprocess)


def standardised(dataset: Dataset, division: Division) -> tuple[Folds, Model]:
    """Moments of some columns in a division, and models of them without each of its folds."""
    cells, standard = dataset.cell_moments(COLUMNS), dataset.standard(division)
    folds, scale = cells.divided(division, *standard.of(COLUMNS))
    fitted = folds.without_each(0.01)
    fitted *= scale.outputs / scale.columns[:, None]
    coefficients = np.zeros((N_FOLDS, *fitted.shape[1:]))
    intercepts = np.zeros((N_FOLDS, fitted.shape[2]))
    coefficients[list(division.folds)] = fitted
    intercepts[list(division.folds)] = division.means - scale.means @ fitted
    by_cell = (np.repeat(part, division.n_strata, axis=0) for part in (coefficients, intercepts))
    return folds, Model(division, COLUMNS, *by_cell)


def answers(dataset: Dataset) -> tuple[list[Prices], Folds]:
    """Marginals of the training rows, prices of models of them, and their moments."""
    division = dataset.division(TRAINING)
    marginals = dataset.marginals([dataset.division(range(N_FOLDS)), division])[1]
    folds, model = standardised(dataset, division)
    return [marginals, *dataset.price([model])], folds


def assert_same(one: Dataset, other: Dataset, tolerance: float = 1e-5) -> None:
    """Up to the rounding of single precision, which sees all rows."""
    (prices, folds), (same, same_folds) = answers(one), answers(other)
    close = tolerance * same[0].values.max()
    for found, expected in zip(prices, same, strict=True):
        np.testing.assert_allclose(found.values, expected.values, atol=close)
        np.testing.assert_allclose(found.noise, expected.noise, rtol=10 * tolerance, atol=1e-9)
        np.testing.assert_array_equal(np.flatnonzero(found.values == 0), [4, 5])
    assert folds.n_effective == pytest.approx(same_folds.n_effective)
    np.testing.assert_allclose(folds.weights, same_folds.weights, rtol=1e-6)
    np.testing.assert_allclose(folds.variance, same_folds.variance, rtol=1e-6)
    totals, same_totals = (
        (to_numpy(found.covariance), found.cross) for found in (folds.totals(), same_folds.totals())
    )
    for total, same_total in zip(totals, same_totals, strict=True):
        np.testing.assert_allclose(total, same_total, atol=tolerance)


def sets(dataset: Dataset) -> list[Subset]:
    """Of several sizes, found by the training rows."""
    tasks, order = [SearchTask(budget, TRAINING) for budget in (2.0, 6.0)], len(TRAINING) - 1
    return rounds.search(
        dataset, singles(N_COLUMNS), tasks, formulas.coefficients("monotone", order), 100, go_on
    )


@pytest.mark.parametrize("missing", [False, True], ids=["all there", "missing"])
@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("storage", STORAGES)
def test_prices_and_moments_do_not_depend_on_rows_held_out(storage, kind, missing):
    rows = table(kind, missing)
    assert_same(*(stored(storage, each, kind) for each in (changed(rows, kind, seed=1), rows)))


@pytest.mark.parametrize("missing", [False, True], ids=["all there", "missing"])
@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("storage", STORAGES)
def test_sets_do_not_depend_on_rows_held_out(storage, kind, missing, monkeypatch):
    # Most columns are found by their prices.
    monkeypatch.setattr(plan, "WORKING_SET", 8)
    monkeypatch.setattr(plan, "ENTERING", 6)
    rows = table(kind, missing)
    pairs = (sets(stored(storage, each, kind)) for each in (changed(rows, kind, seed=2), rows))
    for found, expected in zip(*pairs, strict=True):
        assert found.features.tolist() == expected.features.tolist()
        assert found.rounds == expected.rounds
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(found.certificate, expected.certificate, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("far", [1e4, -1e8])
@pytest.mark.parametrize("storage", STORAGES)
def test_nor_on_a_value_far_off_among_them(storage, far):
    X, y, weights = table("regression", missing=False)
    other = X.copy()
    # Columns 2 and 3 have a large mean, and explain something.
    other[np.flatnonzero(held_out())[5], [0, 2, 3]] = far
    assert_same(*(stored(storage, (each, y, weights), "regression") for each in (other, X)))


few = settings(max_examples=12, deadline=None, derandomize=True, database=None)


@few
@given(
    storage=st.sampled_from(["dense", "CSR", "moments of dense"]),
    kind=st.sampled_from(list(TASKS)),
    preprocess=st.sampled_from(["zscore", "center"]),
    seed=st.integers(0, 2**31),
    far=st.floats(0.01, 30),
    heavy=st.floats(0.01, 100),
)
def test_whatever_held_out_rows_are(storage, kind, preprocess, seed, far, heavy):
    rows = table(kind, missing=True)
    others = changed(rows, kind, seed, far, heavy)
    assert_same(*(stored(storage, each, kind, preprocess) for each in (others, rows)), 1e-3)
