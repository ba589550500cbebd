"""Deep, wide, huge and endless inputs: the command ends in time, within memory, with one line."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

_SOURCES = Path(__file__).parents[3] / "src"
_SECONDS_AT_MOST = 60
# Of addresses: libraries map some two gigabytes that they do not use.
_MEMORY = 6 << 30
_ENDLESS_S = 12


@dataclass
class Input:
    """How a file is written, and the command about it; `feed` is its standard input for ever."""

    name: str
    write: Callable[[Path], object] | None = None
    command: tuple[str, ...] = ("info",)
    options: tuple[str, ...] = ()
    suffix: str = "csv"
    feed: bytes | None = None
    path: str = field(default="-")


def _rows(n_rows: int, n_columns: int) -> Callable[[Path], object]:
    line = ",".join(["1.5"] * n_columns) + "\n"
    names = ",".join(f"c{i}" for i in range(n_columns)) + "\n"
    return lambda path: path.write_text(names + line * n_rows)


def _nested(opened: str, closed: str, depth: int) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        value = opened * depth + "1" + closed * depth
        path.write_text(json.dumps({"a": 1, "y": 2}) + f'\n{{"a": {value}, "y": 1}}\n')

    return write


def _far_cell(path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    for i, row in enumerate([("a", "y"), (1, 2), (2, 1)], start=1):
        book.active.cell(i, 1, row[0])
        book.active.cell(i, 2, row[1])
    book.active.cell(1_048_576, 16_384, 1)
    book.save(path)


def _bomb(path: Path) -> None:
    """A sheet of two gigabytes of blanks, in two megabytes."""
    _far_cell(path)
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in parts.items():
            if not name.startswith("xl/worksheets/sheet"):
                book.writestr(name, content)
        with book.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
            sheet.write(parts["xl/worksheets/sheet1.xml"].partition(b"</row>")[0] + b"</row>")
            for _ in range(2000):
                sheet.write(b" " * (1 << 20))


def _zeros(path: Path) -> None:
    """Two gigabytes without the end of a line, in two megabytes."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(b"a" * (10 << 20))


def _classes(path: Path) -> None:
    """Sixty thousand rows of twenty thousand classes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((60_000, 3)).round(3), columns=list("abc"))
    frame.assign(y=[f"class {i % 20_000}" for i in range(60_000)]).to_csv(path, index=False)


def _huge_npy(path: Path) -> None:
    """A header that promises a petabyte."""
    np.save(path, np.ones((3, 4)))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"(3, 4)", b"(9999999999, 99999)", 1))


def _many_texts(path: Path) -> None:
    words = [f"{i},{i % 7},{i}" for i in range(300_000)]
    path.write_text("t,a,y\n" + "\n".join(f"word{line}" for line in words))


SELECT = ("select", "--target", "y", "-k", "1")
_WATCH = ("watch", "--target", "y")
INPUTS = (
    Input("lists 20,000 deep", _nested("[", "]", 20_000), suffix="jsonl"),
    Input("objects 20,000 deep", _nested('{"b":', "}", 20_000), suffix="jsonl"),
    Input("lists a million deep", _nested("[", "]", 1_000_000), suffix="jsonl"),
    Input("300,000 columns", _rows(3, 300_000)),
    Input("7,000,000 columns", _rows(1, 7_000_000)),
    Input("a line of 200 MB", lambda path: path.write_bytes(b"a" * 200_000_000)),
    Input("a quoted field of 200 MB", lambda path: path.write_bytes(b'a,y\n"' + b"b" * 2 * 10**8)),
    Input("a name of 20 MB", lambda path: path.write_bytes(b"a" * 20_000_000 + b",y\n1,2\n2,1\n")),
    Input("2 GB without a line, compressed", _zeros, suffix="csv.gz"),
    Input("a cell at XFD1048576", _far_cell, suffix="xlsx"),
    Input("a sheet of 2 GB, compressed", _bomb, suffix="xlsx"),
    Input("20,000 classes", _classes, SELECT),
    Input("300,000 different texts", _many_texts, SELECT),
    Input("a petabyte in a header", _huge_npy, suffix="npy"),
    Input("an empty file", lambda path: path.write_bytes(b"")),
    Input("a file of newlines", lambda path: path.write_bytes(b"\n" * 50_000_000)),
    Input("a file of separators", lambda path: path.write_bytes(b"," * 20_000_000)),
    Input("a file of quotes", lambda path: path.write_bytes(b'"' * 20_000_001)),
    Input("/dev/zero", path="/dev/zero"),
    Input("/dev/urandom", path="/dev/urandom"),
    Input("/dev/null", path="/dev/null"),
    Input("a stream without lines", command=_WATCH, feed=b"a" * 4096),
    Input("a stream of zeros", command=_WATCH, feed=b"\0" * 4096),
    Input("an endless quoted field", command=_WATCH, feed=b'"a,\n' * 1024),
    Input("an endless stream", command=_WATCH, feed=b"1,2,0\n3,1,1\n2,5,0\n" * 200,
          options=("--no-header",)),
    Input("an endless stream of texts", command=_WATCH, feed=b"x,red,0\ny,blue,1\n" * 200,
          options=("--no-header",)),
)  # fmt: skip
_FEEDER = """
import sys
content = bytes.fromhex(sys.argv[1])
while content:
    sys.stdout.buffer.write(content)
"""


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    # No copy of an endless stream fills a disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))


def examine(item: Input, folder: Path) -> str:
    """Run the command; what came of it."""
    path = item.path
    if item.write is not None:
        path = str(folder / f"input.{item.suffix}")
        item.write(Path(path))
    name, *more = item.command
    more = ["column3" if word == "y" and item.options else word for word in more]
    command = [sys.executable, "-m", "featgrad", name, path, *more, *item.options]
    # The end of an endless stream is that nobody reads it any more.
    feeder = [sys.executable, "-c", _FEEDER, (item.feed or b"").hex()]
    with (folder / "errors").open("w+b") as errors, subprocess.Popen(
        feeder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as feeding:  # fmt: skip
        process = subprocess.Popen(
            command, stdin=feeding.stdout, stdout=subprocess.DEVNULL, stderr=errors,
            preexec_fn=_limited, env=os.environ | {"PYTHONPATH": str(_SOURCES)},
        )  # fmt: skip
        try:
            process.wait(_SECONDS_AT_MOST if item.feed is None else _ENDLESS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return "FAILED: not ended in time" if item.feed is None else "followed within memory"
        finally:
            feeding.kill()
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    lines = [line for line in text.splitlines() if line.startswith("featgrad: error: ")]
    if process.returncode < 0 or "Traceback" in text:
        return f"FAILED: ended by {process.returncode}, {text[-300:]}"
    if process.returncode and len(lines) != 1:
        return f"FAILED: without a line, {text[-300:]}"
    if lines and lines[0].rpartition(": ")[2] in ("MemoryError", "std::bad_alloc"):
        return f"FAILED: {lines[0]}"
    return "one line" if process.returncode else "read"


def run(inputs: tuple[Input, ...] = INPUTS) -> Counter[str]:
    """Every one of these inputs, one after the other."""
    outcomes: Counter[str] = Counter()
    for item in inputs:
        with tempfile.TemporaryDirectory() as folder:
            outcome = examine(item, Path(folder))
        if "FAILED" in outcome:
            print(f"{item.name}: {outcome}"[:600])
            outcome = "FAILED"
        outcomes[f"deep, wide, huge and endless inputs {outcome}"] += 1
    return outcomes
