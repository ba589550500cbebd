"""Every storage of rows, with the same rows in the same random order."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dask_builders import on_dask
from dataset_builders import in_memory, streamed
from device_builders import on_device
from featgrad.dataset.base import Dataset

STORAGES = {
    "dense": in_memory,
    "CSR": lambda X, *rest, **options: in_memory(sparse.csr_array(X), *rest, **options),
    "streamed": streamed,
    "streamed CSR": lambda X, *rest, **options: streamed(sparse.csr_array(X), *rest, **options),
    "device": on_device,
    "device CSR": lambda X, *rest, **options: on_device(sparse.csr_array(X), *rest, **options),
    "device float32": lambda X, *rest, **options: on_device(np.float32(X), *rest, **options),
    "device blocks": lambda *rest, **options: on_device(*rest, **options, is_resident=False),
    "Dask": on_dask,
    "Dask CSR": lambda X, *rest, **options: on_dask(sparse.csr_array(X), *rest, **options),
    "Dask columns": lambda *rest, **options: on_dask(*rest, **options, n_column_chunks=3),
}
ON_HOST = [storage for storage in STORAGES if not storage.startswith("device")]


def with_missing(storage: str, *rows: Any, **options: Any) -> Dataset:
    """Missing entries count as means, which is what some storages have to be asked for."""
    if storage.startswith(("streamed", "Dask")):
        options["missing"] = "mean"
    return STORAGES[storage](*rows, **options)
