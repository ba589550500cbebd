import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from featgrad import describe
from featgrad.report import contents


def rows(n_rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n_rows)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, n_rows).astype(float),
            "income": np.exp(rng.standard_normal(n_rows) * 2),
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], n_rows),
            "joined": pd.date_range("2020-01-01", periods=n_rows),
            "name": [f"person {i}" for i in range(n_rows)],
            "always": 1.0,
            "x": x,
            "y": x + rng.standard_normal(n_rows),
        }
    )


def of(found, name: str):
    return next(variable for variable in found.variables if variable.name == name)


@pytest.mark.parametrize("convert", [lambda df: df, pl.from_pandas], ids=["pandas", "polars"])
def test_each_column_of_a_frame_is_described(convert):
    found = describe(convert(rows()), "y")
    kinds = [variable.kind for variable in found.variables]
    assert kinds == ["number", "number", "text", "date", "text", "number", "number", "number"]
    assert (found.n_rows, found.n_variables, found.task) == (400, 8, "regression")
    assert of(found, "joined").values == "2020-01-01 to 2021-02-03"
    assert of(found, "town").distinct == 3


def test_remarks_name_what_to_look_at():
    found = describe(rows())
    assert of(found, "income").remarks == ("skewed: try its logarithm",)
    assert of(found, "name").remarks == ("like an identifier: left out",)
    assert of(found, "always").remarks == ("constant",)
    assert of(found, "x").remarks == ()


def test_what_a_variable_explains_by_itself_is_that_of_a_fit():
    table = rows(4000)
    shares = {v.name: v.explains for v in describe(table, "y").variables}
    assert shares["x"] == pytest.approx(np.corrcoef(table["x"], table["y"])[0, 1] ** 2, abs=0.01)
    assert max(shares["age"], shares["town"]) < 0.01
    assert shares["y"] is None


@pytest.mark.parametrize(
    "leak",
    [lambda y: 3 - 2 * y, lambda y: (y - 0.3) ** 2 * np.sign(y - 0.3), lambda y: y.round(1)],
    ids=["a line", "a curve", "rounded"],
)
def test_a_variable_that_holds_the_target_is_a_leak(leak):
    table = rows()
    found = describe(table.assign(later=leak(table["y"])), "y")
    assert of(found, "later").remarks == ("explains the target by itself: a leak?",)


def test_a_text_that_holds_the_class_is_a_leak():
    table = rows()
    is_high = table["y"] > 0
    found = describe(
        table.assign(code=np.where(is_high, "a", "b"), y=np.where(is_high, "+", "o")), "y"
    )
    assert of(found, "code").remarks == ("explains the target by itself: a leak?",)
    assert (found.task, found.task_reason) == ("binary", "two values")


def test_values_that_are_missing_with_the_target_are_named():
    table = rows()
    table.loc[(table["y"] > 0) & (table.index % 5 > 0), "age"] = np.nan
    age = of(describe(table, "y"), "age")
    assert age.missing == table["age"].isna().sum()
    assert "missing explains" in age.remarks[0]


def test_values_far_off_are_counted():
    table = rows()
    table.loc[[3, 30], "x"] = 1e6, -2e6
    assert of(describe(table), "x").remarks == ("2 values far off",)


def test_values_that_differ_by_case_or_blanks_are_counted():
    table = rows()
    table.loc[table.index < 9, "town"] = "ulm "
    assert of(describe(table), "town").remarks == ("2 values differ by case or blanks only",)


def test_the_target_may_be_given_by_its_values():
    table = rows()
    found = describe(table.drop(columns="y"), table["y"].to_numpy())
    assert (found.target, found.task) == ("y", "regression")
    assert of(found, "x").explains == of(describe(table, "y"), "x").explains


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_matrices_are_described_with_a_target_and_without(convert):
    X = rows()[["age", "x"]].to_numpy()
    found = describe(convert(X))
    assert [(v.name, v.distinct) for v in found.variables] == [("x0", 60), ("x1", 400)]
    assert found.task is None
    labels = np.where(X[:, 1] > 0, "yes", "no")
    with_target = describe(convert(X), labels)
    assert with_target.task == "binary"
    assert of(with_target, "x1").remarks == ("explains the target by itself: a leak?",)


def test_files_of_rows_are_described(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(30))
    assert describe(tmp_path / "X.npy").n_variables == 30
    (tmp_path / "rows.svm").write_text("1 1:2 3:1\n0 2:1\n" * 20)
    found = describe(tmp_path / "rows.svm")
    assert [variable.name for variable in found.variables] == ["x0", "x1", "x2", "y"]
    assert found.task == "binary"


def test_missing_targets_are_counted_among_the_rows_left_out():
    table = rows()
    table.loc[:9, "y"] = np.nan
    assert describe(table, "y").left_out["the target is missing"] == 10


def test_what_would_stop_a_selection_is_a_problem_and_not_an_error():
    found = describe(rows().assign(y=1.0), "y")
    assert "only one value" in found.problems[0]
    assert "the nearest is 'x'" in describe(rows(), "xx").problems[0]
    assert describe(rows()[:0]).problems == ("the frame has no rows.",)


def test_variables_in_rows_are_suspected():
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 8)))
    table.columns = [f"sample{i}" for i in table]
    table.insert(0, "gene", [f"g{i}" for i in range(30)])
    assert "pass transpose=True" in describe(table).problems[0]


def test_a_description_is_text_html_and_json():
    found = describe(rows().rename(columns={"x": "<x>\n"}), "y")
    assert "<x>\\u000a" in str(found)
    assert "&lt;x&gt;" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["variables"][6]["name"] == "<x>\n"


def test_of_many_variables_the_first_are_described(monkeypatch):
    monkeypatch.setattr(contents, "MOST_DESCRIBED", 5)
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((50, 90))).add_prefix("v")
    found = describe(table, "v80")
    assert (len(found.variables), found.n_variables) == (6, 90)
    assert "and 84 more variables" in str(found)


def test_of_many_rows_a_sample_is_looked_at_and_all_are_counted(tmp_path, monkeypatch):
    table = rows(3000)
    table.loc[::3, "age"] = np.nan
    table.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr(contents, "LOADED_SAMPLE_BYTES", 1 << 15)
    found = describe(tmp_path / "rows.csv", "y")
    assert (found.n_rows, of(found, "age").missing) == (3000, 1000)
    assert 64 <= of(found, "x").distinct < 1500
