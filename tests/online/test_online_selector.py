"""Selection on streams: what is found, and that it does not depend on how rows are cut."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.signal import lfilter
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from featgrad import OnlineFeatureSelector


@parametrize_with_checks([OnlineFeatureSelector(2, half_life=50)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def planted(n_rows: int, n_columns: int, active: list[int], seed: int = 0):
    """The target is the sum of some columns and as much noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    signal = X[:, active].sum(axis=1)
    return X, signal + np.sqrt(len(active)) * rng.standard_normal(n_rows)


def changing(n_rows: int, n_columns: int, before: list[int], after: list[int]):
    """The active columns change half way."""
    X, y = planted(n_rows, n_columns, before)
    later, y_later = planted(n_rows, n_columns, after, seed=1)
    return np.concatenate([X, later]), np.concatenate([y, y_later])


def fed(selector, X, y, size: int):
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        selector.partial_fit(X[rows], y[rows])
    return selector


@pytest.fixture(params=["dense", "csr", "pandas"])
def container(request):
    return {"dense": np.asarray, "csr": sp.csr_array, "pandas": pd.DataFrame}[request.param]


ACTIVE, LATER = [3, 30, 300], [5, 50, 400]


def test_planted_columns_are_found_among_more_than_a_working_set(container):
    X, y = planted(1500, 500, ACTIVE)
    selector = OnlineFeatureSelector(3, half_life=500).partial_fit(container(X), y)
    assert selector.get_support(indices=True).tolist() == ACTIVE


def test_set_follows_a_change(container):
    X, y = changing(2000, 500, ACTIVE, LATER)
    selector = OnlineFeatureSelector(3, half_life=500).partial_fit(container(X), y)
    assert selector.get_support(indices=True).tolist() == LATER


def test_suppressor_is_found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 400))
    y = X[:, 10] + 0.5 * rng.standard_normal(3000)
    X[:, 10] += X[:, 20]
    selector = OnlineFeatureSelector(2, half_life=2000).partial_fit(X, y)
    assert selector.get_support(indices=True).tolist() == [10, 20]


def test_duplicate_of_a_chosen_column_is_not_chosen():
    X, y = planted(2000, 30, [3, 7])
    X[:, 4] = X[:, 3] + 0.3 * np.random.default_rng(1).standard_normal(2000)
    selector = OnlineFeatureSelector(2, half_life=1000).partial_fit(X, y)
    assert selector.get_support(indices=True).tolist() == [3, 7]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_state_does_not_depend_on_blocks(size: int, container):
    X, y = changing(700, 300, [3, 7], [5, 9])
    whole = OnlineFeatureSelector(2, half_life=200, task="regression").partial_fit(container(X), y)
    table = container(X)
    cut = fed(
        OnlineFeatureSelector(2, half_life=200, task="regression"),
        table if container is not pd.DataFrame else _Rows(table),
        y,
        size,
    )
    assert np.array_equal(cut.get_support(), whole.get_support())
    np.testing.assert_allclose(cut.scores_, whole.scores_, atol=1e-6)
    assert cut.history_ == whole.history_
    assert cut.learnability_.value == pytest.approx(whole.learnability_.value, abs=1e-6)


class _Rows:
    """Rows of a frame by slices."""

    def __init__(self, frame):
        self._frame = frame

    def __getitem__(self, rows):
        return self._frame.iloc[rows]


def test_stored_selector_goes_on_bit_for_bit():
    X, y = changing(550, 300, [3, 7], [5, 9])
    through = OnlineFeatureSelector(2, half_life=200).partial_fit(X[:730], y[:730])
    stored = pickle.loads(pickle.dumps(through))
    for selector in (through, stored):
        selector.partial_fit(X[730:], y[730:])
    assert np.array_equal(through.scores_, stored.scores_)
    assert through.learnability_ == stored.learnability_


@pytest.mark.parametrize("shift", [0.0, 50.0, 1e8])
def test_merged_halves_are_about_one_stream(shift: float, container):
    X, y = planted(4000, 400, [3, 30, 300])
    X, y = X + shift, y + shift
    one = OnlineFeatureSelector(3).partial_fit(container(X), y)
    here, there = (
        OnlineFeatureSelector(3).partial_fit(container(X[i::2]), y[i::2]) for i in (0, 1)
    )
    before = pickle.dumps(there)
    here.merge(there)
    assert pickle.dumps(there) == before
    assert np.array_equal(here.get_support(), one.get_support())
    assert here.n_rows_seen_ == 4000
    assert here.learnability_.value == pytest.approx(one.learnability_.value, abs=0.03)
    np.testing.assert_allclose(here.scores_[ACTIVE], one.scores_[ACTIVE], atol=0.02)
    for selector in (here, one):
        selector.partial_fit(container(X), y)
    assert np.array_equal(here.get_support(), one.get_support())
    assert here.n_rows_seen_ == 8000


