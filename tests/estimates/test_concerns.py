"""Leaks, near-duplicates and drift are said by `fit`, the command and reports alike."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from featgrad import DataWarning, FeatureGradientSelector, open_source

N_ROWS = 300


def linear(seed: int = 0, n_rows: int = N_ROWS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 6))
    return X, X[:, 0] + X[:, 1] + rng.standard_normal(n_rows)


def concerns(X, y, size=3, **options) -> dict[str, tuple[str, ...]]:
    """Features of each kind, all of which `fit` warns of but drift and limits of the estimate."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selector = FeatureGradientSelector(size, random_state=0, **options).fit(X, y)
    found = [concern for concern in selector.concerns_ if concern.kind != "estimate"]
    shown = [str(concern) for concern in found if concern.kind != "drift"]
    assert [str(each.message) for each in caught] == shown
    return {concern.kind: concern.features for concern in found}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_rows", [30, N_ROWS])
def test_a_copy_of_the_target_may_be_a_leak(kind, n_rows):
    X, y = linear(n_rows=n_rows)
    assert concerns(kind(X), y) == {}
    X[:, 4] = y + 0.1 * X[:, 3]
    assert concerns(kind(X), y) == {"leak": ("x4",)}


def test_the_best_leak_is_first_and_what_is_excluded_is_none():
    X, y = linear()
    X[:, 4], X[:, 2] = y + 0.1 * X[:, 3], y + 0.05 * X[:, 5]
    assert concerns(X, y)["leak"] == ("x2", "x4")
    assert concerns(X, y, exclude=[2, 4]) == {}


def test_products_and_outliers_of_excluded_features_are_none():
    X, y = linear()
    y = y + 2 * X[:, 4] * X[:, 5]
    X[7, 5] = 1e4
    assert concerns(X, y)["outliers"] == ("x5",)
    assert concerns(X, y, exclude=[5]) == {}
    X[7, 5] = 0.0
    assert concerns(X, y)["nonlinear"] == ("x4", "x5")
    assert concerns(X, y, exclude=[5]) == {}


def test_features_that_explain_the_target_together_are_no_leak():
    X, y = linear()
    X[:, 4] = y - X[:, 3]
    assert concerns(X, y, feature_groups=[[3, 4]]) == {}


def test_chance_is_no_leak():
    """Of 3,000 columns of noise the best explains nearly all of ten rows."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 3000)), rng.standard_normal(10)
    assert np.max(np.corrcoef(X.T, y)[-1, :-1] ** 2) > 0.85
    assert concerns(X, y, 1) == {}


def test_near_duplicates_are_named_where_both_are_chosen():
    X, y = linear()
    X[:, 3] = X[:, 0] + 0.01 * X[:, 2]
    keep = [0, 1, 3]
    assert concerns(X, y, keep=keep) == {"duplicates": ("x0", "x3")}
    with pytest.warns(DataWarning):
        selector = FeatureGradientSelector(3, path_sizes=[2], keep=[0, 3], random_state=0).fit(X, y)
    assert [concern.kind for concern in selector.concerns_] == ["duplicates"]


def test_columns_of_a_group_are_no_duplicates_of_each_other():
    X, y = linear()
    X[:, 3] = -X[:, 0]
    assert concerns(X, y, 4, feature_groups={"one": [0, 3]}) == {}


def test_groups_are_duplicates_where_all_columns_of_one_are_in_the_other():
    X, y = linear()
    X[:, 3] = X[:, 0]
    assert concerns(X, y, 4, keep=[0, 3], feature_groups=[[0, 2], [3, 5]]) == {}
    X[:, 5] = -X[:, 2]
    found = concerns(X, y, 4, keep=[0, 3], feature_groups=[[0, 2], [3, 5]])
    assert found == {"duplicates": ("x0", "x2", "x3", "x5")}


def test_columns_that_few_rows_make_are_no_duplicates():
    X, y = linear()
    X[:, 3:5] = 0
    X[:5, 3:5] = 1
    assert concerns(X, y, keep=[3, 4]) == {}


@pytest.mark.parametrize("storage", ["fit", "source"])
def test_drift_is_seen_where_rows_have_an_order(storage):
    X, y = linear()
    X[:, 1] += np.linspace(0, 2, N_ROWS)
    selector = FeatureGradientSelector(2, random_state=0)
    source = open_source(X, target=y, block_rows=70)
    choose = {"fit": lambda: selector.fit(X, y), "source": lambda: selector.fit_source(source)}
    choose[storage]()
    assert [(c.kind, c.features) for c in selector.concerns_] == [("drift", ("x1",))]


def test_a_smaller_set_of_the_path_has_concerns_of_its_own():
    X, y = linear()
    X[:, 1] += np.linspace(0, 2, N_ROWS)
    selector = FeatureGradientSelector(2, path_sizes=[1], random_state=0).fit(X, y + X[:, 0])
    assert selector.at(1).get_support(indices=True).tolist() == [0]
    assert [concern.kind for concern in selector.concerns_] == ["drift"]
    assert selector.at(1).concerns_ == []


def test_names_of_columns_cannot_command_a_terminal():
    X, y = linear()
    X[:, 4] = y
    table = pd.DataFrame(X, columns=[*"abcd", "{0}\x1b[2J{", "f"])
    with pytest.warns(DataWarning) as caught:
        selector = FeatureGradientSelector(2, random_state=0).fit(table, y)
    assert selector.concerns_[0].features == ("{0}\x1b[2J{",)
    assert "“{0}\\u001b[2J{”" in str(caught[0].message)
