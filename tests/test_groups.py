"""Rows that belong together, and splitters: what is held out, in every storage."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_validate,
)
from sklearn.pipeline import make_pipeline

from dataset_builders import preparation
from featgrad import FeatureGradientSelector, Knockoffs, open_source, permutation_test
from featgrad.dataset.source import Streamed
from featgrad.dataset.splits import Belonging
from featgrad.dataset.sums import OutputSums

pytestmark = pytest.mark.filterwarnings("ignore::featgrad.estimates.diagnosis.DataWarning")
GROUPS = np.repeat(np.arange(40), 10)


def clustered(seed: int = 0, n_columns: int = 200):
    """Noise: rows of a group are alike in all columns and have one target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, n_columns))[GROUPS] + 0.3 * rng.normal(size=(400, n_columns))
    return X, rng.integers(0, 2, 40)[GROUPS]


def select(**options) -> FeatureGradientSelector:
    return FeatureGradientSelector(10, random_state=0, **options)


def in_chunks(X, y, groups):
    selector = select()
    for start in range(0, len(y), 100):
        rows = slice(start, start + 100)
        selector.partial_fit(X[rows], y[rows], groups=groups[rows], classes=[0, 1])
    return selector.finalize()


def on_dask(X, y, groups):
    array = pytest.importorskip("dask.array")
    parts = (array.from_array(part, chunks=(100, *part.shape[1:])) for part in (X, y, groups))
    X, y, groups = parts
    return select().fit(X, y, groups=groups)


def on_device(X, y, groups):
    pytest.importorskip("torch")
    return select(device="cpu").fit(X, y, groups=groups)


STORAGES = {
    "dense": lambda X, y, g: select().fit(X, y, groups=g),
    "CSR": lambda X, y, g: select().fit(sparse.csr_array(X), y, groups=g),
    "source": lambda X, y, g: select().fit_source(
        open_source(X, target=y, groups=g, block_rows=64)
    ),
    "chunks": in_chunks,
    "Dask": on_dask,
    "device": on_device,
}


@pytest.mark.parametrize("storage", STORAGES)
def test_estimates_are_for_rows_of_new_groups(storage: str):
    """Without groups they would say 0.78 and an AUC of 0.99."""
    selector = STORAGES[storage](*clustered(), GROUPS)
    low, high = selector.learnability_.interval
    assert low <= 0 <= high
    assert abs(selector.score_.value - 0.5) < 1.96 * selector.score_.standard_error
    assert selector.plan_.held_out_by == "groups"


@pytest.mark.parametrize("seed", range(3))
def test_no_feature_of_noise_is_chosen_by_groups(seed: int):
    X, y = clustered(seed)
    with pytest.warns(UserWarning, match="No features were selected"):
        selector = FeatureGradientSelector(random_state=0).fit(X, y, groups=GROUPS)
    assert selector.n_features_ == 0


def test_features_that_predict_new_groups_are_found():
    X, _ = clustered(n_columns=30)
    y = X[:, :3].sum(axis=1) + np.random.default_rng(1).normal(size=400)
    selector = FeatureGradientSelector(3, random_state=0).fit(X, y, groups=GROUPS)
    assert selector.get_support(indices=True).tolist() == [0, 1, 2]
    assert selector.learnability_.interval[0] > 0.5


def test_groups_are_routed_through_pipelines():
    X, y = clustered(n_columns=20)
    with config_context(enable_metadata_routing=True):
        selector = FeatureGradientSelector(3, random_state=0).set_fit_request(groups=True)
        model = make_pipeline(selector, LogisticRegression())
        found = cross_validate(
            model, X, y, cv=GroupKFold(2), params={"groups": GROUPS}, return_estimator=True
        )
    assert [fitted[0].plan_.held_out_by for fitted in found["estimator"]] == ["groups"] * 2


def layout(cv=None, groups=None, n_rows: int = 120, order: int = 4):
    return Belonging(cv, groups).roles(None, n_rows).layout(np.arange(n_rows), 12, order)


def rows_of(found, folds) -> list[int]:
    return np.flatnonzero(np.isin(found.folds, folds)).tolist()


@pytest.mark.parametrize("n_groups", [2, 5, 40])
def test_groups_are_never_split(n_groups: int):
    groups = np.random.default_rng(0).integers(n_groups, size=120).astype(str)
    found = layout(groups=groups)
    for split in found.splits:
        training, test = (groups[rows_of(found, folds)] for folds in split)
        assert not set(training) & set(test)
        assert len(training) + len(test) == 120
        assert len(split.training) > 4  # one more than the order of the filter


@pytest.mark.parametrize(
    "cv",
    [KFold(5), KFold(3, shuffle=True, random_state=0), TimeSeriesSplit(4), RepeatedKFold(
        n_splits=3, n_repeats=2, random_state=0), PredefinedSplit(np.arange(120) % 4 - 1)],
    ids=["KFold", "shuffled", "TimeSeriesSplit", "RepeatedKFold", "PredefinedSplit"],
)  # fmt: skip
def test_splits_of_folds_are_those_of_the_splitter(cv):
    found = layout(cv)
    splits = list(cv.split(np.zeros((120, 1))))
    for split, (training, test) in zip(found.splits, splits, strict=True):
        assert rows_of(found, split.training) == sorted(training)
        assert rows_of(found, split.test) == sorted(test)
        assert len(split.training) > 4  # one more than the order of the filter