def test_merging_adds_rows_that_do_not_make_a_block_yet():
    X, y = planted(450, 20, [3, 7])
    for cut in (40, 70, 410):
        one = OnlineFeatureSelector(2).partial_fit(X[:cut], y[:cut])
        one.merge(OnlineFeatureSelector(2).partial_fit(X[cut:], y[cut:]))
        assert one.n_rows_seen_ == 450
        assert one.get_support(indices=True).tolist() == [3, 7]


def test_merging_keeps_alarms_of_both_streams_and_own_choices():
    X, y = changing(4000, 20, [3], [5])
    changes = OnlineFeatureSelector(1, half_life=500).partial_fit(X, y)
    stays = OnlineFeatureSelector(1, half_life=500).partial_fit(*planted(5000, 20, [5], seed=3))
    own = [event for event in stays.history_ if event.kind == "choice"]
    stays.merge(changes)
    assert stays.alarms_ == changes.alarms_
    assert [event for event in stays.history_ if event.kind == "choice"] == own
    rows = [event.row for event in stays.history_]
    assert rows == sorted(rows)
    stays.partial_fit(X, y)
    assert [event.kind for event in stays.alarms_[:1]] == ["alarm"]
    assert stays.timeline_[-1].row > 13_000


@pytest.mark.parametrize(
    ("parameters", "convert", "message"),
    [
        ({"half_life": 500}, np.asarray, "half_life=500 and this selector 2000"),
        ({}, sp.csr_array, "is_sparse=True and this selector False"),
        ({}, lambda X: X[:, :4], "n_features_in_=4 and this selector 5"),
        ({}, lambda X: pd.DataFrame(X, columns=list("abcde")), "feature_names_in_="),
        ({"task": "regression"}, np.asarray, "task='regression' and this selector 'auto'"),
    ],
)
def test_merging_names_what_differs(parameters, convert, message: str):
    X, y = planted(200, 5, [3])
    here = OnlineFeatureSelector(1).partial_fit(X, y)
    there = OnlineFeatureSelector(1, **parameters).partial_fit(convert(X), y)
    before = pickle.dumps(here)
    with pytest.raises(ValueError, match=message):
        here.merge(there)
    assert pickle.dumps(here) == before


def test_merging_names_the_first_other_column_and_other_classes():
    X, y = planted(200, 2, [1])
    frames = (pd.DataFrame(X, columns=names) for names in (["a", "b"], ["a", "c"]))
    here, there = (OnlineFeatureSelector(1).partial_fit(frame, y) for frame in frames)
    with pytest.raises(ValueError, match=r"feature_names_in_=\['c'\] and this selector \['b'\]"):
        here.merge(there)
    kinds = (OnlineFeatureSelector(1).partial_fit(X, np.arange(200) % n) for n in (2, 3))
    with pytest.raises(ValueError, match=r"encoding=multiclass .* this selector binary"):
        next(kinds).merge(next(kinds))


def test_merging_with_itself_is_refused():
    selector = OnlineFeatureSelector(1).partial_fit(*planted(200, 5, [3]))
    for same in (selector, copy.copy(selector)):
        with pytest.raises(ValueError, match="other is this selector"):
            selector.merge(same)
    with pytest.raises(ValueError, match="other is of type int"):
        selector.merge(1)


def test_long_streams_keep_their_weights_finite():
    X, y = planted(3000, 5, [3])
    selector = OnlineFeatureSelector(1, half_life=5).partial_fit(X, y)
    assert selector.get_support(indices=True).tolist() == [3]
    assert np.isfinite(selector.scores_).all()


def test_memory_does_not_grow_with_rows():
    X, y = planted(1000, 300, [3])
    selector = OnlineFeatureSelector(1, half_life=100).partial_fit(X, y)
    before = len(pickle.dumps(selector))
    for _ in range(4):
        selector.partial_fit(X, y)
    assert len(pickle.dumps(selector)) < 1.05 * before


def test_noise_does_not_flap():
    X, y = planted(12_000, 300, [])
    y = np.random.default_rng(5).standard_normal(12_000)
    selector = OnlineFeatureSelector(5, half_life=1000).partial_fit(X, y)
    late = [event for event in selector.history_ if event.row > 4000]
    assert sum(len(event.entered) for event in late) <= 4


