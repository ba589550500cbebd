import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from featgrad import DataWarning, FeatureGradientSelector, Learnability, WorkingSet
from featgrad.estimates.estimate import Sizes
from featgrad.report import gather_facts
from featgrad.report.profiles import fingerprint, nearest_chosen
from featgrad.report.settings import reason_of_size, settings_in_words
from featgrad.report.text import number_text


def table(n_rows=300, n_columns=6, seed=0):
    """The first two columns make the target; the last is all but a copy of the first."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    X[:, -1] = X[:, 0] + 0.3 * rng.standard_normal(n_rows)
    return X, 2 * X[:, 0] + X[:, 1] + rng.standard_normal(n_rows)


def gathered(X, y, k=2, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        selector = FeatureGradientSelector(k, random_state=0).fit(X, y)
    return gather_facts(selector, X, y, **options)


def kinds(facts):
    return [concern.kind for concern in facts.concerns]


def test_selection_is_described_by_its_gains_and_its_estimate():
    X, y = table()
    selector = FeatureGradientSelector(2, random_state=0).fit(X, y)
    facts = gather_facts(selector, X, y)
    assert facts.selection.features.tolist() == [0, 1]
    assert facts.selection.gains is selector.path_[0].gains
    assert facts.everything == Learnability(X, y).estimate()


def test_gains_are_of_the_given_rows_where_no_others_judge():
    X, y = table()
    selector = FeatureGradientSelector(2, estimate=False, random_state=0).fit(X, y)
    gains = gather_facts(selector, X, y).selection.gains
    np.testing.assert_array_equal(gains, Learnability(X, y).gains([0, 1]))


def test_rejected_features_are_assigned_to_the_chosen_they_resemble():
    X, y = table()
    (size,) = gathered(X, y).table["sizes"]
    assert size["nearest"][5] == 0
    assert size["correlation"][5] == round(100 * np.corrcoef(X[:, 0], X[:, 5])[0, 1])


@pytest.mark.parametrize("kind", [sparse.csr_array, np.asfortranarray, np.float32])
def test_correlations_are_those_of_numpy_for_every_kind_of_matrix(kind):
    X, _ = table()
    X[np.abs(X) < 0.5] = 0
    expected = np.abs(np.corrcoef(X.T))
    np.fill_diagonal(expected, 0)
    sets = [np.array([1]), np.array([0, 2, 4])]
    for columns, (nearest, r) in zip(sets, nearest_chosen(kind(X), sets), strict=True):
        np.testing.assert_allclose(np.abs(r), expected[:, columns].max(axis=1), rtol=1e-5)
        positive = np.abs(r) > 0
        best = expected[:, columns].argmax(axis=1)
        np.testing.assert_array_equal(nearest[positive], best[positive])


def test_correlations_run_over_blocks_of_chosen_columns():
    X = np.random.default_rng(0).standard_normal((40, 150))
    (nearest, _), *_ = nearest_chosen(X, [np.arange(150)])
    expected = np.abs(np.corrcoef(X.T))
    np.fill_diagonal(expected, 0)
    np.testing.assert_array_equal(nearest, expected.argmax(axis=1))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_missing_values_count_as_the_mean_and_constants_as_unrelated(kind):
    X, _ = table()
    X[:, 3] = 7.0
    X[::9, 1] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    (nearest, r), *_ = nearest_chosen(kind(X), [np.array([1, 3])])
    assert (nearest[3], r[3]) == (-1, 0.0)
    # The variance is that of the entries which are there, hence a little larger.
    np.testing.assert_allclose(r[0], np.corrcoef(filled[:, 0], filled[:, 1])[0, 1], rtol=0.1)


def test_concerns_are_those_of_the_selector_with_the_given_names():
    X, y = table()
    X[:, 3] = y + 0.01 * X[:, 2]
    (concern,) = gathered(X, y, k=1, names=list("abcdef")).concerns
    assert (concern.kind, concern.features) == ("leak", ("d",))
    assert "“d”" in concern.text


def test_path_is_shown():
    X, y = table()
    selector = FeatureGradientSelector(2, path_sizes=[1, 4], random_state=0).fit(X, y)
    facts = gather_facts(selector, X, y)
    assert [point.size for point in facts.path] == [1, 2, 4]
    assert facts.selection.size == 2
    assert [point.learnability for point in facts.path] == [p.learnability for p in selector.path_]
    assert facts.selection.score == selector.score_


def test_without_estimates_those_of_the_same_rows_are_shown():
    X, y = table()
    selector = FeatureGradientSelector(2, estimate=False, random_state=0).fit(X, y)
    facts = gather_facts(selector, X, y)
    assert facts.selection.learnability.is_optimistic
    assert kinds(facts) == []


def test_stability_and_groups_are_taken_over():
    X, y = table()
    selector = FeatureGradientSelector(2, random_state=0).fit(X, y)
    selector.stability_ = SimpleNamespace(frequencies=np.linspace(0, 1, 6))
    selector.feature_groups = ["a", "a", "b", "b", "c", "c"]
    facts = gather_facts(selector, X, y)
    assert facts.table["stability"] == [0, 20, 40, 60, 80, 100]
    assert facts.table["groups"] == [
        {"name": "a", "features": [0, 1]},
        {"name": "b", "features": [2, 3]},
        {"name": "c", "features": [4, 5]},
    ]


def test_features_of_a_group_have_its_gain():
    X, y = table()
    groups = [[0, 5], [1, 2]]
    options = {"feature_groups": groups, "estimate": False, "random_state": 0}
    selector = FeatureGradientSelector(4, **options).fit(X, y)
    data, selection = Learnability(X, y), gather_facts(selector, X, y).selection
    assert selection.features.tolist() == [0, 1, 2, 5]
    np.testing.assert_array_equal(selection.gains, data.gains([0, 1, 2, 5], list("abba")))
    # Column 5 is all but a copy of column 0: each makes up for the other, but not for both.
    single = data.gains([0, 1, 2, 5])
    assert selection.gains.values[0] > single.values[0] + single.values[3]


def test_summary_counts_what_is_missing_and_constant():
    X, y = table()
    X[:, 3] = 1.0
    X[0, 2] = X[1, 2] = np.nan
    selector = FeatureGradientSelector(2, missing="mean", random_state=0).fit(X, y)
    data = gather_facts(selector, X, y, about={"File": "some.csv"}).data
    assert data["File"] == "some.csv"
    assert data["Missing values"] == f"{200 / X.size:.1f}%"
    assert data["Constant features"].startswith("1,")


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (np.arange(300) % 2, "2 classes (0: 50.0%, 1: 50.0%)"),
        (np.array(["a", "b", "b"] * 100), "2 classes (b: 66.7%, a: 33.3%)"),
        (np.eye(3, dtype=int)[np.arange(300) % 3], "3 outputs"),
    ],
    ids=["binary", "strings", "multilabel"],
)
def test_target_is_summed_up(y, expected):
    assert gathered(table()[0], y).data["Target"] == expected


def test_names_are_those_of_the_frame_or_those_given():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    assert gathered(frame, y).names == list("abcdef")
    assert gathered(X, y).names == [f"x{i}" for i in range(6)]
    assert gathered(X, y, names=list("uvwxyz")).names == list("uvwxyz")


def test_fingerprint_follows_the_values():
    X, y = table()
    assert fingerprint(X, y) == fingerprint(np.asfortranarray(X), y)
    changed = X.copy()
    changed[5, 2] += 1e-9
    others = [fingerprint(changed, y), fingerprint(X, y[::-1]), fingerprint(X[:-1], y[:-1])]
    assert fingerprint(X, y) not in others


def test_fingerprint_reads_words_and_sparse_matrices():
    X, _ = table()
    words = np.array(["a", "b"] * 150, dtype=object)
    matrix = sparse.csr_array(X)
    assert fingerprint(matrix, words) == fingerprint(matrix.copy(), words.copy())
    assert fingerprint(matrix, words) != fingerprint(matrix, words[::-1])


def test_a_sparse_matrix_is_summed_up_by_its_entries():
    X, y = table()
    X[:, 2:] = 0
    facts = gathered(sparse.csr_array(X), y)
    assert facts.data["Entries other than 0"] == "33.3%"
    assert facts.data["Missing values"] == "none"
    assert facts.data["Constant features"].startswith("4,")


def test_settings_other_than_the_defaults_are_reported():
    X, y = table()
    selector = FeatureGradientSelector(2, search=WorkingSet(order=3), random_state=7).fit(X, y)
    facts = gather_facts(selector, X, y)
    assert facts.settings["Other parameters"] == "search=WorkingSet(order=3)"
    assert facts.provenance["Seed"] == "7"
    assert facts.provenance["Command"] == (
        "FeatureGradientSelector(n_features_to_select=2, random_state=7, "
        "search=WorkingSet(order=3)).fit(X, y)"
    )


AS_A_WHOLE = " of features, each chosen as a whole"


@pytest.mark.parametrize(
    ("options", "label", "words"),
    [
        ({"n_features_to_select": 2}, "Number of features", "2"),
        ({"n_features_to_select": 0.5}, "Number of features", "0.5 of all"),
        ({}, "Number of features", "the smallest that predicts held-out rows about as well as any"),
        ({"feature_groups": [[0, 1], [2, 3]]}, "Groups", f"2 groups{AS_A_WHOLE}"),
        ({"feature_groups": list("aabcde")}, "Groups", f"1 group{AS_A_WHOLE}"),
        ({"missing": "error"}, "Other parameters", "missing='error'"),
        ({"keep": [3]}, "Always chosen", "1 feature"),
        (
            {"max_cost": 2.0, "costs": {0: 2}},
            "Number of features",
            "as many as cost no more than 2 in total",
        ),
    ],
)
def test_settings_are_told_in_words(options, label, words):
    X, y = table()
    selector = FeatureGradientSelector(**options, random_state=0).fit(X, y)
    assert settings_in_words(selector)[label] == words


def test_how_the_search_ran_is_kept_apart_from_the_settings():
    facts = gathered(*table())
    assert "Search" in facts.search
    assert facts.settings == {"Number of features": "2", "Target": "numbers (regression, detected)"}


def signs(facts):
    (size,) = facts.table["sizes"]
    return size["signs"]


def test_direction_is_that_of_a_model_on_the_chosen():
    X, y = table()
    assert signs(gathered(X, y - 2 * X[:, 1])) == [1, -1]


def test_direction_is_that_of_the_weighted_rows():
    X, _ = table()
    rows = np.arange(300) < 200
    y = np.where(rows, X[:, 0], -X[:, 0])
    weights = np.where(rows, 0.0, 1.0)
    selector = FeatureGradientSelector(1, estimate=False, random_state=0)
    selector.fit(X, y, sample_weight=weights)
    assert signs(gather_facts(selector, X, y, sample_weight=weights)) == [-1]


def test_several_outputs_have_no_direction():
    X, y = table()
    assert signs(gathered(X, np.column_stack([y, -y]))) is None


def test_target_is_named_by_the_caller_or_by_itself():
    X, y = table()
    assert gathered(X, y).target is None
    assert gathered(X, pd.Series(y, name="price")).target == "price"
    assert gathered(X, pd.Series(y, name="price"), target="cost").target == "cost"
    assert gathered(X, pd.Series(y, name=0)).target is None
    assert gathered(X, pd.DataFrame({"name": y, "b": -y})).target is None


def test_missing_shares_are_those_of_each_candidate():
    X, y = table()
    assert gathered(X, y).table["missing"] is None
    X[:30, 3] = np.nan
    selector = FeatureGradientSelector(2, missing="mean", random_state=0).fit(X, y)
    for matrix in (X, sparse.csr_array(X)):
        missing = gather_facts(selector, matrix, y).table["missing"]
        assert missing == [0, 0, 0, 100, 0, 0]


def test_profiles_are_drawn_of_chosen_features_groups_and_the_best_others(monkeypatch):
    monkeypatch.setattr("featgrad.report.facts._PROFILES", 1)
    X, y = table()
    X[:, 2] = X[:, 0] > 0
    X[:, 3] = X[:, 0] <= 0
    selector = FeatureGradientSelector(3, feature_groups=[[2, 3]], random_state=0).fit(X, y)
    facts = gather_facts(selector, X, y)
    singles = {int(i) for i in facts.selection.features if i not in (2, 3)}
    assert singles | {0} <= set(facts.table["profiles"]) <= singles | {0, 2}


def test_a_heat_map_has_the_chosen_and_what_they_replace():
    X, y = table()
    redundancy = gathered(X, y).table["redundancy"]
    assert redundancy["names"] == ["x0", "x5", "x1"]
    assert redundancy["replaced_by"] == [-1, 0, -1]
    expected = 100 * np.corrcoef(X[:, [0, 5, 1]].T)
    np.testing.assert_array_equal(redundancy["correlations"], expected.round())


def test_a_group_is_in_the_heat_map_once():
    X, y = table()
    selector = FeatureGradientSelector(3, feature_groups=[[1, 2]], random_state=0).fit(X, y)
    redundancy = gather_facts(selector, X, y).table["redundancy"]
    assert selector.get_support(indices=True).tolist() == [0, 1, 2]
    # Column 5 is there because column 0 replaces it.
    assert sorted(redundancy["names"]) == ["x0", "x1", "x5"]


@pytest.mark.parametrize("groups", [[[0, 1], [2, 3, 4]], [[0, 1], [2], [3], [4], [5], []]])
def test_groups_may_be_lists_of_any_length(groups):
    X, y = table()
    selector = FeatureGradientSelector(3, feature_groups=groups, random_state=0).fit(X, y)
    shown = gather_facts(selector, X, y).table["groups"]
    assert [group["features"] for group in shown] == [g for g in groups if len(g) > 1]
    assert shown[0]["name"] == "x0 and 1 more"


def test_one_feature_has_no_heat_map():
    X, y = table()
    assert gathered(X[:, :3], y, k=1).table["redundancy"] is None


def test_what_would_take_long_is_left_out(monkeypatch):
    monkeypatch.setattr("featgrad.report.facts._OTHER_GAIN_WORK", 0)
    monkeypatch.setattr("featgrad.report.facts._CORRELATIONS", 6)
    X, y = table()
    options = {"path_sizes": [1], "estimate": False, "random_state": 0}
    selector = FeatureGradientSelector(2, **options).fit(X, y)
    other, chosen = gather_facts(selector, X, y).table["sizes"]
    assert other["gains"] is None
    assert other["nearest"] is None
    assert chosen["gains"] is not None
    assert chosen["nearest"] is not None


def test_of_very_many_candidates_the_best_are_shown(monkeypatch):
    monkeypatch.setattr("featgrad.report.facts._CANDIDATES", 4)
    X, y = table(n_columns=12)
    X[:, 7] = 1.0  # constant, but must be kept
    names = [f"n{i}" for i in range(12)]
    groups = [[0, 1], [2, 3]]
    selector = FeatureGradientSelector(
        3, keep=[7], feature_groups=groups, n_resamples=2, random_state=0
    ).fit(X, y)
    facts = gather_facts(selector, X, y, names=names)
    shown = facts.table
    assert len(facts.names) == len(shown["univariate"]) == len(shown["stability"]) < 12
    assert [facts.names[i] for i in facts.selection.features] == ["n0", "n1", "n7"]
    assert facts.selection.gains is selector.path_[0].gains
    (group,) = shown["groups"]
    assert [facts.names[i] for i in group["features"]] == ["n0", "n1"]
    assert facts.data["Candidate features"] == "12"
    assert facts.data["Shown here"].startswith(f"{len(facts.names)} candidates")


@pytest.mark.parametrize("scale", [1e-160, 1e200])
def test_correlations_do_not_depend_on_the_scale(scale):
    X, y = table()
    expected, found = gathered(X, y), gathered(X * [scale, 1, 1, 1, 1, 1], y)
    assert found.table["redundancy"] == expected.table["redundancy"]
    for name in ("nearest", "correlation", "signs"):
        assert found.table["sizes"][0][name] == expected.table["sizes"][0][name]


def test_held_out_rows_are_drawn_as_their_score_says():
    X, y = table()
    facts = gathered(X, y + 50)
    held_out = facts.table["held_out"]
    predicted, actual = np.array(held_out["points"]).T
    assert held_out["name"] == "the target"
    assert len(actual) == 300
    np.testing.assert_allclose(np.sort(actual), np.sort(y + 50), rtol=1e-3)
    r2 = 1 - np.mean((actual - predicted) ** 2) / np.var(actual)
    assert r2 == pytest.approx(facts.selection.score.value, abs=0.01)


def test_each_class_has_a_curve_of_held_out_rows():
    X, y = table()
    held_out = gathered(X, np.where(y > 1, "high", "low")).table["held_out"]
    (curve,) = held_out["curves"]
    assert curve["name"] == "the target = low"
    assert curve["count"] == np.count_nonzero(y <= 1)
    assert 0.7 < curve["found"] / curve["count"] < 1
    ends = [(curve["x"][i], curve["y"][i]) for i in (0, -1)]
    assert ends == [(0, 0), (1000, 1000)]
    area = np.trapezoid(curve["y"], curve["x"]) / 1e6
    assert 0.85 < area < 1
    assert held_out["classes"] == ["high", "low"]
    count, found = curve["count"], curve["found"]
    wrong = count - found
    assert held_out["counts"] == [[300 - count - wrong, wrong], [wrong, found]]


@pytest.mark.parametrize("n_classes", [3, 12])
def test_what_is_mixed_up_is_shown(n_classes):
    """Classes are along a line, so that each is taken for its neighbours."""
    rng = np.random.default_rng(0)
    y = np.resize(np.arange(n_classes), 1200)
    X = 2 * np.eye(n_classes)[y] + np.eye(n_classes)[(y + 1) % n_classes]
    X += 0.8 * rng.standard_normal(X.shape)
    selector = FeatureGradientSelector(n_classes, task="multiclass", random_state=0).fit(X, y)
    held_out = gather_facts(selector, X, y).table["held_out"]
    if n_classes == 3:
        counts = np.array(held_out["counts"])
        assert held_out["classes"] == ["0", "1", "2"]
        assert counts.sum(axis=1).tolist() == [400, 400, 400]
        assert 0.7 < np.trace(counts) / 1200 < 1
        return
    pairs = held_out["pairs"]
    assert "counts" not in held_out
    assert len(pairs) == 8
    assert 0.5 < held_out["right"] / held_out["rows"] < 1
    assert all((int(b) - int(a)) % n_classes in (1, n_classes - 1) for a, b, *_ in pairs)
    wrong = [count for *_, count, _ in pairs]
    assert wrong == sorted(wrong, reverse=True)


@pytest.mark.filterwarnings("ignore:No features were selected")
def test_without_features_no_held_out_rows_are_drawn():
    X = np.random.default_rng(0).standard_normal((200, 20))
    y = np.random.default_rng(1).standard_normal(200)
    selector = FeatureGradientSelector(random_state=0).fit(X, y)
    assert selector.n_features_ == 0
    assert gather_facts(selector, X, y).table["held_out"] is None


def test_without_held_out_rows_none_are_drawn():
    X, y = table()
    selector = FeatureGradientSelector(2, estimate=False, random_state=0).fit(X, y)
    assert gather_facts(selector, X, y).table["held_out"] is None


def frame(n_rows: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """A text that is missing in some rows, days that rise, and a number."""
    rng = np.random.default_rng(0)
    town = rng.choice(["Rome", "Ulm", "Bern"], n_rows).astype(object)
    size = rng.standard_normal(n_rows)
    y = 2.0 * (town == "Rome") + size + np.arange(n_rows) / 100 + 0.3 * rng.standard_normal(n_rows)
    town[:30] = None
    days = pd.date_range("2024-01-01", periods=n_rows)
    return pd.DataFrame({"town": town, "day": days, "size": size}), y


def test_texts_are_missing_where_they_are_none_and_have_no_direction():
    X, y = frame()
    facts = gathered(X, y, k=3)
    assert facts.table["missing"] == [100, 0, 0]
    assert facts.data["Missing values"] == "3.3%"
    assert signs(facts) == [0, 1, 1]
    labelled = [facts.table["profiles"][i]["labelled"] for i in range(3)]
    assert labelled == [True, False, False]


def test_a_column_of_two_texts_has_them_as_labels_and_no_direction():
    rng = np.random.default_rng(0)
    side = rng.choice(["left", "right"], 300)
    X = pd.DataFrame({"side": side, "size": rng.standard_normal(300)})
    facts = gathered(X, (side == "left") + X["size"] + rng.standard_normal(300))
    assert signs(facts) == [0, 1]
    profile = facts.table["profiles"][0]
    assert (profile["labelled"], profile["bins"]) == (True, ["right", "left"])
    assert "Entries other than 0" not in facts.data


def test_rows_are_in_time_where_a_date_never_falls():
    X, y = frame()
    assert gathered(X, y, k=3).is_in_time
    order = np.random.default_rng(0).permutation(len(y))
    assert not gathered(X.iloc[order], y[order], k=3).is_in_time
    assert not gathered(X[["size"]], y, k=1).is_in_time


@pytest.mark.parametrize(
    ("smallest", "best", "cap", "size", "reason"),
    [
        (3, 8, None, 3, "3 suffice, 8 is best"),
        (1, 8, None, 1, "1 suffices, 8 is best"),
        (3, 8, None, 5, "5 asked for; 3 suffice, 8 is best"),
        (8, 8, 8, 8, "8 is best (the most tried)"),
        (0, None, None, 0, "nothing predicts held-out rows better than noise"),
        (None, None, None, 2, "as asked for"),
    ],
)
def test_the_size_has_a_reason(smallest, best, cap, size, reason):
    sizes = [None if n is None else SimpleNamespace(size=n) for n in (smallest, best)]
    selector = SimpleNamespace(
        sizes_=None if smallest is None else Sizes(*sizes, cap),
        n_features_=size,
        n_features_to_select=size,
        max_cost=None,
        plan_=SimpleNamespace(search=SimpleNamespace(size_rule=None)),
    )
    assert reason_of_size(selector) == reason


def test_the_best_size_is_where_the_path_has_it():
    X, y = table()
    selector = FeatureGradientSelector(random_state=0).fit(X, y)
    best = gather_facts(selector, X, y).table["best"]
    assert selector.path_[best] is selector.sizes_.best
    assert gathered(X, y).table["best"] is None


def test_numbers_near_0_within_a_span_are_0():
    assert number_text(-4.26e-9, 0.2) == "0"
    assert number_text(-4.26e-9) == "-4.26e-09"
    X, y = table()
    facts = gathered(X - X.mean(axis=0), y - y.mean())
    assert facts.data["Target"].startswith("mean 0, standard deviation 2.")
