"""Arrow and Parquet files whose columns are features."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from featgrad.readers.arrow_files import BatchFile
from featgrad.readers.columns import Chunk, Chunks, as_days, check_names, numbers_of
from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.tokens import Tokens

_DAY_NS = 86_400_000_000_000


class ArrowTable:
    """Columns of a file of record batches."""

    notes: Sequence[str] = ()

    def __init__(self, file: BatchFile, block_rows: int) -> None:
        self._file, self._block_rows = file, block_rows
        self.name, self.path = file.name, file.path
        self.columns: Sequence[str] = list(file.schema.names)
        self.n_rows: int | None = file.n_rows
        check_names(self.name, self.columns)
        self.kinds: Mapping[str, str] = {
            field.name: self._kind(field.name, field.type) for field in file.schema
        }

    def chunks(self, numbers: Sequence[str], texts: Sequence[str], invalid: InvalidRows) -> Chunks:
        for batch in self._file.batches(self._block_rows):
            tokens = {name: as_tokens(batch.column(name)) for name in texts}
            reasons: dict[int, str] = {}
            columns = [
                numbers_of(name, as_tokens(column), reasons)
                if is_text(column.type)
                else as_numbers(column)
                for name in numbers
                for column in [batch.column(name)]
            ]
            yield Chunk(columns, tokens, reasons)

    def parts(self) -> Iterator["ArrowTable"]:
        """Tables of parts of the rows."""
        for file in self._file.parts():
            part = copy.copy(self)
            part._file, part.name, part.path = file, file.name, file.path
            yield part

    def _kind(self, column: str, kind: Any) -> str:
        from pyarrow import types

        if is_text(kind):
            return "text"
        if types.is_boolean(kind):
            return "boolean"
        if types.is_timestamp(kind) or types.is_date(kind):
            return "date"
        if types.is_time(kind) or types.is_duration(kind):
            return "time"
        numbers = types.is_floating, types.is_integer, types.is_decimal, types.is_null
        if any(test(kind) for test in numbers):
            return "number"
        raise ValueError(
            f"{self.name}: column {column!r} holds {kind}: convert it to numbers or text, or "
            "exclude it."
        )


def is_text(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    tests = (
        types.is_string, types.is_large_string, types.is_string_view,
        types.is_binary, types.is_large_binary,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def as_numbers(column: Any) -> np.ndarray[Any, Any]:
    """An array of numbers, NaN for missing values; of dates and times in days."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_time(kind):
        times = column.cast(pa.time64("ns")).cast(pa.int64()).cast(pa.float64(), safe=False)
        return times.to_numpy(zero_copy_only=False) / _DAY_NS  # type: ignore[no-any-return]
    if pa.types.is_temporal(kind):
        return as_days(column.to_numpy(zero_copy_only=False))
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
