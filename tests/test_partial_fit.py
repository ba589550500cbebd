"""Rows that come in chunks, here or apart."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from featgrad import FeatureGradientSelector, OnlineFeatureSelector, plan
from searches import published, with_search

CONTAINERS = [np.asarray, sparse.csr_array]


def planted(n_rows: int = 400, n_features: int = 16, seed: int = 0):
    """Three of the columns decide the target; every second one is half zeros, one heavy-tailed."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X[:, 1::2] *= rng.random(X[:, 1::2].shape) < 0.5
    X[:, 4] = np.exp(2 * X[:, 4])
    chosen = np.sort(rng.choice(np.arange(5, n_features), 3, replace=False))
    y = X[:, chosen].sum(axis=1) + 0.5 * rng.standard_normal(n_rows)
    return X, y, chosen.tolist()


def select(k=3, **options) -> FeatureGradientSelector:
    options = {"random_state": 0, "order": 2, "max_iter": 5} | options
    return with_search(n_features_to_select=k, **options)


def support(selector: FeatureGradientSelector) -> list[int]:
    return selector.get_support(indices=True).tolist()


def in_chunks(selector, X, y, weights=None, size: int = 90, **options):
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        here = None if weights is None else weights[rows]
        selector.partial_fit(X[rows], y[rows], here, **options)
    return selector.finalize()


@pytest.fixture(params=["all rows kept", "few columns", "many columns"])
def kind(request: pytest.FixtureRequest, monkeypatch) -> str:
    """What is kept of the rows."""
    if request.param != "all rows kept":
        monkeypatch.setattr(plan, "KEPT_ENTRIES", 3000)
    if request.param == "many columns":
        monkeypatch.setattr(plan, "MOMENT_ENTRIES", 0)
    return request.param


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("target", ["regression", "binary", "multiclass"])
def test_planted_features_are_found(kind: str, container, target: str):
    X, y, chosen = planted()
    y = {
        "regression": y,
        "binary": np.where(y > 0, "yes", "no"),
        "multiclass": np.digitize(y, [-1, 1]),
    }[target]
    selector = in_chunks(select(), container(X), y)
    assert support(selector) == chosen
    assert selector.task_ == target


@pytest.mark.parametrize("container", CONTAINERS)
def test_rows_that_are_all_kept_give_what_fit_gives(container):
    X, y, _ = planted()
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    whole = select(5).fit(container(X), y, weights)
    parts = in_chunks(select(5), container(X), y, weights)
    np.testing.assert_allclose(parts.scores_, whole.scores_, rtol=1e-4, atol=1e-5)
    assert support(parts) == support(whole)
    assert parts.learnability_.value == pytest.approx(whole.learnability_.value)


def test_learnability_of_a_sample_agrees_with_that_of_all_rows(monkeypatch):
    X, y, _ = planted(1200)
    whole = select().fit(X, y).learnability_
    monkeypatch.setattr(plan, "KEPT_ENTRIES", 8000)
    parts = in_chunks(select(), X, y).learnability_
    assert parts.value == pytest.approx(whole.value, abs=3 * parts.standard_error)
    assert parts.standard_error > whole.standard_error


def test_shards_give_what_one_selector_gives(kind: str):
    X, y, chosen = planted(600)
    first = in_chunks(select(), X[:200], y[:200])
    shards = [in_chunks(first.shard(), X[rows], y[rows]) for rows in
              (slice(200, 400), slice(400, None))]  # fmt: skip
    merged = [
        first.shard().merge(first).merge(shards[i]).merge(shards[1 - i]).finalize() for i in (0, 1)
    ]
    assert support(merged[0]) == chosen
    np.testing.assert_allclose(merged[0].scores_, merged[1].scores_, rtol=1e-6, atol=1e-8)
    assert merged[0].learnability_ == merged[1].learnability_
    assert support(in_chunks(select(), X, y)) == chosen


def test_what_is_merged_stays_as_it_is(kind: str):
    X, y, _ = planted()
    first = in_chunks(select(), X[:200], y[:200])
    other = in_chunks(first.shard(), X[200:], y[200:])
    before = other.scores_
    first.merge(other)
    in_chunks(first, X, y)
    np.testing.assert_array_equal(other.finalize().scores_, before)


def test_rows_of_weight_zero_count_as_absent(kind: str):
    X, y, _ = planted()
    weights = np.ones(400)
    weights[:200] = 0
    some = in_chunks(select(), X, y, weights, size=100)
    others = in_chunks(select(), X[200:], y[200:], size=100)
    np.testing.assert_array_equal(some.scores_, others.scores_)


def test_only_rows_of_weight_zero_tell_nothing():
    X, y, chosen = planted()
    selector = select().partial_fit(X[:9, :5], y[:9], np.zeros(9))
    with pytest.raises(NotFittedError):
        selector.get_support()
    assert support(in_chunks(selector, X, y)) == chosen


def test_number_is_chosen_on_held_out_rows(kind: str):
    X, y, chosen = planted(600)
    selector = in_chunks(select("auto", path_sizes=[1, 3, 5], n_resamples=2), X, y)
    assert support(selector) == chosen
    assert selector.at(5).n_features_ == 5
    assert selector.stability_.index == 1


