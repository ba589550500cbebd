"""The table of everyday files and commands: the right result, or one line that helps."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from everyday_files import BAD, DIRTY, EXCEL, GOOD, N_ROWS, File
from featgrad.cli import main

# What takes the target, and what comes of the file by itself.
COMMANDS = {
    "select": ("-k", "2"),
    "score": (),
    "path": ("--sizes", "1", "2"),
    "info": (),
    "convert": (),
}


UNREADABLE = {
    "empty.csv", "cut.csv.gz", "cut.parquet", "wrong_name.parquet", "old_excel.xls", "array.json",
    "broken.jsonl", "picture.png", "picture.csv", "stata.dta", "unknown_encoding.csv",
}  # fmt: skip


def run(file: File, command: str, folder: Path, capsys, *more: str) -> tuple[int, str, str]:
    path = file.write(folder)
    out = (str(folder / "out.arrow"),) if command == "convert" else ()
    given = [command, str(path), *out, *file.arguments, *COMMANDS[command], *more]
    code = main(given)
    output = capsys.readouterr()
    assert "Traceback" not in output.err
    return code, output.out, output.err


def check_info(file: File, found) -> None:
    said = {v["name"]: "; ".join([v["kind"], *v["remarks"]]) for v in found["variables"]}
    assert [name for name, part in file.info.items() if part not in said[name]] == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.name)
def test_good_files_give_the_right_result(file: File, command: str, tmp_path, capsys):
    code, text, errors = run(file, command, tmp_path, capsys, "--json")
    assert code == 0, errors
    found = json.loads(text)
    if command == "select":
        assert file.chosen <= {*found["features"]}
        assert found["rows"] == N_ROWS
        assert found["learnability"]["explained"] > 0.5
        assert all(any(part in note for note in found["notes"]) for part in file.notes)
    elif command == "score":
        assert found["explained"] > 0.5
    elif command == "path":
        assert [point["n_features"] for point in found["path"]] == [1, 2]
    elif command == "info":
        assert (found["n_rows"], found["problems"]) == (N_ROWS, [])
        check_info(file, found)
    else:
        assert found["rows"] == N_ROWS


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("file", BAD, ids=lambda file: file.name)
def test_bad_files_give_one_line_that_helps(file: File, command: str, tmp_path, capsys):
    code, text, errors = run(file, command, tmp_path, capsys, "-q")
    if command == "info" and file.name not in UNREADABLE:
        # A file is described even if nothing can be learned from it.
        assert code == 0
        assert re.search(file.error, text) or file.name == "no_target_named.csv"
        return
    if code == 0:
        assert command == "convert"
        assert "target" in file.name
        return
    assert text == ""
    assert errors.startswith("featgrad: error: ")
    assert errors.count("\n") == 1
    assert re.search(file.error, errors), errors


def needs(file: File) -> None:
    if file.name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")


@pytest.mark.parametrize("file", [*DIRTY, *EXCEL], ids=lambda file: file.name)
def test_dirty_files_are_selected_from_or_refused_in_one_line(file: File, tmp_path, capsys):
    needs(file)
    code, text, errors = run(file, "select", tmp_path, capsys, "--json", "-q")
    if file.error is not None:
        assert (code > 0, text, errors.count("\n")) == (True, "", 1)
        assert re.search(file.error, errors), errors
        return
    assert code == 0, errors
    found = json.loads(text)
    assert file.chosen == {*found["features"]}
    assert found["learnability"]["explained"] > 0.5
    assert all(any(part in note for note in found["notes"]) for part in file.notes)


@pytest.mark.parametrize("target", [False, True], ids=["no target", "target"])
@pytest.mark.parametrize("file", [*DIRTY, *EXCEL], ids=lambda file: file.name)
def test_dirty_files_are_described(file: File, target: bool, tmp_path, capsys):
    needs(file)
    arguments = file.arguments if target else file.arguments[2:]
    code, text, errors = run(replace(file, arguments=arguments), "info", tmp_path, capsys, "--json")
    assert code == 0, errors
    found = json.loads(text)
    assert found["variables"]
    if file.error is None:
        assert found["problems"] == []
        if target:
            assert all(any(part in note for note in found["notes"]) for part in file.notes)
    elif target:
        assert re.search(file.error, " ".join(found["problems"]))
    check_info(file, found)


def test_a_sheet_that_is_not_there_is_refused_with_those_that_are(tmp_path, capsys):
    pytest.importorskip("openpyxl")
    file = replace(EXCEL[0], arguments=("--target", "price", "--sheet", "Sold"))
    for command in ("select", "info"):
        code, _, errors = run(file, command, tmp_path, capsys)
        assert (code, errors.count("\n")) == (1, 1)
        assert re.search("--sheet 'Sold' is not in .*, which has 'Sheet'", errors)


def test_a_sheet_without_its_reader_is_refused_by_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("featgrad.readers.delimited.find_spec", lambda name: None)
    path = tmp_path / "sheet.xlsx"
    path.write_bytes(b"PK\3\4")
    assert main(["info", str(path)]) == 1
    assert "sheet.xlsx needs openpyxl: pip install" in capsys.readouterr().err


def test_the_table_is_as_long_as_promised():
    assert len({file.name for file in [*GOOD, *BAD]}) >= 60
