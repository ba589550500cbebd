"""Record batches of Parquet, Arrow IPC and JSON files."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from featgrad.readers.invalid_rows import raise_unreadable


def require_pyarrow(what: str) -> None:
    """Raise an ImportError that names the way to install pyarrow."""
    if find_spec("pyarrow") is None:
        raise ImportError(f"{what} needs pyarrow: pip install 'featgrad[files]'.")


class BatchFiles:
    """One file of record batches, or several with the same columns, one after the other.

    They are read and not mapped: a file cut short must not kill the process.
    """

    def __init__(self, paths: Path | Sequence[Path], format: str) -> None:
        paths = [paths] if isinstance(paths, Path) else paths
        require_pyarrow(f"Reading {paths[0]}")
        from pyarrow import dataset
        from pyarrow.fs import LocalFileSystem

        formats = {
            "parquet": lambda: dataset.ParquetFileFormat(
                default_fragment_scan_options=dataset.ParquetFragmentScanOptions(
                    page_checksum_verification=True, pre_buffer=False
                )
            ),
            "arrow": dataset.IpcFileFormat,
            "jsonl": dataset.JsonFileFormat,
        }
        self.path, self.name, self.n_rows = paths[0], str(paths[0]), 0
        self._fragments: list[Any] = []
        files = formats[format]()
        for path in paths:
            with self._reading(path):
                fragment = files.make_fragment(str(path), filesystem=LocalFileSystem())
                if not self._fragments:
                    self.schema = fragment.physical_schema
                    # Names are decoded here, where an error names the file.
                    _ = self.schema.names
                if not fragment.physical_schema.equals(self.schema):
                    raise ValueError(f"{path} has other columns than {self.path}.")
                self.n_rows += fragment.count_rows()
            self._fragments.append(fragment)

    def batches(self, block_rows: int) -> Iterator[Any]:
        """Validated record batches of at most `block_rows` rows."""
        for fragment in self._fragments:
            with self._reading(fragment.path):
                ahead = {"batch_readahead": 1, "fragment_readahead": 1}
                for batch in fragment.to_batches(self.schema, batch_size=block_rows, **ahead):
                    batch.validate(full=True)
                    yield batch

    def parts(self) -> Iterator[Self]:
        """Parts that can be read apart, each from one file: row groups of Parquet files."""
        for fragment in self._fragments:
            for group in getattr(fragment, "split_by_row_group", lambda whole=fragment: [whole])():
                part = copy.copy(self)
                part.path, part.name, part._fragments = Path(group.path), group.path, [group]
                yield part

    @contextmanager
    def _reading(self, path: Any) -> Iterator[None]:
        """Name the file in the errors of pyarrow."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, MemoryError, KeyError, UnicodeDecodeError) as error:
            raise_unreadable(str(path), error)
