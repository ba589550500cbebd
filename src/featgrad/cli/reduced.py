"""The chosen features and the target as a table of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scipy import sparse

from featgrad.atomic import atomic_path
from featgrad.readers import Block

FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")


def write_reduced(
    blocks: Iterable[Block], features: Any, names: Sequence[str], target: str, path: Path
) -> None:
    """In the format of the path's suffix, block by block."""
    import pyarrow as pa

    with atomic_path(path) as temporary:
        writer = None
        try:
            for block in blocks:
                X = block.X[:, features]
                X = X.toarray() if sparse.issparse(X) else X
                batch = pa.record_batch([*X.T, block.y], names=[*names, target])
                writer = writer or _writer(temporary, batch.schema)
                writer.write_batch(batch)
        finally:
            if writer is not None:
                writer.close()


def _writer(path: Path, schema: Any) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        return pq.ParquetWriter(path, schema)
    if path.suffix in (".arrow", ".feather"):
        return pa.ipc.new_file(path, schema)
    delimiter = "\t" if path.suffix == ".tsv" else ","
    return pc.CSVWriter(path, schema, write_options=pc.WriteOptions(delimiter=delimiter))
