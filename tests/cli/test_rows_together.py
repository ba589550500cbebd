"""Groups of rows and rows in the order of time, from files."""

import json

import numpy as np
import pandas as pd
import pytest

from featgrad.cli import main


@pytest.fixture
def path(tmp_path):
    """Noise: ten rows of each of 40 persons, who have one target; shuffled, one row a day."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 10)
    X = rng.normal(size=(40, 20))[person] + 0.3 * rng.normal(size=(400, 20))
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(20)])
    frame["person"], frame["y"] = [f"p{i}" for i in person], rng.integers(0, 2, 40)[person]
    frame["day"] = pd.date_range("2020-01-01", periods=400).strftime("%Y-%m-%d")
    path = tmp_path / "persons.csv"
    frame.sample(frac=1, random_state=0).to_csv(path, index=False)
    return path


def select(path, capsys, *options: str) -> dict:
    command = ["select", str(path), "--target", "y", "-k", "5", "-q", "--json", *options]
    assert main(command) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "options",
    [("--group", "person", "--exclude", "day"), ("--time", "day", "--exclude", "person")],
    ids=["groups", "time"],
)
def test_noise_is_not_said_to_predict_new_persons(path, capsys, options):
    alone = select(path, capsys, "--exclude", "person", "day")
    assert alone["score"]["value"] > 0.8
    assert any("nearly copies" in text for text in alone["warnings"])
    found = select(path, capsys, *options)
    score = found["score"]
    assert abs(score["value"] - 0.5) < 1.96 * score["standard_error"]
    assert not any("nearly copies" in text for text in found["warnings"])
    assert not {"person", "day"} & set(found["features"])


def test_large_files_have_to_be_in_order(path, capsys, monkeypatch):
    monkeypatch.setattr("featgrad.plan.LOADED_BYTES", 1000)
    options = "--target", "y", "-k", "5", "-q", "--exclude", "person", "--time", "day"
    assert main(["select", str(path), *options]) == 1
    assert "rows are not in the order of --time" in capsys.readouterr().err


def test_groups_and_order_are_two_ways(path, capsys):
    options = "--target", "y", "--group", "person", "--in-order"
    assert main(["select", str(path), *options]) == 2
    assert "leave one out" in capsys.readouterr().err


def test_workers_do_not_look_at_times(path, capsys):
    options = "--target", "y", "--exclude", "person", "--time", "day", "--dask", "local"
    assert main(["select", str(path), *options]) == 2
    assert "--time is not looked at by the workers" in capsys.readouterr().err
