"""Hostile names of columns, and hostile values, through every output of the command."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from featgrad.cli import main

NAMES = (
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x9b2J", "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>', "</title></svg><b>", "=cmd|' /C calc'!A0", "+1+1", "-2+3",
    "@SUM(A1)", "\t=1", "two\nlines", "re\rturn", "n" * 5000, "\u202egnp.exe", "", "   ",
    "a,b;c|d", 'a"b', "&amp;", "\u2028", "\U0001f600", "%s%n{0}${x}", "--exclude", "a\\", "it's",
    "\x7f", "y=1", "a=b", "a#1", "#", "\ufeffmark", "\u0430", "nan", "NA", "\\u001b",
)  # fmt: skip
# What a terminal obeys, besides the end of a line: controls, and marks that turn text around.
_OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PROGRESS = re.compile(r"(note|task): |read [\d,]+ rows, |size [\d,]+: ")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TARGET = "the target"


def table(name: str) -> pd.DataFrame:
    """Rows in which the column of this name matters, one of text holds it, and one is unique."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((240, 3)).round(3), columns=[name, "other", "noise"])
    words = rng.choice(np.array([name or "empty", "plain"], object), 240)
    target = 2 * frame[name] + frame["other"] + (words == "plain")
    return frame.assign(
        **{
            f"{name} text": words,
            f"{name} key": [f"{name}{i}" for i in range(240)],
            _TARGET: (target + 0.3 * rng.standard_normal(240)).round(3),
        }
    )


