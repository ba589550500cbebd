"""Arrow and Parquet files that hold whole rows in one or two columns.

Either `idx` and `val`, lists whose buffers are those of a CSR matrix, or `x`, lists of a fixed
size whose buffer is a dense matrix. Beside them `y`, and `weight` if rows have one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.arrays import Flags, Floats
from featgrad.readers.arrow_files import BatchFile
from featgrad.readers.arrow_tables import as_numbers, as_tokens, is_text
from featgrad.readers.block import MAX_FEATURES, Block, csr, regroup
from featgrad.readers.invalid_rows import BaseSource, InvalidRows, unreadable
from featgrad.readers.kernels.entries import faulty_rows
from featgrad.readers.layout import METADATA_KEY, Layout
from featgrad.readers.tables import UnknownColumnError


def stores_rows(schema: Any) -> bool:
    """Whether the columns are those of rows rather than features."""
    from pyarrow import types

    def is_list(name: str) -> bool:
        kind = schema.field(name).type if name in schema.names else None
        return kind is not None and (types.is_list(kind) or types.is_large_list(kind))

    fixed = "x" in schema.names and types.is_fixed_size_list(schema.field("x").type)
    return fixed or (is_list("idx") and is_list("val"))


class ArrowRowsSource(BaseSource):
    """Rows of one file."""

    def __init__(
        self,
        file: BatchFile,
        target: str,
        weight: str | None,
        *,
        n_features: int | None,
        block_rows: int,
        dtype: Any,
        bad: InvalidRows,
    ) -> None:
        self._file, self._bad, self._dtype = file, bad, np.dtype(dtype)
        self.block_rows = block_rows
        self.n_rows: int | None = None if bad.skip else file.n_rows
        self._target, self._weight = target, weight
        self._dense = "x" in file.schema.names
        self._check_types()
        size, self._layout = _described(file)
        if self._dense:
            size = file.schema.field("x").type.list_size
        self.n_features = size or n_features or self._measure()
        if n_features is not None and self.n_features != n_features:
            raise ValueError(f"{file.name} has {size} features, not n_features={n_features}.")
        if self._layout is not None and len(self._layout) != self.n_features:
            raise ValueError(f"{file.name} has {size} features but {len(self._layout)} names.")

    @property
    def feature_names(self) -> Sequence[str] | None:
        return self._layout

    @property
    def groups(self) -> NDArray[np.int32] | None:
        return None if self._layout is None else self._layout.groups

    def __iter__(self) -> Iterator[Block]:
        return regroup(self._chunks(), self.block_rows)

    def _check_types(self) -> None:
        from pyarrow import types

        schema, name = self._file.schema, self._file.name
        for column in filter(None, (self._target, self._weight)):
            if column not in schema.names:
                raise UnknownColumnError(
                    f"{name} has no column {column!r}: its columns are {schema.names}."
                )
        for column, test in (("x", types.is_floating), ("idx", types.is_integer),
                             ("val", types.is_floating)):  # fmt: skip
            if column in schema.names and (column == "x") == self._dense:
                kind = schema.field(column).type.value_type
                if not test(kind):
                    raise ValueError(f"{name}: column {column!r} holds lists of {kind}.")

    def _measure(self) -> int:
        """Read the whole file once for its largest index."""
        highest = -1
        for batch in self._file.batches(self.block_rows):
            indices = batch.column("idx").flatten().to_numpy(zero_copy_only=False)
            highest = max(highest, int(np.nanmax(indices)) if indices.size else -1)
        if not 0 <= highest < MAX_FEATURES:
            raise ValueError(
                f"{self._file.name} has the largest index {highest}: pass n_features to say how "
                "many features there are."
            )
        return highest + 1

    def _chunks(self) -> Iterator[Block]:
        self._bad.skipped, row = 0, 0
        for batch in self._file.batches(self.block_rows):
            n_rows = batch.num_rows
            missing = _is_null(batch.column(self._target))
            batch = self._without(batch, missing, row, "the target is missing")
            X = self._dense_rows(batch) if self._dense else None
            if X is None:
                batch, X = self._sparse_rows(batch, row)
            yield self._bad.clean(Block(X, *self._beside(batch)), row)
            row += n_rows

    def _without(self, batch: Any, faulty: Flags, first_row: int, reason: str) -> Any:
        if not faulty.any():
            return batch
        for row in np.flatnonzero(faulty).tolist():
            self._bad.report(first_row + row, reason)
        return batch.filter(~faulty)

    def _beside(self, batch: Any) -> tuple[NDArray[Any], Floats | None]:
        """The target and the weights."""
        column, weight = batch.column(self._target), None
        if is_text(column.type):
            tokens = as_tokens(column)
            y = np.array([tokens.token(i).decode() for i in range(len(tokens))], dtype=str)
        else:
            y = as_numbers(column)
        if self._weight is not None:
            weight = as_numbers(batch.column(self._weight)).astype(np.float64)
        return y, weight

    def _dense_rows(self, batch: Any) -> NDArray[Any]:
        x = batch.column("x")
        values = x.values.slice(x.offset * self.n_features, len(x) * self.n_features)
        X = values.to_numpy(zero_copy_only=False).reshape(len(x), self.n_features)
        if x.null_count:
            X = np.where(_is_null(x)[:, None], np.nan, X)
        with np.errstate(over="ignore"):
            return np.asarray(X, dtype=self._dtype)

    def _sparse_rows(self, batch: Any, first_row: int) -> tuple[Any, Any]:
        """Rows that can be used, and their CSR matrix on the batch's own buffers."""
        reason = "idx and val are not lists of one length, or hold nothing somewhere"
        batch = self._without(batch, _unequal(batch), first_row, reason)
        indptr, indices = _list_buffers(batch.column("idx"))
        faulty = np.zeros(batch.num_rows, bool)
        if faulty_rows(indices, indptr, self.n_features, faulty):
            reason = f"idx does not increase within 0 to {self.n_features - 1}"
            batch = self._without(batch, faulty, first_row, reason)
            indptr, indices = _list_buffers(batch.column("idx"))
        _, values = _list_buffers(batch.column("val"))
        with np.errstate(over="ignore"):
            values = values.astype(self._dtype, copy=False)
        return batch, csr(values, indices.astype(np.int32, copy=False), indptr, self.n_features)


