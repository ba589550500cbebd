import ast
import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import featgrad
from featgrad import FeatureGradientSelector, learnability
from featgrad.cli import main

NAMES = ["a", "b", "c", "d", "e"]


def columns() -> dict[str, object]:
    """The target is made of b, d and a; one column is no number."""
    X = np.random.default_rng(0).standard_normal((200, 5)).round(6)
    y = 2 * X[:, 1] + 1.5 * X[:, 3] + X[:, 0]
    return {**dict(zip(NAMES, X.T, strict=True)), "colour": ["red"] * 200, "price": y}


@pytest.fixture
def table(tmp_path, monkeypatch) -> pa.Table:
    """Written as sales.csv into the directory that the command runs in."""
    monkeypatch.chdir(tmp_path)
    table = pa.table(columns())
    pa.csv.write_csv(table, "sales.csv")
    return table


def answer(capsys, *arguments: str) -> dict:
    assert main([*arguments, "--json", "-q"]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    return json.loads(output.out)


def error(capsys, *arguments: str) -> tuple[int, str]:
    code = main([*arguments, "-q"])
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("featgrad: error: ")
    assert output.err.count("\n") == 1
    return code, output.err


def test_select_chooses_as_the_selector_does(table, capsys):
    found = answer(capsys, "select", "sales.csv", "--target", "price", "-k", "2")
    X = np.column_stack([*(table[name] for name in NAMES), np.ones(200)])
    expected = FeatureGradientSelector(2, random_state=0).fit(X, np.asarray(table["price"]))
    assert found["features"] == ["b", "d"]
    assert found["columns"] == [1, 3]
    assert found["learnability"]["explained"] == pytest.approx(expected.learnability_.value)


def test_device_is_where_the_fit_runs(table, capsys):
    pytest.importorskip("torch")
    given = ["select", "sales.csv", "--target", "price", "-k", "2", "--device", "cpu", "--explain"]
    assert main([*given, "-q"]) == 0
    assert "on an accelerator" in capsys.readouterr().out


def write_rows_for_a_rate() -> None:
    """The first twelve of twenty columns make up the target; another target is noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 20))
    y, noise = X[:, :12].sum(axis=1) + rng.standard_normal(200), rng.standard_normal(200)
    names = {f"x{i:02}": column for i, column in enumerate(X.T)}
    pa.csv.write_csv(pa.table({**names, "y": y, "noise": noise}), "rate.csv")


def test_select_keeps_a_false_discovery_rate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_rows_for_a_rate()
    given = ["select", "rate.csv", "--target", "y", "--exclude", "noise", "--fdr", "0.2"]
    found = answer(capsys, *given)
    assert set(range(12)) <= set(found["columns"])
    assert found["fdr"] == 0.2
    assert len(found["frequencies"]) == len(found["columns"])
    assert main([*given, "-q", "--report", "report.html"]) == 0
    assert "the expected share of false features is about 0.2 at most" in capsys.readouterr().out
    assert "expected share of false ones below 0.2" in Path("report.html").read_text()


def test_select_may_find_no_feature_at_a_rate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_rows_for_a_rate()
    given = ["select", "rate.csv", "--target", "noise", "--exclude", "y", "--fdr", "0.1"]
    found = answer(capsys, *given)
    assert found["features"] == []
    assert found["warnings"][-1].startswith("No features are chosen at a false discovery")
    assert main([*given, "-q", "--report", "report.html"]) == 0
    output = capsys.readouterr().out
    assert "no features are chosen" in output
    for text in (output, Path("report.html").read_text()):
        assert "knockoffs choose at least 10 at this rate or none" in text
        assert "better than noise would" not in text


def test_rate_and_size_exclude_each_other(table, capsys):
    given = ["select", "sales.csv", "--target", "price", "--fdr", "0.1", "-k", "2"]
    assert error(capsys, *given) == (
        2,
        "featgrad: error: --fdr decides how many features are selected: leave -k out.\n",
    )


def test_select_finds_the_size_itself(table, capsys):
    assert answer(capsys, "select", "sales.csv", "--target", "price")["features"] == ["a", "b", "d"]


def test_select_prints_a_table(table, capsys):
    assert main(["select", "sales.csv", "--target", "price", "-k", "2"]) == 0
    output = capsys.readouterr()
    assert output.out.splitlines()[2].startswith("b")
    assert output.err.splitlines()[0].startswith("read 200 rows")


@pytest.mark.parametrize("suffix", ["json", "csv", "txt", "JSON", "Csv"])
def test_out_is_written_in_the_format_of_its_suffix(table, capsys, suffix):
    out = Path(f"selected.{suffix}")
    given = ("select", "sales.csv", "--target", "price", "-k", "2", "--out", str(out))
    found = answer(capsys, *given)
    read = {
        "json": lambda text: json.loads(text)["features"],
        "csv": lambda text: [row["feature"] for row in csv.DictReader(text.splitlines())],
        "txt": str.splitlines,
    }
    assert read[suffix.lower()](out.read_text()) == found["features"]


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("small.parquet", pa.parquet.read_table),
        ("small.PARQUET", pa.parquet.read_table),
        ("small.pq", pa.parquet.read_table),
        ("small.Arrow", pa.feather.read_table),
        ("small.feather", pa.feather.read_table),
        ("small.csv", pa.csv.read_csv),
    ],
)
def test_write_keeps_the_chosen_columns_and_the_target(table, capsys, path, read):
    answer(capsys, "select", "sales.csv", "--target", "price", "-k", "2", "--write", path)
    assert read(path).equals(table.select(["b", "d", "price"]))


def test_text_is_written_without_pyarrow(table, capsys, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "pyarrow", None)
        command = ("select", "sales.csv", "--target", "price", "-k", "2", "--write", "small.csv")
        answer(capsys, *command)
    pd.testing.assert_frame_equal(
        pd.read_csv("small.csv"), pd.DataFrame(columns())[["b", "d", "price"]]
    )


def test_missing_values_are_written_as_empty_fields(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame(columns())
    rows.loc[3, "b"] = np.nan
    rows.to_csv("gaps.csv", index=False)
    answer(capsys, "select", "gaps.csv", "--target", "price", "-k", "1", "--write", "small.csv")
    assert Path("small.csv").read_text().splitlines()[4].startswith(",")


@pytest.mark.parametrize(
    ("given", "next_step"),
    [
        (["--target", "price"], "next: featgrad select sales.csv --target price"),
        ([], "next: featgrad select sales.csv --target COL"),
    ],
)
def test_info_ends_with_what_to_do_next(table, capsys, given, next_step):
    assert main(["info", "sales.csv", *given]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == next_step


def test_report_shows_command_and_file(table, capsys):
    given = ["select", "sales.csv", "--target", "price", "-k", "2", "--report", "report.html"]
    assert main(given) == 0
    assert capsys.readouterr().err.endswith("note: written to report.html\n")
    page = Path("report.html").read_text()
    assert f"<dd>featgrad {' '.join(given)}</dd>" in page
    assert "<dd>sales.csv</dd>" in page


@pytest.mark.parametrize("kind", ["parquet", "PARQUET", "feather", "arrow", "tsv", "TSV"])
def test_files_of_every_kind_give_the_same(table, capsys, kind):
    name = f"sales.{kind}"
    if kind.lower() == "tsv":
        pa.csv.write_csv(table, name, pa.csv.WriteOptions(delimiter="\t"))
    elif kind.lower() == "parquet":
        pa.parquet.write_table(table, name)
    else:
        pa.feather.write_feather(table, name)
    expected = answer(capsys, "score", "sales.csv", "--target", "price")
    assert answer(capsys, "score", name, "--target", "price") == expected


def test_score_is_the_learnability_of_the_features_named(table, capsys):
    found = answer(capsys, "score", "sales.csv", "--target", "price", "--features", "b", "d")
    X = np.column_stack([*(table[name] for name in NAMES), np.ones(200)])
    expected = learnability(X, np.asarray(table["price"]), features=[1, 3])
    assert found["explained"] == pytest.approx(expected.value)
    assert (found["low"], found["high"]) == pytest.approx(expected.interval)


def shops() -> pd.DataFrame:
    """The colour, and whether the size is known, decide the price."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"size": rng.normal(5, 1, 300), "shop": rng.choice(["a", "b", "c"], 300)})
    rows["colour"] = rng.choice(["red", "green", "blue"], 300)
    rows["day"] = pd.date_range("2021-03-01", periods=300).strftime("%d.%m.%Y")[
        rng.permutation(300)
    ]
    rows.loc[rng.random(300) < 0.3, "size"] = np.nan
    rows["price"] = (
        3 * (rows["colour"] == "red") + 2 * rows["size"].isna() + rng.normal(0, 0.3, 300)
    )
    return rows


@pytest.mark.parametrize("more", [[], ["--ungrouped"]], ids=["variables", "values"])
def test_columns_of_the_table_are_written_and_named_in_python(tmp_path, monkeypatch, capsys, more):
    monkeypatch.chdir(tmp_path)
    rows = shops()
    rows.to_csv("shops.csv", index=False)
    given = ("select", "shops.csv", "--target", "price", "-k", "2", "--write", "chosen.csv", *more)
    found = answer(capsys, *given)
    (line,) = [text for text in found["next"] if text.startswith("in Python: ")]
    chosen = ast.literal_eval(line.removeprefix("in Python: columns = "))
    assert "colour" in chosen
    written = pd.read_csv("chosen.csv")
    pd.testing.assert_frame_equal(written, rows[[*chosen, "price"]], check_dtype=False)


def test_everything_that_is_said_of_a_table_names_its_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shops().to_csv("shops.csv", index=False)
    found = answer(capsys, "select", "shops.csv", "--target", "price", "-k", "2", "--explain")
    assert set(found["features"]) == {"colour", "size"}
    assert found["candidates"] == 4
    path = answer(capsys, "path", "shops.csv", "--target", "price", "--sizes", "1", "2")["path"]
    assert [point["enter"] for point in path] == [["colour"], ["size"]]
    scored = answer(capsys, "score", "shops.csv", "--target", "price", "--features", "colour")
    assert scored["n_features"] == 1
    assert answer(capsys, "score", "shops.csv", "--target", "price")["n_features"] == 4
    for command in (["select", "-k", "4", "--report", "report.html"], ["path"], ["score"]):
        assert main([command[0], "shops.csv", "--target", "price", *command[1:]]) == 0
        said = "".join(capsys.readouterr())
        assert "colour=" not in said
        assert "day (" not in said


def test_path_lists_the_sizes(table, capsys):
    given = ("path", "sales.csv", "--target", "price")
    found = answer(capsys, *given, "--sizes", "3", "1")["path"]
    assert [point["features"] for point in found] == [["b"], ["a", "b", "d"]]
    assert [point["enter"] for point in found] == [["b"], ["a", "d"]]
    assert [point["leave"] for point in found] == [[], []]
    assert [point["n_features"] for point in answer(capsys, *given)["path"]] == [1, 2, 3, 4, 5, 6]


def test_info_names_columns_that_have_to_be_excluded(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": [1], "b": {"c": 1}, "n": 1}\n{"n": 2}\n')
    found = answer(capsys, "info", str(path))["variables"]
    excluded = [v["name"] for v in found if "convert or exclude it" in v["remarks"]]
    assert excluded == ["a", "b"]


def test_info_shows_columns_and_target(table, capsys):
    found = answer(capsys, "info", "sales.csv", "--target", "price")
    kinds = {variable["name"]: variable["kind"] for variable in found["variables"]}
    assert [name for name, kind in kinds.items() if kind == "number"] == [*NAMES, "price"]
    assert kinds["colour"] == "text"
    assert (found["n_rows"], found["task"]) == (200, "regression")
    assert found["task_reason"] == "not all values are whole numbers"


def test_missing_values_are_filled_and_rows_without_a_target_dropped(tmp_path, capsys):
    values = columns()
    values["b"][3] = values["price"][5] = np.nan
    table = pa.table({name: pa.array(v, from_pandas=True) for name, v in values.items()})
    file = str(tmp_path / "holes.parquet")
    pa.parquet.write_table(table, file)
    given = ("select", file, "--target", "price", "-k", "2")
    found = answer(capsys, *given)
    assert (found["features"], found["rows"], found["skipped"]) == (["b", "d"], 199, 0)
    assert found["notes"] == ["left out: 1 row without a target"]


def test_labels_may_be_words(tmp_path, capsys):
    values = columns()
    values["price"] = np.where(values["price"] > 0, "dear", "cheap")
    pa.csv.write_csv(pa.table(values), tmp_path / "words.csv")
    found = answer(capsys, "select", str(tmp_path / "words.csv"), "--target", "price", "-k", "2")
    assert (found["features"], found["task"]) == (["b", "d"], "binary")


@pytest.mark.parametrize("given", [["--target"], ["--target", "price", "--group"]])
def test_a_mistyped_column_is_answered_with_the_nearest_one(table, capsys, given):
    code, line = error(capsys, "select", "sales.csv", *given, "prize")
    assert code == 2
    assert f"{given[-1]} 'prize' is not a column of sales.csv" in line
    assert "'d', 'e', 'colour', 'price'; the nearest is 'price'" in line


def test_without_a_target_the_columns_are_listed(table, capsys):
    code, line = error(capsys, "select", "sales.csv")
    assert code == 2
    assert "--target is missing: name a column of sales.csv, which has 'a'" in line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["score", "sales.csv", "--target", "price", "--features", "x"], "--features 'x' is no"),
        (["select", "absent.csv", "--target", "price"], "no file absent.csv"),
        (["select", "sales.csv", "--target", "price", "--out", "no/a.txt"], "create no."),
        (["select", "sales.csv", "--target", "price", "--report", "a.pdf"], "'a.pdf' has no known"),
        (["select", "sales.csv", "--target", "price", "-k", "9"], "-k 9 is more than"),
        (["path", "sales.csv", "--target", "price", "--sizes", "9"], "--sizes 9 is more than"),
        (["select", "sales.csv", "--target", "price", "--out", "a.doc"], "--out 'a.doc' has no"),
        (["select", "sales.csv", "--target", "price", "--write", "a.doc"], "--write 'a.doc' has"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(table, capsys, arguments, expected):
    code, line = error(capsys, *arguments)
    assert code == 2
    assert expected in line


def test_failure_is_one_line_and_exit_code_1(table, capsys):
    code, line = error(capsys, "score", "sales.csv", "--target", "colour")
    assert code == 1
    assert "y has only one value" in line


def test_debug_gives_the_full_trace(table):
    with pytest.raises(ValueError, match="y has only one value"):
        main(["score", "sales.csv", "--target", "colour", "--debug"])


def test_an_interrupt_is_reported_and_leaves_no_file(table, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("featgrad.cli.commands.fit", interrupted)
    assert main(["select", "sales.csv", "--target", "price", "--out", "selected.txt"]) == 1
    assert "interrupted" in capsys.readouterr().err
    assert not Path("selected.txt").exists()


@pytest.mark.parametrize("given", [["select"], ["select", "x.csv", "--target", "y", "-k", "0"]])
def test_the_parser_refuses_in_one_line_with_exit_code_2(given, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(given)
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert message.endswith("; see featgrad select --help\n")


def test_without_arguments_the_help_is_printed(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 0
    assert "select features" in capsys.readouterr().out


def test_a_seed_repeats_itself(table, capsys):
    given = ("select", "sales.csv", "--target", "price", "-k", "2", "--seed", "3")
    assert answer(capsys, *given) == answer(capsys, *given)


def test_missing_pyarrow_is_reported(table, capsys, monkeypatch):
    pa.parquet.write_table(table, "sales.parquet")
    monkeypatch.setattr("featgrad.readers.frames.find_spec", lambda name: None)
    for given in (
        ["info", "sales.parquet"],
        ["select", "sales.csv", "--target", "price", "--write", "small.parquet"],
    ):
        code, line = error(capsys, *given)
        assert code == 1
        assert "featgrad[files]" in line


def test_the_package_runs_as_a_program(table):
    done = subprocess.run(
        [sys.executable, "-m", "featgrad", "info", "sales.csv"],
        env={"PYTHONPATH": str(Path(featgrad.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Rows")


def test_a_closed_pipe_is_no_error(table, capsys, monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as left:
        monkeypatch.setattr(sys, "stdout", left)
        assert main(["info", "sales.csv"]) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "info select construct score path watch convert completion" in script
    assert "target" in script


def test_completion_of_bash_completes(capsys):
    main(["completion", "bash"])
    script = capsys.readouterr().out
    ask = (
        f'{script}\nCOMP_WORDS=(featgrad select --repo) COMP_CWORD=2; _featgrad; echo "$COMPREPLY"'
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "--report"


@pytest.mark.parametrize("option", ["--out", "--report", "--write", "--checkpoint"])
@pytest.mark.parametrize("spelling", ["same", "link", "hard link", "other spelling"])
def test_the_file_that_is_read_is_never_overwritten(table, capsys, option, spelling):
    suffix = {"--out": "csv", "--report": "html", "--write": "csv", "--checkpoint": "csv"}[option]
    read, written = Path(f"read.{suffix}"), Path(f"written.{suffix}")
    Path("sales.csv").rename(read)
    if spelling == "link":
        written.symlink_to(read)
    elif spelling == "hard link":
        os.link(read, written)
    else:
        written = read if spelling == "same" else Path(f"../{Path.cwd().name}/./{read}")
    before = read.read_bytes()
    given = (str(read), "--format", "csv", "--target", "price", option, str(written))
    code, text = error(capsys, "select", *given)
    assert (code, read.read_bytes()) == (2, before)
    assert "is the same file as FILE: name another one" in text


def test_two_outputs_cannot_share_a_file(table, capsys):
    given = ("select", "sales.csv", "--target", "price", "--out", "a.csv", "--write", "./a.csv")
    assert "is the same file as --out" in error(capsys, *given)[1]


def test_convert_never_overwrites_what_it_reads(table, capsys):
    assert main(["convert", "sales.csv", "sales.arrow", "--target", "price", "-q"]) == 0
    before = Path("sales.arrow").read_bytes()
    capsys.readouterr()
    assert "is the same file as FILE" in error(capsys, "convert", "sales.arrow", "sales.arrow")[1]
    assert Path("sales.arrow").read_bytes() == before


@pytest.mark.parametrize("more", [(), ("--seed", "1"), ("--resamples", "2")])
def test_the_table_and_the_json_tell_the_same(table, capsys, more):
    given = ("select", "sales.csv", "--target", "price", "-k", "2", *more)
    found = answer(capsys, *given)["learnability"]["explained"]
    assert main([*given, "-q"]) == 0
    assert f"explained by these 2 features: {found:.1%} (" in " ".join(
        capsys.readouterr().out.split()
    )


def test_names_cannot_command_a_terminal_or_a_spreadsheet(table, capsys):
    text = Path("sales.csv").read_text()
    Path("evil.csv").write_text(text.replace('"b"', '"=\x1b[2Jb\u202e"', 1))
    given = ("select", "evil.csv", "--target", "price", "-k", "1")
    written = (("--out", "out.csv"), ("--write", "w.csv"), ("--write", "w.TSV"))
    for more in ((), ("--json",), *written, ("--report", "report.html")):
        assert main([*given, *more]) == 0
        output = capsys.readouterr()
        assert not {"\x1b", "\u202e"} & {*output.out, *output.err}
    assert main([*given, "--out", "out.txt"]) == 0
    assert Path("out.txt").read_text() == "=\\u001b[2Jb\\u202e\n"
    Path("dates.csv").write_text("\x1b[2Jday,x,y\n" + "2024-01-01,1,2\n2024-02-01,2,1\n" * 200)
    for given in (["evil.csv", "--target", "price"], ["dates.csv", "--target", "y"]):
        assert main(["watch", *given, "-k", "1"]) == 0
        output = capsys.readouterr()
        assert not {"\x1b", "\u202e"} & {*output.out, *output.err}
    assert "note: read as numbers, in days: \\u001b[2Jday" in output.err
    assert Path("w.csv").read_text().startswith("'=")
    assert Path("w.TSV").read_text().startswith("'=")
    assert Path("out.csv").read_text().splitlines()[1].startswith("'=")
    assert not {"\x1b", "\u202e"} & {*Path("report.html").read_text()}


def test_one_feature_is_not_several(table, capsys):
    assert main(["select", "sales.csv", "--target", "price", "-k", "1"]) == 0
    assert "explained by this feature:" in capsys.readouterr().out
    assert main(["score", "sales.csv", "--target", "price", "--features", "b"]) == 0
    assert "1 feature explains" in capsys.readouterr().out
