"""Arrow and Parquet files that store whole rows in list columns, as `convert` writes them.

Either `idx` and `val`, lists whose buffers are those of a CSR matrix, or `x`, lists of a fixed
size whose buffer is a dense matrix; also `y`, and optionally `weight`.
"""

import json
import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.atomic import atomic_path
from featgrad.readers.block import MAX_FEATURES, Block, canonical, csr, raise_unreadable
from featgrad.readers.columns import EncodedColumn, Layout, check_column
from featgrad.readers.frames import ArrowTable, BatchFiles, require_pyarrow
from featgrad.readers.source import BaseSource, Source, StoredRows, prefetched

# Key of the schema metadata that holds the number of features and their layout as JSON.
_METADATA_KEY = b"featgrad"


def open_batches(data: Any, format: str, block_rows: int | None) -> StoredRows | ArrowTable:
    """A file of stored rows, or of a table."""
    file = BatchFiles(data, format)
    if _METADATA_KEY in (file.schema.metadata or {}):
        return StoredRows(ArrowRowsSource, file, {"target": "y"})
    return ArrowTable(file, block_rows)


class ArrowRowsSource(BaseSource):
    """Rows of files that `convert` wrote; one that was changed since then cannot be read."""

    def __init__(self, file: BatchFiles, target: str, **common: Any) -> None:
        super().__init__(**common)
        check_column("target", target, file.name, file.schema.names)
        self._file, self._target = file, target
        self.n_rows = None if self._invalid.skip else file.n_rows
        try:
            metadata = json.loads(file.schema.metadata[_METADATA_KEY])
            self.n_features, columns = metadata["n_features"], metadata["features"]
            layout = None if columns is None else Layout.from_json(columns)
            n_names = self.n_features if layout is None else len(layout)
            if not 0 < self.n_features <= MAX_FEATURES or n_names != self.n_features:
                raise ValueError(f"it has {self.n_features} features but {n_names} names")
            self.feature_names = layout
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise_unreadable(file.name, error)

    def parts(self) -> list[Self]:
        return [self._part(file.path, _file=file) for file in self._file.parts()]

    def _chunks(self) -> Iterator[Block]:
        self._invalid.restart()
        for batch in self._file.batches(self.block_rows):
            try:
                rows = self._rows(batch)
            except (ValueError, KeyError) as error:
                raise_unreadable(self._file.name, error)
            yield self._invalid.clean(rows)

    def _rows(self, batch: Any) -> Block:
        """On the buffers of the batch."""
        if "x" in batch.schema.names:
            values = batch.column("x").flatten().to_numpy(zero_copy_only=False)
            X = values.reshape(len(batch), self.n_features)
        else:
            (indptr, indices), (others, values) = (_lists(batch.column(c)) for c in ("idx", "val"))
            if not np.array_equal(indptr, others):
                raise ValueError("idx and val are not lists of one length")
            X = csr(values, indices.astype(np.int32, copy=False), indptr, self.n_features)
            X.check_format(full_check=True)
            X = canonical(X)
        y, weight = batch.column(self._target), None
        is_text = str(y.type) == "string"
        if is_text and y.null_count:
            raise ValueError("a target is missing")
        if "weight" in batch.schema.names:
            weight = batch.column("weight").to_numpy(zero_copy_only=False).astype(np.float64)
        labels = np.array(y.to_pylist(), str) if is_text else y.to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore"):
            return Block(X.astype(self._dtype, copy=False), labels, weight)


def _lists(column: Any) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Row pointers from 0, and the elements of all rows."""
    offsets = column.offsets.to_numpy()
    values = column.values.slice(offsets[0], offsets[-1] - offsets[0])
    if column.null_count or values.null_count:
        raise ValueError("a list is missing, or an entry of it")
    return (offsets - offsets[0]).astype(np.int32), values.to_numpy()


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
    names = source.feature_names
    if names is not None and not isinstance(names, Layout):
        names = Layout([EncodedColumn(name) for name in names])
    columns = None if names is None else names.to_json()
    metadata = {"version": 1, "n_features": source.n_features, "features": columns}
    batch = _batch(first)
    schema = batch.schema.with_metadata({_METADATA_KEY: json.dumps(metadata)})
    with (
        atomic_path(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, schema) as writer,
    ):
        for each in chain([batch], map(_batch, blocks)):
            writer.write_batch(each)
    from featgrad.readers.opening import open_source

    return open_source(path, block_rows=source.block_rows, dtype=first.X.dtype)


def _batch(block: Block) -> Any:
    import pyarrow as pa

    if block.y.ndim != 1:
        raise ValueError(f"y has shape {block.y.shape}: only a single target can be converted.")
    if sparse.issparse(block.X):
        places = block.X.indptr, block.X.indices
        offsets, indices = (pa.array(part.astype(np.int32, copy=False)) for part in places)
        lists = {"idx": indices, "val": pa.array(block.X.data)}
        columns = {n: pa.ListArray.from_arrays(offsets, part) for n, part in lists.items()}
    else:
        values = pa.array(np.ascontiguousarray(block.X).ravel())
        columns = {"x": pa.FixedSizeListArray.from_arrays(values, block.X.shape[1])}
    columns["y"] = pa.array(block.y, pa.string() if block.y.dtype.kind == "U" else pa.float64())
    if block.weight is not None:
        columns["weight"] = pa.array(block.weight, pa.float64())
    return pa.record_batch(columns)
