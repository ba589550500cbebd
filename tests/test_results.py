"""Results as tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from featgrad import FeatureGradientSelector, OnlineFeatureSelector
from featgrad._support.results import table


@pytest.fixture(scope="module")
def selector() -> FeatureGradientSelector:
    X = np.random.default_rng(0).standard_normal((300, 4))
    frame = pd.DataFrame(X, columns=["<b>", "size", "age", "height"])
    y = X[:, 1] + 3 * X[:, 2] + np.random.default_rng(1).standard_normal(300)
    return FeatureGradientSelector(random_state=0).fit(frame, y)


def test_gains_are_a_table_with_the_largest_first(selector):
    head, first, second, *_ = str(selector.gains_).splitlines()
    assert head.split() == ["feature", "gain"]
    assert [first.split()[0], second.split()[0]] == ["age", "size"]
    best = selector.gains_.values.max()
    assert first.split()[1] == f"{100 * best:.1f}%"


def test_sizes_are_a_table_of_their_sets(selector):
    head, *rows = repr(selector.sizes_).splitlines()
    assert head.split() == ["features", "explained", "score", "enter", "leave"]
    assert [row.split()[0] for row in rows] == ["smallest", "best"]
    assert "size, age" in rows[0]


def test_a_timeline_is_a_table_of_its_sets():
    X = np.random.default_rng(0).standard_normal((300, 4))
    timeline = OnlineFeatureSelector(1).partial_fit(X, X[:, 2]).timeline_
    head, first, *_ = str(timeline).splitlines()
    assert head.split() == ["row", "explained", "features"]
    assert (first.split()[0], first.split()[-1]) == ("100", "x2")


def test_tables_of_notebooks_escape_names(selector):
    assert table([("a",), ("<b>\u202e",)]) == (
        "<table><thead><tr><th>a</th></tr></thead>"
        r"<tbody><tr><td>&lt;b&gt;\u202e</td></tr></tbody></table>"
    )


@pytest.mark.skipif(not hasattr(BaseEstimator, "_html_repr"), reason="scikit-learn 1.6")
def test_notebooks_show_the_gains_of_a_selector(selector):
    assert "<td>age</td>" in selector._repr_html_()