def test_missing_entries_count_as_means(kind: str):
    X, y, chosen = planted()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    assert support(in_chunks(select(missing="mean"), X, y)) == chosen
    with pytest.raises(ValueError, match="missing='mean'"):
        in_chunks(select(missing="error"), X, y)


def test_natural_size_is_that_of_kept_rows():
    X, y, _ = planted()
    whole = published(order=2, max_iter=30, random_state=0).fit(X, y)
    parts = in_chunks(published(order=2, max_iter=30, random_state=0), X, y)
    assert support(parts) == support(whole)


def test_classes_that_come_later_are_named_first():
    X, y, chosen = planted()
    y = np.digitize(y, [-1, 1])
    order = np.argsort(y, kind="stable")
    selector = in_chunks(select(), X[order], y[order], classes=[2, 1, 0])
    assert support(selector) == chosen
    assert selector.task_ == "multiclass"


def test_a_class_that_never_comes_does_no_harm(kind: str):
    X, y, chosen = planted()
    selector = in_chunks(select(), X, np.digitize(y, [-1, 1]), classes=[0, 1, 2, 7])
    assert support(selector) == chosen


def test_a_first_chunk_of_one_class_is_no_mistake():
    X, y, chosen = planted()
    y = y > 0
    order = np.argsort(y, kind="stable")
    selector = select().partial_fit(X[order[:9]], y[order[:9]], classes=[False, True])
    with pytest.raises(ValueError, match="only one value"):
        selector.finalize()
    assert support(in_chunks(selector, X[order[9:]], y[order[9:]])) == chosen


def test_unknown_class_is_named():
    X, _, _ = planted(20)
    selector = select().partial_fit(X[:10], 5 * ["a", "b"])
    with pytest.raises(ValueError, match=r"y contains 'c', .* classes \['a', 'b'\]"):
        selector.partial_fit(X[10:], 5 * ["b", "c"])


def test_other_classes_are_refused():
    X, _, _ = planted(20)
    selector = select().partial_fit(X[:10], 5 * ["a", "b"])
    with pytest.raises(ValueError, match=r"classes=\['a', 'c'\] are not those of the first call"):
        selector.partial_fit(X[10:], 5 * ["a", "b"], classes=["a", "c"])


def test_classes_of_numbers_are_refused():
    X, y, _ = planted(20)
    with pytest.raises(ValueError, match="task='regression', which has none"):
        select(task="regression").partial_fit(X, y, classes=[0, 1])


def test_other_outputs_are_refused():
    X, y, _ = planted(20)
    selector = select().partial_fit(X, np.stack([y, y**2], axis=1))
    with pytest.raises(ValueError, match="y has 3 outputs but had 2"):
        selector.partial_fit(X, np.stack([y, y, y], axis=1))


@pytest.mark.parametrize("build", [pd.DataFrame, pl.DataFrame])
def test_names_come_from_frames(build):
    X, y, chosen = planted()
    names = [f"x{i}" for i in range(16)]
    frame = build(dict(zip(names, X.T, strict=True)))
    selector = in_chunks(select(), frame, y)
    assert selector.get_feature_names_out().tolist() == [f"x{i}" for i in chosen]
    with pytest.raises(ValueError, match="feature names should match"):
        selector.partial_fit(frame[names[::-1]], y)
    with pytest.raises(ValueError, match="feature_names_in_"):
        selector.merge(in_chunks(select(), X, y))


def test_other_number_of_features_is_refused_at_once():
    X, y, _ = planted()
    with pytest.raises(ValueError, match="n_features_to_select=17"):
        select(17).partial_fit(X, y)
    with pytest.raises(ValueError, match="15 features"):
        select().partial_fit(X, y).partial_fit(X[:, 1:], y)


def test_constraints_hold(kind: str):
    X, y, chosen = planted()
    selector = select(3, keep=[0], exclude=[chosen[0]])
    assert support(in_chunks(selector, X, y)) == [0, *chosen[1:]]


def test_nothing_is_chosen_before_rows_are_finalized():
    X, y, chosen = planted()
    selector = select().partial_fit(X[:200], y[:200])
    for ask in (selector.get_support, lambda: selector.transform(X), lambda: selector.at(3)):
        with pytest.raises(NotFittedError, match=r"call finalize\(\) first"):
            ask()
    assert not hasattr(selector, "scores_")
    assert support(selector.finalize()) == chosen
    selector.partial_fit(X[200:], y[200:])
    with pytest.raises(NotFittedError, match=r"call finalize\(\) first"):
        selector.get_support()


def test_only_rows_that_were_kept_can_be_finalized():
    X, y, _ = planted(50)
    with pytest.raises(NotFittedError):
        select().finalize()
    with pytest.raises(ValueError, match="use partial_fit in place of fit"):
        select().fit(X, y).finalize()


def test_more_rows_change_the_choice():
    X, y, chosen = planted()
    other = X[:, :3].sum(axis=1)
    selector = in_chunks(select(), X[:60], other[:60])
    assert support(selector) == [0, 1, 2]
    assert support(in_chunks(selector, X, 10 * y)) == chosen


