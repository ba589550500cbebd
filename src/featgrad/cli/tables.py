"""Tables in files: CSV, TSV, Parquet, Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.cli.errors import UsageError, check_suffix, unknown_column
from featgrad.report.writing import replacing

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_FORMATS = {".parquet": "parquet", ".arrow": "arrow", ".feather": "feather"}
FORMATS = (*_DELIMITERS, *_FORMATS)
# Bytes of a CSV file that are read at once; a row must fit in.
_BLOCK = 1 << 24


@dataclass(frozen=True)
class Table:
    """Columns of numbers, a target, and what was left out to get there."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    names: list[str]
    notes: list[str]


def read_table(path: Path, target: str) -> Table:
    """Every column of numbers but the target, over the rows that have a target."""
    import pyarrow as pa

    dataset = open_table(path)
    if target not in dataset.schema.names:
        raise unknown_column("--target", target, dataset.schema.names)
    names, left_out = split_columns(dataset.schema, target)
    if not names:
        raise UsageError(f"{path} has no column of numbers beside --target {target!r}.")
    table = dataset.to_table(columns=[*names, target])
    y = table[target].combine_chunks()
    present = np.asarray(y.is_valid())
    X = np.empty((table.num_rows, len(names)))
    for i, name in enumerate(names):
        X[:, i] = table[name].cast(pa.float64()).to_numpy(zero_copy_only=False)
    values = y.to_numpy(zero_copy_only=False)
    notes = []
    if left_out:
        notes.append(f"left out, as they are no numbers: {_listed(left_out)}")
    if not present.all():
        notes.append(f"left out: {np.count_nonzero(~present):,} rows without a target")
        X, values = X[present], values[present]
    return Table(X, values.astype(str) if values.dtype.kind == "O" else values, names, notes)


def write_columns(source: Path, columns: list[str], path: Path) -> None:
    """Some columns of a file as a file of its own, in the format of its suffix."""
    import pyarrow.csv as pc
    import pyarrow.feather as pf
    import pyarrow.parquet as pq

    table = open_table(source).to_table(columns=columns)
    with replacing(path) as unfinished:
        if path.suffix in _DELIMITERS:
            options = pc.WriteOptions(delimiter=_DELIMITERS[path.suffix])
            pc.write_csv(table, unfinished, options)
        elif path.suffix == ".parquet":
            pq.write_table(table, unfinished)
        else:
            pf.write_feather(table, unfinished)


def open_table(path: Path) -> Any:
    """A table that is not read yet."""
    try:
        import pyarrow.csv as pc
        import pyarrow.dataset as ds
    except ImportError:
        raise UsageError(f"{path} needs pyarrow: pip install 'featgrad[files]'.") from None
    check_suffix("FILE", path, FORMATS)
    if not path.is_file():
        raise UsageError(f"FILE {str(path)!r} does not exist: check the path.")
    if path.suffix in _FORMATS:
        return ds.dataset(path, format=_FORMATS[path.suffix])
    form = ds.CsvFileFormat(
        parse_options=pc.ParseOptions(delimiter=_DELIMITERS[path.suffix]),
        read_options=pc.ReadOptions(block_size=_BLOCK),
    )
    return ds.dataset(path, format=form)


def split_columns(schema: Any, target: str | None) -> tuple[list[str], list[str]]:
    """Names of the columns of numbers and of the others, the target in neither."""
    import pyarrow.types as types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    others = [field for field in schema if field.name != target]
    numbers = [field.name for field in others if any(test(field.type) for test in tests)]
    known = set(numbers)
    return numbers, [field.name for field in others if field.name not in known]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more
