"""`featgrad select` on a large CSV file beside polars merely scanning it, taking turns.

    python -m benchmarks.big_csv [--gigabytes 1] [--columns 150] [--runs 3] [--file FILE]

Each in a process of its own: time by the clock, processor time, and the largest resident memory.
The file is written first, to a temporary folder unless one is named, where it is kept.
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

# All columns are parsed and added up, as a scan that only counts lines would not.
SCAN = (
    "import sys, polars as pl; "
    "pl.scan_csv(sys.argv[1]).select(pl.all().sum()).collect(engine='streaming')"
)
ROWS = 20_000


class Spent(NamedTuple):
    """What a process took."""

    seconds: float
    processor_seconds: float
    megabytes: float


def write_csv(path: Path, n_bytes: float, n_columns: int) -> None:
    """Numbers of six digits behind the point; every tenth column makes the target."""
    rng = np.random.default_rng(0)
    names = ",".join([*(f"c{i}" for i in range(n_columns)), "y"])
    with path.open("w") as file:
        file.write(names + "\n")
        while file.tell() < n_bytes:
            X = rng.standard_normal((ROWS, n_columns))
            y = X[:, ::10].sum(axis=1) + 3 * rng.standard_normal(ROWS)
            line = ",".join(["%.6f"] * (n_columns + 1)) + "\n"
            file.writelines(line % tuple(row) for row in np.column_stack([X, y]).tolist())


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.big_csv")
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--columns", type=int, default=150)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder, "big.csv")
        if not path.exists():
            write_csv(path, options.gigabytes * 1e9, options.columns)
        select = ["-m", "featgrad", "select", str(path), "--target", "y", "-k", "10", "-q"]
        commands = {"polars": ["-c", SCAN, str(path)], "featgrad": select}
        runs: dict[str, list[Spent]] = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, command in commands.items():
                runs[name].append(spent(command))
        size = path.stat().st_size / 1e9
    middle = {name: Spent(*map(median, zip(*taken, strict=True))) for name, taken in runs.items()}
    print(f"{size:.2f} GB of CSV, medians of {options.runs}")
    for name, taken in middle.items():
        print(
            f"  {name:<9} {taken.seconds:6.1f} s, {taken.processor_seconds:6.1f} s of processor "
            f"time, {taken.megabytes:5.0f} MB"
        )
    ours, scan = middle["featgrad"], middle["polars"]
    print(
        f"  {ours.seconds / scan.seconds:.1f}x the time of the scan (bar 4), "
        f"{ours.processor_seconds / scan.processor_seconds:.1f}x its processor time"
    )


if __name__ == "__main__":
    main()
