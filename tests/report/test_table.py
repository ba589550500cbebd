import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from featgrad import Estimate, FeatureGradientSelector, Learnability
from featgrad.estimates.estimate import unknown
from featgrad.report import summarise
from featgrad.report.described import Described, Row


def chosen(X, y, k: int, **options) -> FeatureGradientSelector:
    return FeatureGradientSelector(k, random_state=0, **options).fit(X, y)


def test_best_feature_first_and_estimates_below():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = X[:, 0] + 3 * X[:, 2] + rng.standard_normal(200)
    selector = chosen(X, y, 2)
    lines = summarise(selector, X, y, names=["weak", "b", "a strong one", "d"]).splitlines()
    assert [line.split("  ")[0] for line in lines[2:4]] == ["a strong one", "weak"]
    assert lines[-3] == f"explained by these 2 features: {selector.learnability_}"
    assert lines[-2] == f"ridge model on them:           {selector.score_}"
    assert lines[-1] == f"explained by all 4 features:   {Learnability(X, y).estimate()}"


@pytest.mark.parametrize(
    "groups", [["one", "many", "many", "many", "many"], {"many": [1, 2, 3, 4], "one": [0]}]
)
def test_a_group_has_one_row_that_names_its_features(groups):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = X.sum(axis=1) + rng.standard_normal(200)
    selector = chosen(X, y, 5, feature_groups=groups)
    lines = summarise(selector, X, y, names=list("abcde")).splitlines()
    values, errors = selector.path_[0].gains
    assert lines[2:4] == [
        f"many (b, c, d, ...)  {100 * values[1]:4.1f}% +- {100 * errors[1]:.1f}",
        f"one (a)              {100 * values[0]:4.1f}% +- {100 * errors[0]:.1f}",
    ]


def test_gains_are_in_per_cent_of_the_variance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = X.sum(axis=1) + 0.1 * rng.standard_normal(200)
    selector = chosen(X, y, 1)
    first = summarise(selector, X, y).splitlines()[2]
    (value,), (error,) = selector.path_[0].gains
    [name] = selector.get_feature_names_out()
    assert first == f"{name}       {100 * value:4.1f}% +- {100 * error:.1f}"


def test_gains_that_round_to_nothing_have_no_sign():
    X = np.random.default_rng(0).standard_normal((50, 1))
    selection = Described(chosen(X, X[:, 0], 1, estimate=False), X, X[:, 0], None, ["a"])
    selection.rows = [Row("a", ["a"], -0.0004, 0.003)]
    assert str(selection).splitlines()[2] == "a         0.0% +- 0.3"


@pytest.mark.filterwarnings("ignore:No features were selected")
def test_where_nothing_is_chosen_only_all_features_are_described():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((100, 30)), rng.standard_normal(100)
    lines = summarise(chosen(X, y, "auto"), X, y).splitlines()
    assert lines[0] == "no features are chosen"
    assert [line.split(":")[0] for line in lines[2:]] == ["explained by all 30 features"]


shown_below_the_diagram = pytest.mark.skipif(
    not hasattr(BaseEstimator, "_html_repr"), reason="scikit-learn shows it from 1.7 on"
)


@shown_below_the_diagram
def test_a_notebook_shows_what_was_chosen_below_the_diagram():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((200, 3)), columns=["<b>", "weak", "noise"])
    y = 3 * X["<b>"] + X["weak"] + rng.standard_normal(200)
    unfitted = FeatureGradientSelector(2, random_state=0)
    assert "chosen" not in unfitted._repr_html_().rpartition("</div>")[2]
    shown = unfitted.fit(X, y)._repr_html_()
    assert "<summary>2 of 3 features chosen</summary>" in shown
    names = re.findall(r"<tr><td>(.*?)</td><td>", shown.rpartition("<summary>")[2])
    assert names == ["&lt;b&gt;", "weak"]
    assert str(unfitted.learnability_) in shown


@shown_below_the_diagram
def test_a_long_list_is_folded():
    X = np.random.default_rng(0).standard_normal((100, 30))
    selector = FeatureGradientSelector(21, estimate=False, random_state=0).fit(X, X.sum(axis=1))
    assert "<details><summary>21 of 30 features chosen</summary>" in selector._repr_html_()


@pytest.mark.parametrize(
    ("estimate", "bars"),
    [(Estimate(0.5, 0.1, 3), 3), (Estimate(-0.1, 0.01, 3), 3), (unknown(3), 0)],
)
def test_an_estimate_shows_its_interval(estimate, bars):
    shown = estimate._repr_html_()
    assert str(estimate) in shown
    assert shown.count("<rect") == bars
    assert not re.search(r'(width|x)="-(?!1\.0)', shown)