def test_groups_of_a_splitter_stay_together():
    found = layout(GroupKFold(4), GROUPS[:120])
    for group in range(12):
        assert len(np.unique(found.folds[GROUPS[:120] == group])) == 1
    assert len(found.splits) == 4


def test_rows_left_out_leave_runs_as_they_are():
    rows = np.setdiff1d(np.arange(120), [7, 30, 31])
    found = Belonging(KFold(5)).roles(None, 120).layout(rows, 12, order=4)
    np.testing.assert_array_equal(found.clusters, rows // 24)


def test_runs_of_rows_are_clusters_and_shuffled_rows_are_not():
    assert layout(KFold(5, shuffle=True, random_state=0)).clusters is None
    np.testing.assert_array_equal(layout(KFold(5)).clusters, np.arange(120) // 24)


@pytest.mark.parametrize("seed", range(4))
def test_random_walks_explain_nothing_of_later_rows(seed: int):
    steps = np.random.default_rng(seed).normal(size=(400, 51))
    X, y = np.cumsum(steps[:, 1:], axis=0), np.cumsum(steps[:, 0])
    selector = FeatureGradientSelector(5, random_state=0, cv=TimeSeriesSplit()).fit(X, y)
    assert selector.learnability_.interval[0] <= 0
    source = open_source(X, target=y, block_rows=90)
    streamed = FeatureGradientSelector(5, random_state=0, cv=TimeSeriesSplit()).fit_source(source)
    assert streamed.learnability_.interval[0] <= 0
    assert streamed.plan_.held_out_by == "cv"


def test_splits_are_held_out_in_turn():
    X, y = clustered(n_columns=20)
    cv = KFold(5, shuffle=True, random_state=0)
    selector = FeatureGradientSelector(2, random_state=0, cv=cv).fit(X, y)
    assert len(selector._subsets[0].divisions) == 5
    assert "5 test sets of cv" in str(selector.plan_)


def test_permutations_of_groups_and_shifts_of_rows():
    X, y = clustered(seed=1, n_columns=20)
    options = {"n_permutations": 19, "random_state": 0}
    single = FeatureGradientSelector(3, random_state=0)
    assert permutation_test(single, X, y, **options).p_value == 0.05
    assert permutation_test(single, X, y, groups=GROUPS, **options).p_value > 0.05
    ordered = FeatureGradientSelector(3, random_state=0, cv=TimeSeriesSplit(3))
    assert permutation_test(ordered, X, y, **options).p_value > 0.05


@pytest.mark.parametrize(
    ("options", "groups", "message"),
    [
        ({}, np.zeros(400), "groups has one value only"),
        ({}, GROUPS[:7], "groups has shape"),
        ({"search": Knockoffs(), "n_features_to_select": "auto"}, GROUPS, "independent rows only"),
        ({"cv": ShuffleSplit(30, test_size=0.3, random_state=0)}, None, "cv divides the rows into"),
        ({"cv": [(np.arange(300), np.arange(200, 400))]}, None, "also trains on"),
        ({"cv": GroupKFold()}, None, "cannot split the rows"),
    ],
)
def test_what_cannot_be_held_out_is_refused(options, groups, message: str):
    X, y = clustered(n_columns=5)
    selector = FeatureGradientSelector(**{"n_features_to_select": 2} | options)
    with pytest.raises(ValueError, match=message):
        selector.fit(X, y, groups=groups)


def test_chunks_take_groups_always_or_never_and_no_splitter():
    X, y = clustered(n_columns=5)
    selector = FeatureGradientSelector(2).partial_fit(X, y, groups=GROUPS)
    with pytest.raises(ValueError, match="groups are given for some rows"):
        selector.partial_fit(X, y)
    with pytest.raises(ValueError, match="which partial_fit does not keep"):
        FeatureGradientSelector(2, cv=3).partial_fit(X, y)


def test_several_columns_make_a_group():
    X, y = clustered(n_columns=5)
    two = np.column_stack([GROUPS // 10, GROUPS % 10])
    by_two = FeatureGradientSelector(2, random_state=0).fit(X, y, groups=two)
    by_one = FeatureGradientSelector(2, random_state=0).fit(X, y, groups=GROUPS)
    assert by_two.plan_.n_folds == by_one.plan_.n_folds
    assert abs(by_two.score_.value - 0.5) < 1.96 * by_two.score_.standard_error


@pytest.mark.parametrize("n_groups", [2, 3, 12, 40])
def test_groups_of_a_source_are_held_out_whole(n_groups: int):
    X, y = clustered(n_columns=5)
    groups = np.arange(400) % n_groups
    source = open_source(X, target=y, groups=groups, block_rows=70)
    dataset = Streamed(source, preparation(task="binary", n_folds=12))
    seen: dict[int, set[int]] = {}

    class Seeing(OutputSums):
        def add(self, rows):
            for key, cell in zip(rows.groups.tolist(), rows.cells.tolist(), strict=True):
                seen.setdefault(key, set()).add(cell // 2)

    dataset.visit("folds", partial(Seeing, dataset.shape))
    for split in dataset.splits:
        for folds in seen.values():
            assert folds <= set(split.training) or folds <= set(split.test)
    if n_groups >= 12:
        assert all(len(folds) == 1 for folds in seen.values())
