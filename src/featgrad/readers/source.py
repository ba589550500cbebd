"""Sources of rows: protocol, base classes, arrays and .npy files, and reading ahead."""

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from featgrad._support import Indices
from featgrad.math.targets import is_missing
from featgrad.readers.block import (
    Block,
    InvalidRows,
    canonical,
    csr,
    group_keys,
    raise_unreadable,
    regroup,
)
from featgrad.readers.columns import Layout, check_names


class Source(Protocol):
    """Rows that can be read repeatedly, block by block.

    Every iteration starts at the first row and yields blocks of `block_rows` rows; the last one may
    be shorter. A block is never modified after it was yielded.

    Attributes
    ----------
    name : str
        Name for error messages, such as the path of the file.
    n_features : int
        Number of columns of X in every block.
    feature_names : sequence of str or None
        Names of the features.
    feature_groups : ndarray of int or None
        Index of the original column of each feature; None if every column is one feature.
    n_rows : int or None
        Total number of rows without skipped ones; None if unknown.
    block_rows : int
        Rows per block.
    skipped : int
        Number of invalid rows that the latest iteration skipped.

    `parts` gives sources of parts of the rows, in their order, that can be read by other processes:
    the row groups of Parquet files, all rows of others.
    """

    n_features: int
    feature_names: Sequence[str] | None
    n_rows: int | None
    block_rows: int

    @property
    def name(self) -> str: ...
    @property
    def feature_groups(self) -> Indices | None: ...
    @property
    def skipped(self) -> int: ...
    def parts(self) -> "Sequence[Source]": ...
    def __iter__(self) -> Iterator[Block]: ...


class StoredRows(NamedTuple):
    """Rows of features, not of named columns: their source, its data, and options it takes."""

    source: Any
    data: Any
    options: Mapping[str, Any]


class BaseSource:
    """Common part of the readers; a subclass yields blocks of any size from `_chunks`."""

    n_features: int
    feature_names: Sequence[str] | None = None
    n_rows: int | None = None

    def __init__(
        self, *, block_rows: int, dtype: Any, invalid: InvalidRows, paths: Sequence[Path]
    ) -> None:
        self._paths = paths
        self.block_rows, self._dtype, self._invalid = block_rows, np.dtype(dtype), invalid
        self._stamp, self._rows_before = self._stamp_now(), -1

    @property
    def name(self) -> str:
        return self._invalid.name

    def _take_names(self, names: Sequence[str] | None) -> None:
        self.feature_names = names
        if names is not None:
            check_names("names", names)
            if len(names) != self.n_features:
                raise ValueError(
                    f"names are {len(names)}, but {self.name} has {self.n_features} features: give "
                    "one for each."
                )

    @property
    def feature_groups(self) -> Indices | None:
        return self.feature_names.groups if isinstance(self.feature_names, Layout) else None

    @property
    def skipped(self) -> int:
        return self._invalid.skipped

    @property
    def notes(self) -> list[str]:
        """What a reader should know of how the rows were read."""
        return self._invalid.notes

    def __iter__(self) -> Iterator[Block]:
        n_rows = 0
        self._check_stamp()
        for block in regroup(self._chunks(), self.block_rows):
            n_rows += len(block)
            yield block
        self._check_stamp()
        if n_rows == 0 and self._invalid.without_target:
            raise ValueError(f"{self.name} has no row with a target: its column is empty.")
        if self._rows_before not in (-1, n_rows):
            raise ValueError(
                f"{self.name} had {self._rows_before:,} rows when it was first read and {n_rows:,} "
                "when it was read again: leave it unchanged."
            )
        self._rows_before = n_rows

    def parts(self) -> Sequence[Self]:
        return [self]

    def _part(self, path: Path, **reading: Any) -> Self:
        """A copy that reads a part of the rows, from one file, by means of other attributes."""
        part = copy.copy(self)
        vars(part).update(reading)
        part._invalid = copy.copy(self._invalid)
        part._invalid.name = str(path)
        part._paths, part.n_rows, part._rows_before = [path], None, -1
        part._stamp = part._stamp_now()
        return part

    def _stamp_now(self) -> list[tuple[int, int]]:
        found = [path.stat() for path in self._paths if path.is_file()]
        return [(status.st_size, status.st_mtime_ns) for status in found]

    def _check_stamp(self) -> None:
        if self._stamp_now() != self._stamp:
            raise ValueError(
                f"{self.name} was changed or removed since it was opened: leave it unchanged until "
                "everything is read, and start again."
            )

    def _chunks(self) -> Iterator[Block]:
        raise NotImplementedError


def read_names(names: Any) -> list[str] | None:
    """Names that are given, or one in each line of a file."""
    if isinstance(names, str | os.PathLike):
        return Path(names).read_text("utf-8").splitlines()
    return None if names is None else list(map(str, names))


def open_array(X: Any) -> StoredRows:
    return StoredRows(ArraySource, X, dict.fromkeys(("target", "weight", "groups", "names")))


