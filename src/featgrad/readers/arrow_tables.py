"""Arrow and Parquet files whose columns are features."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from featgrad.readers.arrow_files import BatchFile
from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.tables import Chunks
from featgrad.readers.tokens import Tokens


class ArrowTable:
    """Columns of a file of record batches."""

    def __init__(self, file: BatchFile, block_rows: int) -> None:
        self._file, self._block_rows = file, block_rows
        self.name = file.name
        self.columns: Sequence[str] = list(file.schema.names)
        self.n_rows: int | None = file.n_rows
        for field in file.schema:
            if not (is_text(field.type) or _is_number(field.type)):
                raise ValueError(
                    f"{self.name}: column {field.name!r} holds {field.type}: convert it to "
                    "numbers or text, or exclude it."
                )

    def text_columns(self) -> Collection[str]:
        return [field.name for field in self._file.schema if is_text(field.type)]

    def chunks(self, columns: Sequence[str], text: Collection[str], invalid: InvalidRows) -> Chunks:
        for batch in self._file.batches(self._block_rows):
            chunk = {name: batch.column(name) for name in columns}
            yield {
                name: (as_tokens if name in text or is_text(column.type) else as_numbers)(column)
                for name, column in chunk.items()
            }


def is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    tests = (
        types.is_string, types.is_large_string, types.is_string_view,
        types.is_binary, types.is_large_binary,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def as_numbers(column: Any) -> np.ndarray[Any, Any]:
    """An array of numbers, NaN for missing values."""
    import pyarrow as pa

    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def as_tokens(column: Any) -> Tokens:
    """The bytes and offsets of a column, converted to text if it holds something else."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not is_text(column.type):
        column = column.cast(pa.string())
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    column = column.cast(pa.large_binary())
    if column.null_count:
        column = column.fill_null(b"")
    _, offsets, data = column.buffers()
    if data is None:
        return Tokens.from_bytes([b""] * len(column))
    edges = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return Tokens(np.frombuffer(data, np.uint8), edges[:-1], edges[1:])
