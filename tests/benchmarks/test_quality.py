import json

import numpy as np
import pytest
from benchmarks.helpers import regression_sets
from benchmarks.helpers.applicable import NotApplicableError
from benchmarks.helpers.datasets import REGRESSION, STAGED
from benchmarks.helpers.peers import SELECTORS
from benchmarks.helpers.quality import ranks, tables, times
from benchmarks.helpers.quality.cells import read_cells
from benchmarks.helpers.quality.evaluate import forest_score, linear_score
from benchmarks.helpers.quality.summary import score_table, write_summary
from benchmarks.helpers.regression_sets import friedman1, outliers
from benchmarks.helpers.roles import ROLES
from benchmarks.helpers.splitting import finished


def cell(name, selector, kind="binary", split=0, **results):
    known = {"set": name, "selector": selector, "kind": kind, "split": split, "seed": 0}
    return known | {"ks": [5, 10], "peak_bytes": 0} | results


def test_cells_of_older_files_have_scores(tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text(json.dumps(cell("one", "anova", auc={"5": 0.7, "10": 0.9})) + "\n")
    (found,) = read_cells(path).values()
    assert "auc" not in found
    assert tables.means(tables.scores_by_size([found])) == {"anova": {"one": pytest.approx(0.8)}}


def test_sets_of_which_splits_are_missing_do_not_count():
    cells = [
        cell("one", "featgrad", score={"5": 0.8}),
        cell("one", "featgrad", split=1, score={"5": 0.6}),
        cell("one", "anova", score={"5": 0.9}),
    ]
    assert tables.means(tables.scores_by_size(cells)) == {"featgrad": {"one": pytest.approx(0.7)}}


def test_a_summary_names_sets_of_which_splits_are_left(tmp_path):
    cells = [cell("semeion", "featgrad", "multiclass", seconds=1.0, score={"5": 0.8})]
    assert "where some are left: semeion 1 of 5." in write_summary(cells, tmp_path)
    five = [cells[0] | {"split": split} for split in range(5)]
    assert "some are left" not in write_summary(five, tmp_path)


def test_ratios_take_the_lasso_for_regression():
    cells = [
        cell("one", "featgrad", seconds=2.0),
        cell("one", "featgrad", split=1, seconds=4.0),
        cell("one", "l1_path", seconds=1.5),
        cell("one", "l1_path_16", seconds=6.0),
        cell("two", "featgrad", "regression", seconds=1.0),
        cell("two", "lasso", "regression", seconds=0.25),
        cell("two", "forward", "regression", missing="over the limit"),
    ]
    path_16, path, forward = times.PEERS
    found = times.ratios(cells)
    assert found == {"one": {path_16: 0.5, path: 2.0}, "two": {path: 4.0}}
    assert times.extremes(found)["median"] == {path_16: 0.5, path: 3.0}
    assert times.extremes(found)["maximum"][path] == 4.0
    assert forward not in times.extremes(found)["median"]


def test_a_second_average_leaves_madelon_out():
    table = {"anova": {"madelon": 0.6, "one": 0.8}, "featgrad": {"one": 0.9}}
    lines = score_table(table, {"anova": 1.0}, ["madelon", "one"])
    # What is compared with the others stands first.
    assert lines[0] == "| set | featgrad | anova |"
    assert "| **average** | 0.9000 (1 set) | 0.7000 |" in lines
    assert "| average without madelon | 0.9000 | 0.8000 |" in lines


def test_summary_has_a_table_per_judge_and_kind(tmp_path):
    scores = {"score": {"5": 0.5}, "forest": {"10": 0.6}, "seconds": 1.0}
    cells = [
        cell("one", "featgrad", **scores),
        cell("two", "featgrad", "regression", **scores),
        cell("two", "chi2", "regression", missing="not applicable: it needs classes"),
    ]
    text = write_summary(cells, tmp_path)
    for kind, metric in (("binary", "AUC"), ("regression", "R^2")):
        assert f"## {kind}" in text
        assert f"Random forest, test {metric}:" in text
    assert "| chi2 | not applicable: it needs classes | two |" in text


@pytest.mark.parametrize("judge", [linear_score, forest_score])
def test_judges_give_true_columns_of_a_regression_a_higher_score(judge):
    split = finished("regression", *friedman1(0, rows=200, columns=20))
    assert judge(split, np.arange(5)) > 0.4 > 0.1 > judge(split, np.arange(10, 15)) >= -1


def test_only_training_targets_have_outliers():
    _, y_train, _, y_test = outliers(0)
    assert y_train.std() > 1.3 * y_test.std()
    assert np.abs(y_test).max() < 4 * y_test.std()


def test_regression_peers_find_the_strongest_column():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    y = 3 * X[:, 4] + X[:, 7] + 0.1 * rng.standard_normal(80)
    for name in ("anova", "mutual_information", "lasso", "mrmr"):
        assert 4 in SELECTORS[name](X, y, [1, 3], 0)[1]
    with pytest.raises(NotApplicableError):
        SELECTORS["l1_path"](X, y, [3], 0)
    with pytest.raises(NotApplicableError):
        SELECTORS["lasso"](X, np.arange(80) % 2, [3], 0)


def scored(selector, kind, **scores):
    return [cell(name, selector, kind, score={"5": score}) for name, score in scores.items()]


def test_ranks_join_the_l1_path_of_classes_and_the_lasso():
    cells = [
        *scored("featgrad", "binary", mdrr=0.9, colon=0.7),
        *scored("featgrad", "regression", tecator=0.9),
        *scored("l1_path", "binary", mdrr=0.8, colon=0.8),
        *scored("lasso", "regression", tecator=0.8),
        *scored("chi2", "binary", mdrr=0.1),
    ]
    found = ranks.ranked(cells)
    everywhere, confirmed = found["all sets"], found["confirmation sets"]
    assert everywhere["n_sets"] == 3
    assert everywhere["ranks"]["featgrad"][0] == pytest.approx(4 / 3)
    assert everywhere["ranks"]["l1"][0] == pytest.approx(5 / 3)
    assert "chi2" not in everywhere["ranks"]
    assert everywhere["against"]["chi2"]["sets"] == 1
    # colon is a set for development.
    assert confirmed["against"]["l1"] == {
        "sets": 2, "wins": 2, "losses": 0, "mean": pytest.approx(0.1), "p": 0.5,
    }  # fmt: skip


def test_every_set_has_one_role():
    known = [*ROLES["development"], *ROLES["confirmation"]]
    assert sorted(known) == sorted({dataset.name for dataset in STAGED + REGRESSION})


def test_one_target_of_several_leaves_out_rows_where_it_is_missing(monkeypatch):
    Y = np.array([[1, np.nan], [2, 5], [3, 6]])
    monkeypatch.setattr(regression_sets, "read_staged", lambda stem: (np.eye(3), Y))
    assert regression_sets.one_target("any")[1].tolist() == [1, 2, 3]
    X, y = regression_sets.one_target("any", 1)
    assert y.tolist() == [5, 6]
    np.testing.assert_array_equal(X, np.eye(3)[1:])
