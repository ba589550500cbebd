import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectPercentile
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from featgrad import groups_by_origin
from featgrad.dataset.constraints import Constraints, read_constraints

NAMES = np.array(["age", "sex", "height", "weight", "income"], dtype=object)


def read(names=NAMES, **changes) -> Constraints:
    options = {"feature_groups": None, "keep": None, "exclude": None, "costs": None} | changes
    return read_constraints(5, names, **options)


def columns_of(constraints: Constraints, units: np.ndarray) -> list[int]:
    return np.flatnonzero(np.isin(constraints.of_column, np.flatnonzero(units))).tolist()


def test_without_constraints_every_feature_is_a_unit_of_cost_one():
    found = read()
    np.testing.assert_array_equal(found.of_column, np.arange(5))
    np.testing.assert_array_equal(found.costs, np.ones(5))
    assert not found.kept.any()


@pytest.mark.parametrize(
    "groups",
    [
        [[1, 3], [4, 0]],
        [("sex", "weight"), ["income", "age"]],
        [{"sex", 3}, np.array([0, 4]), []],
        [[False, True, False, True, False], [0, 4]],
        [[1, 3, 1], [0, 4]],
        {"body": ["sex", "weight"], "other": [0, 4]},
        ["a", "b", "c", "b", "a"],
        np.array([7, 2, 5, 2, 7]),
        pd.Series([1.5, 0.0, 3.0, 0.0, 1.5]),
    ],
)
def test_groups_as_lists_and_as_labels(groups):
    found = read(feature_groups=groups)
    shared = found.of_column[:, None] == found.of_column
    expected = np.eye(5, dtype=bool)
    for one, two in ((1, 3), (0, 4)):
        expected[one, two] = expected[two, one] = True
    np.testing.assert_array_equal(shared, expected)
    np.testing.assert_array_equal(found.costs[found.of_column], [2, 2, 1, 2, 2])


@pytest.mark.parametrize("argument", ["keep", "exclude"])
@pytest.mark.parametrize(
    ("given", "features"),
    [
        ([1, 3], [1, 3]),
        (["weight", "sex"], [1, 3]),
        (("weight", np.int64(1)), [1, 3]),
        (np.array([False, True, False, True, False]), [1, 3]),
        ("sex", [1]),
        (1, [1]),
        ([], []),
        (None, []),
    ],
)
def test_features_by_index_name_and_mask(argument: str, given, features: list[int]):
    found = read(**{argument: given})
    if argument == "keep":
        assert columns_of(found, found.kept) == features
    else:
        assert np.flatnonzero(found.of_column < 0).tolist() == features
        assert len(found.costs) == len(found.kept) == 5 - len(features)


def test_a_group_goes_with_each_of_its_members():
    found = read(feature_groups=[[0, 2], [1, 4]], keep=["age"], exclude=["income"])
    assert columns_of(found, found.kept) == [0, 2]
    assert np.flatnonzero(found.of_column < 0).tolist() == [1, 4]


@pytest.mark.parametrize(
    "costs", [[3, 1, 1, 0.5, 1], {"age": 3, "weight": 0.5}, {0: 3, 3: 0.5}, {0: 3, "weight": 0.5}]
)
def test_costs_of_a_group_add_up(costs):
    found = read(costs=costs, feature_groups=[[0, 1]])
    np.testing.assert_array_equal(found.costs[found.of_column], [4, 4, 1, 0.5, 1])


