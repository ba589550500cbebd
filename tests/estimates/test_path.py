"""Sets of several sizes from one fit, the size that held-out rows choose, and stability."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from featgrad import FeatureGradientSelector, PathPoint, SelectionPath
from featgrad.dataset.memory import InMemory, Preparation, prepare
from featgrad.search.base import SearchTask
from featgrad.search.rounds import search
from featgrad.search.units import Units
from searches import published, with_search


def planted(n_rows: int = 200, n_features: int = 20, n_planted: int = 5, seed: int = 0):
    """The first columns decide the target, each less than the one before it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    strength = 3 * 0.7 ** np.arange(n_planted)
    return X, X[:, :n_planted] @ strength + 0.5 * rng.standard_normal(n_rows)


def select(k="auto", **options) -> FeatureGradientSelector:
    options = {"n_features_to_select": k, "random_state": 0, "max_iter": 12} | options
    return with_search(**options)


def support(selector: FeatureGradientSelector) -> list[int]:
    return selector.get_support(indices=True).tolist()


@pytest.mark.parametrize("shape", [(400, 20), (250, 40)])
def test_path_holds_the_best_set_of_each_size(shape: tuple[int, int]):
    X, y = planted(*shape)
    selector = select(3, path_sizes=[5, 1, 2]).fit(X, y)
    assert [point.size for point in selector.path_] == [1, 2, 3, 5]
    for point in selector.path_:
        assert isinstance(point, PathPoint)
        assert point.features.tolist() == list(range(point.size))
        assert point.learnability.n_features == point.size
    assert support(selector) == [0, 1, 2]
    assert selector.learnability_ == selector.path_[2].learnability


def test_path_is_printed_as_what_enters_and_leaves():
    sets = [[1], [0, 2], [0, 1, 2]]
    points = [PathPoint(len(features), np.array(features), None) for features in sets]
    path = SelectionPath(points, ["a", "b\x1b[2J", "c"])
    assert path.changes == [(["b\x1b[2J"], []), (["a", "c"], ["b\x1b[2J"]), (["b\x1b[2J"], [])]
    assert str(path).splitlines() == [
        "features  explained  score  enter       leave",
        "       1                    b\\u001b[2J",
        "       2                    a, c        b\\u001b[2J",
        "       3                    b\\u001b[2J",
    ]
    assert pickle.loads(pickle.dumps(path)).names == path.names


def test_path_has_the_names_of_the_features():
    X, y = planted()
    table = pd.DataFrame(X).add_prefix("column ")
    path = select(3, path_sizes=[1]).fit(table, y).path_
    assert path.changes == [(["column 0"], []), (["column 1", "column 2"], [])]


def test_path_has_one_set_of_each_size_where_groups_leave_room():
    X, y = planted()
    groups = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    options = {"feature_groups": groups, "exclude": range(9, 20)}
    selector = select(5, path_sizes=[3, 4, 6, 7], **options).fit(X, y)
    assert [point.size for point in selector.path_] == [3, 6]
    assert support(selector.at(3)) == support(selector) == [0, 1, 2]


def test_path_of_one_size_and_of_the_natural_size():
    X, y = planted()
    assert [point.size for point in select(4).fit(X, y).path_] == [4]
    natural = published(max_iter=12, random_state=0).fit(X, y)
    assert [point.size for point in natural.path_] == [natural.n_features_]
    assert natural.path_[0].features.tolist() == support(natural)


@pytest.mark.parametrize("size", [1, 3, 5])
def test_at_another_size_is_what_the_path_says(size: int):
    X, y = planted()
    selector = select(2, path_sizes=[1, 3, 5]).fit(X, y)
    before = support(selector)
    other = selector.at(size)
    point = next(point for point in selector.path_ if point.size == size)
    assert other.n_features_ == size
    assert support(other) == point.features.tolist()
    assert other.learnability_ == point.learnability
    np.testing.assert_array_equal(other.transform(X), X[:, point.features])
    np.testing.assert_array_equal(other.get_support(), other.scores_ > 0)
    np.testing.assert_array_equal(other.get_support(), other.ranking_ <= size)
    assert support(selector) == before
    assert selector.n_features_ == 2


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_set_does_not_depend_on_the_others_of_the_path(size: int, monkeypatch):
    monkeypatch.setattr("featgrad.plan.WORKING_SET", 4)
    X, y = planted()
    on_path = select(3, path_sizes=[1, 2]).fit(X, y).at(size)
    assert support(on_path) == support(select(size).fit(X, y))


def test_size_that_is_not_on_the_path():
    X, y = planted()
    selector = select(2, path_sizes=[1, 4]).fit(X, y)
    with pytest.raises(ValueError, match=r"size=3 is not on the path, which has \[1, 2, 4\]"):
        selector.at(3)


def test_another_size_before_fit():
    with pytest.raises(ValueError, match="not fitted yet"):
        select(2).at(1)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_planted", [2, 5])
def test_auto_finds_about_the_planted_number(n_planted: int, container):
    X, y = planted(n_planted=n_planted)
    selector = select("auto", path_sizes=[1, 2, 3, 4, 5, 6, 9]).fit(container(X), y)
    assert n_planted <= selector.n_features_ <= n_planted + 1
    assert set(range(n_planted)) <= set(support(selector))


def test_auto_tries_a_ladder_of_sizes():
    X, y = planted(n_features=13)
    selector = select("auto", max_iter=1).fit(X, y)
    assert [point.size for point in selector.path_] == list(range(1, 14))


def test_auto_tries_large_sizes_only_where_smaller_ones_leave_something():
    X, y = planted(n_rows=300, n_features=120, n_planted=2)
    sizes = [point.size for point in select().fit(X, y).path_]
    assert sizes[-1] == 30


