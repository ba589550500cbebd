"""A fit warns of rows that depend on each other and of relations that are not linear."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import TimeSeriesSplit

from featgrad import DataWarning, FeatureGradientSelector, open_source
from featgrad.cli import main
from featgrad.report import gather_facts

N_ROWS = 400


def warned(X, y, **options) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selector = FeatureGradientSelector(3, random_state=0, **options).fit(X, y)
    assert all(issubclass(each.category, DataWarning) for each in caught)
    found = [concern for concern in selector.concerns_ if concern.kind != "estimate"]
    shown = [str(concern) for concern in found if concern.kind != "drift"]
    assert [str(each.message) for each in caught] == shown
    return list(map(str, found))


def patients(rng) -> tuple[np.ndarray, np.ndarray]:
    """Ten rows of each of 40 patients, one after the other; their disease is chance."""
    of = np.repeat(range(40), 10)
    X = rng.normal(size=(40, 200))[of] + 0.3 * rng.normal(size=(N_ROWS, 200))
    return X, rng.integers(0, 2, 40)[of]


def walks(rng, n_columns: int = 20) -> tuple[np.ndarray, np.ndarray]:
    steps = rng.normal(size=(N_ROWS, n_columns + 1)).cumsum(axis=0)
    return steps[:, :-1], steps[:, -1]


def linear(rng, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(N_ROWS, 10))
    return X, X[:, 0] - X[:, 1] + noise * rng.normal(size=N_ROWS)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_of_the_same_patients_are_nearly_copies(rng, shuffled):
    X, y = patients(rng)
    order = rng.permutation(N_ROWS) if shuffled else np.arange(N_ROWS)
    (text,) = warned(X[order], y[order])
    assert "nearly copies" in text
    assert "--group" in text


def test_copies_of_continuous_rows_with_other_targets_are_found(rng):
    X = rng.normal(size=(80, 20))[np.repeat(range(80), 5)]
    (text,) = warned(X, rng.normal(size=N_ROWS))
    assert "nearly copies" in text


def test_classes_that_are_far_apart_are_no_copies(rng):
    y = np.arange(N_ROWS) % 10
    X = 5 * rng.normal(size=(10, 30))[y] + rng.normal(size=(N_ROWS, 30))
    assert warned(X, y) == []


def test_random_walks_are_like_their_neighbours(rng):
    (text,) = warned(*walks(rng))
    assert "neighbours" in text
    assert "--in-order" in text


def test_rows_of_a_walk_in_random_order_are_not_like_their_neighbours(rng):
    X, y = walks(rng)
    order = rng.permutation(N_ROWS)
    assert not any("neighbours" in text for text in warned(X[order], y[order]))


def test_the_order_of_rows_in_a_source_is_known(rng):
    X, y = walks(rng)
    source = open_source(X, target=y, block_rows=90)
    with pytest.warns(DataWarning, match="neighbours"):
        FeatureGradientSelector(3, random_state=0).fit_source(source)


@pytest.mark.parametrize("by", ["target", "class"])
def test_rows_sorted_by_the_target_are_neither_like_their_neighbours_nor_drift(rng, by):
    X, y = linear(rng)
    if by == "class":
        y = (y > 0).astype(int)
    order = np.argsort(y, kind="stable")
    assert warned(X[order], y[order]) == []


def test_rows_sorted_by_a_column_drift_and_are_not_like_their_neighbours(rng):
    X, y = linear(rng)
    order = np.argsort(X[:, 0])
    (text,) = warned(X[order], y[order])
    assert "standard deviations in “x0” and the target" in text


def test_discrete_rows_that_agree_by_chance_are_no_copies(rng):
    X = rng.integers(0, 4, size=(N_ROWS, 3)).astype(float)
    assert len(np.unique(X, axis=0)) < N_ROWS / 5
    assert warned(X, X[:, 0] + rng.normal(size=N_ROWS)) == []


def test_a_product_is_named_beside_a_column_of_two_values(rng):
    X = rng.normal(size=(N_ROWS, 3))
    X[:, 2] = np.resize([0, 1], N_ROWS)
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=N_ROWS)
    (text,) = warned(X, y)
    assert text.startswith(("The product of x0 and x1", "The product of x1 and x0"))


@pytest.mark.parametrize("classes", [False, True])
def test_a_product_is_named(rng, classes):
    X = pd.DataFrame(rng.normal(size=(N_ROWS, 6)), columns=list("abcdef"))
    y = X["b"] * X["e"] + 0.5 * rng.normal(size=N_ROWS)
    (text,) = warned(X, y > 0 if classes else y)
    assert text.startswith(("The product of b and e", "The product of e and b"))


def test_a_square_is_named(rng):
    X = rng.normal(size=(N_ROWS, 6))
    (text,) = warned(X, np.abs(X[:, 4]) + 0.3 * rng.normal(size=N_ROWS))
    assert text.startswith("The square of x4 explains")


@pytest.mark.parametrize("kind", ["skewed", "heteroscedastic", "rare class"])
def test_linear_relations_are_silent(kind):
    alarms = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = linear(rng)
        if kind == "skewed":
            X = np.exp(X)
            y = X[:, 0] + X[:, 1] + rng.normal(size=N_ROWS)
        elif kind == "heteroscedastic":
            y = X[:, 0] + X[:, 1] + np.exp(X[:, 0]) * rng.normal(size=N_ROWS)
        else:
            y = (y > 1.5).astype(int)
        alarms += len(warned(X, y))
    assert alarms <= 1


def test_without_estimates_nothing_is_looked_for(rng):
    assert warned(*walks(rng), estimate=False) == []


def test_a_report_repeats_what_the_fit_has_warned_of(rng):
    X, y = walks(rng)
    with pytest.warns(DataWarning):
        selector = FeatureGradientSelector(3, random_state=0).fit(X, y)
    assert list(gather_facts(selector, X, y).concerns) == selector.concerns_


def test_the_command_names_columns_of_the_file_once(rng, tmp_path, capsys):
    table = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=list("abcd"))
    table["y"] = table["b"] * table["d"]
    table.to_csv(tmp_path / "table.csv", index=False)
    assert main(["select", str(tmp_path / "table.csv"), "--target", "y", "--json", "-q"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = [text for text in answer["warnings"] + answer["notes"] if "product of" in text]
    assert len(found) == 1
    assert "b and d" in found[0] or "d and b" in found[0]


def test_rows_of_groups_that_are_given_are_not_warned_of(rng):
    X, y = patients(rng)
    selector = FeatureGradientSelector(3, random_state=0)
    selector.fit(X, y, groups=np.repeat(range(40), 10))
    assert not [each for each in selector.concerns_ if each.kind != "estimate"]


def test_rows_in_the_order_of_a_splitter_are_not_warned_of(rng):
    assert warned(*walks(rng), cv=TimeSeriesSplit(3)) == []


@pytest.mark.parametrize("name", ["patient", "patient_id", "PatientId", "id"])
def test_a_column_of_repeated_labels_is_named(rng, name):
    X, y = linear(rng)
    table = pd.DataFrame(X).rename(columns=str)
    table[name] = rng.integers(0, 60, N_ROWS)
    (text,) = warned(table, y)
    assert f"the same {name}" in text


@pytest.mark.parametrize("name", ["acid", "age", "humid", "solid"])
def test_other_columns_of_whole_numbers_are_no_labels(rng, name):
    X, y = linear(rng)
    table = pd.DataFrame(X).rename(columns=str)
    table[name] = rng.integers(0, 60, N_ROWS)
    assert warned(table, y) == []


def test_the_command_names_a_text_column_of_labels(rng, tmp_path, capsys):
    X, y = linear(rng)
    table = pd.DataFrame(X).rename(columns=str).assign(y=y)
    table["patient"] = [f"P{i}" for i in rng.integers(0, 60, N_ROWS)]
    table.to_csv(tmp_path / "table.csv", index=False)
    given = ["select", str(tmp_path / "table.csv"), "--target", "y", "-k", "2", "--json", "-q"]
    assert main(given) == 0
    assert "the same patient" in json.loads(capsys.readouterr().out)["warnings"][0]
    assert main([*given, "--group", "patient"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
