"""Prices, marginals and moments of every home of rows against their definitions, row by row."""

import numpy as np
import pytest
from scipy import sparse

import reference
from dask_builders import on_dask
from dataset_builders import N_FOLDS, folds_of_rows, in_memory, mixed_columns, streamed
from device_builders import on_device
from featgrad.dataset import all_moments, base
from featgrad.dataset.all_moments import with_all_moments
from featgrad.dataset.base import Dataset
from featgrad.dataset.row_sums import Model, Prices
from featgrad.preprocess import standardise

N_ROWS, N_COLUMNS = 150, 20
TOLERANCE = 1e-5  # columns are multiplied in single precision
HOMES = {
    "dense": in_memory,
    "CSR": lambda X, *rest, **options: in_memory(sparse.csr_array(X), *rest, **options),
    "streamed": streamed,
    "streamed CSR": lambda X, *rest, **options: streamed(sparse.csr_array(X), *rest, **options),
    "device": on_device,
    "device CSR": lambda X, *rest, **options: on_device(sparse.csr_array(X), *rest, **options),
    "device float32": lambda X, *rest, **options: on_device(np.float32(X), *rest, **options),
    "device blocks": lambda *rest, **options: on_device(*rest, **options, is_resident=False),
    "Dask": on_dask,
    "Dask CSR": lambda X, *rest, **options: on_dask(sparse.csr_array(X), *rest, **options),
    "Dask columns": lambda *rest, **options: on_dask(*rest, **options, n_column_chunks=3),
}
ON_HOST = [home for home in HOMES if not home.startswith("device")]
EVERY_FOLD = np.ones(N_FOLDS)
WITHOUT_TWO = np.array([1.5, 0.0, 1.5, 1.5, 1.5, 0.0])


def by_rows(X, Y, weight, model: Model, preprocess: str = "zscore") -> np.ndarray:
    """``sum over n != m of x_n x_m e_n . e_m`` per column, over the number of outputs."""
    weights = weight / weight.sum()
    Z, outputs = reference.standardise(X, weights, preprocess), standard(Y, weights)
    Z[:, X.std(axis=0) < 1e-12] = 0
    folds = folds_of_rows(weight)
    residuals = outputs - np.einsum("nd,ndc->nc", Z[:, model.columns], model.coefficients[folds])
    residuals *= (weights * model.shares[folds])[:, None]
    pairs = residuals @ residuals.T
    np.fill_diagonal(pairs, 0)
    return np.einsum("nd,nm,md->d", Z, pairs, Z) / Y.shape[1]


def standard(Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return reference.standardise(Y, weights, "zscore")


def model_of(columns: list[int], n_outputs: int, shares=EVERY_FOLD, seed: int = 0) -> Model:
    """Other coefficients for every fold."""
    rng = np.random.default_rng(seed)
    coefficients = 0.5 * rng.standard_normal((N_FOLDS, len(columns), n_outputs))
    return Model(np.array(columns, np.intp), coefficients, shares)


def nothing(n_outputs: int, shares: np.ndarray) -> Model:
    return model_of([], n_outputs, shares)


def priced(dataset: Dataset, models: list[Model]) -> list[Prices]:
    dataset.marginals([EVERY_FOLD])
    return dataset.price(models)


def rare_class():
    """Columns, two classes of which the second is rare, and weights."""
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    return X, (np.quantile(Y, 0.9) < Y).astype(float), weight


@pytest.mark.parametrize("home", HOMES)
def test_two_classes_count_alike_in_prices(home: str):
    X, Y, weight = rare_class()
    shares = np.where(Y[:, 0] == 1, weight @ Y[:, 0], weight @ (1 - Y[:, 0])) / weight.sum()
    model = model_of([0, 3], 1)
    [prices] = priced(HOMES[home](X, Y, weight, task="binary"), [model])
    expected = by_rows(X, Y, weight / shares, model)
    np.testing.assert_allclose(prices.values, expected, atol=TOLERANCE)


@pytest.mark.parametrize("home", HOMES)
def test_classes_of_a_sample_have_the_shares_of_all_rows(home: str):
    X, Y, weight = rare_class()
    share = weight @ Y[:, 0] / weight.sum()
    sample = HOMES[home](X, Y, weight, task="binary").sample(np.arange(N_COLUMNS))
    outputs, weights = sample.target.outputs[:, 0], sample.problem.weights
    np.testing.assert_allclose(np.unique(outputs), [-share, 1 - share])
    np.testing.assert_allclose(weights[outputs > 0].sum(), share)


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("shares", [EVERY_FOLD, WITHOUT_TWO], ids=["all folds", "some folds"])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("home", HOMES)
def test_prices_are_sums_over_pairs_of_distinct_rows(home, n_outputs, shares, preprocess):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, n_outputs)
    model = model_of([0, 2, 4, 9], n_outputs, shares)
    [found] = priced(HOMES[home](X, Y, weight, preprocess=preprocess), [model])
    expected = by_rows(X, Y, weight, model, preprocess)
    np.testing.assert_allclose(found.values, expected, atol=TOLERANCE * np.abs(expected).max())


