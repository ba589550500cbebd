"""`featgrad select` on a large CSV file beside polars merely scanning it, taking turns.

    python -m benchmarks.big_csv [--gigabytes 1] [--columns 150] [--texts 0] [--runs 3]
                                 [--file FILE]
    python -m benchmarks.big_csv --wide [ROWS] [--runs 3]

With `--wide`: opening a file of 40,000 columns, 1,000 rows unless another number is given, and one
pass over it, beside four passes over 10,000 columns. Else for ten features, for as many as held-out
rows ask for, and with a report. Each in a process of its own: time by the clock, processor time,
and the largest resident memory. The file is written first, to a temporary folder unless one is
named, where it is kept.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.helpers.record import Figure, record

# All columns are parsed and added up, as a scan that only counts lines would not.
SCAN = (
    "import sys, polars as pl; from polars import selectors as cs; "
    "pl.scan_csv(sys.argv[1]).select(cs.numeric().sum(), cs.string().str.len_bytes().sum())"
    ".collect(engine='streaming')"
)
ROWS = 20_000
TEXTS = np.array([f"text {letter}" for letter in "abcdefghij"])


class Spent(NamedTuple):
    """What a process took."""

    seconds: float
    processor_seconds: float
    megabytes: float


def write_csv(path: Path, n_bytes: float, n_columns: int, n_texts: int) -> None:
    """Numbers of six digits behind the point; every tenth column makes the target.

    Columns of text stand behind them, the first of which counts, too.
    """
    rng = np.random.default_rng(0)
    names = [*(f"c{i}" for i in range(n_columns)), "y", *(f"t{i}" for i in range(n_texts))]
    line = ",".join(["%.6f"] * (n_columns + 1) + ["%s"] * n_texts) + "\n"
    with path.open("w") as file:
        file.write(",".join(names) + "\n")
        while file.tell() < n_bytes:
            X = rng.standard_normal((ROWS, n_columns))
            codes = rng.integers(len(TEXTS), size=(ROWS, n_texts))
            y = X[:, ::10].sum(axis=1) + (codes[:, :1] < 5).sum(axis=1)
            y += 3 * rng.standard_normal(ROWS)
            rows = zip(np.column_stack([X, y]).tolist(), TEXTS[codes].tolist(), strict=True)
            file.writelines(line % (*numbers, *texts) for numbers, texts in rows)


def spent(arguments: list[str]) -> Spent:
    """What a run of this Python with these arguments takes."""
    begun = time.perf_counter()
    process = os.posix_spawn(
        sys.executable, [sys.executable, *arguments], os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )  # fmt: skip
    _, status, used = os.wait4(process, 0)
    if status != 0:
        raise RuntimeError(f"{arguments} ended with status {status}")
    seconds = time.perf_counter() - begun
    return Spent(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def wide(n_rows: int, runs: int) -> None:
    """Opening 40,000 columns and a pass, beside four passes over 10,000; of processor time."""
    from featgrad import open_source

    with tempfile.TemporaryDirectory() as folder:
        paths = {n: Path(folder, f"{n}.csv") for n in (10_000, 40_000)}
        rng = np.random.default_rng(0)
        for n, path in paths.items():
            names = ",".join(["y", *(f"c{i}" for i in range(1, n))])
            X = rng.standard_normal((n_rows, n))
            np.savetxt(path, X, "%.6f", delimiter=",", header=names, comments="")
        narrow = open_source(paths[10_000], target="y")
        ratios = []
        for _ in range(1 + runs):  # the first one loads compiled kernels
            times = [time.process_time()]
            for _ in open_source(paths[40_000], target="y"):
                pass
            times.append(time.process_time())
            for _ in range(4):
                for _ in narrow:
                    pass
            times.append(time.process_time())
            ratios.append((times[1] - times[0]) / (times[2] - times[1]))
    ratio = median(ratios[1:])
    bar = "opening 40,000 columns and a pass, beside four passes over 10,000"
    print(f"{bar}: {ratio:.2f}x (bar 2)")
    command = f"python -m benchmarks.big_csv --wide {n_rows} --runs {runs}"
    record("wide CSV", n_rows, command, [Figure(bar, ratio, "x", "<= 2")])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.big_csv")
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--columns", type=int, default=150)
    parser.add_argument("--texts", type=int, default=0, help="columns of text")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--file", type=Path)
    parser.add_argument(
        "--wide", metavar="ROWS", type=int, nargs="?", const=1_000, help="many columns"
    )
    options = parser.parse_args()
    if options.wide is not None:
        wide(options.wide, options.runs)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder, "big.csv")
        if not path.exists():
            write_csv(path, options.gigabytes * 1e9, options.columns, options.texts)
        select = ["-m", "featgrad", "select", str(path), "--target", "y", "-q", "-k"]
        report = ["--report", str(Path(folder, "report.html"))]
        commands = {
            "polars": ["-c", SCAN, str(path)],
            "-k 10": [*select, "10"],
            "-k auto": [*select, "auto"],
            "-k 10 --report": [*select, "10", *report],
        }
        runs: dict[str, list[Spent]] = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, command in commands.items():
                runs[name].append(spent(command))
        size = path.stat().st_size / 1e9
        with path.open("rb") as file:
            n_rows = sum(1 for _ in file) - 1
    middle = {name: Spent(*map(median, zip(*taken, strict=True))) for name, taken in runs.items()}
    print(f"{size:.2f} GB of CSV, medians of {options.runs}; beside the scan (bar 4)")
    scan = middle["polars"]
    for name, taken in middle.items():
        print(
            f"  {name:<14} {taken.seconds:6.1f} s ({taken.seconds / scan.seconds:.1f}x), "
            f"{taken.processor_seconds:6.1f} s of processor time "
            f"({taken.processor_seconds / scan.processor_seconds:.1f}x), {taken.megabytes:5.0f} MB"
        )
    figures = [
        Figure(f"select {name}, {of} beside a scan by polars", ratio, "x", asked)
        for name, taken in middle.items()
        if taken is not scan
        for of, ratio, asked in (
            ("time", taken.seconds / scan.seconds, "<= 4"),
            ("processor time", taken.processor_seconds / scan.processor_seconds, None),
        )
    ]
    data = f"CSV of {size:.1f} GB, {options.columns} numbers and {options.texts} texts per row"
    command = f"python -m benchmarks.big_csv --texts {options.texts} --runs {options.runs}"
    record(data, n_rows, command, figures)


if __name__ == "__main__":
    main()
