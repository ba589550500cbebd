"""NumPy arrays, .npy files and CSR matrices, and the keys of rows that belong together."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.types import Keys
from featgrad.readers.block import Block, canonical, csr, raise_unreadable
from featgrad.readers.source import BaseSource, StoredRows


def open_array(X: Any) -> StoredRows:
    return StoredRows(ArraySource, X, {"target": None, "weight": None, "groups": None})


def open_npy(path: Path, format: str, block_rows: int | None) -> StoredRows:
    return open_array(load_npy(path))


class ArraySource(BaseSource):
    """Rows of a matrix in memory or in a .npy file; their columns may be such files, too."""

    def __init__(self, X: Any, target: Any, weight: Any, groups: Any, **common: Any) -> None:
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
        self.n_rows = None if self._invalid.skip else int(X.shape[0])
        target = _column(f"target of {self.name}", target, X.shape[0])
        if weight is not None:
            weight = _column(f"weight of {self.name}", weight, X.shape[0]).astype(np.float64)
        keys = None if groups is None else group_keys(groups, X.shape[0])
        self._rows = Block(X, target, weight, keys)

    def _chunks(self) -> Iterator[Block]:
        self._invalid.restart()
        for start in range(0, len(self._rows), self.block_rows):
            stop = min(start + self.block_rows, len(self._rows))
            rows = self._rows.rows(start, stop)
            yield self._invalid.clean(replace(rows, X=self._cast(rows.X)))

    def _cast(self, X: Any) -> Any:
        with np.errstate(over="ignore"):
            if not sparse.issparse(X):
                # The slice reads all rows of a file, where these are one block.
                return np.ascontiguousarray(X[:], dtype=self._dtype)
            X = csr(X.data.astype(self._dtype, copy=False), X.indices, X.indptr, X.shape[1])
        return canonical(X)


def _column(name: str, values: Any, n_rows: int) -> NDArray[Any]:
    column = np.asanyarray(values)
    if column.ndim not in (1, 2) or column.shape[0] != n_rows:
        raise ValueError(f"{name} has shape {column.shape} but there are {n_rows} rows.")
    # Labels as fixed-width text, never as objects.
    return column if column.dtype.kind in "fiub" else np.asarray(column, dtype=str)


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


def group_keys(groups: Any, n_rows: int) -> Keys:
    """A number for each row, the same for rows of one group, wherever these are."""
    labels = np.asarray(groups)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim not in (1, 2) or len(labels) != n_rows:
        raise ValueError(
            f"groups has shape {labels.shape} but X has {n_rows} rows: give one label per row."
        )
    if labels.ndim == 2:
        return joined_keys([group_keys(column, n_rows) for column in labels.T])
    values, of_row = np.unique(labels.astype(str), return_inverse=True)
    return np.array([_digest(value) for value in values], np.uint64)[of_row]


def _digest(label: Any) -> int:
    return int.from_bytes(blake2b(repr(label).encode(), digest_size=8).digest(), "little")


def joined_keys(columns: Sequence[Keys]) -> Keys:
    """Rows that agree in all columns share a key."""
    keys, of_row = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return np.array([_digest(key.tolist()) for key in keys], np.uint64)[of_row.ravel()]
