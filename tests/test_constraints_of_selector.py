"""Groups, features to keep or to exclude, and costs, through the selector."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from featgrad import FeatureGradientSelector, MiniBatch, groups_by_origin
from searches import with_search

NAMES = [f"f{i}" for i in range(12)]


def planted(n_rows: int = 150, n_features: int = 12, seed: int = 0):
    """Columns 0 to 3 decide the target, each less than the one before it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    return X, X[:, :4] @ np.array([3.0, 2.0, 1.2, 0.7]) + 0.5 * rng.standard_normal(n_rows)


def support(k="auto", X=None, y=None, **options) -> list[int]:
    if X is None:
        X, y = planted()
    options = {"n_features_to_select": k, "random_state": 0, "max_iter": 12} | options
    selector = with_search(**options).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(), selector.scores_ > 0)
    return selector.get_support(indices=True).tolist()


@pytest.mark.parametrize("keep", [[7], ["f7"], np.arange(12) == 7, "f7", 7])
def test_kept_features_count_towards_the_number(keep):
    X, y = planted()
    assert support(3, pd.DataFrame(X, columns=NAMES), y, keep=keep) == [0, 1, 7]


@pytest.mark.parametrize("exclude", [[0, 2], ["f0", "f2"], np.isin(np.arange(12), [0, 2])])
def test_excluded_features_are_not_chosen(exclude):
    X, y = planted()
    frame = pd.DataFrame(X, columns=NAMES)
    assert support(2, frame, y, exclude=exclude) == [1, 3]
    assert support(1.0, frame, y, exclude=exclude) == [1, *range(3, 12)]


def test_excluded_features_rank_last():
    X, y = planted()
    selector = FeatureGradientSelector(2, exclude=[0, 5], random_state=0).fit(X, y)
    assert set(selector.ranking_[[0, 5]]) == {11, 12}


def test_all_that_is_kept_and_nothing_else():
    assert support(2, keep=[10, 5]) == [5, 10]


def test_groups_are_chosen_by_what_they_tell_together():
    groups = [[0, 8], [1, 2], [3, 9]]
    assert support(2, feature_groups=groups, exclude=[4, 5, 6, 7, 10, 11]) == [0, 8]
    assert support(4, feature_groups=groups) == [0, 1, 2, 8]


def test_groups_are_never_split():
    assert support(3, feature_groups=[[0, 8, 9, 10, 11]]) == [1, 2, 3]
    assert support(5, feature_groups=np.arange(12) // 4) == [0, 1, 2, 3]


def test_kept_group_leaves_room_for_the_rest():
    assert support(4, feature_groups=[[8, 9]], keep=[9]) == [0, 1, 8, 9]


def test_excluded_member_excludes_its_group():
    assert support(2, feature_groups=[[0, 9]], exclude=[9]) == [1, 2]


@pytest.mark.parametrize("k", [6, "auto"])
def test_small_sets_hold_units_that_the_largest_has_no_use_for(k, monkeypatch):
    monkeypatch.setattr("featgrad.plan.WORKING_SET", 3)
    X, y = planted(n_features=32)
    X[:, 30:] = 1.0
    groups = [[start, start + 1, start + 2] for start in range(0, 30, 3)]
    selector = FeatureGradientSelector(
        k, path_sizes=[1, 6], feature_groups=groups, random_state=0
    ).fit(X, y)
    assert [point.features.tolist() for point in selector.path_] == [[30], [0, 1, 2, 3, 4, 5]]
    assert selector.n_features_ == 6


def test_cheap_features_that_tell_as_much_are_preferred():
    X, y = planted()
    X[:, 6] = X[:, 0] + 0.05 * np.random.default_rng(1).standard_normal(150)
    assert support(X=X, y=y, costs={0: 3.0}, max_cost=2) == [1, 6]


def test_what_is_too_dear_is_not_chosen():
    assert support(costs={"f0": 5.0, "f1": 1.0}, max_cost=3, **frame()) == [1, 2, 3]


def frame() -> dict:
    X, y = planted()
    return {"X": pd.DataFrame(X, columns=NAMES), "y": y}


def test_without_costs_each_feature_costs_one():
    assert support(max_cost=3.7) == support(3)


def test_a_budget_for_everything():
    assert support(max_cost=100) == list(range(12))


SEEDS = st.integers(0, 2**16)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=SEEDS, share=st.floats(0, 1))
def test_every_constraint_holds_at_once(seed: int, share: float):
    rng = np.random.default_rng(seed)
    X, y = planted(n_rows=60, seed=seed)
    labels = rng.integers(0, 8, 12)
    keep, exclude = rng.permutation(np.unique(labels))[:2]
    costs = rng.uniform(0.2, 3, 12)
    least = costs[labels == keep].sum()
    max_cost = least + share * costs.sum()
    chosen = support(
        X=X,
        y=y,
        feature_groups=labels,
        keep=np.flatnonzero(labels == keep)[:1],
        exclude=np.flatnonzero(labels == exclude)[-1:],
        costs=costs,
        max_cost=max_cost,
        max_iter=2,
    )
    assert costs[chosen].sum() <= max_cost * (1 + 1e-9)
    whole = {label for label in labels if set(np.flatnonzero(labels == label)) <= set(chosen)}
    assert set(labels[chosen]) == whole
    assert keep in whole
    assert exclude not in whole
    # Nothing that would still fit is left out.
    left = max_cost - costs[chosen].sum()
    for label in set(labels) - whole - {exclude}:
        assert costs[labels == label].sum() > left * (1 - 1e-6)


