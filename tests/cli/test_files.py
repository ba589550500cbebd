"""Files of every kind, small and large, through the command."""

import errno
import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from threading import Thread
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from featgrad.cli import main
from featgrad.cli.load import ProgressSource
from featgrad.readers import open_source


def frame(n_rows: int = 300) -> pd.DataFrame:
    """The price is made of b, and of whether the colour is red."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.standard_normal((n_rows, 4)).round(4), columns=list("abcd"))
    rows["colour"] = rng.choice(["red", "green", "blue"], n_rows)
    rows["price"] = 2 * rows["b"] + 3 * (rows["colour"] == "red") + 0.1 * rows["c"]
    return rows


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sales(folder) -> pd.DataFrame:
    """Written as sales.csv into the directory that the command runs in."""
    rows = frame()
    rows.to_csv("sales.csv", index=False)
    return rows


@pytest.fixture
def little_memory(monkeypatch):
    """Even small files are too large to be held, and are read block by block."""
    monkeypatch.setattr("featgrad.plan.LOADED_BYTES", 2000)
    monkeypatch.setattr("featgrad.plan.LOADED_SAMPLE_BYTES", 6000)
    monkeypatch.setattr("featgrad.readers.block.BLOCK_ROWS", 50)


def answer(capsys, *arguments: str) -> dict:
    code = main([*arguments, "--json", "-q"])
    output = capsys.readouterr()
    assert (code, output.err) == (0, "")
    return json.loads(output.out)


def write_svmlight(path: str, rows: pd.DataFrame) -> None:
    lines = (
        f"{price} " + " ".join(f"{i + 1}:{value}" for i, value in enumerate(values))
        for *values, price in rows[["a", "b", "c", "d", "price"]].to_numpy()
    )
    Path(path).write_bytes(gzip.compress("\n".join(lines).encode()))


def test_a_column_of_text_is_one_feature(sales, capsys):
    found = answer(capsys, "select", "sales.csv", "--target", "price", "-k", "2")
    assert found["features"] == ["b", "colour"]
    assert [row["features"] for row in found["table"]] == [["b"], ["colour"]]


def test_texts_of_a_column_can_be_chosen_one_by_one(sales, capsys):
    given = ("select", "sales.csv", "--target", "price", "-k", "2", "--ungrouped")
    assert answer(capsys, *given)["features"] == ["b", "colour=red"]


def test_texts_can_be_hashed(sales, capsys):
    given = ("select", "sales.csv", "--target", "price", "-k", "2", "--hash-dim", "64")
    found = answer(capsys, *given)
    assert found["candidates"] == 4 + 64
    assert found["features"][0] == "b"
    assert found["features"][1].startswith("colour#")


def test_columns_can_be_left_out_or_kept(sales, capsys):
    given = ("select", "sales.csv", "--target", "price", "-k", "2")
    assert answer(capsys, *given, "--exclude", "colour", "b")["candidates"] == 3
    assert "d" in answer(capsys, *given, "--exclude", "colour", "--keep", "d")["features"]


def test_rows_can_have_weights(sales, capsys):
    weighted = sales.assign(weight=np.arange(len(sales)) % 2)
    weighted.to_csv("weighted.csv", index=False)
    sales[1::2].to_csv("half.csv", index=False)
    given = ("--target", "price", "--features", "b")
    expected = answer(capsys, "score", "half.csv", *given)
    found = answer(capsys, "score", "weighted.csv", *given, "--weight", "weight")
    assert found["explained"] == pytest.approx(expected["explained"], abs=0.02)


def test_numbers_can_be_read_in_single_precision(sales, capsys):
    given = ("score", "sales.csv", "--target", "price")
    single, double = answer(capsys, *given, "--float32"), answer(capsys, *given)
    assert single["explained"] != double["explained"]
    assert single["explained"] == pytest.approx(double["explained"], abs=0.02)


@pytest.mark.parametrize("memory", ["much", "little"])
def test_files_that_hold_their_target_need_none(folder, capsys, request, memory):
    if memory == "little":
        request.getfixturevalue("little_memory")
    write_svmlight("sales.svm.gz", frame())
    found = answer(capsys, "select", "sales.svm.gz", "-k", "1")
    assert found["rows"] == 300
    assert found["learnability"]["explained"] > 0.4


def test_large_files_are_fitted_block_by_block(sales, capsys, little_memory):
    given = ["select", "sales.csv", "--target", "price", "-k", "2", "--resamples", "4"]
    assert main([*given, "--report", "report.html", "--write", "small.csv"]) == 0
    output = capsys.readouterr()
    assert "too large for memory" in output.err
    assert "random rows of 300" in output.out
    page = Path("report.html").read_text()
    assert "<dt>Rows</dt><dd>300</dd>" in page
    assert "random rows; the selection itself from all" in page
    assert '"stability":[' in page
    assert list(pd.read_csv("small.csv").columns) == ["b", "colour", "price"]
    assert len(pd.read_csv("small.csv")) == 300


def test_large_and_small_files_give_the_same_choice(sales, capsys, monkeypatch, request):
    given = ("path", "sales.csv", "--target", "price", "--sizes", "1", "4")
    held = answer(capsys, *given)["path"]
    request.getfixturevalue("little_memory")
    streamed = answer(capsys, *given)["path"]
    assert [point["features"] for point in streamed] == [point["features"] for point in held]


def test_drift_in_a_large_file_is_reported(folder, capsys, little_memory):
    rows = frame(600)
    rows["b"] += np.linspace(0, 5, 600)
    rows["price"] += 2 * np.linspace(0, 5, 600)
    rows.to_csv("drifting.csv", index=False)
    given = ["select", "drifting.csv", "--target", "price", "-k", "1", "--report", "report.html"]
    assert main([*given, "-q"]) == 0
    assert "Drift with the order of rows" in Path("report.html").read_text()


@pytest.mark.parametrize("memory", ["much", "little"])
def test_skipped_rows_are_counted_everywhere(sales, capsys, request, memory):
    if memory == "little":
        request.getfixturevalue("little_memory")
    text = Path("sales.csv").read_text()
    Path("bad.csv").write_text(text + "1,2\n1,2,inf,4,red,5\n")
    given = ("select", "bad.csv", "--target", "price", "-k", "1", "--report", "report.html")
    assert main([*given, "-q"]) == 1
    assert "line 302: it has 2 fields where 6 belong" in capsys.readouterr().err
    assert main([*given, "-q", "--on-bad-rows", "skip"]) == 0
    assert "left out: 2 invalid rows" in capsys.readouterr().out
    assert "<dt>Rows left out</dt><dd>2</dd>" in Path("report.html").read_text()
    for command in ("score", "path", "info"):
        found = answer(capsys, command, "bad.csv", "--target", "price", "--on-bad-rows", "skip")
        assert (found.get("skipped") or sum(found["left_out"].values())) == 2


def test_convert_writes_what_the_other_commands_read(sales, capsys):
    Path("sales.csv").write_text(Path("sales.csv").read_text() + "1,2\n")
    given = ("convert", "sales.csv", "sales.arrow", "--target", "price", "--on-bad-rows", "skip")
    found = answer(capsys, *given)
    assert (found["rows"], found["skipped"], found["features"]) == (300, 1, 7)
    assert found["rows_per_second"] > 0
    assert open_source("sales.arrow").n_rows == 300
    expected = answer(capsys, *("select", "sales.csv", "-k", "4", *given[3:]))
    assert answer(capsys, "select", "sales.arrow", "-k", "4")["features"] == expected["features"]
    assert len(answer(capsys, "info", "sales.arrow")["variables"]) == 7 + 1


def test_convert_prints_a_summary(sales, capsys):
    assert main(["convert", "sales.csv", "sales.arrow", "--target", "price", "-q"]) == 0
    assert "300 rows of 7 features written to sales.arrow" in capsys.readouterr().out


def test_a_failed_conversion_leaves_the_old_file(sales, capsys):
    Path("sales.arrow").write_text("old")
    Path("sales.csv").write_text(Path("sales.csv").read_text() + "1,2\n")
    assert main(["convert", "sales.csv", "sales.arrow", "--target", "price"]) == 1
    assert Path("sales.arrow").read_text() == "old"
    assert sorted(path.name for path in Path().iterdir()) == ["sales.arrow", "sales.csv"]


def test_identifiers_are_left_out_and_named(folder, capsys):
    rows = frame(1100).assign(name=[f"n{i}" for i in range(1100)], row=range(1100))
    rows.to_csv("named.csv", index=False)
    given = ("score", "named.csv", "--target", "price")
    assert main(given) == 0
    text = capsys.readouterr().err
    assert (
        "left out as identifiers: name (more than 1,000 different texts), row (it numbers" in text
    )
    assert answer(capsys, *given)["n_features"] == 5
    assert answer(capsys, *given, "--features", "row")["n_features"] == 1
    assert main([*given, "--categorical", "name"]) == 1
    assert "has more than 1,000 different texts: pass --exclude 'name'" in capsys.readouterr().err


def test_a_file_without_rows_is_reported(folder, capsys):
    Path("empty.csv").write_text("a,price\n")
    assert main(["score", "empty.csv", "--target", "price", "-q"]) == 1
    assert "empty.csv has no valid rows" in capsys.readouterr().err


def interrupt_after(monkeypatch, n_blocks: int) -> None:
    """Ctrl-C while the search reads that block; none for 0."""
    blocks = ProgressSource.__iter__

    def interrupted(self):
        for number, block in enumerate(blocks(self)):
            if self.collect_sample and number == n_blocks:
                raise KeyboardInterrupt
            yield block

    monkeypatch.setattr(ProgressSource, "__iter__", interrupted if n_blocks else blocks)


def test_an_interrupted_search_goes_on_from_its_checkpoint(
    sales, capsys, monkeypatch, little_memory
):
    monkeypatch.setattr("featgrad.dataset.checkpoint.Checkpoint.every_s", 0)
    given = ("select", "sales.csv", "--target", "price", "-k", "4", "--checkpoint", "fit.npz")
    expected = answer(capsys, *given)
    with monkeypatch.context() as patch:
        interrupt_after(patch, 3)
        assert main(given) == 1
    assert "progress was saved in fit.npz: repeat the command to resume" in capsys.readouterr().err
    assert Path("fit.npz").exists()
    assert answer(capsys, *given) == expected
    assert not Path("fit.npz").exists()


def test_an_interrupted_search_without_a_checkpoint_says_how_to_have_one(
    sales, capsys, monkeypatch, little_memory
):
    interrupt_after(monkeypatch, 3)
    assert main(["select", "sales.csv", "--target", "price", "-k", "4"]) == 1
    assert "give --checkpoint PATH to be able to resume" in capsys.readouterr().err


def test_estimates_of_many_rows_are_made_from_random_ones(sales, capsys, monkeypatch):
    monkeypatch.setattr("featgrad.plan.ESTIMATE_ROWS_IN_MEMORY", 100)
    given = ["select", "sales.csv", "--target", "price", "-k", "4", "--write", "small.csv"]
    assert main(given) == 0
    assert "estimated from 100 random rows of 300" in capsys.readouterr().out
    assert len(pd.read_csv("small.csv")) == 300
    assert main(["score", "sales.csv", "--target", "price"]) == 0
    assert "estimated from 100 random rows of 300" in capsys.readouterr().out


def test_standard_input_is_read(sales, capsys, monkeypatch):
    with Path("sales.csv").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert answer(capsys, "select", "-", "--target", "price", "-k", "4")["features"][0] == "b"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_copy_of_standard_input(folder, number):
    command = [sys.executable, "-m", "featgrad", "select", "-", "--target", "y"]
    options = {"env": {**os.environ, "TMPDIR": str(folder)}, "stdin": subprocess.PIPE}
    # Whoever runs the tests may ignore the signal, as nohup does.
    options["preexec_fn"] = partial(signal.signal, number, signal.SIG_DFL)
    with subprocess.Popen(command, **options) as process:
        process.stdin.write(b"a,b,y\n" + b"1,2,3\n" * 10_000)
        process.stdin.flush()
        while not any(path.stat().st_size for path in folder.glob("featgrad-*/stdin")):
            assert process.poll() is None
        process.send_signal(number)
        assert process.wait() == 128 + number
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a,b,y\n1,2,3\n", "is not a column of standard input"), ("a\n1\n", "standard input, line 1")],
)
def test_errors_name_standard_input(text, expected, folder, capsys, monkeypatch):
    Path("text").write_text(text)
    with Path("text").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["select", "-", "--target", "z", "--format", "csv"]) == 2 - ("line" in expected)
    error = capsys.readouterr().err
    assert expected in error
    assert "featgrad-" not in error


def test_empty_standard_input_is_called_so(folder, capsys, monkeypatch):
    Path("text").touch()
    with Path("text").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["select", "-", "--target", "z"]) == 1
    assert "standard input is empty: there are no rows" in capsys.readouterr().err


def test_a_full_disk_is_named(sales, capsys, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with Path("sales.csv").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["select", "-", "--target", "price"]) == 1
    assert "No space left on device: 'copy of standard input in " in capsys.readouterr().err


def test_the_report_names_a_pipe_as_it_was_given(sales, capsys):
    os.mkfifo("pipe.csv")
    text = Path("sales.csv").read_text()
    writer = Thread(target=Path("pipe.csv").write_text, args=[text])
    writer.start()
    given = ["select", "pipe.csv", "--target", "price", "-k", "4", "--report", "report.html"]
    assert main(given) == 0
    writer.join()
    assert "<dd>pipe.csv</dd>" in Path("report.html").read_text()


def test_several_parquet_files_are_read_together(sales, capsys):
    sales[:100].to_parquet("one.parquet")
    sales[100:].to_parquet("two.parquet")
    for files in (["one.parquet", "two.parquet"], ["*.parquet"]):
        assert answer(capsys, "select", *files, "--target", "price", "-k", "4")["rows"] == 300
    Path("parts").mkdir()
    Path("one.parquet").rename("parts/one.PARQUET")
    Path("two.parquet").rename("parts/two.pq")
    assert answer(capsys, "select", "parts", "--target", "price", "-k", "4")["rows"] == 300
    Path("parts/one.PARQUET").rename("one.parquet")
    sales[["a", "price"]].to_parquet("zoo.parquet")
    assert main(["info", "*.parquet"]) == 1
    assert "zoo.parquet has other columns than one.parquet" in capsys.readouterr().err


def test_leaks_are_warned_of_on_the_terminal_and_in_json(sales, capsys):
    sales.assign(copy=2 * sales["price"]).to_csv("leak.csv", index=False)
    given = ("select", "leak.csv", "--target", "price", "-k", "1")
    found = answer(capsys, *given)
    assert any("“copy” explains" in text for text in found["warnings"])
    assert found["next"][0].endswith(" --exclude copy")
    assert main(given) == 0
    text = capsys.readouterr().out
    assert "warning: possible leak of the target" in text
    advice = "next, if that is a leak: featgrad select leak.csv --target price -k 1 --exclude copy"
    assert advice in text
    assert "next: featgrad select leak.csv --target price -k 1 --report report.html" in text
    assert "in Python: columns = ['copy']" in text


def test_advice_against_leaks_keeps_what_is_excluded_and_names_columns_of_text(sales, capsys):
    is_high = sales["price"] > sales["price"].median()
    words = is_high.map({True: "over it", False: "under it"})
    sales.assign(price=1 * is_high, **{"told by": words}).to_csv("leak.csv", index=False)
    other = next(name for name in sales.columns if name != "price")
    found = answer(capsys, "select", "leak.csv", "--target", "price", "--exclude", other)
    assert found["next"][0].endswith(f" --exclude {other} 'told by'")
    assert main(shlex.split(found["next"][0])[7:]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


def test_where_nothing_is_chosen_a_warning_says_so_and_construct_comes_next(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(0).standard_normal((400, 5))
    pd.DataFrame(values, columns=[*"abcd", "y"]).to_csv("noise.csv", index=False)
    found = answer(capsys, "select", "noise.csv", "--target", "y")
    assert found["features"] == []
    assert found["warnings"][0].startswith("No features were selected: no linear model predicts")
    command = found["next"][0].removeprefix("next, for curves and products: ")
    assert answer(capsys, *shlex.split(command)[1:])["features"] == []
    found = answer(capsys, "select", "noise.csv", "--target", "y", "--robust")
    assert found["next"] == []


def test_the_best_size_is_shown_with_the_chosen_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 4)), columns=[*"abcd"])
    frame.assign(y=frame["a"] + frame["b"]).to_csv("few.csv", index=False)
    assert main(["select", "few.csv", "--target", "y", "--seed", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("smallest size: 2, explained 100.0%") for line in lines)
    assert any(line.startswith("best size: ") for line in lines)


def test_an_interrupt_while_the_library_is_loaded_is_one_line(monkeypatch, capsys):
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    loading = ModuleType("featgrad.cli.commands")
    loading.__getattr__ = interrupted
    monkeypatch.setitem(sys.modules, "featgrad.cli.commands", loading)
    assert main(["info", "sales.csv"]) == 1
    assert capsys.readouterr().err == "\nfeatgrad: interrupted, nothing was written\n"


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("featgrad ")


@pytest.mark.parametrize("fits_into_memory", [True, False])
def test_workers_of_a_cluster_read_a_folder(fits_into_memory: bool, tmp_path, monkeypatch, capsys):
    distributed = pytest.importorskip("distributed")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    if not fits_into_memory:
        monkeypatch.setattr("featgrad.plan.LOADED_BYTES", 1 << 13)
    rng = np.random.default_rng(0)
    values = rng.standard_normal((1000, 8))
    columns = {f"x{i}": values[:, i] for i in range(8)}
    columns |= {"kind": np.where(values[:, 7] > 0, "a", "b"), "y": values[:, 1] - values[:, 4]}
    table = pa.table(columns)
    for i in range(2):
        part = table.slice(500 * i, 500)
        pq.write_table(part, tmp_path / f"part-{i}.parquet", row_group_size=150)
    files = str(tmp_path / "part-*.parquet")
    command = ["select", files, "--target", "y", "-k", "2", "--json", "-q"]
    options = {"n_workers": 1, "processes": False, "protocol": "tcp", "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster:
        assert main([*command, "--dask", cluster.scheduler_address]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(command) == 0
    expected = json.loads(capsys.readouterr().out)
    assert found["features"] == expected["features"] == ["x1", "x4"]
    assert (found["rows"], found["skipped"]) == (1000, 0)
    explained = expected["learnability"]["explained"]
    assert found["learnability"]["explained"] == pytest.approx(explained, abs=0.01)
