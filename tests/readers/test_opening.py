import sys
from types import ModuleType

import numpy as np
import pytest

from featgrad.readers import open_source
from featgrad.readers.formats import FORMATS, Format
from featgrad.readers.source import open_array
from source_rows import read


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"1 1:2 2:3\n", {}),
        (b"# comment\n-1.5e0 qid:1 1:2 2:3 # c\n", {}),
        (b"1\t2\t3\n", {"columns": ["y", "a", "b"], "target": "y"}),
        (b"y,a,b\n1,2,3\n", {"target": "y"}),
        (b"1905-06-14 13:54:06,9.6,43\n", {"columns": ["a", "b", "y"], "target": "y"}),
    ],
)
def test_files_of_any_name_are_known_by_their_content(write, content: bytes, options):
    source = open_source(write("data.txt", content), **options)
    assert len(getattr(source.feature_names, "variables", "ab")) == 2
    assert len(read(source).X) == 1


def test_a_format_can_be_given(write):
    assert read(open_source(write("data.csv", b"1 1:2 2:3\n"), format="svmlight")).X.shape == (1, 2)


@pytest.mark.parametrize("content", [b"hello", b"\x00\x01\x02"])
def test_content_of_unknown_format_is_an_error(write, content: bytes):
    with pytest.raises(ValueError, match="pass format"):
        open_source(write("data.bin", content))


def test_missing_pyarrow_is_an_error(write, monkeypatch):
    monkeypatch.setattr("featgrad.readers.frames.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"data\.parquet needs pyarrow: pip install"):
        open_source(write("data.parquet", b""), target="y")


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
        open_source(tmp_path / "nowhere.csv", target="y")


def test_a_device_is_reported_as_what_it_is():
    with pytest.raises(ValueError, match="/dev/null is not a regular file: give one"):
        open_source("/dev/null", target="y")


@pytest.mark.parametrize("data", [None, 3, object()])
def test_data_without_rows_is_an_error(data):
    with pytest.raises(ValueError, match="Rows cannot be read from"):
        open_source(data)


@pytest.mark.parametrize(
    "options",
    [
        {"block_rows": 0},
        {"dtype": "int32"},
        {"missing": "mean"},
        {"on_bad_rows": "ignore"},
        {"hash_dim": 0},
        {"n_features": 2**31},
        {"format": "csv"},
        {"hash_dim": 10},
        {"zero_based": False},
    ],
)
def test_inapplicable_options_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        open_source(np.eye(2), target=[0, 1], **options)


def test_a_module_and_a_line_of_the_registry_add_a_format(write, monkeypatch):
    module = ModuleType("featgrad.readers.toy")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    toy = Format("toy", (".toy",), "toy:open_toy", options=("sep",), first_line=r"\d/\d")
    monkeypatch.setitem(FORMATS, "toy", toy)
    module.open_toy = lambda path, format, block_rows, sep="/": open_array(
        np.loadtxt(path, delimiter=sep)
    )
    content, target = b"1/2\n3/4\n", np.zeros(2)
    for name in ("rows.toy", "rows.bin"):
        source = open_source(write(name, content), target=target)
        np.testing.assert_array_equal(read(source).X, [[1, 2], [3, 4]])
    other = open_source(write("other.toy", b"1:2\n3:4\n"), target=target, sep=":")
    assert read(other).X.shape == (2, 2)


def test_names_that_are_not_utf8_are_refused_by_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1, "y": 0}\n{"\xe2": 2, "y": 1}\n')
    with pytest.raises(ValueError, match=r"rows\.jsonl cannot be read"):
        open_source(path, target="y")
