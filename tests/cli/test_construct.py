"""The command that constructs features."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest

from featgrad.cli import main
from featgrad.cli.construct import _drawn
from featgrad.construct.curves import Hinge, Lag
from featgrad.construct.expressions import Curved, Given, Product


@pytest.fixture
def table(tmp_path, monkeypatch) -> dict[str, np.ndarray]:
    """Written as trips.csv: a product, a cross of texts, a linear target, and some missing."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    columns = {name: rng.standard_normal(400).round(3) for name in ("a", "b", "c")}
    columns["town"] = rng.choice(["Rome", "Ulm", "Bern"], 400)
    columns["day"] = rng.choice(["Sun", "Mon"], 400)
    noise = 0.3 * rng.standard_normal(400)
    both = (columns["town"] == "Rome") & (columns["day"] == "Sun")
    columns["product"] = columns["a"] * (columns["b"] + 30) - 30 * columns["a"] + noise
    columns["cross"] = 2.0 * both + noise
    columns["linear"] = columns["a"] + noise
    columns["c"] = np.where(rng.random(400) < 0.1, "", columns["c"].astype(str))
    with open("trips.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return columns


OTHERS = {"product", "cross", "linear"}


def arguments(target: str, *more: str) -> list[str]:
    excluded = ["--exclude", *sorted(OTHERS - {target})]
    return ["construct", "trips.csv", "--target", target, *excluded, *more]


def answer(capsys, *given: str) -> dict:
    assert main([*given, "--json", "-q"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_product_is_found_beside_texts_and_missing_values(table, capsys):
    found = answer(capsys, *arguments("product", "-k", "1", "--operations", "products"))
    assert found["features"] == ["a * b"]
    assert found["constructed"][0]["parts"] == ["a", "b"]
    assert found["constructed"][0]["gain"] > 0.5
    assert found["formula"] == "product ~ a * b"
    assert found["learnability"]["low"] < 1 / 1.09 < found["learnability"]["high"]


def test_a_cross_of_texts_is_found(table, capsys):
    found = answer(capsys, *arguments("cross", "-k", "1", "--operations", "products"))
    assert found["features"] in (["town=Rome * day=Sun"], ["town=Rome * day"])


def test_text_has_gains_the_verdict_and_the_formula(table, capsys):
    given = arguments("product", "-k", "1", "--operations", "products", "--formula")
    assert main([*given, "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("a * b")
    assert any(line.startswith("1 of 1 features are constructed (correlation") for line in lines)
    assert lines[-1] == "formula: product ~ a * b"


def test_why_nothing_is_constructed_is_said(table, capsys):
    found = answer(capsys, *arguments("linear", "-k", "1", "--operations", "products,hinges"))
    assert found["features"] == ["a"]
    assert found["constructed"] == []
    assert found["result"].startswith("nothing is constructed: no candidate is worth more")


def test_constructed_columns_are_written(table, capsys):
    answer(capsys, *arguments("product", "-k", "1", "--write", "small.csv"))
    with open("small.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["a * b", "product"]
    built = np.array(rows, float)[:, 0]
    np.testing.assert_allclose(built, table["a"] * table["b"], atol=1e-9)


def test_the_report_shows_constructed_features(table, capsys):
    answer(capsys, *arguments("product", "-k", "2", "--report", "report.html"))
    with open("report.html", encoding="utf-8") as file:
        page = file.read()
    assert '"constructed":[{"names":["a * b"],"parts":["a","b"]' in page
    assert "<dt>Seed</dt><dd>0</dd>" in page
    assert " given and 1 constructed</dd>" in page


def test_the_report_draws_functions_of_at_most_two_columns_of_the_same_row():
    a, b, c = map(Given, range(3))
    pair = Product((a, b), (0.0, 0.0))
    entered = [Curved(Lag(), a, 2.0), Curved(Hinge(), b, 0.5), Product((pair, c), (0.0, 0.0)), pair]
    X = np.random.default_rng(0).standard_normal((60, 3 + len(entered)))
    constructor = SimpleNamespace(entered_=entered, features_=[a, *entered])
    assert _drawn(constructor, X) == {4: [1], 6: [0, 1]}


def test_an_unknown_operation_is_one_line_that_names_all(table, capsys):
    assert main(arguments("product", "--operations", "products,sums")) == 2
    error = capsys.readouterr().err
    assert error.startswith("featgrad: error: --operations 'sums' is unknown: use some of products")
    assert error.count("\n") == 1


def test_a_large_file_has_no_lags(table, capsys, monkeypatch):
    monkeypatch.setattr("featgrad.plan.LOADED_BYTES", 1000)
    assert main(arguments("product", "--operations", "lags", "-q")) == 1
    assert "takes rows in their order" in capsys.readouterr().err


def test_all_rows_of_a_large_file_choose(table, capsys, monkeypatch):
    monkeypatch.setattr("featgrad.plan.LOADED_BYTES", 1000)
    found = answer(capsys, *arguments("product", "-k", "1", "--operations", "products"))
    assert found["features"] == ["a * b"]
    assert found["rows"] == len(table["a"])


def test_select_suggests_to_construct(table, capsys):
    given = arguments("product", "-k", "1")
    assert main(["select", *given[1:], "-q"]) == 0
    assert "featgrad construct" in capsys.readouterr().out
