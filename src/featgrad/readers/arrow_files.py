"""Record batches of Arrow IPC files and of Parquet files."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from featgrad.readers.invalid_rows import raise_unreadable


def require_pyarrow(what: str) -> None:
    """Raise an ImportError that says how to install pyarrow."""
    if find_spec("pyarrow") is None:
        raise ImportError(f"{what} needs pyarrow: pip install 'featgrad[files]'.")


class BatchFile:
    """A file of record batches."""

    schema: Any
    n_rows: int

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    def batches(self, block_rows: int) -> Iterator[Any]:
        """Validated record batches of at most `block_rows` rows."""
        raise NotImplementedError

    def parts(self) -> "Sequence[BatchFile]":
        """Parts that can be read apart, each from one file."""
        return [self]

    @contextmanager
    def _reading(self, path: Path) -> Iterator[None]:
        """Name the file in the errors of pyarrow."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, MemoryError, KeyError, UnicodeDecodeError) as error:
            raise_unreadable(str(path), error)


class IpcFile(BatchFile):
    """An Arrow IPC file. It is read and not mapped: a file cut short must not kill the process."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._reader() as reader:
            self.schema = _checked(reader.schema)
            self.n_rows = reader.count_rows()

    def batches(self, block_rows: int) -> Iterator[Any]:
        with self._reader() as reader:
            for i in range(reader.num_record_batches):
                batch = reader.get_batch(i)
                batch.validate(full=True)
                for start in range(0, batch.num_rows, block_rows):
                    yield batch.slice(start, block_rows)

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        import pyarrow as pa

        with self._reading(self.path), pa.OSFile(str(self.path), "rb") as file:
            yield pa.ipc.open_file(file)


class ParquetFiles(BatchFile):
    """One Parquet file, or several with the same columns, one after the other."""

    def __init__(self, paths: Path | Sequence[Path]) -> None:
        self._paths = [paths] if isinstance(paths, Path) else paths
        super().__init__(self._paths[0])
        # Row groups of each file.
        self._groups: list[Sequence[int]] = []
        self.n_rows = 0
        for path in self._paths:
            with self._reading(path), self._open(path) as file:
                schema = file.schema_arrow.remove_metadata()
                if self.n_rows == 0 and path == self._paths[0]:
                    self.schema = _checked(file.schema_arrow)
                elif schema != self.schema.remove_metadata():
                    raise ValueError(f"{path} has other columns than {self._paths[0]}.")
                self.n_rows += file.metadata.num_rows
                self._groups.append(range(file.num_row_groups))

    def batches(self, block_rows: int) -> Iterator[Any]:
        for path, groups in zip(self._paths, self._groups, strict=True):
            with self._reading(path), self._open(path) as file:
                for batch in file.iter_batches(batch_size=block_rows, row_groups=groups):
                    batch.validate(full=True)
                    yield batch

    def parts(self) -> "list[ParquetFiles]":
        """Each row group."""
        parts = []
        for path, groups in zip(self._paths, self._groups, strict=True):
            for group in groups:
                part = copy.copy(self)
                part.path, part.name = path, str(path)
                part._paths, part._groups = [path], [[group]]
                parts.append(part)
        return parts

    def _open(self, path: Path) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(path, page_checksum_verification=True)


class JsonLines(BatchFile):
    """A JSON object per line."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._reading(path), self._open() as reader:
            self.schema = _checked(reader.schema)
        self.n_rows = sum(batch.num_rows for batch in self.batches(1 << 16))

    def batches(self, block_rows: int) -> Iterator[Any]:
        with self._reading(self.path), self._open() as reader:
            for batch in reader:
                for start in range(0, batch.num_rows, block_rows):
                    yield batch.slice(start, block_rows)

    def _open(self) -> Any:
        import pyarrow.json

        return pyarrow.json.open_json(self.path)


def _checked(schema: Any) -> Any:
    """The schema; its names are decoded here, where an error names the file."""
    _ = schema.names
    return schema