def test_fit_and_clone_forget_rows():
    X, y, chosen = planted()
    selector = in_chunks(select(), X, X[:, :3].sum(axis=1))
    assert support(in_chunks(clone(selector), X, y)) == chosen
    assert support(selector.fit(X, y)) == chosen
    assert support(in_chunks(selector, X, X[:, :3].sum(axis=1))) == [0, 1, 2]


def test_stored_selector_goes_on(kind: str):
    X, y, _ = planted()
    selector = in_chunks(select(), X[:200], y[:200])
    back = pickle.loads(pickle.dumps(selector))
    for one in (selector, back):
        in_chunks(one, X[200:], y[200:])
    np.testing.assert_array_equal(back.scores_, selector.scores_)
    assert support(back.merge(selector.shard()).finalize()) == support(selector)


def test_what_has_no_rows_cannot_be_merged():
    X, y, _ = planted(50)
    seen, fitted = select().partial_fit(X, y), select().fit(X, y)
    with pytest.raises(NotFittedError):
        select().merge(seen)
    with pytest.raises(ValueError, match="other has not kept its rows"):
        seen.merge(fitted)
    with pytest.raises(ValueError, match="other is of type int"):
        seen.merge(1)
    with pytest.raises(ValueError, match="other is this selector"):
        seen.merge(seen)
    with pytest.raises(ValueError, match="No rows"):
        seen.shard().finalize()


def refused(y):
    """Rows and options that are refused, with what the error says."""
    X = planted(50)[0]
    rows, wild = X[:20], X[:20].copy()
    wild[3, 2] = 1e18
    gap = np.where(wild == 1e18, np.nan, rows)
    y, ones = y[:20], np.ones(20)
    return {
        "huge values": (wild, y, {}, "holds values of up to 1e\\+18"),
        "infinity": (np.where(wild == 1e18, np.inf, rows), y, {}, "contains infinity"),
        "NaN": (gap, y, {}, "contains NaN"),
        "fewer columns": (rows[:, 1:], y, {}, "has 15 features"),
        "words": (np.full(rows.shape, "a"), y, {}, "could not convert|numeric"),
        "fewer targets": (rows, y[1:], {}, "inconsistent numbers"),
        "infinite y": (rows, np.where(ones.cumsum() == 4, np.inf, y), {}, "y contains infinity"),
        "words in y": (rows, np.full(20, "red"), {}, "y contains|cannot be (used|compared)"),
        "outputs": (rows, np.stack([y, y], axis=1), {}, "y has 2 (columns|outputs)"),
        "classes": (rows, y, {"classes": [0, 1, 7]}, "are not those of the first call"),
        "unknown class": (rows, 0 * y + 7, {}, "y contains 7"),
        "negative weights": (rows, y, {"sample_weight": -ones}, "sample_weight contains -1"),
        "fewer weights": (rows, y, {"sample_weight": ones[1:]}, r"sample_weight has shape \(19,\)"),
        "wild weights": (rows, y, {"sample_weight": 1e200 * ones}, "of which sums overflow"),
        "words as weights": (rows, y, {"sample_weight": ["a"] * 20}, "sample_weight holds no num"),
        "groups": (rows, y, {"groups": np.arange(20)}, "groups are given for some rows and not"),
    }


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("task", ["regression", "binary"])
@pytest.mark.parametrize("case", refused(np.zeros(50)))
@pytest.mark.parametrize(
    "make", [lambda: select(missing="error"), lambda: OnlineFeatureSelector(2)]
)
def test_refused_rows_leave_the_state_as_it_was(make, case: str, task: str, container):
    X, y, _ = planted(250)
    y = y if task == "regression" else (y > 0).astype(float)
    bad, target, options, message = refused(y)[case]
    selector = make()
    can_take = "groups" not in options or isinstance(selector, FeatureGradientSelector)
    if (task == "regression" and case == "unknown class") or not can_take:
        return
    bad = bad if case == "words" else container(bad)
    selector.partial_fit(container(X), y)
    before = pickle.dumps(selector)
    with pytest.raises(ValueError, match=message):
        selector.partial_fit(bad, target, **options)
    assert pickle.dumps(selector) == before


@pytest.mark.parametrize("case", ["huge values", "NaN", "fewer targets", "infinite y"])
@pytest.mark.parametrize(
    "make", [lambda: select(missing="error"), lambda: OnlineFeatureSelector(2)]
)
def test_refused_first_rows_leave_nothing(make, case: str):
    bad, target, _, message = refused(planted(50)[1])[case]
    selector = make()
    before = pickle.dumps(selector)
    with pytest.raises(ValueError, match=message):
        selector.partial_fit(pd.DataFrame(bad).rename(columns=str), target)
    assert pickle.dumps(selector) == before


def test_refused_rows_leave_a_fitted_selector_as_it_was():
    X, y, chosen = planted()
    selector = select().fit(X, y)
    with pytest.raises(ValueError, match="contains infinity"):
        selector.partial_fit(X[:, :4], np.full(len(y), np.inf))
    assert selector.transform(X).shape == (len(y), len(chosen))
