"""The task of a target is found in one place: the same wherever the rows are."""

import json

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

from featgrad import (
    DataWarning,
    FeatureGradientSelector,
    Knockoffs,
    Learnability,
    OnlineFeatureSelector,
    open_source,
    permutation_test,
)
from featgrad.cli import main
from featgrad.fitting import Fit
from featgrad.report import gather_facts

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 12))
SIGNAL = X[:, :3].sum(axis=1) / 3**0.5 + 0.5 * rng.standard_normal(400)
TARGETS = {
    "delays": (np.round(20 * SIGNAL), "regression"),
    "twelve counts": (np.clip(np.round(5.5 + 2.5 * SIGNAL), 0, 11), "regression"),
    "days": (np.floor(31 / (1 + np.exp(-SIGNAL))), "regression"),
    # Neighbours in number are not neighbours in the columns.
    "persons": (np.digitize(X[:, 0], [-0.5, 0.5]) * 5 % 7 + 20 * (X[:, 1] > 0), "multiclass"),
    "three classes": (np.digitize(SIGNAL, [-0.5, 0.5]), "multiclass"),
    "labels": (np.array(["a", "b", "c"])[np.digitize(SIGNAL, [-0.5, 0.5])], "multiclass"),
    "two values": (np.where(SIGNAL > 0, 7, 3), "binary"),
}


def select(**options) -> FeatureGradientSelector:
    return FeatureGradientSelector(3, random_state=0, **options)


def on_device(y):
    pytest.importorskip("torch")
    return select(device="cpu").fit(X, y)


def with_dask(y):
    return select().fit(da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100))


FITS = {
    "memory": lambda y: select().fit(X, y),
    "source": lambda y: select().fit_source(open_source(X, target=y, block_rows=64)),
    "chunks": lambda y: select().partial_fit(X[:300], y[:300]).finalize(),
    "dask": with_dask,
    "device": on_device,
    "estimates": lambda y: Learnability(X, y),
    "stream": lambda y: OnlineFeatureSelector(3).partial_fit(X, y),
}


@pytest.mark.filterwarnings("ignore:y is taken for")
@pytest.mark.parametrize("place", FITS)
@pytest.mark.parametrize("name", TARGETS)
def test_tasks_are_the_same_wherever_rows_are(name: str, place: str):
    y, task = TARGETS[name]
    fitted = FITS[place](y)
    assert fitted.task_ == task
    assert fitted.task_.reason


@pytest.mark.filterwarnings("ignore:y is taken for")
@pytest.mark.parametrize("place", ["memory", "source", "chunks", "dask", "device"])
def test_plans_say_what_the_task_is_and_why(place: str):
    plan = FITS[place](TARGETS["delays"][0]).plan_
    assert ("task", "regression") in [decision[:2] for decision in plan.decisions]
    assert "numbers from -" in str(plan) or "different whole numbers" in str(plan)


@pytest.mark.filterwarnings("ignore:y is taken for")
@pytest.mark.parametrize("name", ["delays", "twelve counts", "days"])
def test_whole_numbers_are_explained_as_numbers_are(name: str):
    y = TARGETS[name][0].astype(int)
    found, expected = (select(**options).fit(X, y) for options in ({}, {"task": "regression"}))
    assert found.learnability_.value >= 0.95 * expected.learnability_.value > 0.5


@pytest.mark.parametrize("sort", [False, True])
def test_sorted_files_do_not_decide_otherwise(sort: bool):
    y = TARGETS["days"][0]
    order = np.argsort(y, kind="stable") if sort else np.arange(400)
    source = open_source(X[order], target=y[order], block_rows=50)
    assert select().fit_source(source).task_ == "regression"


def test_a_checkpoint_goes_on_after_the_task_was_found(tmp_path):
    y = TARGETS["days"][0]
    source = open_source(X, target=y, block_rows=64)
    expected = select().fit_source(source)
    path = tmp_path / "fit.checkpoint"
    found = select().fit_source(source, checkpoint=path)
    assert found.get_support().tolist() == expected.get_support().tolist()


LABELS = np.array(["low", "mid", "high"])[np.digitize(SIGNAL, [-0.5, 0.5])]
ORDER = ["low", "mid", "high"]
ORDERED = {
    "pandas": pd.Series(pd.Categorical(LABELS, ORDER, ordered=True), name="y"),
    "categorical": pd.Categorical(LABELS, ORDER, ordered=True),
    "polars": pl.Series("y", LABELS, dtype=pl.Enum(ORDER)),
}
RANKS = np.digitize(SIGNAL, [-0.5, 0.5])
FRAME = pd.DataFrame(X, columns=list("abcdefghijkl"))


@pytest.mark.parametrize("place", ["memory", "chunks", "device", "estimates", "stream"])
@pytest.mark.parametrize("kind", ORDERED)
def test_ordered_categories_are_ordinal(kind: str, place: str):
    fitted = FITS[place](ORDERED[kind])
    assert (fitted.task_, fitted.task_.reason) == ("ordinal", "3 ordered categories")


def of_source(frame, **options):
    return select().fit_source(open_source(frame, target="y", dtype="float64", **options))


