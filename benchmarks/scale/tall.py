"""Many rows of few columns in a Parquet file: the whole path beside one covariance.

    python -m benchmarks.scale.tall [--rows 5000000] [--columns 200] [--folder FOLDER]

Both read the file with the same reader. The bar is that all sizes up to the number of columns, and
the choice among them, take no more than three times as long as one covariance.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.helpers.record import Figure, record
from benchmarks.scale import generate
from featgrad import FeatureGradientSelector
from featgrad.readers import Source, open_source, prefetched

_ROWS_AT_ONCE = 100_000


def write(path: Path, n_rows: int, n_columns: int, n_planted: int = 20, seed: int = 0) -> None:
    """Write correlated columns, of which some decide the target `y`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    planted = np.sort(rng.choice(n_columns, n_planted, replace=False))
    names = [*(f"x{i}" for i in range(n_columns)), "y"]
    schema = pa.schema([(name, pa.float32()) for name in names])
    # Numbers that are all different gain nothing by a dictionary.
    with pq.ParquetWriter(path, schema, use_dictionary=False) as file:
        for start in range(0, n_rows, _ROWS_AT_ONCE):
            size = min(_ROWS_AT_ONCE, n_rows - start)
            X = rng.standard_normal((n_columns, size), dtype=np.float32)
            X += 0.5 * rng.standard_normal(size, dtype=np.float32)
            noise = math.sqrt(n_planted) * rng.standard_normal(size, dtype=np.float32)
            y = X[planted[::2]].sum(axis=0) - X[planted[1::2]].sum(axis=0) + noise
            file.write_table(pa.table(dict(zip(names, [*X, y], strict=True))))
    generate.keep(path, {"planted": planted.tolist(), "n_rows": n_rows, "seed": seed})


def covariance(source: Source) -> np.ndarray:
    """One covariance of all columns, in one reading."""
    total = np.zeros((source.n_features, source.n_features))
    mean, n_rows = np.zeros(source.n_features), 0
    for block in prefetched(source):
        total += block.X.T @ block.X
        mean += block.X.sum(axis=0)
        n_rows += len(block)
    mean /= n_rows
    return total / n_rows - np.multiply.outer(mean, mean)


def tall(folder: Path, n_rows: int, n_columns: int) -> list[Figure]:
    """The whole path beside one covariance."""
    path = folder / f"tall-{n_rows}-{n_columns}.parquet"
    if not path.exists():
        write(path, n_rows, n_columns)
    source = open_source(path, target="y")
    before = _timed(lambda: covariance(source))
    selector = FeatureGradientSelector("auto", random_state=0)
    whole = _timed(lambda: selector.fit_source(source))
    once = (before + _timed(lambda: covariance(source))) / 2
    found = set(selector.get_support(indices=True)) & set(generate.read_planted(path))
    print(
        f"tall, {n_rows:,} x {n_columns}: one covariance in {once[0]:.0f} s ({once[1]:.0f} s of "
        f"processor time), a path of {len(selector.path_)} sizes in {whole[0]:.0f} s "
        f"({whole[1]:.0f} s): {whole[0] / once[0]:.1f} times as long, {whole[1] / once[1]:.1f} "
        f"times the processor time (bar 3); {len(found)} of 20 planted features among the "
        f"{selector.n_features_} chosen"
    )
    return [
        Figure("whole path with auto beside reading and one covariance", whole[0] / once[0], "x",
               "<= 3"),
        Figure("the same in processor time", whole[1] / once[1], "x"),
    ]  # fmt: skip


def recorded(folder: Path, n_rows: int, n_columns: int) -> None:
    """The same, and its figures written down."""
    command = f"python -m benchmarks.scale.tall --rows {n_rows} --columns {n_columns}"
    record(f"tall, {n_columns} columns", n_rows, command, tall(folder, n_rows, n_columns))


def _timed(call) -> np.ndarray:
    """Seconds, and seconds of processor time, which other programs change less."""
    start = np.array([time.perf_counter(), time.process_time()])
    call()
    return np.array([time.perf_counter(), time.process_time()]) - start


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale.tall")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        recorded(folder, options.rows, options.columns)


if __name__ == "__main__":
    main()
