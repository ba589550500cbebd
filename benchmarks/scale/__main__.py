"""`make bench-scale`: print each figure beside its bar.

    python -m benchmarks.scale [--rows 1000000] [--tall-rows 500000] [--webspam-rows 28000]
        [--folder FOLDER]

Figures go to benchmarks/results/scale as well (see `record`). The bars are meant for 10,000,000,
5,000,000 and 280,000 rows; the texts of `benchmarks.scale.imdb` and the kills of
`benchmarks.scale.kills` have commands of their own. Files are written to a temporary folder unless
one is given, where they are kept and used again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.helpers.record import Figure, record
from benchmarks.helpers.scale import criteo, webspam
from benchmarks.helpers.speed.measure import ratio, side_by_side
from benchmarks.scale import generate, tall
from featgrad.readers import Source, convert, open_source

_COMMAND = "python -m benchmarks.scale"


def text_rows(path: Path, source: Source) -> None:
    """Write a source as svmlight text."""
    with path.open("w") as file:
        for block in source:
            for i in range(len(block)):
                row = block.X[[i]]
                pairs = " ".join(map("{}:{:.6g}".format, row.indices + 1, row.data))
                file.write(f"{block.y[i]:g} {pairs}\n")


def cpu(function: Callable[[], object], repeats: int = 3) -> float:
    """Fewest CPU seconds, of all threads, that it took: others on the machine count less."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


def consume(source: Source) -> int:
    return sum(len(block) for block in source)


def svmlight(folder: Path) -> None:
    """Parsing in one thread, beside scikit-learn's loader."""
    path = folder / "rows.svm"
    if not path.exists():
        text_rows(path, webspam.WebspamLike(n_rows=1_000, block_rows=1_000))
    megabytes = path.stat().st_size / 1e6
    options = {"n_features": webspam.N_FEATURES, "zero_based": False}
    source = open_source(path, **options)
    seconds = side_by_side(
        5,
        ours=lambda: consume(source),
        theirs=lambda: load_svmlight_file(str(path), dtype=np.float32, **options),
    )
    ours, theirs = (megabytes / np.median(seconds[name]) for name in ("ours", "theirs"))
    print(
        f"svmlight text, {megabytes:.0f} MB: {ours:.0f} MB/s in one thread (bar 100), "
        f"scikit-learn's loader {theirs:.0f} MB/s: "
        f"{ratio(seconds['theirs'], seconds['ours']):.1f}x faster; "
        f"{megabytes / cpu(lambda: consume(source)):.0f} MB per CPU second"
    )
    figures = [
        Figure("text parsed in one thread", ours, "MB/s", ">= 100"),
        Figure("the same by scikit-learn's loader", theirs, "MB/s"),
    ]
    record("svmlight text", 1_000, _COMMAND, figures)


def criteo_text(folder: Path, n_rows: int) -> Path:
    """Click logs from text to Arrow, and a bare pass over what was written."""
    path = folder / f"criteo-{n_rows}.tsv"
    if not path.exists():
        generate.write_criteo(path, n_rows)
    source = open_source(
        path, target="label", columns=criteo.COLUMNS, categorical=criteo.TOKENS,
        hash_dim=1_000_000, missing="zero",
    )  # fmt: skip
    start, before = time.perf_counter(), time.process_time()
    converted = convert(source, path.with_suffix(".arrow"))
    seconds, spent = time.perf_counter() - start, time.process_time() - before
    print(
        f"criteo shape, {n_rows:,} rows x {source.n_features:,}: converted from text at "
        f"{n_rows / seconds:,.0f} rows/s (bar 100,000), {n_rows / spent:,.0f} per CPU second"
    )
    figures = [Figure("converted from text", n_rows / seconds, "rows/s", ">= 100000")]
    record("criteo shape", n_rows, f"{_COMMAND} --rows {n_rows}", figures)
    start = time.perf_counter()
    entries = sum(block.X.nnz for block in converted)
    seconds = time.perf_counter() - start
    print(f"  read again from Arrow at {n_rows / seconds:,.0f} rows/s, {entries:,} entries")
    return path.with_suffix(".arrow")


def passing(path: Path, batch_rows: int) -> dict:
    """A large set chosen while rows pass, in a process of its own."""
    options = ["--size", "1000", "--batch-rows", str(batch_rows), "--from-disk"]
    command = [sys.executable, "-m", "benchmarks.scale.epoch", str(path), *options]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    facts = json.loads(found.stdout)
    epoch = facts["passages"]["stream"]
    recall = f", recall of planted columns {facts['recall']:.3f}" if "recall" in facts else ""
    print(
        f"{facts['rows']:,} x {facts['features']:,}: one epoch in {epoch:.0f} s, "
        f"{facts['rows'] / epoch:,.0f} rows/s, {epoch / facts['bare']:.1f}x a bare reading "
        f"(bar 6), whole fit {facts['fit']:.0f} s, peak {facts['peak_mib'] / 1024:.2f} GiB{recall}"
    )
    return facts


def clicks(folder: Path, n_rows: int) -> None:
    """The shape of criteo, and how memory grows with ten times the rows."""
    few, many = (
        passing(criteo_text(folder, rows), batch_rows=20_000)["peak_mib"]
        for rows in (n_rows // 10, n_rows)
    )
    print(f"  {many / few:.2f} times the memory for ten times the rows (bar 1.1)")
    figures = [Figure("peak memory beside that of a tenth of the rows", many / few, "x", "<= 1.1")]
    record("criteo shape", n_rows, f"{_COMMAND} --rows {n_rows}", figures)


def webspam_rows(folder: Path, n_rows: int) -> None:
    """The shape of webspam, fewer rows."""
    path = folder / f"webspam-{n_rows}.arrow"
    if not path.exists():
        generate.write_webspam(path, n_rows=n_rows)
    passing(path, batch_rows=1_000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of criteo's shape")
    parser.add_argument("--tall-rows", type=int, default=500_000, help="rows of the tall table")
    parser.add_argument("--webspam-rows", type=int, default=28_000, help="rows of its shape")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        svmlight(folder)
        clicks(folder, options.rows)
        webspam_rows(folder, options.webspam_rows)
        tall.recorded(folder, options.tall_rows, n_columns=200)


if __name__ == "__main__":
    main()
