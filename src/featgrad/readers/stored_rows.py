"""Arrow and Parquet files that store whole rows in list columns, and how they are written.

Either `idx` and `val`, lists whose buffers are those of a CSR matrix, or `x`, lists of a fixed
size whose buffer is a dense matrix; also `y`, and optionally `weight`.
"""

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.atomic import atomic_path
from featgrad._support.types import Flags, Floats
from featgrad.readers.block import MAX_FEATURES, Block, check_largest, csr
from featgrad.readers.columns import METADATA_KEY, EncodedColumn, Layout, UnknownColumnError
from featgrad.readers.frames import ArrowTable, BatchFiles, numbers_in, require_pyarrow
from featgrad.readers.invalid_rows import raise_unreadable
from featgrad.readers.source import BaseSource, Source, StoredRows, prefetched


def stores_rows(schema: Any) -> bool:
    """Whether the schema is that of stored rows rather than of a table."""
    from pyarrow import types

    def is_list(name: str) -> bool:
        kind = schema.field(name).type if name in schema.names else None
        return kind is not None and (types.is_list(kind) or types.is_large_list(kind))

    fixed = "x" in schema.names and types.is_fixed_size_list(schema.field("x").type)
    return fixed or (is_list("idx") and is_list("val"))


def open_batches(data: Any, format: str, block_rows: int | None) -> StoredRows | ArrowTable:
    """A file of stored rows, or of a table."""
    file = BatchFiles(data, format)
    if not stores_rows(file.schema):
        return ArrowTable(file, block_rows)
    weight = "weight" if "weight" in file.schema.names else None
    options = {"target": "y", "weight": weight, "n_features": None}
    return StoredRows(ArrowRowsSource, file, options)


