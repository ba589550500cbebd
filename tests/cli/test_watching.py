"""`featgrad watch`: events in the order of a file."""

import io
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from featgrad.cli import main


@pytest.fixture
def stream(tmp_path) -> str:
    """The target follows b, then d."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4)).round(4)
    y = np.where(np.arange(3000) < 1500, X[:, 1], X[:, 3]) + 0.3 * rng.standard_normal(3000)
    path = tmp_path / "stream.csv"
    lines = ["a,b,c,d,y", *(",".join(map(str, row)) for row in np.column_stack([X, y]))]
    path.write_text("\n".join(lines))
    return str(path)


def test_events_are_printed_as_lines_of_json(stream: str, capsys):
    options = ["--target", "y", "-k", "1", "--half-life", "200", "--json", "-q"]
    assert main(["watch", stream, *options]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    changes = [event for event in events if event["event"] == "choice"]
    assert changes[0]["entered"] == ["b"]
    assert (changes[-1]["entered"], changes[-1]["left"]) == (["d"], ["b"])
    assert events[-1]["features"] == ["d"]


def test_events_are_printed_in_words(stream: str, capsys):
    assert main(["watch", stream, "--target", "y", "-k", "1", "--half-life", "200", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "row 100: + b" in lines
    assert lines[-1].startswith("row 3000: d explains ")


@pytest.mark.parametrize("name", ["-", "fifo"])
def test_events_are_printed_while_rows_arrive(name: str, stream: str, tmp_path):
    if name == "fifo":
        name = str(tmp_path / "fifo")
        os.mkfifo(name)
    command = [sys.executable, "-m", "featgrad", "watch", name, "--target", "y", "-k", "1", "-q"]
    options = ["--half-life", "200"]
    lines = Path(stream).read_text().splitlines(keepends=True)
    with subprocess.Popen(
        [*command, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        with process.stdin if name == "-" else open(name, "w") as rows:
            rows.writelines(lines[:101])
            rows.flush()
            # The pipe is still open: nothing but the event itself ends this line.
            assert process.stdout.readline() == "row 100: + b\n"
            rows.writelines(lines[101:])
        assert process.stdout.read().splitlines()[-1].startswith("row 3000: d explains ")


def test_compressed_rows_are_followed(stream: str):
    command = [sys.executable, "-m", "featgrad", "watch", "-", "--target", "y", "-k", "1", "-q"]
    lines, packer = Path(stream).read_bytes().splitlines(keepends=True), zlib.compressobj(wbits=31)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        with process.stdin as rows:
            first = packer.compress(b"".join(lines[:101]))
            rows.write(first + packer.flush(zlib.Z_SYNC_FLUSH))
            rows.flush()
            assert process.stdout.readline() == b"row 100: + b\n"
            rows.write(packer.compress(b"".join(lines[101:])) + packer.flush())
        assert process.stdout.read().splitlines()[-1].startswith(b"row 3000: ")


def test_formats_that_cannot_be_followed_are_named(capsys, monkeypatch):
    rows = "".join(f"{i % 2} 1:{i % 2} 2:{i % 3}\n" for i in range(200)).encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(rows))))
    assert main(["watch", "-", "-k", "1", "-q"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1].startswith("row 200: ")
    assert "svmlight are read to their end first" in printed.err


def test_report_has_the_timeline(stream: str, tmp_path):
    report = tmp_path / "report.html"
    options = ["--target", "y", "-k", "1", "--half-life", "200", "-q", "--report", str(report)]
    assert main(["watch", stream, *options]) == 0
    page = report.read_text(encoding="utf-8")
    assert "y: 1 of 4 features after 3,000 rows" in page
    assert '"more":["d"],"less":["b"]' in page


@pytest.mark.parametrize("names", [("no", "yes"), ("0", "1")])
def test_class_that_comes_late_is_named_beforehand(names, tmp_path, capsys):
    values = np.random.default_rng(0).standard_normal(400)
    late = (values > 0) & (np.arange(400) >= 250)
    path = tmp_path / "late.csv"
    rows = [f"{value},{names[int(is_late)]}" for value, is_late in zip(values, late, strict=True)]
    path.write_text("\n".join(["a,y", *rows]))
    options = ["--target", "y", "-k", "1", "-q", "--task", "binary"]
    assert main(["watch", str(path), *options, "--classes", *names]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("row 400: a explains")


def read(capsys, monkeypatch, text: str, *options: str) -> list[str]:
    """Lines that are printed about text from a pipe."""
    stdin = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(text.encode())))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["watch", "-", "--target", "y", "-q", *options]) == 0
    return capsys.readouterr().out.splitlines()


def test_texts_that_come_late_from_a_pipe_are_features_as_of_a_file(tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    late = np.where(np.arange(2000) < 150, 0, rng.integers(0, 3, 2000))
    rows = [
        f"{x:.3f},{'abc'[i]},{3 * i + 0.1 * x:.3f}"
        for x, i in zip(rng.random(2000), late, strict=True)
    ]
    text = "\n".join(["x,letter,y", *rows])
    (tmp_path / "rows.csv").write_text(text)
    found = read(capsys, monkeypatch, text, "-k", "2", "--report", str(tmp_path / "page.html"))
    assert main(["watch", str(tmp_path / "rows.csv"), "--target", "y", "-k", "2", "-q"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert "letter explains" in last
    share = [float(line.split("explains ")[1].split("%")[0]) for line in (found[-1], last)]
    assert share[0] == pytest.approx(share[1], abs=0.02)
    assert share[0] > 0.9
    # No column waits for texts that have not come.
    assert "2 of 4 features" in (tmp_path / "page.html").read_text()


def test_texts_of_a_pipe_are_distinguished_up_to_a_limit(capsys, monkeypatch):
    monkeypatch.setattr("featgrad.readers.encoder.MOST_TEXTS", 4)
    rows = [f"{i % 7},t{0 if i < 150 else i % 9},{i % 5}" for i in range(600)]
    stdin = SimpleNamespace(
        buffer=io.BufferedReader(io.BytesIO("\n".join(["x,t,y", *rows]).encode()))
    )
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["watch", "-", "--target", "y", "--task", "regression"]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("note: Column 't' has 4 different texts by now: others count") == 1
    assert printed.out.splitlines()[-1].startswith("row 600: x, t explain")


@pytest.mark.parametrize("is_pipe", [False, True])
def test_weights_count(is_pipe: bool, tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    X, counts = rng.standard_normal((1500, 2)), rng.random(1500) < 0.4
    y = np.where(counts, X[:, 0], X[:, 1])
    rows = (f"{a:.4f},{b:.4f},{w:d},{t:.4f}" for (a, b), w, t in zip(X, counts, y, strict=True))
    text = "\n".join(["a,b,w,y", *rows])
    if is_pipe:
        lines = read(capsys, monkeypatch, text, "-k", "1", "--weight", "w")
    else:
        (tmp_path / "rows.csv").write_text(text)
        given = ["--target", "y", "-k", "1", "--weight", "w", "-q"]
        assert main(["watch", str(tmp_path / "rows.csv"), *given]) == 0
        lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(f"row {counts.sum()}: a explains 100.0%")


def test_missing_values_count_as_the_mean(capsys, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 2))
    rows = [f"{'' if i % 5 == 4 else a},{b},{a}" for i, (a, b) in enumerate(X)]
    last = read(capsys, monkeypatch, "\n".join(["a,b,y", *rows]), "-k", "1")[-1]
    # A fifth of the values is not known.
    assert last.startswith("row 1500: a explains 79.")


def test_a_pipe_without_newlines_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("featgrad.readers.lines._MAX_LINE_BYTES", 1000)
    endless = io.BufferedReader(io.BytesIO(b"x" * 5000))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=endless))
    assert main(["watch", "-", "--target", "y"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("featgrad: error: standard input: the first line is longer than")
    assert len(endless.read()) == 4000


def test_a_pipe_without_rows_is_reported(capsys, monkeypatch):
    stdin = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(b"a,b,y\n")))
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["watch", "-", "--target", "y", "-q"]) == 1
    assert "standard input has no valid rows" in capsys.readouterr().err
