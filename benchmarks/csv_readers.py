"""Reading a CSV file of numbers into NumPy: featgrad's kernels beside pyarrow.csv and polars.

    python -m benchmarks.csv_readers [--rows 400000]

Also what each says of a value that is not a number and of a row that is too short.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc

from featgrad import open_source

_N_COLUMNS = 30
_DAMAGED = "a,b,y\n1,2,3\n1,x,3\n1,2\n4,5,6\n"


def with_featgrad(path: Path) -> None:
    for _ in open_source(path, target="y"):
        pass


def with_pyarrow(path: Path) -> None:
    for batch in pc.open_csv(
        path, convert_options=pc.ConvertOptions(column_types={"b": "float64"})
    ):
        np.stack([column.to_numpy() for column in batch.columns])


def with_polars(path: Path) -> None:
    pl.read_csv(path, schema_overrides={"b": pl.Float64}).to_numpy()


READERS = {"featgrad": with_featgrad, "pyarrow.csv": with_pyarrow, "polars": with_polars}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=400_000)
    options = parser.parse_args()
    X = np.random.default_rng(0).standard_normal((options.rows, _N_COLUMNS)).round(5)
    names = ["b", "y", *(f"c{i}" for i in range(_N_COLUMNS - 2))]
    with tempfile.TemporaryDirectory() as folder:
        path, damaged = Path(folder, "rows.csv"), Path(folder, "damaged.csv")
        pc.write_csv(pa.table(dict(zip(names, X.T, strict=True))), path)
        damaged.write_text(_DAMAGED)
        print(f"{path.stat().st_size / 1e6:.0f} MB")
        for name, read in READERS.items():
            times = []
            for _ in range(4):
                begun = time.perf_counter()
                read(path)
                times.append(time.perf_counter() - begun)
            try:
                read(damaged)
                said = "read without a word"
            except Exception as error:
                said = " ".join(str(error).replace(folder, "").split())[:110]
            print(f"{name:12} {min(times):6.2f} s   {said}")


if __name__ == "__main__":
    main()