def open_npy(path: Path, format: str, block_rows: int | None) -> StoredRows:
    return open_array(load_npy(path))


class ArraySource(BaseSource):
    """Rows of a matrix in memory or in a .npy file; their columns may be such files, too."""

    def __init__(
        self, X: Any, target: Any, weight: Any, groups: Any, names: Any, **common: Any
    ) -> None:
        super().__init__(**common)
        target, weight, groups = (
            load_npy(Path(given)) if isinstance(given, str | os.PathLike) else given
            for given in (target, weight, groups)
        )
        if target is None:
            raise ValueError(f"target=None: give the targets of {self.name} as target=y.")
        if not isinstance(X, NpyRows):
            X = sparse.csr_array(X) if sparse.issparse(X) else np.asanyarray(X)
        if X.ndim != 2 or X.shape[1] == 0:
            raise ValueError(f"{self.name} has shape {X.shape}: give one row per sample.")
        if X.dtype.kind not in "fiub":
            raise ValueError(f"{self.name} holds {X.dtype}: give real numbers, or a data frame.")
        if sparse.issparse(X):
            X.check_format(full_check=True)
        self.n_features = int(X.shape[1])
        self._take_names(read_names(names))
        self.n_rows = None if self._invalid.skip else int(X.shape[0])
        target = _column(f"target of {self.name}", target, X.shape[0])
        if weight is not None:
            weight = _column(f"weight of {self.name}", weight, X.shape[0]).astype(np.float64)
        keys = None if groups is None else group_keys(groups, X.shape[0])
        self._rows = Block(X, target, weight, keys)

    def _chunks(self) -> Iterator[Block]:
        self._invalid.restart()
        for block in gen_batches(len(self._rows), self.block_rows):
            rows = self._rows.rows(block.start, block.stop)
            yield self._invalid.clean(replace(rows, X=self._cast(rows.X)))

    def _cast(self, X: Any) -> Any:
        with np.errstate(over="ignore"):
            if not sparse.issparse(X):
                # The slice reads all rows of a file, where these are one block.
                return np.ascontiguousarray(X[:], dtype=self._dtype)
            X = csr(X.data.astype(self._dtype, copy=False), X.indices, X.indptr, X.shape[1])
        return canonical(X)


def _column(name: str, values: Any, n_rows: int) -> NDArray[Any]:
    column: NDArray[Any] = np.asanyarray(values)
    if column.ndim not in (1, 2) or column.shape[0] != n_rows:
        raise ValueError(f"{name} has shape {column.shape} but there are {n_rows} rows.")
    if column.dtype.kind in "fiub":
        return column
    # Labels as fixed-width text, never as objects.
    texts: NDArray[Any] = column.astype(str)
    texts[is_missing(column)] = ""
    return texts


class NpyRows:
    """Rows of a .npy file. They are read and not mapped: a file cut short must not kill us."""

    def __init__(self, path: Path, mapped: np.memmap[Any, Any]) -> None:
        self._path, self._offset = path, mapped.offset
        self.shape, self.dtype, self.ndim = mapped.shape, mapped.dtype, mapped.ndim

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(self.shape[0])
        width = self.shape[1]
        offset = self._offset + start * width * self.dtype.itemsize
        found = np.fromfile(self._path, self.dtype, (stop - start) * width, offset=offset)
        if len(found) < (stop - start) * width:
            raise ValueError(f"{self._path} became shorter while it was read: leave it unchanged.")
        return found.reshape(stop - start, width)


def load_npy(path: Path) -> Any:
    """Open a .npy file; pickled objects are refused."""
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        if mapped.ndim == 2 and mapped.flags.c_contiguous:
            return NpyRows(path, mapped)
        return np.load(path, allow_pickle=False)
    # NumPy parses headers with Python's tokenizer, which raises many kinds of errors.
    except Exception as error:
        raise_unreadable(str(path), error)


class SourceWrapper:
    """Has the attributes of another source; a subclass reads its blocks in `__iter__`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class _Prefetched(SourceWrapper):
    def __iter__(self) -> Iterator[Block]:
        blocks = iter(self._source)
        # Leaving the pool waits for its thread, also if the caller stops early.
        with ThreadPoolExecutor(1, thread_name_prefix="featgrad-prefetch") as pool:
            upcoming = pool.submit(next, blocks, None)
            while (block := upcoming.result()) is not None:
                upcoming = pool.submit(next, blocks, None)
                yield block


def prefetched(source: Source) -> Source:
    """Read each block of a source while the previous one is used.

    Parameters
    ----------
    source : Source
        The source to read. At most one additional block is in memory.

    Returns
    -------
    Source
        The same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import open_source
    >>> from featgrad.readers import prefetched
    >>> source = prefetched(open_source(np.eye(5), target=np.arange(5), block_rows=2))
    >>> [len(block) for block in source]
    [2, 2, 1]
    """
    return _Prefetched(source)