def test_learnability_of_noise_is_not_above_zero():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 300)), rng.standard_normal(1000)
    selector = OnlineFeatureSelector(10).partial_fit(X, y)
    assert selector.learnability_.interval[0] <= 0


def test_learnability_covers_the_truth():
    X, y = planted(8000, 50, [3, 7])
    selector = OnlineFeatureSelector(2).partial_fit(X, y)
    low, high = selector.learnability_.interval
    assert low < 0.5 < high


def test_fall_of_learnability_raises_an_alarm():
    X, y = changing(4000, 20, [3], [5])
    selector = OnlineFeatureSelector(1, half_life=500).partial_fit(X, y)
    (alarm,) = selector.alarms_
    assert 4000 < alarm.row <= 4600
    assert (alarm.entered, alarm.left) == ((5,), (3,))


def as_dicts(X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip("abcde", row, strict=True)) for row in X.tolist()]


@pytest.mark.parametrize("kind", ["dense", "csr", "dicts"])
@pytest.mark.parametrize("value", [1e18, 2e19, 9.97e36, 1e300, np.inf])
@pytest.mark.parametrize("place", ["X", "y"])
@pytest.mark.parametrize("n_rows", [1, 250])
def test_rows_of_huge_values_are_refused_and_leave_no_trace(kind, value, place, n_rows):
    convert = {"dense": np.asarray, "csr": sp.csr_array, "dicts": as_dicts}[kind]
    X, y = planted(1200, 5, [1, 3])
    good, selector = (OnlineFeatureSelector(2, half_life=200) for _ in range(2))
    good.partial_fit(convert(X), y)
    selector.partial_fit(convert(X[:550]), y[:550])
    huge, target = X[:n_rows].copy(), y[:n_rows].copy()
    (huge[:, 2] if place == "X" else target)[-1] = -value
    with pytest.raises(ValueError, match=f"{place} (holds values of up to|contains)"):
        selector.partial_fit(convert(huge), target)
    selector.partial_fit(convert(X[550:]), y[550:])
    np.testing.assert_allclose(selector.scores_, good.scores_, atol=1e-6)
    assert selector.n_rows_seen_ == 1200


def test_huge_values_are_refused_by_the_name_of_their_column():
    X, y = planted(50, 5, [1])
    X[7, 2] = 9.97e36
    with pytest.raises(ValueError, match=r"Column 'c' of X holds values of up to 9\.97e\+36"):
        OnlineFeatureSelector(1).partial_fit(as_dicts(X), y)


def test_features_of_refused_rows_are_not_kept():
    X, y = planted(50, 5, [1])
    selector = OnlineFeatureSelector(1).partial_fit(as_dicts(X), y)
    with pytest.raises(ValueError, match="infinity"):
        selector.partial_fit([{"new": np.inf}], [0.0])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        selector.partial_fit([{"new": 1.0}], [0.0, 1.0])
    selector.partial_fit([{"late": 1.0}], [0.0])
    assert selector.feature_names_in_.tolist() == ["a", "b", "c", "d", "e", "late"]


def test_rows_count_by_their_weights(container):
    X, y = planted(1500, 20, [3])
    weights = np.where(np.arange(1500) % 3, 1.0, 0.0)
    y[weights == 0] = 5 * X[weights == 0, 7]
    X, light, used = container(X), np.maximum(weights, 1e-9), np.flatnonzero(weights)
    rows = X.iloc[used] if isinstance(X, pd.DataFrame) else X[used]
    alone = OnlineFeatureSelector(1, half_life=500).partial_fit(rows, y[used])
    for given in (weights, 1000 * weights, light):
        selector = OnlineFeatureSelector(1, half_life=500)
        selector.partial_fit(X, y, sample_weight=given)
        assert selector.get_support(indices=True).tolist() == [3]
        assert selector.learnability_.value == pytest.approx(alone.learnability_.value, abs=0.05)
        assert not selector.alarms_


def test_rows_of_weight_0_are_as_if_they_had_not_come():
    X, y = planted(700, 5, [3])
    weights = np.random.default_rng(0).random(700) * (np.arange(700) >= 150)
    parts = fed_weighted(OnlineFeatureSelector(1), X, y, weights)
    used = weights > 0
    whole = OnlineFeatureSelector(1).partial_fit(X[used], y[used], sample_weight=weights[used])
    assert parts.n_rows_seen_ == used.sum()
    np.testing.assert_array_equal(parts.scores_, whole.scores_)
    assert parts.learnability_ == whole.learnability_


