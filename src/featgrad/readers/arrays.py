"""NumPy arrays, memory-mapped .npy files and CSR matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.readers.block import Block, csr, regroup
from featgrad.readers.invalid_rows import BaseSource, InvalidRows, unreadable


class ArraySource(BaseSource):
    """Rows of a matrix that is already in memory, or mapped into it."""

    feature_names: Sequence[str] | None = None
    groups: NDArray[np.int32] | None = None

    def __init__(
        self, X: Any, y: Any, weight: Any, *, block_rows: int, dtype: Any, bad: InvalidRows
    ) -> None:
        self._X, self._y, self._weight = X, y, weight
        self.block_rows, self._dtype, self._bad = block_rows, dtype, bad
        self.n_features = int(X.shape[1])
        self.n_rows: int | None = int(X.shape[0]) if not bad.skip else None

    def __iter__(self) -> Iterator[Block]:
        self._bad.skipped = 0
        return regroup(self._chunks(), self.block_rows)

    def _chunks(self) -> Iterator[Block]:
        rows = Block(self._X, self._y, self._weight)
        for start in range(0, len(rows), self.block_rows):
            chunk = rows.rows(start, min(start + self.block_rows, len(rows)))
            yield self._bad.clean(Block(self._typed(chunk.X), chunk.y, chunk.weight), start)

    def _typed(self, X: Any) -> Any:
        if not sparse.issparse(X):
            with np.errstate(over="ignore"):
                return np.ascontiguousarray(X, dtype=self._dtype)
        with np.errstate(over="ignore"):
            X = csr(X.data.astype(self._dtype, copy=False), X.indices, X.indptr, X.shape[1])
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X


def from_arrays(X: Any, y: Any, weight: Any, *, bad: InvalidRows, **options: Any) -> ArraySource:
    """Check what was given, and read it block by block."""
    if y is None:
        raise ValueError(f"target=None: give the targets of {bad.name} as target=y.")
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asanyarray(X)
    if X.ndim != 2 or X.shape[1] == 0:
        raise ValueError(f"{bad.name} has shape {X.shape}: give one row per sample.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{bad.name} holds {X.dtype}: give real numbers, or a frame with text.")
    if sparse.issparse(X):
        X.check_format(full_check=True)
    y = _column(f"target of {bad.name}", y, X.shape[0])
    if weight is not None:
        weight = _column(f"weight of {bad.name}", weight, X.shape[0]).astype(np.float64)
    return ArraySource(X, y, weight, bad=bad, **options)


def _column(name: str, values: Any, n_rows: int) -> NDArray[Any]:
    column = np.asanyarray(values)
    if column.ndim not in (1, 2) or column.shape[0] != n_rows:
        raise ValueError(f"{name} has shape {column.shape} but there are {n_rows} rows.")
    if column.dtype.kind in "fiub":
        return column  # type: ignore[no-any-return]
    # Labels as fixed-width text, never as objects.
    return np.asarray(column, dtype=str)


def load_npy(path: Path) -> NDArray[Any]:
    """Map a .npy file; pickled objects are refused."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    # NumPy's reader of headers raises whatever Python's tokenizer does.
    except Exception as error:
        unreadable(str(path), error)