class ArrowRowsSource(BaseSource):
    """Rows of one file."""

    def __init__(
        self,
        file: BatchFiles,
        *,
        target: str,
        weight: str | None,
        n_features: int | None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self._file, self._target, self._weight = file, target, weight
        self.n_rows = None if self._invalid.skip else file.n_rows
        self._dense = "x" in file.schema.names
        self._check_types()
        size, layout = _read_metadata(file)
        if self._dense:
            size = file.schema.field("x").type.list_size
        self.n_features = size or n_features or self._find_n_features()
        if n_features is not None and self.n_features != n_features:
            raise ValueError(f"{file.name} has {size} features, not n_features={n_features}.")
        if layout is not None and len(layout) != self.n_features:
            raise ValueError(f"{file.name} has {size} features but {len(layout)} names.")
        self.feature_names = layout

    def parts(self) -> list[Self]:
        return [self._part(file.path, _file=file) for file in self._file.parts()]

    def _check_types(self) -> None:
        from pyarrow import types

        schema, name = self._file.schema, self._file.name
        for column in filter(None, (self._target, self._weight)):
            if column not in schema.names:
                raise UnknownColumnError(f"{name} has no column {column!r} but {schema.names}.")
        sparse_types = {"idx": types.is_integer, "val": types.is_floating}
        for column, test in ({"x": types.is_floating} if self._dense else sparse_types).items():
            kind = schema.field(column).type.value_type
            if not test(kind):
                raise ValueError(f"{name}: column {column!r} holds lists of {kind}.")

    def _find_n_features(self) -> int:
        """Read the whole file once for its largest index."""
        highest, entries = -1, 0
        for batch in self._file.batches(self.block_rows):
            indices = batch.column("idx").flatten().to_numpy(zero_copy_only=False)
            highest = max(highest, int(np.nanmax(indices)) if indices.size else -1)
            entries += indices.size
        check_largest(self._file.name, highest, entries)
        return highest + 1

    def _chunks(self) -> Iterator[Block]:
        self._invalid.skipped, first = 0, 0
        for batch in self._file.batches(self.block_rows):
            n_rows = batch.num_rows
            rows = np.arange(first, first + n_rows)
            for is_invalid, reason in self._checks():
                invalid = is_invalid(batch)
                if invalid.any():
                    for row in rows[invalid].tolist():
                        self._invalid.report(row, reason)
                    batch, rows = batch.filter(~invalid), rows[~invalid]
            X = self._dense_rows(batch) if self._dense else self._sparse_rows(batch)
            yield self._invalid.clean(Block(X, *self._target_and_weight(batch)), first)
            first += n_rows

    def _checks(self) -> list[tuple[Callable[[Any], Flags], str]]:
        """Tests of rows one after the other, and what is wrong with those that fail."""
        no_target = (lambda batch: _is_null(batch.column(self._target))), "the target is missing"
        if self._dense:
            return [no_target]
        within = partial(_without_order, n_features=self.n_features)
        return [
            no_target,
            (_invalid_lists, "idx and val are not lists of one length, or hold a null"),
            (within, f"idx does not increase within 0 to {self.n_features - 1}"),
        ]

    def _target_and_weight(self, batch: Any) -> tuple[NDArray[Any], Floats | None]:
        import pyarrow as pa

        wanted = [*filter(None, (self._target, self._weight))]
        frame = nw.from_native(pa.Table.from_batches([batch]).select(wanted), eager_only=True)
        column, weight = frame[self._target], None
        is_text = isinstance(column.dtype, nw.String | nw.Categorical)
        y = np.array(column.to_list(), str) if is_text else numbers_in(column, {})
        if self._weight is not None:
            weight = numbers_in(frame[self._weight], {})
        return y, weight

    def _dense_rows(self, batch: Any) -> NDArray[Any]:
        x = batch.column("x")
        values = x.values.slice(x.offset * self.n_features, len(x) * self.n_features)
        X = values.to_numpy(zero_copy_only=False).reshape(len(x), self.n_features)
        if x.null_count:
            X = np.where(_is_null(x)[:, None], np.nan, X)
        with np.errstate(over="ignore"):
            return np.asarray(X, dtype=self._dtype)

    def _sparse_rows(self, batch: Any) -> Any:
        """A CSR matrix on the buffers of the batch."""
        indptr, indices = _list_buffers(batch.column("idx"))
        _, values = _list_buffers(batch.column("val"))
        with np.errstate(over="ignore"):
            values = values.astype(self._dtype, copy=False)
        return csr(values, indices.astype(np.int32, copy=False), indptr, self.n_features)


def _is_null(column: Any) -> Flags:
    if column.null_count == 0:
        return np.zeros(len(column), bool)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def _invalid_lists(batch: Any) -> Flags:
    """Rows whose lists differ in length, are null, or hold a null."""
    idx, val = columns = batch.column("idx"), batch.column("val")
    invalid: Flags = np.diff(idx.offsets.to_numpy()) != np.diff(val.offsets.to_numpy())
    for column in columns:
        invalid = invalid | _is_null(column)
        offsets = column.offsets.to_numpy()
        nulls = np.flatnonzero(_is_null(column.values))
        rows = np.searchsorted(offsets, nulls, side="right") - 1
        invalid[rows[(nulls >= offsets[0]) & (nulls < offsets[-1])]] = True
    return invalid


def _list_buffers(column: Any) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Row pointers from 0, and the elements of all rows."""
    offsets = column.offsets.to_numpy()
    values = column.values.slice(offsets[0], offsets[-1] - offsets[0])
    return (offsets - offsets[0]).astype(np.int32), values.to_numpy(zero_copy_only=False)


def _without_order(batch: Any, n_features: int) -> Flags:
    """Rows whose indices do not increase within ``[0, n_features)``."""
    indptr, indices = _list_buffers(batch.column("idx"))
    wrong = indices >= n_features
    wrong[1:] |= indices[1:] <= indices[:-1]
    invalid = np.zeros(len(indptr) - 1, bool)
    first = indptr[:-1][np.diff(indptr) > 0]
    wrong[first] = (indices[first] < 0) | (indices[first] >= n_features)
    invalid[np.searchsorted(indptr, np.flatnonzero(wrong), side="right") - 1] = True
    return invalid


def _read_metadata(file: BatchFiles) -> tuple[int | None, Layout | None]:
    """The number of features and their layout as `convert` writes them."""
    try:
        text = (file.schema.metadata or {}).get(METADATA_KEY)
        if text is None:
            return None, None
        metadata = json.loads(text)
        columns, n_features = metadata["features"], metadata["n_features"]
        if type(n_features) is not int or not 0 < n_features <= MAX_FEATURES:
            raise ValueError(f"n_features is {str(n_features)[:40]}")
        return n_features, None if columns is None else Layout.from_json(columns)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise_unreadable(file.name, error)


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
    from featgrad.readers.opening import open_source

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