def fed_weighted(selector, X, y, weights):
    for start in range(0, len(y), 70):
        rows = slice(start, start + 70)
        selector.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
    return selector


@pytest.mark.parametrize("weight", [1e-300, 1e300, -1.0, np.nan])
def test_wild_weights_are_refused_and_leave_no_trace(weight: float):
    X, y = planted(250, 5, [3])
    selector = OnlineFeatureSelector(1).partial_fit(X, y)
    before = pickle.dumps(selector)
    with pytest.raises(ValueError, match=r"sample_weight (holds|contains)"):
        selector.partial_fit(X, y, sample_weight=np.append(np.ones(249), weight))
    assert pickle.dumps(selector) == before


def test_missing_values_count_as_the_mean_of_rows_before(container):
    X, y = planted(1500, 20, [3])
    absent = np.random.default_rng(1).random(X.shape) < 0.2
    X = container(np.where(absent, np.nan, X + 5))
    with pytest.raises(ValueError, match="missing='mean'"):
        OnlineFeatureSelector(1).partial_fit(X, y)
    selector = OnlineFeatureSelector(1, half_life=500, missing="mean").partial_fit(X, y)
    assert selector.get_support(indices=True).tolist() == [3]
    assert selector.learnability_.value == pytest.approx(0.4, abs=0.08)
    if isinstance(X, np.ndarray):
        with pytest.raises(ValueError, match="holds values of up to"):
            selector.partial_fit(np.where(np.arange(20) == 4, 1e20, X[:10]), y[:10])


def test_missing_values_depend_on_no_cuts(container):
    X, y = planted(500, 8, [3])
    X = container(np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X))
    whole, parts = (OnlineFeatureSelector(2, missing="mean") for _ in range(2))
    whole.partial_fit(X, y)
    np.testing.assert_array_equal(fed(parts, X, y, 37).scores_, whole.scores_)


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        ([{"new": 1e18}], [0.0], "Column 'new' of X holds values"),
        ([{"new": np.nan}], [0.0], "X contains NaN"),
        ([{"new": "red"}], [0.0], "could not convert"),
        ([{"new": 1.0}], [0.0, 1.0], "inconsistent numbers"),
        ([{"new": 1.0}], [np.inf], "y contains infinity"),
        ([{"new": 1.0}], ["red"], "cannot be used with task='regression'"),
        ([{"new": 1.0}], [1e18], "y holds values of up to"),
        (np.ones((1, 5)), [0.0], "X is a table but was a list of dicts"),
    ],
)
@pytest.mark.parametrize("n_rows", [50, 150])
def test_refused_dicts_leave_the_state_as_it_was(rows, y, message: str, n_rows: int):
    X, target = planted(n_rows, 5, [1])
    selector = OnlineFeatureSelector(1).partial_fit(as_dicts(X), target)
    before = pickle.dumps(selector)
    with pytest.raises(ValueError, match=message):
        selector.partial_fit(rows, y)
    assert pickle.dumps(selector) == before


def test_failed_fit_leaves_what_was_learned():
    selector = OnlineFeatureSelector(1).partial_fit(*planted(200, 5, [1]))
    before = pickle.dumps(selector)
    with pytest.raises(ValueError, match="contains NaN"):
        selector.fit(np.full((3, 2), np.nan), np.arange(3))
    assert pickle.dumps(selector) == before


def test_rows_may_be_dicts_with_new_features():
    rng = np.random.default_rng(0)
    rows, y = [], []
    for number in range(3000):
        names = ["a", "b", "c"] if number < 1500 else ["b", "c", "late"]
        row = dict(zip(names, rng.standard_normal(3), strict=True))
        y.append(row.get("late", row["b"]) + 0.3 * rng.standard_normal())
        rows.append(row)
    selector = OnlineFeatureSelector(1, half_life=200, task="regression")
    selector.partial_fit(rows[:1500], y[:1500])
    assert selector.get_feature_names_out().tolist() == ["b"]
    selector.partial_fit(rows[1500:], y[1500:])
    assert selector.get_feature_names_out().tolist() == ["late"]
    assert selector.transform(rows[-1:]) == [{"late": rows[-1]["late"]}]


def test_scores_count_features_of_rows_that_wait():
    X, y = planted(150, 5, [1])
    selector = OnlineFeatureSelector(1).partial_fit(as_dicts(X), y)
    selector.partial_fit([{"late": 1.0}], [0.0])
    assert len(selector.scores_) == 6


