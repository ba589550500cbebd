"""Bad input gets a ValueError that names the argument and the way out, and nothing half-done."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from featgrad import (
    FeatureGradientSelector,
    Learnability,
    MiniBatch,
    OnlineFeatureSelector,
    WorkingSet,
    open_source,
)
from searches import with_search

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 4))
y = X[:, 0] + rng.standard_normal(30)


def with_value(value, column: int = 1) -> np.ndarray:
    changed = X.copy()
    changed[3, column] = value
    return changed


DATA = {
    "NaN": (with_value(np.nan), y, {}, "Input X contains NaN: pass missing='mean'"),
    "NaN in sparse": (sparse.csr_array(with_value(np.nan)), y, {}, "Input X contains NaN"),
    "infinity": (with_value(np.inf), y, {}, "Input X contains infinity"),
    "infinity in sparse": (sparse.csr_array(with_value(-np.inf)), y, {}, "X contains infinity"),
    "no rows": (X[:0], y[:0], {}, r"0 sample\(s\)"),
    "one row": (X[:1], y[:1], {}, r"1 sample.* while a minimum of 2 is required"),
    "no columns": (X[:, :0], y, {}, r"0 feature\(s\).* while a minimum of 1 is required"),
    "one dimension": (X[:, 0], y, {}, "Expected 2D array, got 1D array instead"),
    "complex X": (X + 1j, y, {}, "Complex data not supported"),
    "words in X": (np.full((30, 4), "a"), y, {}, "could not convert string to float|numeric"),
    "y too short": (X, y[:20], {}, "inconsistent numbers of samples: .*30, 20"),
    "one class": (X, np.ones(30), {}, "y has only one value .* or one class only"),
    "one label": (X, ["a"] * 30, {}, "y has only one value .* or one class only"),
    "only NaN in y": (X, np.full(len(y), np.nan), {}, "y contains NaN"),
    "infinity in y": (X, np.where(y > 1, np.inf, y), {}, "y contains infinity"),
    "all weights zero": (X, y, {"sample_weight": np.zeros(30)}, "sample_weight is zero for every"),
    "negative weight": (X, y, {"sample_weight": -np.ones(30)}, r"sample_weight contains -1\.0"),
    "NaN weight": (X, y, {"sample_weight": np.full(30, np.nan)}, "sample_weight contains NaN"),
    "too few weights": (X, y, {"sample_weight": np.ones(29)}, r"sample_weight has shape \(29,\)"),
    "weights overflow": (X, y, {"sample_weight": np.full(30, 1e307)}, r"contains 1e\+307, of whi"),
    "one weight is all": (
        X,
        y,
        {"sample_weight": np.append(1e12, np.ones(29))},
        "sample_weight gives one of 30 rows 100% of the weight",
    ),
    "one weight left": (
        X,
        y,
        {"sample_weight": np.arange(30) == 4},
        "y has only one value|minimum of 2 is required",
    ),
}

OPTIONS = {
    "unknown filter": ({"filter": "wavelet"}, "filter='wavelet' is unknown: use one of"),
    "unknown task": ({"task": "ranking"}, "task='ranking' is unknown: use one of"),
    "unknown preprocess": ({"preprocess": "scale"}, "preprocess='scale' is unknown: use one of"),
    "unknown missing": ({"missing": "drop"}, "missing='drop' is unknown: use one of"),
    "missing of another type": ({"missing": 3}, "missing=3 is unknown: use one of"),
    "order zero": ({"order": 0}, "order=0 is out of range: use 1 to 12"),
    "order too large": ({"order": 13}, "order=13 is out of range"),
    "order broken": ({"order": 2.5}, r"order=2\.5 is not a whole number"),
    "too few coefficients": ({"filter": [1.0]}, "filter has 1 coefficients but order=4"),
}

SELECTOR_OPTIONS = {
    "k zero": ({"n_features_to_select": 0}, "n_features_to_select=0 .* from 1 to 4"),
    "k negative": ({"n_features_to_select": -1}, "n_features_to_select=-1"),
    "k larger than D": ({"n_features_to_select": 5}, "n_features_to_select=5 .* from 1 to 4"),
    "fraction zero": ({"n_features_to_select": 0.0}, r"n_features_to_select=0\.0"),
    "fraction too large": ({"n_features_to_select": 1.5}, r"n_features_to_select=1\.5"),
    "k a truth value": ({"n_features_to_select": True}, "n_features_to_select=True"),
    "k a word": ({"n_features_to_select": "all"}, "n_features_to_select='all'"),
    "verbose negative": ({"verbose": -1}, "verbose=-1 cannot be used"),
}


SEARCH_OPTIONS = {
    "unknown link": ({"link": "logit"}, "link='logit' is unknown: use one of"),
    "penalty negative": ({"penalty": -1.0}, r"penalty=-1\.0 cannot be used: give a number of at"),
    "penalty NaN": ({"penalty": np.nan}, "penalty=nan cannot be used"),
    "tol negative": ({"tol": -1e-3}, r"tol=-0\.001 cannot be used"),
    "learning rate zero": ({"learning_rate": 0}, "learning_rate=0 cannot be used: give a number a"),
    "no steps": ({"max_iter": 0}, "max_iter=0 cannot be used: give a whole number of at least 1"),
    "no epochs": ({"n_epochs": 0}, "n_epochs=0 cannot be used"),
    "no accumulation": ({"accumulate": 1.5}, r"accumulate=1\.5 cannot be used"),
    "batch of one": ({"batch_size": 1}, "batch_size=1 cannot be used: give a whole number"),
}


def assert_nothing_fitted(selector: FeatureGradientSelector) -> None:
    outcome = {"scores_", "ranking_", "learnability_", "n_features_", "n_iter_", "history_"}
    assert not outcome & set(vars(selector))


@pytest.mark.parametrize("k", ["auto", 0.5])
@pytest.mark.parametrize("case", DATA)
def test_selector_refuses_bad_data(case: str, k: float | str):
    bad_X, bad_y, options, message = DATA[case]
    selector = FeatureGradientSelector(k, missing="error")
    with pytest.raises(ValueError, match=message):
        selector.fit(bad_X, bad_y, **options)
    assert_nothing_fitted(selector)


def in_memory(X, y, weight) -> None:
    FeatureGradientSelector(2).fit(X, y, weight)


def in_chunks(X, y, weight) -> None:
    FeatureGradientSelector(2).partial_fit(X, y, weight).finalize()


def from_source(X, y, weight) -> None:
    FeatureGradientSelector(2).fit_source(open_source(X, target=y, weight=weight))


def on_device(X, y, weight) -> None:
    pytest.importorskip("torch")
    FeatureGradientSelector(2, device="cpu").fit(X, y, weight)


def in_partitions(X, y, weight) -> None:
    da = pytest.importorskip("dask.array")
    half = len(y) // 2
    FeatureGradientSelector(2).fit(
        da.from_array(X, chunks=(half, 4)), da.from_array(y, half), da.from_array(weight, half)
    )


def on_a_stream(X, y, weight) -> None:
    OnlineFeatureSelector(2).partial_fit(X, y)


STORAGES = [in_chunks, from_source, on_device, in_partitions]


@pytest.mark.parametrize("case", ["weights overflow", "one weight is all"])
@pytest.mark.parametrize("fit", STORAGES)
def test_wild_weights_are_refused_wherever_rows_are(fit, case: str):
    _, _, options, message = DATA[case]
    with pytest.raises(ValueError, match=message):
        fit(X, y, options["sample_weight"])


@pytest.mark.parametrize("fit", [in_memory, *STORAGES, on_a_stream])
def test_many_classes_are_a_warning_and_too_many_an_error(fit, monkeypatch):
    monkeypatch.setattr("featgrad.math.targets._MANY_CLASSES", 6)
    rows, labels = np.tile(X, (4, 1)), np.array([f"c{i % 8}" for i in range(120)])
    with pytest.warns(UserWarning, match="y has 8 classes, and time and memory grow"):
        fit(rows, labels, np.ones(120))
    monkeypatch.setattr("featgrad.math.targets.MAX_CLASSES", 7)
    with pytest.raises(ValueError, match="y has more than 7 classes, too many"):
        fit(rows, labels, np.ones(120))


@pytest.mark.filterwarnings("ignore:y has 301 classes")
def test_outputs_that_do_not_fit_into_memory_are_refused():
    many = np.zeros((300_000, 1))
    with pytest.raises(ValueError, match="y has 301 classes in 300000 rows, too many to be kept"):
        FeatureGradientSelector(1, task="multiclass").fit(many, np.arange(300_000) % 301)


@pytest.mark.parametrize("value", [1e16, -1e25, 1e40, 1e200, np.inf])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_device_refuses_huge_values(value: float, convert):
    pytest.importorskip("torch")
    selector = FeatureGradientSelector(2, device="cpu")
    with pytest.raises(ValueError, match=r"X contains infinity or values above 1e\+15 in size"):
        selector.fit(convert(with_value(value)), y)
    assert_nothing_fitted(selector)


@pytest.mark.parametrize("n_rows", [20, 60])
@pytest.mark.parametrize("value", [0.1, 7.7, 0.0])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_constant_columns_have_scores(convert, n_classes: int, value: float, n_rows: int, capfd):
    constant, classes = convert(np.full((n_rows, 50), value)), np.arange(n_rows) % n_classes
    selector = FeatureGradientSelector(2, random_state=0).fit(constant, classes)
    assert np.isfinite(selector.scores_).all()
    assert selector.n_features_ == 2
    # LAPACK prints what it does not accept.
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("case", DATA)
def test_learnability_refuses_bad_data(case: str):
    bad_X, bad_y, options, message = DATA[case]
    with pytest.raises(ValueError, match=message):
        Learnability(bad_X, bad_y, **options)


@pytest.mark.parametrize("search", ["stream", WorkingSet, None])
def test_only_searches_are_searches(search):
    selector = FeatureGradientSelector(2, search=search)
    with pytest.raises(ValueError, match=r"search=.* is unknown: use 'auto' or an object"):
        selector.fit(X, y)


@pytest.mark.parametrize("case", [*OPTIONS, *SELECTOR_OPTIONS, *SEARCH_OPTIONS])
@pytest.mark.parametrize("search", [WorkingSet, MiniBatch])
def test_selector_refuses_bad_options(search: type, case: str):
    options, message = (OPTIONS | SELECTOR_OPTIONS | SEARCH_OPTIONS)[case]
    if case in SEARCH_OPTIONS and not set(options) <= set(search().get_params()):
        return
    selector = with_search(**{"search": search} | options)
    with pytest.raises(ValueError, match=message):
        selector.fit(X, y)
    assert_nothing_fitted(selector)


@pytest.mark.parametrize("case", OPTIONS)
def test_learnability_refuses_bad_options(case: str):
    options, message = OPTIONS[case]
    with pytest.raises(ValueError, match=message):
        Learnability(X, y, **options)


def test_coefficients_for_more_rows_than_there_are():
    with pytest.raises(ValueError, match="order=4 needs at least 5 rows of positive weight"):
        Learnability(X[:3], y[:3], filter=[1.0, 0.0, 0.0, 0.0])


def test_failed_fit_leaves_an_earlier_one_alone():
    selector = FeatureGradientSelector(2, random_state=0).fit(X, y)
    before = selector.scores_.copy()
    with pytest.raises(ValueError, match="y has only one value"):
        selector.fit(X, np.ones(30))
    np.testing.assert_array_equal(selector.scores_, before)


@pytest.mark.parametrize("method", ["transform", "get_support"])
def test_use_before_fit(method: str):
    arguments = [X] if method == "transform" else []
    with pytest.raises(ValueError, match="not fitted yet"):
        getattr(FeatureGradientSelector(), method)(*arguments)


def test_infinity_is_refused_where_missing_values_are_not():
    with pytest.raises(ValueError, match="X contains infinity"):
        FeatureGradientSelector(missing="mean").fit(with_value(np.inf), y)


@pytest.mark.filterwarnings("ignore::featgrad.DataWarning")
def test_a_class_of_one_row_among_many_columns_divides_nothing_by_zero():
    wide = np.random.default_rng(0).standard_normal((150, 1200))
    selector = FeatureGradientSelector(2, random_state=0).fit(wide, np.arange(150) == 3)
    assert np.isfinite(selector.scores_).all()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [1e-40, 1e-13])
def test_a_tiny_column_of_a_source_is_refused_by_name_however_it_is_stored(kind, value):
    names, columns = list("abcd"), X * [1, 1, value, 1]
    source = open_source(kind(columns), target=y)
    with pytest.raises(ValueError, match=r"Column 2 of X holds values of up to .*: rescale it"):
        FeatureGradientSelector(1, random_state=0).fit_source(source)
    source = open_source(pd.DataFrame(columns, columns=names).assign(y=y), target="y")
    with pytest.raises(ValueError, match=r"Column 'c' of X holds values of up to .*: rescale it"):
        FeatureGradientSelector(1, random_state=0).fit_source(source)


@pytest.mark.filterwarnings("ignore::featgrad.DataWarning")
def test_one_huge_sparse_entry_among_many_columns_overflows_nothing():
    wide = np.random.default_rng(0).standard_normal((150, 1200))
    wide[3, 0] = 1e160
    selector = FeatureGradientSelector(2, random_state=0).fit(sparse.csr_array(wide), wide[:, 1])
    assert selector.get_support()[1]