BAD = {
    "index too large": ({"keep": [5]}, "keep contains 5 but X has 5 features: use 0 to 4"),
    "index negative": ({"exclude": [-1]}, "exclude contains -1 but X has 5 features"),
    "unknown name": ({"keep": ["agee"]}, "keep contains 'agee', .* the nearest is 'age'"),
    "truth values too few": ({"keep": [True]}, "keep contains True, which is not a feature of X"),
    "no names": (
        {"names": None, "exclude": ["age"]},
        "exclude contains 'age', .* no feature names: use column indices",
    ),
    "unknown in group": ({"feature_groups": [["age", "x"]]}, "feature_groups contains 'x'"),
    "unknown in named group": ({"feature_groups": {"a": ["agee"]}}, "the nearest is 'age'"),
    "unknown with cost": ({"costs": {"x": 2}}, "costs contains 'x', which is not a feature of X"),
    "two groups": ({"feature_groups": [[0, 1], [1, 2]]}, "feature_groups names 'sex' in two"),
    "two groups, no names": (
        {"names": None, "feature_groups": [[0, 1], [1, 2]]},
        "feature_groups names feature 1 in two groups",
    ),
    "too few labels": ({"feature_groups": [0, 1, 2]}, "feature_groups has 3 labels but X has 5"),
    "no labels": ({"feature_groups": []}, "feature_groups has 0 labels but X has 5"),
    "conflict": ({"keep": [0], "exclude": ["age"]}, "keep and exclude both name 'age'"),
    "conflict in a group": (
        {"keep": [0], "exclude": [2], "feature_groups": [[0, 2]]},
        "keep and exclude both name 'age' or a feature of its group",
    ),
    "nothing left": ({"exclude": range(5)}, "exclude leaves no feature to choose from"),
    "nothing left of groups": (
        {"exclude": [0], "feature_groups": [[0, 1, 2, 3, 4]]},
        "exclude leaves no feature to choose from",
    ),
    "too few costs": ({"costs": [1, 2]}, r"costs has shape \(2,\) but X has 5 features"),
    "cost zero": ({"costs": {"sex": 0}}, "costs of 'sex' is 0: costs must be positive"),
    "cost negative": ({"costs": [1, 1, -2, 1, 1]}, "costs of 'height' is -2"),
    "cost NaN": ({"costs": [1, 1, 1, np.nan, 1]}, "costs of 'weight' is nan"),
    "cost infinite": ({"costs": {4: np.inf}, "names": None}, "costs of feature 4 is inf"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_constraints(case: str):
    options, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        read(**options)


TABLE = pd.DataFrame(
    {
        "colour": ["red", "blue", "green", "blue", "red", "red"],
        "size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "shape": ["round", "square", "round", "round", "square", "flat"],
        "price": [3.0, 1.0, 2.0, 5.0, 4.0, 6.0],
    }
)


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ({}, [0, 0, 0, 1, 1, 1]),
        ({"drop": "first"}, [0, 0, 1, 1]),
        ({"min_frequency": 2}, [0, 0, 0, 1, 1, 1]),
        ({"max_categories": 2}, [0, 0, 1, 1]),
        ({"drop": ["red", "flat"]}, [0, 0, 1, 1]),
        ({"drop": "if_binary"}, [0, 0, 0, 1, 1, 1]),
        ({"sparse_output": False}, [0, 0, 0, 1, 1, 1]),
    ],
)
def test_groups_of_an_encoder(options: dict, labels: list[int]):
    encoder = OneHotEncoder(**options).fit(TABLE[["colour", "shape"]])
    np.testing.assert_array_equal(groups_by_origin(encoder), labels)
    assert len(labels) == encoder.transform(TABLE[["colour", "shape"]]).shape[1]


def test_groups_of_an_encoder_without_names_leave_it_as_it_was():
    encoder = OneHotEncoder().fit(TABLE[["colour", "shape"]].to_numpy())
    before = encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(groups_by_origin(encoder), [0, 0, 0, 1, 1, 1])
    assert encoder.get_feature_names_out().tolist() == before


@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
def test_groups_of_a_column_transformer(remainder: str):
    transformer = ColumnTransformer(
        [
            ("scaled", StandardScaler(), ["size"]),
            ("coded", OneHotEncoder(drop="first"), ["colour", "shape"]),
            ("gone", "drop", []),
        ],
        remainder=remainder,
    ).fit(TABLE)
    labels = [0, 1, 1, 2, 2] + ([3] if remainder == "passthrough" else [])
    np.testing.assert_array_equal(groups_by_origin(transformer), labels)
    assert len(labels) == transformer.transform(TABLE).shape[1]


def test_encoders_of_two_parts_do_not_share_groups():
    transformer = ColumnTransformer(
        [("one", OneHotEncoder(), ["colour"]), ("two", OneHotEncoder(), ["colour"])]
    ).fit(TABLE)
    np.testing.assert_array_equal(groups_by_origin(transformer), [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("percentile", [50, 100])
def test_encoders_are_found_in_pipelines(percentile: int):
    coded = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(),
        "passthrough",
        StandardScaler(with_mean=False),
    )
    parts = [("coded", coded, ["colour", "shape"]), ("scaled", StandardScaler(), ["size"])]
    whole = make_pipeline(ColumnTransformer(parts), SelectPercentile(percentile=percentile))
    whole.fit(TABLE, np.arange(len(TABLE)) % 2)
    labels = np.array([0, 0, 0, 1, 1, 1, 2])[whole[-1].get_support()]
    expected = np.unique(labels, return_inverse=True)[1]
    np.testing.assert_array_equal(groups_by_origin(whole), expected)


def test_columns_mixed_by_a_later_step_are_their_own():
    coded = make_pipeline(OneHotEncoder(sparse_output=False), PCA(2))
    transformer = ColumnTransformer([("coded", coded, ["colour", "shape"])]).fit(TABLE)
    np.testing.assert_array_equal(groups_by_origin(transformer), [0, 1])


@pytest.mark.parametrize(
    "transformer", [OneHotEncoder(), ColumnTransformer([]), StandardScaler().fit([[1.0], [2.0]])]
)
def test_groups_of_other_transformers_are_refused(transformer):
    with pytest.raises(ValueError, match="is neither a fitted OneHotEncoder nor a fitted Column"):
        groups_by_origin(transformer)
