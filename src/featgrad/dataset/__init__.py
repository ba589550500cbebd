"""Where rows come from: matrices of every kind, made ready for a search."""

from typing import Any

from featgrad._support.array_api import on_host
from featgrad.dataset.base import Storage
from featgrad.dataset.memory import InMemory, Preparation, prepare


def storage_of(
    storage: str, rows: tuple[Any, Any, Any, Any], preparation: Preparation, device: Any = None
) -> Storage:
    """X, y, weights and groups, validated: in "memory", on a "device", or collections of "dask"."""
    # Imported where they are needed: Dask and torch need not be there.
    if storage == "dask":
        from featgrad.dataset.dask import OnDask, partitions_of

        return OnDask(partitions_of(*rows), rows[0].shape[1], preparation)
    X, y, weights, groups = rows
    weights, belonging = on_host(weights), preparation.belonging._replace(groups=on_host(groups))
    preparation = preparation._replace(belonging=belonging)
    if storage == "device":
        from featgrad.dataset.device import on_device

        return on_device(X, y, weights, device, preparation)
    return InMemory(X, prepare(X, y, weights, preparation), preparation.preprocess)