class _Tags(HTMLParser):
    """Elements and attributes of a page that could run something of somebody else."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._is_script = tag == "script" and ("type", "application/json") not in attributes
        names = [name for name, _ in attributes if name.startswith("on")]
        self.found += [f"{tag} {name}" for name in names] + [tag] * (tag in ("img", "iframe"))

    def handle_data(self, data: str) -> None:
        if self._is_script and "alert(" in data:
            self.found.append("script alert")
        self._is_script = False


def _command(*given: str, stdin: bytes = b"") -> tuple[int, str, str]:
    """Run the command here; its exit code and what it printed."""
    out, errors = io.StringIO(), io.StringIO()
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))
    with redirect_stdout(out), redirect_stderr(errors), mock.patch.object(sys, "stdin", stream):
        try:
            code = main(list(given))
        except SystemExit as end:
            code = int(end.code or 0)
            if code > 128:  # somebody ends this run
                raise
    return code, out.getvalue(), errors.getvalue()


def _check(code: int, out: str, errors: str) -> None:
    """Nothing is printed that a terminal would obey; an error is one line."""
    obeyed = _OBEYED.search(out) or _OBEYED.search(errors)
    assert obeyed is None, f"{obeyed[0]!r} is printed"
    assert "Traceback" not in errors, errors
    assert code in (0, 1, 2), code
    notes = [line for line in errors.split("\n") if line and not _PROGRESS.match(line)]
    assert code or not notes, notes
    assert not code or len(notes) == 1 or "usage:" in errors, notes


def _page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tags = _Tags()
    tags.feed(text)
    assert not tags.found, tags.found
    assert _OBEYED.search(text) is None, "control characters on a page"


def _as_csv(path: Path, n_columns: int, n_rows: int, sep: str = ",") -> None:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter=sep))
    assert {len(row) for row in rows} == {n_columns}
    assert len(rows) == 1 + n_rows, len(rows)
    assert not any(cell.startswith(_FORMULA) for cell in rows[0]), rows[0]


def outputs(name: str, file: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """Each output of the command for a file with this name, and a check of it."""
    folder, target = file.parent, ("--target", _TARGET)
    select = ("select", str(file), *target, "-k", "2")
    chosen: list[str] = []

    def text(*given: str) -> Callable[[], None]:
        return lambda: _check(*_command(*given))

    def as_json(*given: str) -> Callable[[], None]:
        def check() -> None:
            code, out, errors = _command(*given, "--json")
            _check(code, out, errors)
            for line in out.splitlines():
                answer = json.loads(line)
                chosen[:] = answer.get("features", chosen) if given == select else chosen

        return check

    def page(command: str) -> Callable[[], None]:
        def check() -> None:
            path = folder / "page.html"
            path.unlink(missing_ok=True)
            given = (command, str(file), *target, "-k", "2", "--report", str(path))
            code, *printed = _command(*given)
            _check(code, *printed)
            assert code == 0, printed
            _page(path)

        return check

    def written(option: str, suffix: str) -> Callable[[], None]:
        def check() -> None:
            path = folder / f"out.{suffix}"
            code, *printed = _command(*select, option, str(path))
            _check(code, *printed)
            assert code == 0, printed
            _written(option, path, chosen)

        return check

    yield "select --json", as_json(*select)
    yield "select", text(*select, "--explain")
    yield "select --report", page("select")
    for option, suffix in [("--out", "json"), ("--out", "csv"), ("--out", "txt"),
                           ("--write", "csv"), ("--write", "tsv"), ("--write", "parquet"),
                           ("--write", "arrow")]:  # fmt: skip
        yield f"select {option} {suffix}", written(option, suffix)
    for command in ("score", "path", "info"):
        yield command, text(command, str(file), *target)
        yield f"{command} --json", as_json(command, str(file), *target)
    yield "info of names", text("info", str(file))
    yield "score of the name", text("score", str(file), *target, f"--features={name}")
    yield "the name as target", text("select", str(file), f"--target={name}", "-k", "2")
    yield "a wrong target", text("select", str(file), "--target", name + "?")
    yield "exclude", text(*select, f"--exclude={name}", f"--keep={name}")
    yield "watch", text("watch", str(file), *target, "-k", "2")
    yield "watch --json", as_json("watch", str(file), *target, "-k", "2")
    yield "watch --report", page("watch")
    if file.suffix == ".csv":
        piped = lambda: _check(*_command("watch", "-", *target, "-k", "2", stdin=file.read_bytes()))  # noqa: E731
        yield "watch of a pipe", piped
    yield "convert", text("convert", str(file), str(folder / "out.arrow"), *target)


def _written(option: str, path: Path, chosen: list[str]) -> None:
    """The file has the chosen names, as far as its format can hold them."""
    if path.suffix in (".csv", ".tsv"):
        sep = "\t" if path.suffix == ".tsv" else ","
        # The features and their gains, or their columns and the target.
        n_columns, n_rows = (3, len(chosen)) if option == "--out" else (len(chosen) + 1, 240)
        _as_csv(path, n_columns, n_rows, sep)
    elif path.suffix == ".json":
        assert json.loads(path.read_text(encoding="utf-8"))["features"] == chosen
    elif path.suffix == ".txt":
        with path.open(encoding="utf-8", newline="\n") as file:
            assert sum(1 for _ in file) == len(chosen), "a name takes more than one line"
    else:
        read = pa.parquet.read_table if path.suffix == ".parquet" else pa.feather.read_table
        assert read(path).column_names == [*chosen, _TARGET]


def run(names: tuple[str, ...] = NAMES, suffixes: tuple[str, ...] = ("csv", "parquet")) -> Counter:
    """Every output for each of these names, from text and from a file with types."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for suffix in suffixes:
                file, frame = Path(folder, f"rows.{suffix}"), table(name)
                if suffix == "csv":
                    frame.to_csv(file, index=False)
                else:
                    frame.to_parquet(file, index=False)
                for output, check in outputs(name, file):
                    try:
                        check()
                        outcomes["hostile names, outputs that are safe"] += 1
                    except Exception as error:
                        outcomes["hostile names FAILED"] += 1
                        shown = f"{type(error).__name__} {error}"
                        print(f"name {name[:40]!r} of {suffix}, {output}: {shown}"[:600])
    return outcomes
