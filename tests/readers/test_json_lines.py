"""JSON lines: what holds for all lines, wherever in the file they are."""

import json
import subprocess
import sys

import numpy as np
import pytest

from featgrad.readers import open_source
from source_rows import read


def lines(*last: dict, n_rows: int = 50_000) -> bytes:
    """Over a megabyte of lines, and some other ones."""
    first = b'{"a": 1, "t": "2020-01-01", "y": 0}\n' * n_rows
    return first + b"".join(json.dumps(line).encode() + b"\n" for line in last)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ({"a": 2, "t": "2020-01-02", "y": 1, "z": 3}, [2, 18263, 3]),
        ({"a": 2.5, "t": None, "y": 1, "z": True}, [2.5, np.nan, 1]),
        ({"t": "2020-01-01 12:00:00", "y": 1, "z": 0.5}, [np.nan, 18262.5, 0.5]),
    ],
)
def test_the_last_line_may_have_other_keys_and_numbers(write, last: dict, expected):
    path = write("rows.jsonl", lines(last))
    source = open_source(path, target="y", missing="nan", dtype="float64")
    assert source.feature_names.variables == ["a", "t", "z"]
    assert source.n_rows == 50_001
    rows = read(source)
    np.testing.assert_array_equal(rows.X[[0, -1]][:, [0, 1, -1]], [[1, 18262, np.nan], expected])


def test_a_word_behind_dates_is_a_missing_date(write):
    path = write("rows.jsonl", lines({"a": 1, "t": "later", "y": 1}))
    source = open_source(path, target="y", missing="nan")
    np.testing.assert_array_equal(read(source).X[[0, -1], 1], [18262, np.nan])
    assert source.notes[-1] == "t: 'later' (1) count as missing"


@pytest.mark.parametrize("value", ["two", [1], True])
def test_values_of_different_kinds_are_an_error_of_the_file(write, value):
    with pytest.raises(ValueError, match=r"rows\.jsonl cannot be read: .*\ba\b.* in line 50001"):
        open_source(write("rows.jsonl", lines({"a": value, "y": 1})), target="y")


def test_a_line_may_be_long(write):
    row = {f"c{i}": i for i in range(100_000)}
    path = write(
        "rows.jsonl", b"".join(json.dumps({**row, "y": y}).encode() + b"\n" for y in (0, 1))
    )
    np.testing.assert_array_equal(read(open_source(path, target="y")).X, [range(100_000)] * 2)


def test_nested_columns_can_be_left_out(write):
    path = write(
        "rows.jsonl", b'{"a": {"b": [1]}, "n": 1, "y": 0}\n{"a": {"c": 2}, "n": 2, "y": 1}\n'
    )
    with pytest.raises(ValueError, match=r"column 'a' holds Struct.*exclude=\['a'\]"):
        open_source(path, target="y")
    np.testing.assert_array_equal(read(open_source(path, target="y", exclude=["a"])).X, [[1], [2]])


@pytest.mark.parametrize("level", [b"[", b'{"a":', b"[\n"])
def test_deep_nesting_is_an_error_and_not_the_end_of_the_process(write, level: bytes):
    closed = {b"[": b"]", b"{": b"}"}[level[:1]] * 20_000
    path = write("deep.jsonl", b'{"y": 1, "a": ' + level * 20_000 + b"1" + closed + b"}\n")
    code = f"from featgrad import open_source; open_source({str(path)!r}, target='y')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "values are nested 20,001 levels deep" in done.stderr


def test_brackets_in_texts_are_no_nesting(write):
    path = write(
        "rows.jsonl", json.dumps({"t": "[" * 500 + '"' + "{" * 500, "y": 1}).encode() + b"\n"
    )
    assert open_source(path, target="y").n_features == 1