def test_categories_of_one_variable_go_together():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(list("abcd"), 400) for name in ("x", "y", "z")})
    y = table["y"].map({"a": 0.0, "b": 2.0, "c": -1.0, "d": 5.0}) + rng.standard_normal(400)
    encoder = OneHotEncoder(drop="first").fit(table)
    groups = groups_by_origin(encoder)
    chosen = support(3, encoder.transform(table), y, feature_groups=groups)
    assert chosen == np.flatnonzero(groups == 1).tolist()


BAD = {
    "costs without a limit": (
        {"n_features_to_select": 2, "costs": {0: 2}},
        "costs are given without max_cost: set max_cost",
    ),
    "limit beside a number": (
        {"n_features_to_select": 2, "max_cost": 3},
        "max_cost=3 takes the place of n_features_to_select=2 and path_sizes=None",
    ),
    "limit beside a path": (
        {"path_sizes": [2], "max_cost": 3},
        r"max_cost=3 takes the place of n_features_to_select='auto' and path_sizes=\[2\]",
    ),
    "limit zero": ({"max_cost": 0}, "max_cost=0 cannot be used: give a number above 0"),
    "limit a word": ({"max_cost": "low"}, "max_cost='low' cannot be used"),
    "limit below every cost": (
        {"max_cost": 0.5},
        "max_cost=0.5 is too little for any feature or group, the smallest of which counts 1",
    ),
    "limit below what is kept": (
        {"max_cost": 2, "keep": [0, 1], "costs": {0: 1.5}},
        "keep asks for features that count 2.5 together but max_cost=2: keep fewer or allow more",
    ),
    "number below what is kept": (
        {"n_features_to_select": 1, "keep": [0, 1]},
        "keep asks for features that count 2 together but n_features_to_select=1",
    ),
    "number below every group": (
        {"n_features_to_select": 3, "feature_groups": np.arange(12) // 4},
        "n_features_to_select=3 is too little for any feature or group, .* counts 4",
    ),
    "number beyond the available": (
        {"n_features_to_select": 11, "exclude": [0, 1]},
        "n_features_to_select=11 .* 10 of them available: use a whole number from 1 to 10",
    ),
    "groups and a penalty": (
        {"search": MiniBatch(penalty=1.0), "feature_groups": [[0, 1]]},
        r"search=MiniBatch\(penalty=1.0\) takes neither groups nor costs: use search='auto'",
    ),
    "conflict": (
        {"n_features_to_select": 3, "keep": [0], "exclude": [0]},
        "keep and exclude both name feature 0",
    ),
    "unknown name": ({"n_features_to_select": 3, "keep": ["f0"]}, "X has no feature names"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case: str):
    options, message = BAD[case]
    selector = FeatureGradientSelector(**options)
    with pytest.raises(ValueError, match=message):
        selector.fit(*planted())
    assert not hasattr(selector, "scores_")
