"""Features that are constructed and chosen, and what is said of them."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import TimeSeriesSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

from featgrad import FeatureGradientConstructor, FeatureGradientSelector, open_source

# Targets without noise look like leaks, and excluded columns leave something.
pytestmark = pytest.mark.filterwarnings("ignore::featgrad.DataWarning")


@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [FeatureGradientConstructor(), FeatureGradientConstructor(2, missing="error", estimate=False)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def normal(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n_rows, n_columns))


@pytest.fixture(scope="module")
def products() -> tuple[np.ndarray, np.ndarray]:
    """A target of two products and a column, as large as the noise."""
    X = normal(800, 30)
    return X, X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4] + normal(800, 1, seed=1)[:, 0]


@pytest.fixture(scope="module")
def fitted(products) -> FeatureGradientConstructor:
    return FeatureGradientConstructor(random_state=0).fit(*products)


TRUTH = ["x4", "x0 * x1", "x2 * x3"]


def test_the_products_of_a_target_and_its_column_are_found(fitted):
    assert sorted(fitted.get_feature_names_out()) == sorted(TRUTH)
    assert fitted.n_features_ == 3


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_products_are_found_for_classes(task: str, products):
    X, y = products
    classes = np.digitize(y, [0] if task == "binary" else [-1, 1])
    constructor = FeatureGradientConstructor(3, operations=("products",), random_state=0)
    assert sorted(constructor.fit(X, classes).get_feature_names_out()) == sorted(TRUTH)
    assert constructor.task_ == task


def test_classes_that_are_certain_give_no_warning():
    X = normal(1000, 20)
    fitted = FeatureGradientConstructor(2, operations="products", random_state=0)
    assert np.isfinite(fitted.fit(X, X[:, 0] * X[:, 1] > 0).verdict_.constructed)


def test_what_is_explained_is_that_of_new_rows(fitted):
    low, high = fitted.learnability_.interval
    assert low < 3 / 4 < high
    assert fitted.score_.value == pytest.approx(0.75, abs=0.05)


def test_constructed_features_are_a_table(fitted):
    assert {record.name for record in fitted.constructed_} == {"x0 * x1", "x2 * x3"}
    first = fitted.constructed_[0]
    assert first.parts == ["x0", "x1"]
    assert first.price == pytest.approx(0.25, abs=0.1)
    assert abs(first.gain - 0.25) < 4 * first.error
    assert "x0 * x1  product" in repr(fitted.constructed_)


def test_the_formula_has_all_features(fitted):
    assert fitted.formula_ == "y ~ x4 + x0 * x1 + x2 * x3"


def test_held_out_rows_say_that_construction_pays(fitted):
    assert fitted.verdict_.is_kept
    assert fitted.verdict_.constructed > fitted.verdict_.without + 0.2


def test_features_are_built_on_new_rows(fitted):
    X = normal(50, 30, seed=3) / 2
    expected = np.column_stack([X[:, 4], X[:, 0] * X[:, 1], X[:, 2] * X[:, 3]])
    np.testing.assert_allclose(fitted.transform(X), expected)


def test_products_stay_between_those_of_the_rows_that_were_seen(fitted, products):
    seen = products[0][:, 0] * products[0][:, 1]
    built = fitted.transform(np.full((1, 30), 1e3) * [[1, -1, *[1] * 28], [1] * 30])
    np.testing.assert_allclose(built[:, 1], [seen.min(), seen.max()])


def test_pickles_and_clones(fitted, products):
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.transform(products[0]), fitted.transform(products[0]))
    again = clone(fitted).fit(*products)
    assert again.features_ == fitted.features_


@pytest.mark.parametrize("kind", ["noise", "linear"])
def test_nothing_is_constructed_where_nothing_is_to_be_found(kind: str):
    for seed in range(3):
        X = normal(300, 20, seed)
        y = normal(300, 1, seed + 50)[:, 0] + (X[:, :3].sum(axis=1) if kind == "linear" else 0)
        constructor = FeatureGradientConstructor(3, random_state=0).fit(X, y)
        assert constructor.constructed_ == []
        assert repr(constructor.constructed_) == "nothing is constructed"
        plain = FeatureGradientSelector(3, random_state=0).fit(X, y)
        np.testing.assert_array_equal(constructor.transform(X), plain.transform(X))


def test_numbers_in_names_are_in_the_units_of_columns_and_exact():
    X = pd.DataFrame(
        {"age": 40 + 10 * normal(600, 1)[:, 0], "bmi": 25 + 3 * normal(600, 1, 1)[:, 0]}
    )
    y = np.maximum(X["age"] - 45, 0) * (X["bmi"] - 25)
    constructor = FeatureGradientConstructor(3, random_state=0).set_output(transform="pandas")
    built = constructor.fit_transform(X, y)
    assert any("max(age - " in name for name in built)
    for name in built:
        own = eval(name.replace("^", "**"), {"max": np.maximum, **X})
        np.testing.assert_allclose(built[name], own, rtol=1e-9)


def test_columns_constructed_before_are_parts_of_others():
    X = normal(1500, 10)
    product = X[:, 0] * X[:, 1]
    y = product + product * X[:, 2] + 0.5 * normal(1500, 1, seed=1)[:, 0]
    constructor = FeatureGradientConstructor(2, operations="products", random_state=0).fit(X, y)
    assert constructor.get_feature_names_out().tolist() == ["x0 * x1", "x2 * (x0 * x1)"]
    constructor.set_params(rounds=1).fit(X, y)
    assert "x2 * (x0 * x1)" not in constructor.get_feature_names_out()


def test_more_features_than_columns_can_be_asked_for():
    X = normal(500, 2)
    y = np.abs(X).sum(axis=1)
    constructor = FeatureGradientConstructor(6, random_state=0).fit(X, y)
    assert 2 < constructor.n_features_ <= 6  # as far as columns are worth more than chance
    assert FeatureGradientConstructor(6, random_state=0).fit(X, X[:, 0]).n_features_ == 2


def test_excluded_columns_are_part_of_nothing_and_kept_ones_stay(products):
    constructor = FeatureGradientConstructor(3, exclude=[0], keep=[7], random_state=0)
    names = constructor.fit(*products).get_feature_names_out()
    assert "x7" in names
    assert "x2 * x3" in names
    assert not any("x0" in name for name in names)


def test_rows_without_weight_are_absent(products):
    X, y = products
    weights = np.repeat([1.0, 0.0], 400)
    y = np.where(weights > 0, y, 100 * X[:, 5] * X[:, 6])
    constructor = FeatureGradientConstructor(3, random_state=0).fit(X, y, sample_weight=weights)
    assert sorted(constructor.get_feature_names_out()) == sorted(TRUTH)


def test_without_estimates_the_same_is_found(products, fitted):
    quick = FeatureGradientConstructor(3, estimate=False, random_state=0).fit(*products)
    assert set(quick.features_) == set(fitted.features_)
    assert quick.learnability_ is None
    assert quick.verdict_ is None


def test_rows_are_held_out_as_asked_for(products):
    constructor = FeatureGradientConstructor(3, cv=TimeSeriesSplit(3), random_state=0)
    assert constructor.fit(*products).plan_.held_out_by == "cv"
    groups = np.arange(800) // 4
    constructor = FeatureGradientConstructor(3, random_state=0).fit(*products, groups=groups)
    assert constructor.plan_.held_out_by == "groups"


def test_missing_values_count_as_means(products):
    X, y = products
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.02, np.nan, X)
    constructor = FeatureGradientConstructor(3, missing="mean", random_state=0).fit(X, y)
    assert sorted(constructor.get_feature_names_out()) == sorted(TRUTH)
    missing = np.isnan(X[:, :2]).any(axis=1)
    built = constructor.transform(X)[:, constructor.get_feature_names_out() == "x0 * x1"]
    np.testing.assert_array_equal(np.isnan(built[:, 0]), missing)


def test_sparse_columns_that_occur_together():
    rng = np.random.default_rng(0)
    X = sparse.random_array((1500, 60), density=0.2, format="csr", rng=rng)
    y = 5 * (X[:, [0]] * X[:, [1]]).toarray()[:, 0] + 0.1 * rng.standard_normal(1500)
    constructor = FeatureGradientConstructor(1, random_state=0).fit(X, y)
    assert constructor.get_feature_names_out().tolist() == ["x0 * x1"]
    built = constructor.transform(X)
    assert sparse.issparse(built)
    np.testing.assert_allclose(built.toarray(), (X[:, [0]] * X[:, [1]]).toarray())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"operations": ("powers",)}, "operations contains 'powers', which is unknown"),
        ({"rounds": -1}, "rounds=-1 cannot be used"),
        ({"parents": "both"}, "parents='both' is unknown"),
        ({"n_features_to_select": 0.5}, "n_features_to_select=0.5 cannot be used"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message: str, products):
    with pytest.raises(ValueError, match=message):
        FeatureGradientConstructor(**parameters).fit(*products)


def test_texts_and_dates_of_frames_are_parts():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "city": rng.choice(["Rome", "Oslo", "Bonn"], 1500), "size": rng.standard_normal(1500),
        "day": pd.date_range("2024-01-01", periods=1500), "other": rng.standard_normal(1500),
    })  # fmt: skip
    y = (frame["city"] == "Rome") * np.maximum(frame["size"], 0) + 0.3 * rng.standard_normal(1500)
    constructor = FeatureGradientConstructor(1, exclude=["other"], random_state=0).fit(frame, y)
    assert set(constructor.constructed_[0].parts) == {"city=Rome", "size"}
    built = constructor.transform(frame.iloc[:5])
    assert constructor.get_feature_names_out()[0].endswith(" * city=Rome")
    assert np.all((built[:, 0] > 0) <= (frame["city"] == "Rome")[:5])


def test_columns_of_extreme_size_are_parts():
    X = normal(600, 5) * [1e20, 1, 1e-20, 1, 1]
    y = X[:, 0] * X[:, 1] / 1e20 + 0.1 * normal(600, 1, seed=1)[:, 0]
    constructor = FeatureGradientConstructor(1, random_state=0).fit(X, y)
    assert constructor.get_feature_names_out().tolist() == ["x0 * x1"]


@pytest.mark.parametrize("has_missing", [False, True])
def test_rows_on_a_device_give_what_those_of_the_host_do(has_missing: bool, products):
    pytest.importorskip("torch")
    X, y = products[0].copy(), products[1]
    X[:: 50 if has_missing else len(X), 0] = np.nan if has_missing else 0
    host, there = (
        FeatureGradientConstructor(3, device=device, random_state=0).fit(X, y)
        for device in (None, "cpu")
    )
    assert "on an accelerator" in str(there.plan_)
    assert set(there.features_) == set(host.features_)
    np.testing.assert_allclose(there.transform(X), host.transform(X))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_booleans_are_numbers(container):
    X = normal(400, 5) > 0
    y = 2.0 * (X[:, 0] & X[:, 1]) + 0.2 * normal(400, 1, seed=1)[:, 0]
    constructor = FeatureGradientConstructor(1, random_state=0, estimate=False)
    assert constructor.fit(container(X), y).get_feature_names_out().tolist() == ["x0 * x1"]
    assert constructor.transform(container(X)).dtype == np.float64


def test_relatives_of_what_is_found_do_not_fill_a_set():
    X = normal(600, 30, seed=1)
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 1.4 * normal(600, 1, seed=9)[:, 0]
    constructor = FeatureGradientConstructor(8, random_state=0).fit(X, y)
    assert constructor.n_features_ == 8
    assert {one.name for one in constructor.constructed_} == {"x0 * x1", "x2 * x3"}


@pytest.mark.parametrize("parents", ["all", "any"])
def test_crosses_of_categories_are_found(parents: str):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "city": rng.choice(["Rome", "Oslo", "Bonn", "Riga", "Bern"], 1500),
        "weekday": rng.choice(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], 1500),
    })  # fmt: skip
    cross = (frame["city"] == "Rome") & (frame["weekday"] == "Sun")
    y = 2.0 * cross + 0.5 * rng.standard_normal(1500)
    constructor = FeatureGradientConstructor(1, parents=parents, random_state=0).fit(frame, y)
    (name,) = constructor.get_feature_names_out()
    assert set(name.split(" * ")) == {"city=Rome", "weekday=Sun"}
    np.testing.assert_array_equal(constructor.transform(frame)[:, 0], cross)


def crossed(n_levels: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Two texts of which some levels are frequent, and a target of a pair of these."""
    rng = np.random.default_rng(0)
    few, many = ((rng.random(3000) ** 4 * n).astype(int) for n in (n_levels // 4, n_levels))
    frame = "no. " + pd.DataFrame({"city": few, "item": many}).astype(str)
    cross = (few == 0) & (many == 0)
    return frame, 4.0 * cross + rng.standard_normal(3000)


def test_crosses_of_many_levels_are_found():
    frame, y = crossed(200)
    constructor = FeatureGradientConstructor(random_state=0, estimate=False).fit(frame, y)
    assert constructor.formula_ == "y ~ city=no. 0 * item=no. 0"


def test_crosses_of_hashed_levels_are_found():
    frame, y = crossed(4000)
    source = open_source(frame.assign(y=y), target="y", hash_dim=4000)
    constructor = FeatureGradientConstructor(1, random_state=0).fit_source(source)
    (name,) = constructor.get_feature_names_out()
    assert re.fullmatch(r"city#\d+ \* item#\d+", name)
