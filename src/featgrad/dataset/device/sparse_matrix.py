"""A sparse matrix in the memory of an accelerator, its entries column by column.

Sums over the rows of a column are then sums over neighbours. They are in double precision: sparse
columns are measured from 0, so that their means and variances come from sums that cancel.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from featgrad.dataset.device.matrix import bits
from featgrad.moments.device_arrays import Tensor, sent
from featgrad.readers.block import canonical

# Entries that are hashed at once.
_BLOCK_ENTRIES = 1 << 26


class SparseMatrix:
    """A CSR matrix of the host, and a copy of it on a device; all its rows are one block."""

    def __init__(self, X: Any, device: Any) -> None:
        self.device, self.shape, self._X = device, X.shape, canonical(X)
        self.spans = [(0, X.shape[0])]
        columns = sent(self._X.indices, device)
        counts = sent(np.diff(self._X.indptr), device)
        # Short indices where they reach all entries.
        index = torch.int32 if self._X.nnz <= torch.iinfo(torch.int32).max else torch.int64
        numbers = torch.arange(X.shape[0], dtype=index, device=device)
        rows = torch.repeat_interleave(numbers, counts)
        order = torch.sort(columns, stable=True).indices
        starts = torch.zeros(X.shape[1] + 1, dtype=torch.int64, device=device)
        starts[1:] = torch.cumsum(torch.bincount(columns, minlength=X.shape[1]), 0)
        self._block = SparseBlock(
            starts, rows[order], sent(self._X.data, device)[order], self.shape
        )

    def blocks(self) -> Iterator["SparseBlock"]:
        return iter([self._block])

    def rows(self, indices: Tensor, columns: Tensor) -> Tensor:
        return self._block[:, columns][indices]

    def rows_on_host(self, indices: Tensor) -> Any:
        return self._X[indices.cpu().numpy()]

    def resident(self) -> Any:
        raise ValueError(
            "a search by penalty takes dense X on a device: give n_features_to_select, or leave "
            "device=None."
        )


class SparseBlock:
    """Entries by column: where those of each column start, their rows and values."""

    def __init__(
        self, starts: Tensor, rows: Tensor, values: Tensor, shape: tuple[int, int]
    ) -> None:
        self._starts, self._rows, self._values, self._shape = starts, rows, values, shape
        self._filled: SparseBlock | None = None

    def products(self, linear: Tensor, squared: Tensor, missing: bool) -> tuple[Tensor, Any]:
        """Columns ``X^T linear`` and ``(X * X)^T squared``; ``isnan(X)^T linear`` if `missing`."""
        values, absent = self._values.double(), None
        if missing:
            are_missing = torch.isnan(values)
            absent = self._transposed(are_missing.double()) @ linear
            values = torch.where(are_missing, 0.0, values)
        parts = [self._transposed(values) @ linear]
        if squared.shape[1]:
            parts.append(self._transposed(values.square()) @ squared)
        return torch.cat(parts, dim=1), absent

    def __getitem__(self, places: tuple[slice, Tensor]) -> Tensor:
        """Some columns of all rows, dense."""
        indices = places[1]
        counts = self._starts[indices + 1] - self._starts[indices]
        place = torch.repeat_interleave(torch.arange(len(indices), device=counts.device), counts)
        first = torch.cumsum(counts, 0) - counts
        entries = torch.arange(len(place), device=counts.device) - first[place]
        entries += self._starts[indices][place]
        kind = {"dtype": self._values.dtype, "device": counts.device}
        dense = torch.zeros((self._shape[0], len(indices)), **kind)
        dense[self._rows[entries].long(), place] = self._values[entries]
        return dense

    def filled(self, fill: Tensor, parts: Tensor) -> "SparseBlock":
        if self._filled is None:
            there = fill[parts[self._rows.long()], self._columns().long()]
            values = torch.where(torch.isnan(self._values), there, self._values)
            self._filled = SparseBlock(self._starts, self._rows, values, self._shape)
        return self._filled

    def hashes(self, keys: Tensor) -> Tensor:
        found = torch.zeros(self._shape[0], dtype=torch.int64, device=keys.device)
        parts = (self._values, self._columns(), self._rows)
        for values, columns, rows in zip(
            *(torch.split(p, _BLOCK_ENTRIES) for p in parts), strict=True
        ):
            found.index_add_(0, rows, bits(values) * keys[columns])
        return found

    def _columns(self) -> Tensor:
        n_columns = self._shape[1]
        columns = torch.arange(n_columns, dtype=torch.int32, device=self._starts.device)
        return torch.repeat_interleave(columns, torch.diff(self._starts))

    def _transposed(self, values: Tensor) -> Tensor:
        n_rows, n_columns = self._shape
        parts = self._starts.to(self._rows.dtype), self._rows, values
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse (CSR tensor support|invariant checks)")
            return torch.sparse_csr_tensor(*parts, (n_columns, n_rows), check_invariants=False)
