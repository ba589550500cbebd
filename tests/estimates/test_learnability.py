import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import sem
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from featgrad import Learnability, learnability
from featgrad.plan import HELD_OUT_RIDGE
from matrix_kinds import KINDS

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    X[:, 1] *= rng.random(400) < 0.5
    return X, X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(400)


@pytest.mark.parametrize(
    "features",
    [
        ["a", "b"],
        ["b", "a"],
        np.array(["a", "b"], dtype=object),
        [0, 1],
        np.array([1, 0], dtype=np.uint8),
        [True, True, False, False, False],
        [1.0, 1.0, 0.0, 0.0, 0.0],
    ],
)
def test_features_by_name_index_or_mask(table, features):
    data = Learnability(pd.DataFrame(table[0], columns=NAMES), table[1])
    assert data.estimate(features) == data.estimate([0, 1])


def test_none_stands_for_all_features(table):
    data = Learnability(*table)
    assert data.estimate() == data.estimate(range(5))
    assert data.estimate().n_features == 5


def test_mask_of_numbers_lies_between(table):
    data = Learnability(*table, preprocess="center", filter="monotone")
    half = data.estimate([1.0, 0.2, 0.0, 0.0, 0.0])
    assert data.estimate([0]).value < half.value < data.estimate([0, 1]).value
    assert half.n_features == 2


@pytest.mark.parametrize("features", [[], np.zeros(5), np.zeros(5, dtype=bool)])
def test_no_features_explain_nothing(table, features):
    estimate = Learnability(*table).estimate(features)
    assert (estimate.value, estimate.standard_error, estimate.n_features) == (0, 0, 0)


def test_estimate_is_near_the_truth(table):
    estimate = Learnability(*table).estimate([0, 1])
    low, high = estimate.interval
    assert low < 1 - 0.25 / np.var(table[1]) < high
    assert str(estimate) == f"{estimate.value:.1%} ({100 * low:.1f} to {high:.1%})"


@pytest.mark.parametrize("container", ["csr", "csc", "coo"])
def test_sparse_matrix_gives_what_the_array_gives(table, container: str):
    dense = Learnability(*table, random_state=0)
    compressed = Learnability(sparse.coo_array(table[0]).asformat(container), table[1])
    assert compressed.estimate().value == pytest.approx(dense.estimate().value, rel=1e-9)
    assert compressed.estimate([1]).value == pytest.approx(dense.estimate([1]).value, rel=1e-9)


@pytest.mark.parametrize("build", [pd.DataFrame, pl.DataFrame])
def test_dataframe_gives_what_the_array_gives(table, build):
    frame = build(dict(zip(NAMES, table[0].T, strict=True)))
    data = Learnability(frame, table[1])
    assert data.feature_names_in_.tolist() == NAMES
    expected = Learnability(*table).estimate([1, 3]).value
    assert data.estimate(["b", "d"]).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("library", ["array-api-strict", "torch-float64"])
def test_other_array_libraries(table, library: str):
    kind = KINDS[library]
    pytest.importorskip(kind.library)
    X, y = table
    value, gradient = Learnability(kind.make(X), y, random_state=0).value_and_gradient(np.ones(5))
    expected = Learnability(X, y, random_state=0).value_and_gradient(np.ones(5))
    assert value == pytest.approx(expected[0], rel=0.1)
    assert gradient.shape == (5,)


