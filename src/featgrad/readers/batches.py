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

        formats = {
            "parquet": lambda: dataset.ParquetFileFormat(
                default_fragment_scan_options=dataset.ParquetFragmentScanOptions(
                    page_checksum_verification=True, pre_buffer=False
                )
            ),
            "arrow": dataset.IpcFileFormat,
            "jsonl": dataset.JsonFileFormat,
        }
        self.path, self.name = paths[0], str(paths[0])
        with self._reading():
            files = dataset.dataset([*map(str, paths)], format=formats[format]())
            self._fragments = list(files.get_fragments())
            self.schema = files.schema
            # Names are decoded here, where an error names the file.
            _, plain = self.schema.names, self.schema.remove_metadata()
        self.n_rows = 0
        for fragment, path in zip(self._fragments, paths, strict=True):
            with self._reading(path):
                if fragment.physical_schema.remove_metadata() != plain:
                    raise ValueError(f"{path} has other columns than {paths[0]}.")
                self.n_rows += fragment.count_rows()

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
    def _reading(self, path: Any = None) -> Iterator[None]:
        """Name the file in the errors of pyarrow."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, MemoryError, KeyError, UnicodeDecodeError) as error:
            raise_unreadable(str(path or self.path), error)
