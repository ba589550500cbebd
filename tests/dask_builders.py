"""Dask collections with uneven and empty partitions, and storages of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dataset_builders import N_FOLDS, preparation


def uneven(n_rows: int, n_partitions: int = 7) -> tuple[int, ...]:
    """Sizes of partitions: the second one is empty, the third has one row."""
    rest = np.diff(np.linspace(0, n_rows - 1, n_partitions - 1).astype(int) ** 2 // (n_rows - 1))
    sizes = (int(rest[-1]), 0, 1, *rest[:-1].tolist())
    assert sum(sizes) == n_rows
    return sizes


def array(values: Any, sizes: tuple[int, ...], n_column_chunks: int = 1) -> Any:
    """A Dask array; blocks of CSR where the values are."""
    da = pytest.importorskip("dask.array")
    if sparse.issparse(values):
        return array(values.toarray(), sizes).map_blocks(sparse.csr_array)
    if values.ndim == 1:
        return da.from_array(values, chunks=(sizes,))
    columns = tuple(map(len, np.array_split(range(values.shape[1]), n_column_chunks)))
    return da.from_array(values, chunks=(sizes, columns))


def on_dask(
    X: Any,
    Y: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    preprocess: str = "zscore",
    n_folds: int = N_FOLDS,
    seed: int = 0,
    missing: str = "error",
    task: str = "regression",
    n_column_chunks: int = 1,
) -> Any:
    """The rows that `dataset_builders.in_memory` has, in the same order."""
    pytest.importorskip("dask")
    from featgrad.dataset.dask import OnDask, partitions_of

    sizes = uneven(len(Y))
    given = (array(X, sizes, n_column_chunks), array(Y, sizes))
    partitions = partitions_of(*given, None if weight is None else array(weight, sizes), None)
    made = preparation(
        task=task, preprocess=preprocess, missing=missing, n_folds=n_folds, seed=seed
    )
    return OnDask(partitions, X.shape[1], made)