def test_auto_chooses_among_the_sizes_given():
    X, y = planted()
    selector = select("auto", path_sizes=[2, 6, 20]).fit(X, y)
    assert [point.size for point in selector.path_] == [2, 6, 20]
    assert selector.n_features_ == 6


def test_auto_with_too_few_rows_to_hold_out_takes_the_smallest():
    X, y = planted(n_rows=12)
    selector = select("auto", path_sizes=[2, 3, 4]).fit(X, y)
    assert selector.n_features_ == 2
    assert str(selector.learnability_) == "unknown (too few independent rows)"


BAD = {
    "beyond all": ({"path_sizes": [1, 21]}, r"path_sizes=\[1, 21\] goes beyond 1 to 20"),
    "zero": ({"path_sizes": [0, 3]}, r"path_sizes=\[0, 3\] goes beyond 1 to 20"),
    "beyond the available": (
        {"path_sizes": [19], "exclude": [3, 4]},
        r"path_sizes=\[19\] goes beyond 1 to 18",
    ),
    "fractions": ({"path_sizes": [0.5]}, r"path_sizes=\[0\.5\] is not a list of whole numbers"),
    "a number": ({"path_sizes": 3}, "path_sizes=3 is not a list of whole numbers: give sizes"),
    "nothing": ({"path_sizes": []}, r"path_sizes=\[\] is not a list of whole numbers"),
    "less than is kept": (
        {"n_features_to_select": 3, "path_sizes": [1], "keep": [0, 1]},
        "keep asks for features that count 2 together but path_sizes with 1: keep fewer",
    ),
    "too few for a group": (
        {"n_features_to_select": 10, "path_sizes": [4], "feature_groups": [0, 1, 2, 3] * 5},
        "path_sizes with 4 is too little for any feature or group, .* counts 5: allow more",
    ),
    "one resample": (
        {"n_features_to_select": 3, "n_resamples": 1},
        "n_resamples=1 cannot be used: halves come in complementary pairs",
    ),
    "resamples negative": ({"n_resamples": -2}, "n_resamples=-2 cannot be used: give a whole"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case: str):
    options, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        FeatureGradientSelector(**options).fit(*planted())


def test_stability_is_not_looked_at_unless_asked_for():
    assert select(2).fit(*planted()).stability_ is None


def test_stability_of_a_clear_choice():
    X, y = planted(n_rows=400)
    stability = select(5, n_resamples=6).fit(X, y).stability_
    np.testing.assert_array_equal(stability.frequencies, np.arange(20) < 5)
    assert stability.index == 1


def test_stability_of_a_choice_among_noise():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 30)), rng.standard_normal(200)
    stability = select(5, n_resamples=6).fit(X, y).stability_
    assert stability.frequencies.sum() == pytest.approx(5)
    assert stability.interval[0] < stability.index < stability.interval[1]
    assert stability.index < 0.7


def test_halves_of_the_rows_choose_by_themselves():
    """A half chooses the same whatever the targets of the other half are."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((240, 400)), rng.standard_normal(240)
    units = Units(np.arange(400), np.ones(400), np.zeros(400, bool))
    found = []
    for seed in (0, 1):
        made = Preparation(
            4, "monotone", "regression", "zscore", "error", np.random.RandomState(0), 12
        )
        prepared = prepare(X, y, None, made)
        dataset = InMemory(X, prepared, "zscore")
        others = np.flatnonzero(dataset._cells >= 6)
        dataset._outputs[others] = np.random.default_rng(seed).permutation(dataset._outputs[others])
        tasks = [SearchTask(5.0, tuple(range(6)))]
        found += search(dataset, units, tasks, prepared.filters[-1], 26, lambda *_: False)
    assert found[0].features.tolist() == found[1].features.tolist()


def test_stability_bounds_what_is_false():
    X, y = planted(n_rows=400)
    found = select(5, n_resamples=20).fit(X, y).stability_
    assert (found.n_pairs, found.n_candidates, found.mean_size) == (10, 20, 5)
    assert found.features(1.0).tolist() == [0, 1, 2, 3, 4]
    assert found.false_bound(1.0) < 0.3


def test_halves_need_rows():
    with pytest.raises(ValueError, match="n_resamples=2 needs at least 4 rows for two halves"):
        select(1, n_resamples=2).fit([[0.0, 1], [1, 0], [2, 2]], [0.0, 1, 2])


def test_best_pair_is_not_the_two_best_singles():
    """A suppressor tells nothing on its own but takes the noise out of another column."""
    rng = np.random.default_rng(0)
    signal, noise = rng.standard_normal((2, 400))
    X = rng.standard_normal((400, 30))
    X[:, 0] = signal + noise
    X[:, 1] = noise
    X[:, 2] = signal + 1.3 * rng.standard_normal(400)
    assert abs(np.corrcoef(X[:, 1], signal)[0, 1]) < abs(np.corrcoef(X[:, 2], signal)[0, 1])
    selector = select(2, path_sizes=[1], max_iter=40).fit(X, signal)
    assert selector.path_[0].features.tolist() == [0]
    assert support(selector) == [0, 1]


@pytest.mark.parametrize("n_rows", [150, 1000])
def test_twins_are_not_both_chosen_while_another_column_tells_more(n_rows: int):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 30))
    y = 2 * X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(n_rows)
    X[:, 5] = X[:, 0] + 0.01 * rng.standard_normal(n_rows)
    assert support(select(2, max_iter=40).fit(X, y)) in ([0, 1], [1, 5])
