import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer

from featgrad import DataWarning, FeatureGradientSelector, Learnability
from searches import published, with_search

TASKS = ["regression", "binary", "multiclass", "multilabel", "ordinal", "multi-output"]


def planted(task: str = "regression", n_rows: int = 300, n_features: int = 20, seed: int = 0):
    """Three of the columns decide the target; every second column is half zeros."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 1::2] *= rng.random(X[:, 1::2].shape) < 0.5
    chosen = np.sort(rng.choice(n_features, 3, replace=False))
    parts = X[:, chosen] + 0.3 * rng.standard_normal((n_rows, 3))
    total = parts.sum(axis=1)
    y = {
        "regression": total,
        "binary": np.where(total > 0, "yes", "no"),
        "multiclass": np.argmax(parts, axis=1),
        "multilabel": (parts > 0).astype(int),
        "ordinal": np.digitize(total, [-1, 0, 1]),
        "multi-output": parts @ rng.standard_normal((3, 4)),
    }
    return X, y[task], chosen


def select(k=None, **options) -> FeatureGradientSelector:
    """The search for a number of features, or the published one."""
    options = {"random_state": 0} | options
    return published(**options) if k is None else with_search(n_features_to_select=k, **options)


def support(selector: FeatureGradientSelector) -> list[int]:
    return selector.get_support(indices=True).tolist()


@pytest.mark.parametrize("shape", [(300, 20), (150, 300)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("task", TASKS)
def test_planted_features_are_found(task: str, container, shape: tuple[int, int]):
    X, y, chosen = planted(task, *shape)
    option = "ordinal" if task == "ordinal" else "auto"
    selector = select(3, task=option).fit(container(X), y)
    assert support(selector) == chosen.tolist()
    assert selector.task_ == ("regression" if task == "multi-output" else task)


@pytest.mark.parametrize("filter", ["kong-valiant", "monotone", "chebyshev"])
def test_planted_features_are_found_with_every_filter(filter: str):
    for seed in range(4):
        X, y, chosen = planted(seed=seed)
        assert support(select(3, filter=filter).fit(X, y)) == chosen.tolist()


@pytest.mark.parametrize("filter", ["kong-valiant", "monotone"])
def test_natural_size_is_found(filter: str):
    X, y, chosen = planted()
    selector = select(filter=filter).fit(X, y)
    assert support(selector) == chosen.tolist()
    assert selector.n_features_ == 3


@pytest.mark.parametrize("k", [1, 2])
def test_best_set_of_each_size_is_not_a_cut_through_one_list(k: int):
    """The best single column is a blend that the best pair does without."""
    rng = np.random.default_rng(0)
    pair = rng.standard_normal((2000, 2))
    blend = pair.sum(axis=1) + 0.6 * rng.standard_normal(2000)
    X = np.column_stack([blend, pair, rng.standard_normal((2000, 5))])
    assert support(select(k).fit(X, pair.sum(axis=1))) == {1: [0], 2: [1, 2]}[k]


@pytest.mark.parametrize(
    ("asked", "given"), [(1, 1), (np.int64(7), 7), (20, 20), (0.5, 10), (0.01, 1), (1.0, 20)]
)
def test_number_of_features_asked_for(asked, given: int):
    X, y, _ = planted()
    selector = select(asked, max_iter=5).fit(X, y)
    assert selector.n_features_ == given == selector.get_support().sum()
    assert selector.transform(X).shape == (300, given)


def test_smallest_natural_size_is_one():
    X, y, _ = planted()
    selector = select(penalty=1e6, max_iter=50).fit(X, y)
    assert selector.n_features_ == 1
    assert np.all(selector.scores_ <= 0)


@pytest.mark.parametrize("k", [None, 5])
def test_fitted_attributes_agree_with_each_other(k: int | None):
    X, y, _ = planted()
    selector = select(k, max_iter=30).fit(X, y)
    n_steps = selector.n_iter_
    assert 0 < n_steps <= 30
    assert {name: values.shape for name, values in selector.history_.items()} == {
        "objective": (n_steps,),
        "explained": (n_steps,),
        "size": (n_steps,),
    }
    by_rank = selector.scores_[np.argsort(selector.ranking_)]
    assert np.all(np.diff(by_rank) <= 0)
    assert sorted(selector.ranking_) == list(range(1, 21))
    np.testing.assert_array_equal(selector.get_support(), selector.ranking_ <= selector.n_features_)
    assert selector.learnability_.n_features == selector.n_features_
    assert selector.n_features_in_ == 20


def test_natural_size_counts_positive_scores():
    X, y, _ = planted()
    selector = select(penalty=0.1, max_iter=50).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(), selector.scores_ > 0)


def test_learnability_of_chosen_features_holds_on_new_rows():
    X, y, chosen = planted(n_rows=3000)
    selector = select(3).fit(X[:300], y[:300])
    expected = Learnability(X[300:], y[300:]).estimate(chosen)
    low, high = selector.learnability_.interval
    assert low < expected.value < high


def test_without_an_estimate_the_sets_are_the_same():
    X, y, _ = planted()
    whole, bare = (select(3, estimate=estimate).fit(X, y) for estimate in (True, False))
    assert support(bare) == support(whole)
    assert bare.learnability_ is None
    assert bare.score_ is None


def test_noise_is_not_learned():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((100, 300)), rng.standard_normal(100)
    with pytest.warns(UserWarning, match="set min_features_to_select=1"):
        selector = select("auto").fit(X, y)
    assert selector.n_features_ == 0
    assert selector.sizes_.smallest is selector.path_[0]
    assert selector.sizes_.best is None
    assert set(selector.sizes_.decisions) <= set(selector.plan_.decisions)
    assert str(selector.sizes_).startswith("smallest size: ")
    assert selector.learnability_.interval == (0, 0)
    assert np.all(selector.scores_ < 0)
    assert sorted(selector.ranking_) == list(range(1, 301))
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (100, 0)
    low, high = selector.at(10).learnability_.interval
    assert low < 0 < high


def test_noise_leaves_as_many_features_as_are_asked_for_at_least():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((100, 300)), rng.standard_normal(100)
    selector = select("auto", min_features_to_select=2).fit(X, y)
    assert selector.transform(X).shape == (100, 2)
    assert selector.sizes_.best is None
    assert "no linear model predicts better than noise would" in str(selector.plan_)


@pytest.mark.filterwarnings("ignore::featgrad.DataWarning")  # radius and perimeter are alike
def test_chance_has_little_say_in_the_number_of_features():
    X, y = load_breast_cancer(return_X_y=True)
    sizes = [select("auto", random_state=seed).fit(X, y).n_features_ for seed in range(8)]
    assert np.std(sizes, ddof=1) <= np.mean(sizes) / 4


@pytest.mark.parametrize(("path_sizes", "best", "cap"), [(None, 3, None), ([1, 2], 2, 2)])
def test_sizes_that_matter(path_sizes, best: int, cap: int | None):
    X, y, _ = planted()
    selector = select("auto", path_sizes=path_sizes).fit(X, y)
    assert selector.sizes_.smallest.size == selector.n_features_ == best
    assert selector.sizes_.best.size == best
    assert selector.sizes_.cap == cap
    assert ("the largest tried" in str(selector.plan_)) == (cap is not None)


def test_a_number_that_is_asked_for_is_not_compared_with_others():
    X, y, _ = planted()
    assert select(2, path_sizes=[1, 3]).fit(X, y).sizes_ is None


def test_what_is_kept_is_chosen_even_from_noise():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 50)), rng.standard_normal(100)
    assert support(select("auto", keep=[7]).fit(X, y)) == [7]


def test_estimates_of_searches_that_are_not_repeated_say_so():
    X, y, _ = planted()
    found = select().fit(X, y).learnability_
    assert found.is_optimistic
    assert "too high" in str(found)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [None, 3])
def test_constant_columns_are_never_chosen_before_others(container, k: int | None):
    X, y, chosen = planted()
    X = np.hstack([np.full((300, 2), 7.3), X, np.zeros((300, 2))])
    selector = select(k).fit(container(X), y)
    assert support(selector) == (chosen + 2).tolist()
    assert np.isfinite(selector.learnability_.value)


def test_constant_columns_come_last_where_all_are_asked_for():
    X, y, _ = planted()
    X[:, [0, 7]] = 1.0
    selector = select(19).fit(X, y)
    assert set(selector.ranking_[[0, 7]]) == {19, 20}


@pytest.mark.parametrize("k", [None, 1])
def test_nothing_but_constants_gives_zero(k: int | None):
    selector = select(k).fit(np.ones((30, 3)), np.arange(30.0))
    assert selector.learnability_.value == 0
    assert not np.any(np.isnan(selector.scores_))


def test_a_duplicate_is_chosen_after_the_columns_it_does_not_repeat():
    X, y, chosen = planted()
    X = np.hstack([X, X[:, chosen[:1]]])
    taken = set(support(select(3).fit(X, y)))
    assert set(chosen[1:]) < taken
    assert len({20, chosen[0]} & taken) == 1


@pytest.mark.parametrize("k", [None, 1, 0.5])
def test_one_feature(k):
    X, y, chosen = planted()
    selector = select(k).fit(X[:, chosen[:1]], y)
    assert support(selector) == [0]
    assert 0 < selector.learnability_.value < 1


@pytest.mark.parametrize("n_rows", [2, 3, 5])
@pytest.mark.parametrize("k", [None, 2])
def test_fewer_rows_than_the_order_needs(n_rows: int, k: int | None):
    X, y, _ = planted()
    selector = select(k, order=6, max_iter=10).fit(X[:n_rows], y[:n_rows])
    assert np.isnan(selector.learnability_.value)
    assert not np.any(np.isnan(selector.scores_))


@pytest.mark.parametrize("k", [None, 3])
def test_same_seed_same_result(k: int | None):
    X, y, _ = planted(n_features=40)
    one, two, other = (select(k, max_iter=10, random_state=seed).fit(X, y) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    assert not np.array_equal(one.scores_, other.scores_)


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_of_weight_zero_are_absent(k: int | None, container):
    X, y, _ = planted()
    weights = np.random.default_rng(0).integers(0, 2, 300)
    weighted = select(k, max_iter=20).fit(container(X), y, sample_weight=weights)
    removed = select(k, max_iter=20).fit(container(X[weights > 0]), y[weights > 0])
    np.testing.assert_allclose(weighted.scores_, removed.scores_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("k", [None, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_whole_weights_are_repeated_rows(k: int | None, container):
    X, y, _ = planted(n_rows=80)
    weights = np.random.default_rng(0).integers(0, 4, 80)
    weighted = select(k, max_iter=20).fit(container(X), y, sample_weight=weights)
    again = np.repeat(np.arange(80), weights)
    repeated = select(k, max_iter=20).fit(container(X[again]), y[again])
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-4, atol=1e-6)


def test_missing_values_count_as_the_mean():
    X, y, chosen = planted()
    gaps = np.random.default_rng(0).random(X.shape) < 0.1
    X[gaps] = np.nan
    assert support(select(3, missing="mean").fit(X, y)) == chosen.tolist()


@pytest.mark.parametrize(
    ("options", "n_steps"),
    [
        ({}, 40),
        ({"batch_size": 75}, 4),
        ({"batch_size": 75, "n_epochs": 3}, 12),
        ({"batch_size": 75, "accumulate": 3, "n_epochs": 2}, 4),
        ({"batch_size": 75, "accumulate": 4}, 40),
        ({"batch_size": 1000}, 40),
    ],
)
def test_number_of_steps_with_batches(options: dict, n_steps: int):
    X, y, _ = planted()
    assert select(max_iter=40, tol=0.0, **options).fit(X, y).n_iter_ == n_steps


def test_batches_of_fewer_rows_than_the_order_needs_are_made_larger():
    X, y, _ = planted(n_rows=60)
    selector = select(order=5, batch_size=2).fit(X, y)
    assert selector.n_iter_ == 10


@pytest.mark.parametrize(
    ("task", "link", "first"),
    [
        ("regression", "auto", lambda z: 1 - z),
        ("binary", "auto", lambda z: (1 - np.sqrt(z)) / 2),
        ("regression", "root", lambda z: (1 - np.sqrt(z)) / 2),
        ("binary", "probit", lambda z: np.arccos(np.sqrt(np.pi * z / 2)) / np.pi),
        ("binary", "residual", lambda z: 1 - z),
    ],
)
def test_objective_is_the_links_loss_and_the_masks_size(task: str, link: str, first):
    X, y, _ = planted(task)
    history = select(link=link, penalty=3.0, max_iter=1).fit(X, y).history_
    (explained,) = history["explained"]
    assert history["objective"][0] == pytest.approx(0.25 * first(explained) + 0.75 * 0.5)


def test_silent_by_default_and_prints_every_nth_step_when_verbose(capsys):
    X, y, _ = planted()
    select(max_iter=6).fit(X, y)
    assert capsys.readouterr().out == ""
    select(max_iter=6, tol=0, verbose=3).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["step 3", "step 6"]


def test_estimates_of_many_rows_are_made_from_some_of_every_fold(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    y = X[:, 1] + rng.standard_normal(3000)
    whole = FeatureGradientSelector(1, random_state=0).fit(X, y)
    monkeypatch.setattr("featgrad.dataset.memory.ESTIMATE_ROWS_IN_MEMORY", 1000)
    part = FeatureGradientSelector(1, random_state=0).fit(X, y)
    assert part.get_support(indices=True).tolist() == [1]
    assert part.learnability_.value != whole.learnability_.value
    assert abs(part.learnability_.value - whole.learnability_.value) < 0.1
    assert part.learnability_.standard_error > whole.learnability_.standard_error


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA, ""])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_rows_without_a_target_are_left_out(missing, method: str, kind):
    X, y, _ = planted()
    weight, groups = np.arange(1.0, len(y) + 1), np.arange(len(y)) // 2
    labels = np.where(y > np.median(y), "dear", "cheap").astype(object)
    labels[3:6] = missing
    have = np.flatnonzero(~np.isin(np.arange(len(y)), [3, 4, 5]))
    with pytest.warns(DataWarning, match=f"^3 of {len(y)} rows have no target and are left out"):
        found = getattr(select(2), method)(kind(X), pd.Series(labels), weight, groups=groups)
    expected = getattr(select(2), method)(
        kind(X[have]), labels[have], weight[have], groups=groups[have]
    )
    if method == "partial_fit":
        found, expected = found.finalize(), expected.finalize()
    np.testing.assert_array_equal(found.scores_, expected.scores_)


def test_a_chunk_without_targets_changes_nothing():
    X, y, _ = planted()
    selector = select(2).partial_fit(X, y)
    with pytest.warns(DataWarning, match="^5 of 5 rows have no target"):
        selector.partial_fit(X[:5], np.full(5, np.nan))
    expected = select(2).partial_fit(X, y).finalize()
    np.testing.assert_array_equal(selector.finalize().scores_, expected.scores_)
