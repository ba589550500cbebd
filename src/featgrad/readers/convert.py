"""Conversion of a source to an Arrow file, which is read without parsing."""

import json
import os
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from featgrad._support.atomic import atomic_path
from featgrad.readers.batches import require_pyarrow
from featgrad.readers.block import Block
from featgrad.readers.layout import METADATA_KEY, EncodedColumn, Layout
from featgrad.readers.opening import open_source
from featgrad.readers.source import Source, prefetched


def convert(source: Source, path: str | os.PathLike[str]) -> Source:
    """Write the rows of a source to an Arrow IPC file.

    Sparse rows are stored as lists `idx` and `val`, dense ones as lists `x` of a fixed size; more
    columns are `y` and, if there are weights, `weight`. The schema metadata hold the names, groups
    and number of features as JSON. An existing file is replaced once the new one is complete.

    Parameters
    ----------
    source : Source
        The rows; each block is written as one record batch.
    path : str or path
        The file to write.

    Returns
    -------
    Source
        The new file.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from featgrad import open_source
    >>> from featgrad.readers import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = open_source(np.eye(3), target=[0, 1, 0])
    ...     convert(rows, pathlib.Path(folder, "rows.arrow")).n_rows
    3
    """
    require_pyarrow("Writing Arrow files")
    import pyarrow as pa

    path = Path(path)
    if path.exists() and Path(source.name).exists() and path.samefile(source.name):
        raise ValueError(f"path={str(path)!r} is the file that is read: name another one.")
    blocks = iter(prefetched(source))
    first = next(blocks, None)
    if first is None:
        raise ValueError("The source has no rows: there is nothing to convert.")
    schema = _schema(source, first)
    with (
        atomic_path(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, schema) as writer,
    ):
        for block in chain([first], blocks):
            writer.write_batch(_batch(block, schema))
    return open_source(path, block_rows=source.block_rows, dtype=first.X.dtype)


def _schema(source: Source, first: Block) -> Any:
    import pyarrow as pa

    value = pa.from_numpy_dtype(first.X.dtype)
    if sparse.issparse(first.X):
        fields = [("idx", pa.list_(pa.int32())), ("val", pa.list_(value))]
    else:
        fields = [("x", pa.list_(value, source.n_features))]
    fields.append(("y", pa.string() if first.y.dtype.kind == "U" else pa.float64()))
    if first.weight is not None:
        fields.append(("weight", pa.float64()))
    names = source.feature_names
    if names is not None and not isinstance(names, Layout):
        names = Layout([EncodedColumn(name) for name in names])
    columns = None if names is None else names.to_json()
    metadata = {"version": 1, "n_features": source.n_features, "features": columns}
    return pa.schema(fields, metadata={METADATA_KEY: json.dumps(metadata)})


def _batch(block: Block, schema: Any) -> Any:
    import pyarrow as pa

    if block.y.ndim != 1:
        raise ValueError(f"y has shape {block.y.shape}: only a single target can be converted.")
    if sparse.issparse(block.X):
        places = block.X.indptr, block.X.indices
        offsets, indices = (pa.array(part.astype(np.int32, copy=False)) for part in places)
        columns = [
            pa.ListArray.from_arrays(offsets, values, type=schema.field(name).type)
            for name, values in (("idx", indices), ("val", pa.array(block.X.data)))
        ]
    else:
        values = pa.array(np.ascontiguousarray(block.X).ravel())
        columns = [pa.FixedSizeListArray.from_arrays(values, type=schema.field("x").type)]
    columns.append(pa.array(block.y, type=schema.field("y").type))
    if block.weight is not None:
        columns.append(pa.array(block.weight))
    return pa.record_batch(columns, schema=schema)
