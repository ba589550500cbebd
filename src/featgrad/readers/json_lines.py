"""JSON lines: an object per line; columns and their types are those of all lines."""

import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from featgrad.readers.block import raise_unreadable
from featgrad.readers.frames import ArrowTable, readable, require_pyarrow
from featgrad.readers.lines import count_lines, line_chunks, parsed
from featgrad.readers.record_kernels import nesting

# The parser of pyarrow calls itself for each level: some thousands end the process.
_MOST_LEVELS = 100


def open_json(data: Any, format: str, block_rows: int | None) -> ArrowTable:
    """A file of JSON lines, which is read once to find its columns."""
    return ArrowTable(JsonLines(data), block_rows)


class JsonLines:
    """The record batches of a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        require_pyarrow(f"Reading {path}")
        import pyarrow as pa

        self.path, self.name, self.n_rows = path, str(path), 0
        self.schema = pa.schema([])
        for table in self._tables(None):
            self.n_rows += len(table)
            try:
                self.schema = _joined(self.schema, table.schema)
            except pa.ArrowException as error:
                raise_unreadable(self.name, error)
        self.schema = readable(self.schema)

    def batches(self, block_rows: int) -> Iterator[Any]:
        for table in self._tables(self.schema):
            yield from table.to_batches(max_chunksize=block_rows)

    def parts(self) -> list[Self]:
        return [self]

    def _tables(self, schema: Any) -> Iterator[Any]:
        import pyarrow as pa

        n_lines = 1
        try:
            for text, table in parsed(self.path, line_chunks(self.path), partial(_parse, schema)):
                n_lines += count_lines(text)
                yield table
        except (pa.ArrowException, ValueError) as error:
            # pyarrow counts the rows of a chunk, from 0 on.
            message = re.sub(
                r"in row (\d+)", lambda m: f"in line {n_lines + int(m[1])}", str(error)
            )
            raise_unreadable(self.name, ValueError(message))


def _parse(schema: Any, text: bytes) -> Any:
    """Whole lines, of these columns or, for None, of those that they have."""
    from pyarrow import json

    levels = nesting(np.frombuffer(text, np.uint8))
    if levels > _MOST_LEVELS:
        raise ValueError(f"values are nested {levels:,} levels deep, over {_MOST_LEVELS}")
    table = json.read_json(
        io.BytesIO(text),
        read_options=json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        parse_options=json.ParseOptions(explicit_schema=schema),
    )
    if schema is not None:
        table.validate(full=True)
    # Names are decoded here, where an error names the file.
    _ = table.schema.names
    return table


def _joined(first: Any, second: Any) -> Any:
    """The columns of both, of types that hold the values of both."""
    import pyarrow as pa

    if first.equals(second):
        return first
    for name in {*first.names} & {*second.names}:
        types = first.field(name).type, second.field(name).type
        # Texts that are all dates in some lines.
        if pa.string() in types and any(map(pa.types.is_timestamp, types)):
            text = pa.field(name, pa.string())
            first, second = (s.set(s.get_field_index(name), text) for s in (first, second))
    return pa.unify_schemas([first, second], promote_options="permissive")