def test_several_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 300))
    y = np.argmax(X[:, [3, 5, 7]] + 0.5 * rng.standard_normal((2000, 3)), axis=1)
    selector = OnlineFeatureSelector(3).partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    selector.partial_fit(X[100:], y[100:])
    assert selector.get_support(indices=True).tolist() == [3, 5, 7]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features_to_select": 0}, "n_features_to_select=0 cannot be used"),
        ({"half_life": 0.5}, "half_life=0.5 cannot be used"),
        ({"alarm_rate": 0}, "alarm_rate=0 cannot be used"),
    ],
)
def test_parameters_are_checked(parameters, message: str):
    with pytest.raises(ValueError, match=message):
        OnlineFeatureSelector(**parameters).partial_fit(np.eye(3), np.arange(3))


def test_support_needs_rows():
    with pytest.raises(NotFittedError):
        OnlineFeatureSelector(1).get_support()


def test_first_rows_need_a_feature():
    with pytest.raises(ValueError, match="X has no features"):
        OnlineFeatureSelector(1).partial_fit([{}, {}], [0.0, 1.0])


def test_features_that_do_not_vary_yet_are_nothing_to_choose_from():
    selector = OnlineFeatureSelector(1, task="regression")
    selector.partial_fit([{"a": 1.0}] * 150, np.arange(150.0))
    assert selector.features_.tolist() == []


def turning(n_rows: int, share: float = 1.0):
    """A share of the target turns slowly from column 3 to column 5."""
    rng = np.random.default_rng(0)
    X, angle = rng.standard_normal((n_rows, 20)), np.linspace(0, np.pi / 2, n_rows)
    y = share * (np.cos(angle) * X[:, 3] + np.sin(angle) * X[:, 5])
    return X, y + rng.standard_normal(n_rows)


def test_set_that_changes_beyond_chance_raises_a_shift():
    X, y = turning(20_000, share=0.5)
    (shift,) = OnlineFeatureSelector(1, half_life=500).partial_fit(X, y).alarms_
    assert shift.kind == "shift"
    assert shift.row > 10_000
    assert (shift.entered, shift.left) == ((5,), (3,))


def test_rows_that_change_have_a_shorter_half_life():
    selector = OnlineFeatureSelector(1)
    stays = selector.suggest_half_life(*planted(6000, 20, [3]))
    turns = selector.suggest_half_life(*turning(6000))
    assert turns < stays


def test_timeline_has_the_scores_of_each_set():
    selector = OnlineFeatureSelector(2).partial_fit(*planted(1800, 30, [3, 7]))
    last = selector.timeline_[-1]
    assert last.row == 1800
    assert last.features.tolist() == [3, 7]
    np.testing.assert_allclose(last.scores, selector.scores_[[3, 7]])


def test_timeline_of_a_long_stream_is_thinned_evenly(monkeypatch):
    monkeypatch.setattr("featgrad.online.history.TIMELINE_LENGTH", 4)
    selector = OnlineFeatureSelector(1).partial_fit(*planted(6000, 5, [3]))
    rows = [decision.row for decision in selector.timeline_]
    assert len(rows) <= 4
    assert len(set(np.diff(rows[1:]))) == 1


def test_columns_that_are_worth_the_same_do_not_take_turns():
    """Ten columns matter as much as each other, so that any five of them are the best."""
    X, y = planted(20_000, 20, list(range(10)))
    selector = OnlineFeatureSelector(5, half_life=300).partial_fit(X, y)
    late = [event for event in selector.history_ if event.row > 2000]
    assert sum(len(event.entered) for event in late) <= 2


def test_rows_that_depend_on_those_before_raise_no_alarms():
    rng, correlation = np.random.default_rng(0), 0.99
    noise = np.sqrt(1 - correlation**2) * rng.standard_normal((60_000, 21))
    rows = lfilter([1], [1, -correlation], noise, axis=0)
    X, y = rows[:, :20], rows[:, :10].sum(axis=1) / np.sqrt(10) + rows[:, 20]
    assert OnlineFeatureSelector(5).partial_fit(X, y).alarms_ == []


def test_columns_of_text_are_refused_with_advice():
    rows = pd.DataFrame({"a": [1.0, 2.0], "t": ["u", "v"]})
    with pytest.raises(ValueError, match="encode columns of text"):
        OnlineFeatureSelector(1).partial_fit(rows, [0.0, 1.0])