@pytest.mark.parametrize("shares", [EVERY_FOLD, WITHOUT_TWO], ids=["all folds", "some folds"])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("home", HOMES)
def test_marginals_are_prices_beside_an_empty_model(home, n_outputs, shares):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, n_outputs)
    [found] = HOMES[home](X, Y, weight).marginals([shares])
    expected = by_rows(X, Y, weight, nothing(n_outputs, shares))
    np.testing.assert_allclose(found.values, expected, atol=TOLERANCE * np.abs(expected).max())


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("home", HOMES)
def test_noise_has_the_spectrum_of_the_residuals(home, n_outputs):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, n_outputs)
    [found] = HOMES[home](X, Y, weight).marginals([WITHOUT_TWO])
    weights = weight / weight.sum()
    residuals = standard(Y, weights) * (weights * WITHOUT_TWO[folds_of_rows(weight)])[:, None]
    expected = np.linalg.eigvalsh(residuals.T @ residuals) / n_outputs
    np.testing.assert_allclose(found.noise, expected, rtol=1e-6)


@pytest.mark.parametrize("home", HOMES)
def test_rows_of_weight_zero_have_no_say(home):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    weight[::7] = 0
    model = model_of([0, 4], 1, WITHOUT_TWO)
    [found] = priced(HOMES[home](X, Y, weight), [model])
    used = weight > 0
    # Folds are those of the rows in use, in the order of these.
    expected = by_rows(X[used], Y[used], weight[used], model)
    np.testing.assert_allclose(found.values, expected, atol=TOLERANCE * np.abs(expected).max())


@pytest.mark.parametrize("home", HOMES)
def test_rows_of_weight_zero_may_hold_anything(home):
    """Not even the rounding of single precision may depend on them."""
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    weight[:30] = 0
    far = X.copy()
    far[:30] = 1e9
    near, found = (HOMES[home](rows, Y, weight).marginals([EVERY_FOLD])[0] for rows in (X, far))
    np.testing.assert_allclose(found.values, near.values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("home", HOMES)
def test_columns_that_do_not_vary_are_worth_exactly_nothing(home):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    dataset = HOMES[home](X, Y, weight)
    [marginals] = dataset.marginals([WITHOUT_TWO])
    assert np.flatnonzero(marginals.values == 0).tolist() == [6]
    assert dataset.price([model_of([0], 1)])[0].values[6] == 0


@pytest.mark.parametrize("home", HOMES)
def test_models_are_priced_alike_together_and_in_turns(home, monkeypatch):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, 2)
    models = [model_of([5, 7], 2, seed=1), model_of([1], 2, WITHOUT_TWO), model_of([7, 12, 0], 2)]
    together = priced(HOMES[home](X, Y, weight), models)
    monkeypatch.setattr(base, "_SUMS_AT_ONCE", 1)
    in_turns = priced(HOMES[home](X, Y, weight), models)
    for one, other in zip(together, in_turns, strict=True):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(one.noise, other.noise, rtol=1e-6)


def test_prices_do_not_depend_on_blocks_of_rows(monkeypatch):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, 2)
    model = model_of([0, 2, 4], 2)
    [whole] = priced(in_memory(X, Y, weight), [model])
    monkeypatch.setattr("featgrad.dataset.in_memory._BLOCK_ENTRIES", 40 * N_COLUMNS)
    monkeypatch.setattr(standardise, "_BLOCK_ENTRIES", 7 * N_COLUMNS)
    [parts] = priced(in_memory(X, Y, weight), [model])
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("home", HOMES)
def test_missing_entries_are_priced_as_their_mean(home):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS)
    holes = np.random.default_rng(1).random(X.shape) < 0.1
    holes[:, 6] = False
    weighted = np.where(holes, 0, weight[:, None])
    means = np.sum(weighted * X, axis=0) / weighted.sum(axis=0)
    model, options = model_of([0, 4, 8], 1), {}
    if home.startswith(("streamed", "Dask")):
        options["missing"] = "mean"
    [found] = priced(HOMES[home](np.where(holes, np.nan, X), Y, weight, **options), [model])
    expected = by_rows(np.where(holes, means, X), Y, weight, model)
    np.testing.assert_allclose(found.values, expected, atol=TOLERANCE * np.abs(expected).max())


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("home", HOMES)
def test_fold_moments_are_those_of_standardised_rows(home, preprocess):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, 2)
    dataset = HOMES[home](X, Y, weight, preprocess=preprocess)
    dataset.marginals([EVERY_FOLD])
    columns = np.array([0, 2, 3, 11])
    found = dataset.fold_moments(columns)
    weights = weight / weight.sum()
    Z, outputs = reference.standardise(X, weights, preprocess)[:, columns], standard(Y, weights)
    for fold, moments in enumerate(found.folds):
        own = folds_of_rows(weight) == fold
        weighted = weights[own, None] * Z[own]
        assert moments.squared_weights == pytest.approx(np.sum(weights[own] ** 2))
        assert moments.weight == pytest.approx(weights[own].sum())
        np.testing.assert_allclose(moments.squares, weights[own] @ outputs[own] ** 2)
        np.testing.assert_allclose(moments.cross, weighted.T @ outputs[own], atol=1e-6)
        gram = moments.weight * found.only([fold]).covariance()
        np.testing.assert_allclose(gram, weighted.T @ Z[own], atol=1e-6)


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("home", HOMES)
def test_cross_is_that_of_standardised_rows(home, preprocess):
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, 2)
    found = HOMES[home](X, Y, weight, preprocess=preprocess).cross()
    weights = weight / weight.sum()
    Z = reference.standardise(X, weights, preprocess)
    Z[:, 6] = 0
    np.testing.assert_allclose(found, Z.T @ (weights[:, None] * standard(Y, weights)), atol=1e-6)
    assert not found[6].any()


