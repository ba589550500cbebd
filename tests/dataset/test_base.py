"""Prices, marginals and moments of every storage of rows against their definitions, row by row."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import reference
from dataset_builders import N_FOLDS, folds_of_rows, in_memory, mixed_columns
from featgrad._support.array_api import to_numpy
from featgrad.columns import sums as column_sums
from featgrad.dataset import all_moments, base
from featgrad.dataset.all_moments import with_all_moments
from featgrad.dataset.base import Dataset
from featgrad.dataset.sums import Model, Prices, without_columns
from featgrad.moments.folds import Folds
from featgrad.plan import HELD_OUT_GROUPS
from storages import ON_HOST, STORAGES, with_missing

N_ROWS, N_COLUMNS = 150, 20
TOLERANCE = 1e-5  # columns are multiplied in single precision
EVERY_FOLD = tuple(range(N_FOLDS))
WITHOUT_TWO = (0, 2, 3, 4)
FOLDS = pytest.mark.parametrize("folds", [EVERY_FOLD, WITHOUT_TWO], ids=["all folds", "some folds"])


class OfDivision(NamedTuple):
    """Rows of some folds, standardised by these rows; weights sum to one."""

    Z: np.ndarray
    outputs: np.ndarray
    residuals: np.ndarray
    weights: np.ndarray
    folds: np.ndarray


def of_division(X, Y, weight, model: Model, preprocess: str = "zscore", task="regression"):
    """Models are of columns and outputs that all rows standardise, or of outputs -1 and 1."""
    folds, weights = folds_of_rows(weight), weight / weight.sum()
    own = np.isin(folds, model.division.folds)
    is_binary = task == "binary"
    cells = folds * 2 + (Y[:, 0] == 1) if is_binary else folds
    outputs = 2 * Y - 1 if is_binary else standard(Y, weights)
    Z = columns_of(X, weights, preprocess)
    residuals = outputs - model.intercepts[cells]
    residuals -= np.einsum("nd,ndc->nc", Z[:, model.columns], model.coefficients[cells])
    weights = np.where(own, weights, 0)
    if is_binary:
        weights /= np.where(Y[:, 0] == 1, weights @ Y[:, 0], weights @ (1 - Y[:, 0]))
    weights = weights[own] / weights.sum()
    deviations = np.sqrt(weights @ (outputs[own] - weights @ outputs[own]) ** 2)
    Z, outputs = columns_of(X[own], weights, preprocess), standard(outputs[own], weights)
    return OfDivision(Z, outputs, residuals[own] / deviations, weights, folds[own])


def columns_of(X: np.ndarray, weights: np.ndarray, preprocess: str) -> np.ndarray:
    """Those that do not vary are 0."""
    return np.where(np.ptp(X, axis=0) > 0, reference.standardise(X, weights, preprocess), 0.0)


def standard(Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return reference.standardise(Y, weights, "zscore")


def by_rows(*rows: Any, **options: Any) -> np.ndarray:
    """``sum over n != m of x_n x_m e_n . e_m`` per column, over the number of outputs."""
    found = of_division(*rows, **options)
    residuals = found.residuals * found.weights[:, None]
    pairs = residuals @ residuals.T
    np.fill_diagonal(pairs, 0)
    return np.einsum("nd,nm,md->d", found.Z, pairs, found.Z) / residuals.shape[1]


def model_of(dataset: Dataset, columns: list[int], folds=EVERY_FOLD, seed: int = 0) -> Model:
    """Other coefficients and intercepts for every cell."""
    rng, division = np.random.default_rng(seed), dataset.division(folds)
    n_cells, n_outputs = len(division.shares), len(division.means)
    coefficients = 0.5 * rng.standard_normal((n_cells, len(columns), n_outputs))
    intercepts = division.means + 0.2 * rng.standard_normal((n_cells, n_outputs))
    return Model(division, np.array(columns, np.intp), coefficients, intercepts)


def marginals(dataset: Dataset, *choices: tuple[int, ...]) -> list[Prices]:
    return dataset.marginals([dataset.division(folds) for folds in choices])


def priced(dataset: Dataset, *models: Model) -> list[Prices]:
    dataset.marginals([model.division for model in models])
    return dataset.price([as_stored(dataset, model) for model in models])


def as_stored(dataset: Dataset, model: Model) -> Model:
    """The same model of columns as the dataset has them, whose means are about 0."""
    off = dataset.cell_moments(model.columns).crosses[:, :, 0].sum(axis=0)
    shift = np.einsum("d,cdo->co", off, model.coefficients)
    return model._replace(intercepts=model.intercepts - shift)


def rare_class():
    """Columns, two classes of which the second is rare, and weights."""
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    return X, (np.quantile(Y, 0.9) < Y).astype(float), weight


@FOLDS
@pytest.mark.parametrize("storage", STORAGES)
def test_two_classes_count_alike_in_prices(storage, folds):
    X, Y, weight = rare_class()
    dataset = STORAGES[storage](X, Y, weight, task="binary")
    model = model_of(dataset, [0, 3], folds)
    [prices] = priced(dataset, model)
    expected = by_rows(X, Y, weight, model, task="binary")
    np.testing.assert_allclose(prices.values, expected, atol=TOLERANCE * np.abs(expected).max())


@pytest.mark.parametrize("storage", STORAGES)
def test_classes_of_a_sample_have_the_shares_of_all_rows(storage: str):
    X, Y, weight = rare_class()
    share = weight @ Y[:, 0] / weight.sum()
    sample = STORAGES[storage](X, Y, weight, task="binary").sample(np.arange(N_COLUMNS))
    outputs, weights = sample.outputs[:, 0], sample.weights
    np.testing.assert_allclose(np.unique(outputs), [-share, 1 - share])
    np.testing.assert_allclose(weights[outputs > 0].sum(), share)


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@FOLDS
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("storage", STORAGES)
def test_prices_are_sums_over_pairs_of_distinct_rows(storage, n_outputs, folds, preprocess):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, n_outputs)
    dataset = STORAGES[storage](X, Y, weight, preprocess=preprocess)
    model = model_of(dataset, [0, 2, 4, 9], folds)
    [found] = priced(dataset, model)
    expected = by_rows(X, Y, weight, model, preprocess)
    np.testing.assert_allclose(found.values, expected, atol=TOLERANCE * np.abs(expected).max())


@FOLDS
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("storage", STORAGES)
def test_marginals_are_prices_beside_an_empty_model(storage, n_outputs, folds):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, n_outputs)
    dataset = STORAGES[storage](X, Y, weight)
    [found] = marginals(dataset, folds)
    expected = by_rows(X, Y, weight, without_columns(dataset.division(folds)))
    np.testing.assert_allclose(found.values, expected, atol=TOLERANCE * np.abs(expected).max())


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("storage", STORAGES)
def test_noise_has_the_spectrum_of_the_residuals(storage, n_outputs):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, n_outputs)
    [found] = marginals(STORAGES[storage](X, Y, weight), WITHOUT_TWO)
    own = np.isin(folds_of_rows(weight), WITHOUT_TWO)
    weights = weight[own] / weight[own].sum()
    residuals = standard(Y[own], weights) * weights[:, None]
    expected = np.linalg.eigvalsh(residuals.T @ residuals) / n_outputs
    np.testing.assert_allclose(found.noise, expected, rtol=1e-6)


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_of_weight_zero_have_no_say(storage):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    weight[::7] = 0
    dataset = STORAGES[storage](X, Y, weight)
    model = model_of(dataset, [0, 4], WITHOUT_TWO)
    [found] = priced(dataset, model)
    used = weight > 0
    # Folds are those of the rows in use, in the order of these.
    expected = by_rows(X[used], Y[used], weight[used], model)
    np.testing.assert_allclose(found.values, expected, atol=TOLERANCE * np.abs(expected).max())


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_of_weight_zero_may_hold_anything(storage):
    """Not even the rounding of single precision may depend on them."""
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    weight[:30] = 0
    far = X.copy()
    far[:30] = 1e9
    near, found = (
        marginals(STORAGES[storage](rows, Y, weight), EVERY_FOLD)[0] for rows in (X, far)
    )
    np.testing.assert_allclose(found.values, near.values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("storage", STORAGES)
def test_columns_that_do_not_vary_are_worth_exactly_nothing(storage):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    # Column 7 does not vary in the division only, nor does 8, which is 0 there.
    own = np.isin(folds_of_rows(weight), WITHOUT_TWO)
    X[own, 7], X[own, 8] = 0.3, 0.0
    dataset = STORAGES[storage](X, Y, weight)
    some, whole = marginals(dataset, WITHOUT_TWO, EVERY_FOLD)
    assert np.flatnonzero(some.values == 0).tolist() == [6, 7, 8]
    assert np.flatnonzero(whole.values == 0).tolist() == [6]
    models = [model_of(dataset, [0, 7], folds) for folds in (WITHOUT_TWO, EVERY_FOLD)]
    some, whole = priced(dataset, *models)
    assert np.flatnonzero(some.values == 0).tolist() == [6, 7, 8]
    assert np.flatnonzero(whole.values == 0).tolist() == [6]


@pytest.mark.parametrize("storage", STORAGES)
def test_models_are_priced_alike_together_and_in_turns(storage, monkeypatch):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, 2)
    dataset = STORAGES[storage](X, Y, weight)
    models = [
        model_of(dataset, [5, 7], seed=1),
        model_of(dataset, [1], WITHOUT_TWO),
        model_of(dataset, [7, 12, 0]),
    ]
    together = priced(dataset, *models)
    monkeypatch.setattr(base, "_SUMS_AT_ONCE", 1)
    in_turns = priced(dataset, *models)
    for one, other in zip(together, in_turns, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(one.noise, other.noise, rtol=1e-6)


def test_prices_do_not_depend_on_blocks_of_rows(monkeypatch):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, 2)
    dataset = in_memory(X, Y, weight)
    model = model_of(dataset, [0, 2, 4], WITHOUT_TWO)
    [whole] = priced(dataset, model)
    monkeypatch.setattr("featgrad.dataset.memory._BLOCK_ENTRIES", 40 * N_COLUMNS)
    monkeypatch.setattr(column_sums, "_BLOCK_ENTRIES", 7 * N_COLUMNS)
    [parts] = priced(dataset, model)
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-4, atol=1e-6)


@FOLDS
@pytest.mark.parametrize("storage", STORAGES)
def test_missing_entries_are_priced_as_the_mean_of_their_part(storage, folds):
    """A part is what one split holds out."""
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    holes = np.random.default_rng(1).random(X.shape) < 0.1
    holes[:, 6] = False
    dataset, filled = with_missing(storage, np.where(holes, np.nan, X), Y, weight), X.copy()
    assert len(dataset.splits) == HELD_OUT_GROUPS
    for split in dataset.splits:
        own = np.isin(folds_of_rows(weight), split.test)
        weighted = np.where(holes, 0, weight[:, None])[own]
        means = np.sum(weighted * X[own], axis=0) / weighted.sum(axis=0)
        filled[own] = np.where(holes[own], means, X[own])
    model = model_of(dataset, [0, 4, 8], folds)
    [found] = priced(dataset, model)
    expected = by_rows(filled, Y, weight, model)
    np.testing.assert_allclose(found.values, expected, atol=TOLERANCE * np.abs(expected).max())


def standardised_moments(dataset: Dataset, columns: np.ndarray, folds) -> Folds:
    division = dataset.division(folds)
    dataset.marginals([division])
    moments, standard = dataset.cell_moments(columns), dataset.standard(division)
    return moments.divided(division, *standard.of(columns))[0]


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("task", ["regression", "binary"])
@FOLDS
@pytest.mark.parametrize("storage", STORAGES)
def test_moments_of_a_division_are_those_of_rows_it_standardises(storage, folds, task, preprocess):
    X, Y, weight = rare_class() if task == "binary" else mixed_columns(N_ROWS, N_COLUMNS, 2)
    dataset = STORAGES[storage](X, Y, weight, preprocess=preprocess, task=task)
    columns, model = np.array([0, 2, 3, 11]), without_columns(dataset.division(folds))
    found = standardised_moments(dataset, columns, folds)
    rows = of_division(X, Y, weight, model, preprocess, task)
    used = np.isin(rows.folds, folds)
    assert found.n_effective == pytest.approx(1 / np.sum(rows.weights[used] ** 2), abs=1e-5)
    np.testing.assert_allclose(found.variance, rows.weights[used] @ rows.outputs[used] ** 2)
    parts = found.weights, found.crosses, to_numpy(found.grams)
    for fold, weight, cross, gram in zip(folds, *parts, strict=True):
        own = rows.folds == fold
        weights, Z, outputs = rows.weights[own], rows.Z[own][:, columns], rows.outputs[own]
        assert weight == pytest.approx(weights.sum())
        np.testing.assert_allclose(cross, Z.T @ (weights[:, None] * outputs), atol=2e-6)
        np.testing.assert_allclose(gram, Z.T @ (weights[:, None] * Z), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("storage", STORAGES)
def test_cross_is_that_of_standardised_rows(storage, preprocess):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, 2)
    found = STORAGES[storage](X, Y, weight, preprocess=preprocess).cross()
    weights = weight / weight.sum()
    Z = reference.standardise(X, weights, preprocess)
    Z[:, 6] = 0
    np.testing.assert_allclose(found, Z.T @ (weights[:, None] * standard(Y, weights)), atol=1e-6)
    assert not found[6].any()


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("task", ["regression", "binary"])
@FOLDS
@pytest.mark.parametrize("storage", ON_HOST)
def test_moments_of_all_columns_give_the_same_folds(storage, folds, task, preprocess, monkeypatch):
    monkeypatch.setattr(all_moments, "_BLOCK_ENTRIES", 30 * N_COLUMNS)
    X, Y, weight = rare_class() if task == "binary" else mixed_columns(N_ROWS, N_COLUMNS, 2)
    rows = STORAGES[storage](X, Y, weight, preprocess=preprocess, task=task)
    columns = np.array([1, 2, 3, 11])
    found = standardised_moments(with_all_moments(rows, preprocess), columns, folds)
    expected = standardised_moments(rows, columns, folds)
    assert found.n_effective == pytest.approx(expected.n_effective)
    np.testing.assert_allclose(found.weights, expected.weights)
    np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-5)
    np.testing.assert_allclose(found.crosses, expected.crosses, atol=1e-5)
    np.testing.assert_allclose(found.grams, expected.grams, atol=1e-5)


@FOLDS
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_moments_of_all_columns_give_nearly_the_same_prices(n_outputs, folds):
    """They take the mean of squares over rows where rows take each its own: 1/n_rows apart."""
    X, Y, weight = mixed_columns(1000, N_COLUMNS, n_outputs)
    rows = in_memory(X, Y, weight)
    model = model_of(rows, [0, 2, 4, 9], folds)
    # Residuals about as large as the outputs: squares count by themselves here.
    model = model._replace(coefficients=model.coefficients / 5)
    found = [
        [*marginals(dataset, folds), *priced(dataset, model)]
        for dataset in (rows, with_all_moments(rows, "zscore"))
    ]
    for of_rows, of_moments in zip(*found, strict=True):
        # The others have large fourth moments: a few rows hold much of their squares.
        usual = [0, 2, *range(6, N_COLUMNS)]
        np.testing.assert_allclose(
            of_moments.values[usual], of_rows.values[usual], rtol=1e-4, atol=5 / 1000
        )
        np.testing.assert_allclose(of_moments.noise, of_rows.noise, rtol=0.1)
        assert of_moments.values[6] == 0


def noise_prices(seed: int, n_outputs: int) -> Prices:
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((300, 1500)), rng.standard_normal((300, n_outputs))
    # Outputs of one source of noise and their own: their covariance has a spectrum.
    Y += 2 * rng.standard_normal((300, 1))
    return marginals(in_memory(X, Y), EVERY_FOLD)[0]


@pytest.mark.parametrize("rank", [1, 20])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_chance_is_what_the_best_columns_of_noise_reach(n_outputs, rank):
    found = [noise_prices(seed, n_outputs) for seed in range(6)]
    reached = np.mean([np.sort(prices.values)[-rank] for prices in found])
    assert np.mean([prices.chance(rank) for prices in found]) == pytest.approx(reached, rel=0.15)


def test_chance_is_nothing_where_nothing_is_left_to_explain():
    assert Prices(np.zeros(5), np.zeros(2)).chance() == 0


@pytest.mark.parametrize("storage", ["dense", "streamed CSR", "moments"])
def test_copies_of_a_column_in_the_model_are_worth_nothing(storage):
    X, Y, weight = mixed_columns(600, N_COLUMNS)
    X[:, 10], X[:, 11] = X[:, 3], -2 * X[:, 3]
    dataset: Dataset = STORAGES.get(storage, in_memory)(X, Y, weight)
    if storage == "moments":
        dataset = with_all_moments(dataset, "zscore")
    [alone] = marginals(dataset, EVERY_FOLD)
    columns, ridge = np.array([3]), 1e-3
    folds = standardised_moments(dataset, columns, EVERY_FOLD)
    coefficients = folds.without_each(ridge)
    [found] = priced(dataset, Model(dataset.whole, columns, coefficients, np.zeros((N_FOLDS, 1))))
    assert alone.values[10] > 0.1
    np.testing.assert_allclose(found.values[[3, 10, 11]], 0, atol=5 / 600)
    assert found.values[0] > 0.1