def gains_by_models(X, y, rows, groups: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """What each tenth of the rows, in their order, loses without each group."""
    X, y = X[rows], y[rows]
    labels = np.array(groups)
    losses = np.zeros((len(y), labels.max() + 1))
    tenths = np.array_split(np.arange(len(y)), 10)
    for test in tenths:
        training = np.setdiff1d(np.arange(len(y)), test)
        errors = []
        for left in [labels >= 0, *(labels != group for group in range(labels.max() + 1))]:
            model = make_pipeline(StandardScaler(), Ridge(alpha=HELD_OUT_RIDGE))
            model.fit(X[training][:, left], y[training])
            errors.append((y[test] - model.predict(X[test][:, left])) ** 2)
        losses[test] = np.array(errors[1:]).T - errors[0][:, None]
    of_rows = losses.std(axis=0) / np.sqrt(len(y))
    of_tenths = sem([losses[tenth].mean(axis=0) for tenth in tenths])
    errors = np.hypot(of_rows, np.maximum(of_rows, of_tenths))
    return losses.mean(axis=0) / np.var(y), errors / np.var(y)


@pytest.mark.parametrize("groups", [[0, 1, 2], [0, 1, 0]])
def test_gains_are_what_held_out_rows_lose(table, groups: list[int]):
    X, y = table
    data = Learnability(X, y)
    found = data.gains([0, 1, 2], groups=groups)
    values, errors = gains_by_models(X[:, :3], y, data._moments.rows.rows, groups)
    np.testing.assert_allclose(found.values, values[groups], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.standard_errors, errors[groups], rtol=1e-6)


def test_gains_need_a_label_for_each_feature(table):
    with pytest.raises(ValueError, match=r"groups has shape \(2,\) but there are 3 features"):
        Learnability(*table).gains([0, 1, 2], groups=["a", "b"])


def test_gains_of_no_features(table):
    assert Learnability(*table).gains([]).values.shape == (0,)


def test_value_and_gradient_equal_the_reference(table):
    X, y = table
    data = Learnability(X, y, order=3, filter="kong-valiant", random_state=0)
    mask = np.linspace(0.1, 1, 5)
    value, gradient = data.value_and_gradient(mask)
    problem, rows = data._moments, data._moments.rows.rows
    weights = np.full(400, 1 / 400)
    Z = reference.standardise(X[rows], weights, "zscore")
    expected = reference.value_and_gradient(
        Z, (y - y.mean())[rows, None], mask, weights, problem.coefficients, problem.scale
    )
    assert value == pytest.approx(expected[0] / np.var(y), rel=1e-9)
    np.testing.assert_allclose(gradient, expected[1] / np.var(y), rtol=1e-9, atol=1e-12)


def test_gradient_is_that_of_the_value(table):
    data = Learnability(*table)
    mask, step = np.full(5, 0.5), 1e-6
    _, gradient = data.value_and_gradient(mask)
    differences = [
        data.value_and_gradient(mask + step * row)[0]
        - data.value_and_gradient(mask - step * row)[0]
        for row in np.eye(5)
    ]
    np.testing.assert_allclose(gradient, np.array(differences) / (2 * step), rtol=1e-6, atol=1e-8)


def test_one_line_form(table):
    options = {"order": 2, "filter": "monotone", "random_state": 3}
    assert learnability(*table, features=[0], **options) == Learnability(
        *table, **options
    ).estimate([0])


def test_many_rows_need_no_filter(table):
    X, y = table
    fitted = LinearRegression().fit(X, y).score(X, y)
    expected = 1 - (1 - fitted) * (len(y) - 1) / (len(y) - 1 - X.shape[1])
    found = Learnability(X, y).estimate()
    assert found.value == pytest.approx(expected)
    assert found.order is None


def test_few_rows_need_a_filter(table):
    X, y = table
    assert Learnability(X[:10], y[:10]).estimate().order is not None


@pytest.mark.parametrize("r", [0.8, 0.95, 0.99])
def test_collinear_features_hide_nothing(r: float):
    rng = np.random.default_rng(0)
    common, own = rng.standard_normal((2, 5000))
    X = np.stack([common, r * common + np.sqrt(1 - r**2) * own], axis=1)
    signal = X[:, 0] - X[:, 1]
    y = signal + signal.std() * rng.standard_normal(5000)
    low, high = Learnability(X, y).estimate().interval
    assert low < 0.5 < high


def test_collinear_features_of_few_rows_give_a_lower_bound():
    rng = np.random.default_rng(0)
    common = rng.standard_normal((100, 10))
    X = np.repeat(common, 10, axis=1) + 0.05 * rng.standard_normal((100, 100))
    found = Learnability(X, X[:, 0] - X[:, 1] + 0.05 * rng.standard_normal(100)).estimate()
    assert found.is_lower_bound
    assert found.interval[1] == 1
    assert str(found).startswith("at least")


@pytest.mark.parametrize("n_rows", [2, 3])
def test_hardly_any_rows_tell_nothing(table, n_rows: int):
    X, y = table
    found = Learnability(X[:n_rows], y[:n_rows]).estimate()
    assert np.isnan(found.value)
    assert found.interval == (0, 1)
    assert str(found) == "unknown (too few independent rows)"


@pytest.mark.parametrize("task", ["regression", "multiclass", "ordinal"])
def test_task_can_be_chosen(table, task: str):
    y = np.digitize(table[1], [-1, 0, 1])
    data = Learnability(table[0], y, task=task)
    assert data.task_ == task
    assert 0.2 < data.estimate().value < 1


def test_higher_order_is_lowered_where_noise_would_drown_it():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 60)), rng.standard_normal(60)
    assert Learnability(X, y, order=8).estimate().order < 8