@pytest.mark.parametrize("preprocess", ["zscore", "center"])
@pytest.mark.parametrize("home", ON_HOST)
def test_moments_of_all_columns_give_the_same_folds(home, preprocess, monkeypatch):
    monkeypatch.setattr(all_moments, "_BLOCK_ENTRIES", 30 * N_COLUMNS)
    X, Y, weight = mixed_columns(N_ROWS, N_COLUMNS, 2)
    rows = HOMES[home](X, Y, weight, preprocess=preprocess)
    columns = np.array([1, 2, 3, 11])
    found = with_all_moments(rows, preprocess).fold_moments(columns)
    rows.marginals([EVERY_FOLD])
    for one, other in zip(found.folds, rows.fold_moments(columns).folds, strict=True):
        assert one.squared_weights == pytest.approx(other.squared_weights)
        assert one.weight == pytest.approx(other.weight)
        np.testing.assert_allclose(one.squares, other.squares, rtol=1e-5)
        np.testing.assert_allclose(one.cross, other.cross, atol=1e-5)
        np.testing.assert_allclose(one.covariance(), other.covariance(), atol=1e-5)


@pytest.mark.parametrize("shares", [EVERY_FOLD, WITHOUT_TWO], ids=["all folds", "some folds"])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_moments_of_all_columns_give_nearly_the_same_prices(n_outputs, shares):
    """They take the mean of squares over rows where rows take each its own: 1/n_rows apart."""
    X, Y, weight = mixed_columns(1000, N_COLUMNS, n_outputs)
    rows = in_memory(X, Y, weight)
    moments = with_all_moments(rows, "zscore")
    model = model_of([0, 2, 4, 9], n_outputs, shares)
    # Residuals about as large as the outputs: squares count by themselves here.
    model = model._replace(coefficients=model.coefficients / 5)
    pairs = [(priced(rows, [model])[0], moments.price([model])[0])]
    pairs.append((rows.marginals([shares])[0], moments.marginals([shares])[0]))
    for of_rows, of_moments in pairs:
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
    return in_memory(X, Y).marginals([EVERY_FOLD])[0]


@pytest.mark.parametrize("rank", [1, 20])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_chance_is_what_the_best_columns_of_noise_reach(n_outputs, rank):
    found = [noise_prices(seed, n_outputs) for seed in range(6)]
    reached = np.mean([np.sort(prices.values)[-rank] for prices in found])
    assert np.mean([prices.chance(rank) for prices in found]) == pytest.approx(reached, rel=0.15)


def test_chance_is_nothing_where_nothing_is_left_to_explain():
    assert Prices(np.zeros(5), np.zeros(2)).chance() == 0


@pytest.mark.parametrize("home", ["dense", "streamed CSR", "moments"])
def test_copies_of_a_column_in_the_model_are_worth_nothing(home):
    X, Y, weight = mixed_columns(600, N_COLUMNS)
    X[:, 10], X[:, 11] = X[:, 3], -2 * X[:, 3]
    dataset: Dataset = HOMES.get(home, in_memory)(X, Y, weight)
    [marginals] = dataset.marginals([EVERY_FOLD])
    if home == "moments":
        dataset = with_all_moments(dataset, "zscore")
    columns = np.array([3])
    folds, ridge = dataset.fold_moments(columns), 1e-3
    inverse = np.linalg.inv(folds.covariance() + ridge * np.eye(1))
    coefficients = folds.without_each(inverse.astype(np.float32), ridge)
    [found] = dataset.price([Model(columns, coefficients, EVERY_FOLD)])
    assert marginals.values[10] > 0.1
    np.testing.assert_allclose(found.values[[3, 10, 11]], 0, atol=5 / 600)
    assert found.values[0] > 0.1
