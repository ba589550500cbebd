"""The order of rows (see `featgrad.dataset.rows`), found where the rows are."""

from typing import Any

import torch

from featgrad.dataset.device.blocks import mixed
from featgrad.moments.device_arrays import Tensor


def distinct_rows(matrix: Any, hashes: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of positive weight in random order, copies merged, with their weights."""
    rows = torch.nonzero(weights)[:, 0]
    # Signed numbers in the order of unsigned ones, which is that on the host.
    order = torch.sort(mixed(mixed(hashes[rows])) ^ torch.iinfo(torch.int64).min, stable=True)
    rows, hashes = rows[order.indices], order.values
    is_first = torch.ones_like(hashes, dtype=torch.bool)
    is_first[1:] = hashes[1:] != hashes[:-1]
    first = rows[is_first]
    if len(first) == len(rows) or not matrix.are_copies(first):
        return rows, weights[rows]
    merged = torch.zeros(len(first), dtype=weights.dtype, device=weights.device)
    return first, merged.index_add_(0, torch.cumsum(is_first, 0) - 1, weights[rows])
