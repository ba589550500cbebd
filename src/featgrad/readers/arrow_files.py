"""Record batches of memory-mapped Arrow IPC files and of Parquet files."""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from featgrad.readers.invalid_rows import raise_unreadable


def require_pyarrow(what: str) -> None:
    """Raise an ImportError that tells how to install pyarrow."""
    if find_spec("pyarrow") is None:
        raise ImportError(f"{what} needs pyarrow: pip install 'featgrad[files]'.")


class BatchFile:
    """A file of record batches."""

    schema: Any
    n_rows: int

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, str(path)

    def batches(self, block_rows: int) -> Iterator[Any]:
        """Validated record batches of at most `block_rows` rows."""
        raise NotImplementedError

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Name the file in the errors of pyarrow."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, MemoryError, KeyError, UnicodeDecodeError) as error:
            raise_unreadable(self.name, error)


class IpcFile(BatchFile):
    """An Arrow IPC file. Batches are views of the mapped file: reading copies nothing."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._reading():
            reader, _ = self._open()
            self.schema = reader.schema
            self.n_rows = sum(
                reader.get_batch(i).num_rows for i in range(reader.num_record_batches)
            )

    def batches(self, block_rows: int) -> Iterator[Any]:
        with self._reading():
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
                raise_unreadable(self.name, error)
        return pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))), mapped


class ParquetFile(BatchFile):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._reading(), self._open() as file:
            self.schema = file.schema_arrow
            self.n_rows = file.metadata.num_rows

    def batches(self, block_rows: int) -> Iterator[Any]:
        with self._reading(), self._open() as file:
            for batch in file.iter_batches(batch_size=block_rows):
                batch.validate(full=True)
                yield batch

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(self._path, page_checksum_verification=True)


def _release_before(mapped: mmap.mmap, batch: Any) -> None:
    """Release the pages before this batch, which count as memory of the process.

    A block that is still in use reads its pages from the file again.
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