FRAMES = {
    "pandas": lambda tmp_path: of_source(FRAME.assign(y=ORDERED["pandas"])),
    "polars": lambda tmp_path: of_source(
        pl.from_pandas(FRAME).with_columns(ORDERED["polars"]), block_rows=70
    ),
    "dask": lambda tmp_path: select().fit(
        dd.from_pandas(FRAME, npartitions=3), dd.from_pandas(ORDERED["pandas"], npartitions=3)
    ),
    "checkpoint": lambda tmp_path: select().fit_source(
        open_source(FRAME.assign(y=ORDERED["pandas"]), target="y", dtype="float64"),
        checkpoint=tmp_path / "checkpoint",
    ),
}


@pytest.mark.parametrize("place", FRAMES)
def test_ordered_categories_keep_their_order_in_tables(place: str, tmp_path):
    found = FRAMES[place](tmp_path)
    source = open_source(FRAME.to_numpy(), target=RANKS, dtype="float64")
    expected = select(task="ordinal").fit_source(source)
    assert found.task_ == "ordinal"
    np.testing.assert_allclose(found.scores_, expected.scores_, atol=1e-6)


def test_the_declared_order_counts_and_not_the_alphabet():
    found, expected = select().fit(X, ORDERED["pandas"]), select(task="ordinal").fit(X, RANKS)
    assert found.learnability_.value == pytest.approx(expected.learnability_.value)
    facts = gather_facts(found, X, ORDERED["pandas"])
    assert facts.table["series"] == ["mean rank of y"]


def test_shuffled_targets_are_of_the_task_of_the_given_one():
    y = TARGETS["days"][0]
    test = permutation_test(select(), X, y, n_permutations=3, random_state=0)
    assert np.all(test.shuffled < 0.2)
    assert test.score > 0.5


@pytest.fixture
def file(tmp_path, request) -> str:
    y = TARGETS[request.param][0]
    # Values that the first rows lack.
    order = np.argsort(y, kind="stable")
    path = tmp_path / "rows.csv"
    FRAME.assign(y=y).iloc[order].to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize(
    "file", ["delays", "days", "twelve counts", "three classes"], indirect=True
)
def test_commands_decide_alike_and_say_why(file: str, capsys):
    def printed(command: str, *options: str) -> tuple[str, str]:
        assert main([command, file, "--target", "y", *options]) == 0
        shown = capsys.readouterr()
        return shown.out, shown.err

    (line,) = [row for row in printed("select", "-k", "3")[0].splitlines() if row[:5] == "task:"]
    assert line in printed("score")[0].splitlines()
    assert line in printed("path", "--sizes", "3")[0].splitlines()
    assert line.removeprefix("task: ") in printed("info")[0]
    assert line in printed("watch", "-k", "3")[1].splitlines()
    answer = json.loads(printed("select", "-k", "3", "--json", "-q")[0])
    assert line == f"task: {answer['task']} ({answer['task_reason']})"


@pytest.mark.parametrize("file", ["delays"], indirect=True)
def test_a_command_says_nothing_of_a_task_that_is_given(file: str, capsys):
    assert main(["score", file, "--target", "y", "--task", "regression"]) == 0
    assert "task" not in capsys.readouterr().out


def test_numbers_are_explained_by_the_command(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    FRAME.assign(y=TARGETS["twelve counts"][0].astype(int)).to_csv(path, index=False)
    found = {}
    for task in ("auto", "regression"):
        options = ["--target", "y", "-k", "3", "--task", task, "--json", "-q"]
        assert main(["select", str(path), *options]) == 0
        found[task] = json.loads(capsys.readouterr().out)["learnability"]["explained"]
    assert found["auto"] >= 0.95 * found["regression"] > 0.5


@pytest.mark.filterwarnings("ignore:y is taken for")
def test_numbers_are_tried_before_nothing_is_said_to_predict_classes():
    """Weak counts, of which some rows do not show that they are numbers."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 200))
    y = rng.poisson(3 * np.exp(0.13 * X[:, :5].sum(axis=1)))
    with pytest.warns(UserWarning, match="No features were selected"):
        as_classes = FeatureGradientSelector(random_state=0, task="multiclass").fit(X, y)
    assert as_classes.n_features_ == 0
    selector = FeatureGradientSelector(random_state=0).fit(X, y)
    assert selector.task_ == "regression"
    assert "as classes nothing would be chosen" in selector.task_.reason
    assert selector.n_features_ > 0


@pytest.mark.filterwarnings("ignore:y is taken for")
def test_a_false_discovery_rate_is_kept_for_one_reading(monkeypatch):
    """A second one would have a second chance of false discoveries."""
    choose, choices = Fit.choose, []
    monkeypatch.setattr(
        Fit, "choose", lambda *a, **k: choices.append(choose(*a, **k)) or choices[-1]
    )
    noise = np.random.default_rng(0)
    with pytest.warns(DataWarning, match="No features are chosen"):
        selector = FeatureGradientSelector(search=Knockoffs(), random_state=0).fit(
            noise.normal(size=(200, 10)), noise.integers(0, 8, 200)
        )
    assert selector.task_ == "multiclass"
    assert len(choices) == 1