def _is_null(column: Any) -> Flags:
    if column.null_count == 0:
        return np.zeros(len(column), bool)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def _unequal(batch: Any) -> Flags:
    """Rows whose lists differ in length, are missing, or hold a missing element."""
    idx, val = batch.column("idx"), batch.column("val")
    lengths = [np.diff(column.offsets.to_numpy()) for column in (idx, val)]
    unequal: Flags = lengths[0] != lengths[1]
    for column in (idx, val):
        unequal = unequal | _is_null(column)
        offsets = column.offsets.to_numpy()
        holes = np.flatnonzero(_is_null(column.values))
        rows = np.searchsorted(offsets, holes, side="right") - 1
        unequal[rows[(holes >= offsets[0]) & (holes < offsets[-1])]] = True
    return unequal


def _list_buffers(column: Any) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Where each row starts, from 0, and the elements of all rows."""
    offsets = column.offsets.to_numpy()
    values = column.values.slice(offsets[0], offsets[-1] - offsets[0])
    return (offsets - offsets[0]).astype(np.int32), values.to_numpy(zero_copy_only=False)


def _described(file: BatchFile) -> tuple[int | None, Layout | None]:
    """The number and the names of features that `convert` wrote beside the schema."""
    try:
        text = (file.schema.metadata or {}).get(METADATA_KEY)
        if text is None:
            return None, None
        described = json.loads(text)
        parts = described["features"]
        n_features = described["n_features"]
        if type(n_features) is not int or not 0 < n_features <= MAX_FEATURES:
            raise ValueError(f"n_features is {str(n_features)[:40]}")
        return n_features, None if parts is None else Layout.from_json(parts)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        unreadable(file.name, error)