def test_filter_given_as_an_array_keeps_its_order(table):
    estimate = Learnability(*table, order=2, filter=[2.0, -1.0]).estimate()
    assert estimate.order == 2
    assert estimate.value == pytest.approx(
        Learnability(*table, order=2, filter="monotone").estimate().value
    )


def test_weights_of_zero_are_absent_rows(table):
    X, y = table
    kept = np.arange(400) < 300
    weighted = Learnability(X, y, sample_weight=kept.astype(float)).estimate()
    removed = Learnability(X[kept], y[kept]).estimate()
    assert weighted.value == pytest.approx(removed.value, rel=1e-9)
    assert weighted.standard_error == pytest.approx(removed.standard_error, rel=1e-6)


def test_constant_features_add_nothing(table):
    X, y = table
    with_constant = Learnability(np.column_stack([X, np.ones(400)]), y)
    assert with_constant.estimate([5]).value == 0
    assert with_constant.estimate().value == pytest.approx(
        Learnability(X, y).estimate().value, abs=0.05
    )


def test_missing_values_as_the_mean(table):
    X, y = table
    gaps = X.copy()
    gaps[::10, 0] = np.nan
    assert (
        0.4
        < Learnability(gaps, y, missing="mean").estimate().value
        < Learnability(X, y).estimate().value
    )


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([0, 5], "features contains 5 but X has 5 features"),
        ([-1], "features contains -1"),
        (["a"], "features contains 'a', which is not a feature of X: X has no feature names"),
        ([[0, 1]], r"features has shape \(1, 2\)"),
        ([0.5, 0.5], "features is a mask of length 2 but X has 5 columns"),
        ([0, 0, 0, 0, 1.5], "features as a mask must lie between 0 and 1"),
        ([np.nan, 0, 0, 0, 0], "features as a mask must lie between 0 and 1"),
    ],
)
def test_wrong_features_are_refused(table, features, message: str):
    with pytest.raises(ValueError, match=message):
        Learnability(*table).estimate(features)


def test_unknown_name_is_refused(table):
    data = Learnability(pd.DataFrame(table[0], columns=NAMES), table[1])
    with pytest.raises(
        ValueError, match=r"features contains 'z', which is not a feature of X.*'a', 'b'"
    ):
        data.estimate(["a", "z"])


def test_alone_is_the_estimate_of_each_feature(table):
    data = Learnability(*table, order=1, filter="chebyshev")
    expected = [data.estimate([i]).value for i in range(5)]
    np.testing.assert_allclose(data.alone(), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(data.alone([2, 4]), data.alone()[[2, 4]])
