"""Record batches of Arrow IPC files, mapped into memory, and of Parquet files."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from featgrad.readers.invalid_rows import unreadable


def require_pyarrow(what: str) -> None:
    """Say how to get pyarrow where it is not installed."""
    if find_spec("pyarrow") is None:
        raise ImportError(f"{what} needs pyarrow: pip install 'featgrad[files]'.")


class BatchFile(Protocol):
    """A file of record batches."""

    name: str
    schema: Any
    n_rows: int

    def batches(self, block_rows: int) -> Iterator[Any]:
        """Checked record batches of at most `block_rows` rows."""


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Say which file it was that pyarrow could not read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, MemoryError, KeyError, UnicodeDecodeError) as error:
        unreadable(name, error)


class IpcFile:
    """An Arrow IPC file. Batches are views of the mapped file: reading copies nothing."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)
        with reading(self.name):
            reader, _ = self._open()
            self.schema = reader.schema
            self.n_rows = sum(
                reader.get_batch(i).num_rows for i in range(reader.num_record_batches)
            )

    def batches(self, block_rows: int) -> Iterator[Any]:
        with reading(self.name):
            reader, mapped = self._open()
            for i in range(reader.num_record_batches):
                batch = reader.get_batch(i)
                _release_before(mapped, batch)
                batch.validate(full=True)
                for start in range(0, batch.num_rows, block_rows):
                    yield batch.slice(start, block_rows)

    def _open(self) -> tuple[Any, mmap.mmap]:
        import pyarrow as pa

        with self._path.open("rb") as file:
            try:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError as error:
                unreadable(self.name, error)
        return pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))), mapped


class ParquetFile:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)
        with reading(self.name), self._open() as file:
            self.schema = file.schema_arrow
            self.n_rows = file.metadata.num_rows

    def batches(self, block_rows: int) -> Iterator[Any]:
        with reading(self.name), self._open() as file:
            for batch in file.iter_batches(batch_size=block_rows):
                batch.validate(full=True)
                yield batch

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(self._path, page_checksum_verification=True)


def _release_before(mapped: mmap.mmap, batch: Any) -> None:
    """Give back the pages before this batch, which would count as the process's memory.

    They are only unmapped: a block that is still in use reads them from the file again.
    """
    if not hasattr(mapped, "madvise"):
        return
    base = np.frombuffer(mapped, np.uint8).ctypes.data
    starts = [
        buffer.address - base
        for column in batch.columns
        for buffer in column.buffers()
        if buffer is not None and 0 <= buffer.address - base < len(mapped)
    ]
    end = min(starts, default=0) // mmap.PAGESIZE * mmap.PAGESIZE
    if end > 0:
        mapped.madvise(mmap.MADV_DONTNEED, 0, end)
