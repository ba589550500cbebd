"""Rows on an accelerator, or sent there block by block; needs torch.

Prices of all columns and the moments of working sets are taken on the device, which keeps the
latter. What comes back to the host are numbers per column, matrices of the chosen columns, and
predictions of a sample of rows that does not grow with their number. Sums within a block of dense
rows are in single precision, over blocks in double.
"""

import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from featgrad._support import Indices
from featgrad._support.array_api import is_foreign
from featgrad.checks import refuse_missing
from featgrad.columns.extremes import LARGEST_ENTRY
from featgrad.dataset.memory import InMemory, Preparation, Prepared, bits, hashes_of, prepare
from featgrad.dataset.sums import Rows
from featgrad.moments.sweeps import RowMoments
from featgrad.plan import ESTIMATE_ROWS, fits_on_device
from featgrad.readers.block import canonical

if find_spec("torch") is None:
    raise ModuleNotFoundError(
        "an accelerator needs torch: pip install 'featgrad[gpu]', or leave device=None.",
        name="torch",
    )
import torch

Tensor = Any  # torch.Tensor, which type checkers need not know

# Entries of a block that is there, of one that is sent, and of sparse ones that are hashed at once.
_BLOCK_ENTRIES = 1 << 26
_SENT_ENTRIES = 1 << 25


def on_device(
    X: Any, y: Any, sample_weight: Any, device: str | None, preparation: Preparation
) -> "OnDevice":
    """Rows on the device that is named, or on that of X."""
    matrix = _matrix(X, as_tensor(X).device if device is None else named_device(device))
    prepared = prepare(matrix, y, sample_weight, preparation)
    matrix.check(preparation.missing)
    return OnDevice(matrix, prepared, preparation.preprocess)


def named_device(name: str) -> Any:
    try:
        # With its number, where the name has none.
        device = torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device={name!r} cannot be used: torch says {reason!r}.") from None
    return device


def free_bytes(device: Any) -> float:
    """Memory that is free on a device; that of the host has no limit here."""
    return float(torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else np.inf


def _matrix(X: Any, device: Any) -> "DenseMatrix | SparseMatrix":
    """Kept on the device where it is sparse or there is memory, else sent there block by block."""
    if sparse.issparse(X):
        return SparseMatrix(X, device)
    n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
    is_there = as_tensor(X).device == device and device.type != "cpu"
    return DenseMatrix(X, device, is_there or fits_on_device(n_bytes, free_bytes(device)))


class OnDevice(InMemory):
    """Rows of a `DenseMatrix` or `SparseMatrix`, whose blocks are visited on a device."""

    def __init__(self, matrix: Any, prepared: Prepared, preprocess: str) -> None:
        self._device = matrix.device
        super().__init__(matrix, prepared, preprocess)

    def with_matrix(self, X: Tensor) -> "OnDevice":
        matrix = DenseMatrix(X, self._device, is_resident=True)
        matrix.has_missing = self.X.has_missing
        return OnDevice(matrix, self.prepared, self._preprocess)

    def row_moments(self) -> RowMoments:
        moments = self.prepared.row_moments(self.X.resident(), self._preprocess)
        return replace(moments, in_blocks=True)

    @cached_property
    def _like(self) -> Tensor:
        return torch.zeros(1, device=self._device)

    @cached_property
    def _there(self) -> list[Tensor]:
        return [sent(part, self._device) for part in (self._outputs, self._weights, self._cells)]

    def _has_missing(self) -> bool:
        return bool(self.X.has_missing)

    def _blocks(self) -> Iterator[Rows]:
        for rows, block in zip(self.X.batches, self.X.blocks(), strict=True):
            outputs, weights, cells = (part[rows] for part in self._there)
            yield Rows(outputs, weights, cells, block)

    def _sampled(self, to_price: bool) -> Any:
        """All or, to be worked on in the host's memory, evenly spaced ones."""
        if to_price:
            return slice(None)
        count = min(ESTIMATE_ROWS, self.n_rows)
        return np.flatnonzero(np.arange(self.n_rows) * count % self.n_rows < count)

    def _columns_of(self, rows: Indices, columns: Indices) -> Tensor:
        there, cells = sent(columns, self._device), sent(self._cells[rows], self._device)
        X = self.X.columns(sent(rows, self._device), there).contiguous()
        return X if self._fill is None else self._fill.only(there)(X, cells)


class DeviceMatrix:
    """A matrix whose blocks of rows are visited on a device."""

    device: Any
    shape: tuple[int, int]
    batches: list[slice]  # rows of each block
    has_missing = False
    _is_huge = False

    def blocks(self) -> Iterator[Any]:
        """The rows of each batch."""
        raise NotImplementedError

    def hashes(self, keys: Any, exact: bool) -> Tensor:
        """Of the rows (see `featgrad.dataset.memory`); also looks for what is not a number."""
        keys, found = sent(keys, self.device), []
        flags = torch.zeros(2, dtype=torch.bool, device=self.device)
        for block in self.blocks():
            found.append(hashes_of(block, keys, exact))
            entries = block if isinstance(block, torch.Tensor) else block.values
            largest, smallest = entries > LARGEST_ENTRY, entries < -LARGEST_ENTRY
            flags |= torch.stack([torch.isnan(entries).any(), (largest | smallest).any()])
        self.has_missing, self._is_huge = flags.tolist()
        return torch.cat(found)

    def check(self, missing: str) -> None:
        """Refuse what may not be; after `hashes`."""
        if self._is_huge:
            raise ValueError(
                f"X contains infinity or values above {LARGEST_ENTRY:.0e} in size: drop those rows "
                "or rescale their columns, or leave device=None, which rescales finite ones."
            )
        if self.has_missing and missing == "error":
            refuse_missing()


class DenseMatrix(DeviceMatrix):
    """It is kept on the device whole, or stays on the host and is sent block by block.

    While one block is worked on, the next is copied into page-locked memory and from there to the
    device.
    """

    def __init__(self, X: Any, device: Any, is_resident: bool) -> None:
        self.device, self.shape, self._X = device, tuple(X.shape), as_tensor(X)
        self._is_resident = is_resident
        if is_resident and self._X.device != device:
            there = torch.empty(self.shape, dtype=self._X.dtype, device=device)
            for rows, block in zip(self._batches(_SENT_ENTRIES), self._sent(), strict=True):
                there[rows] = block
            self._X = there
        self.batches = self._batches(_BLOCK_ENTRIES if is_resident else _SENT_ENTRIES)

    def blocks(self) -> Iterator[Tensor]:
        if self._is_resident:
            return (self._X[rows] for rows in self.batches)
        return self._sent()

    def resident(self) -> Tensor:
        """The whole matrix on the device."""
        if not self._is_resident:
            raise ValueError(
                f"X is too large for the memory of device={str(self.device)!r}, where a search by "
                "penalty and construction need it whole: give n_features_to_select to a selector, "
                "or leave device=None."
            )
        return self._X

    def columns(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Some columns of some rows, on the device."""
        here = self._X.device
        return self._X[rows.to(here)][:, columns.to(here)].to(self.device)

    def __getitem__(self, rows: Indices) -> Any:
        return self._X[sent(rows, self._X.device)].cpu().numpy()

    def _batches(self, entries: int) -> list[slice]:
        return list(gen_batches(self.shape[0], max(1, entries // self.shape[1])))

    def _sent(self) -> Iterator[Tensor]:
        """Blocks by way of two page-locked buffers and two on the device, which take turns."""
        batches = self._batches(_SENT_ENTRIES)
        if self.device.type != "cuda":
            yield from (self._X[rows].to(self.device) for rows in batches)
            return
        shape = batches[0].stop, self.shape[1]
        waiting = [torch.empty(shape, dtype=self._X.dtype, pin_memory=True) for _ in range(2)]
        there = [torch.empty(shape, dtype=self._X.dtype, device=self.device) for _ in range(2)]
        has_left, is_free = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))
        stream, current = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        stream.wait_stream(current)

        def send(i: int) -> None:
            turn, rows = i % 2, self._X[batches[i]]
            has_left[turn].synchronize()
            waiting[turn][: len(rows)].copy_(rows)
            with torch.cuda.stream(stream):
                stream.wait_event(is_free[turn])
                there[turn][: len(rows)].copy_(waiting[turn][: len(rows)], non_blocking=True)
                has_left[turn].record(stream)

        # The next block is on its way while the one before is being worked on.
        with ThreadPoolExecutor(1) as pool:
            coming = pool.submit(send, 0)
            for i, rows in enumerate(batches):
                coming.result()
                current.wait_event(has_left[i % 2])
                if i + 1 < len(batches):
                    coming = pool.submit(send, i + 1)
                yield there[i % 2][: rows.stop - rows.start]
                is_free[i % 2].record(current)


class SparseMatrix(DeviceMatrix):
    """A CSR matrix of the host, and a copy on a device, column by column; its rows are one block.

    Sums over the rows of a column are then sums over neighbours. They are in double precision:
    sparse columns are measured from 0, so that their means and variances come from sums that
    cancel.
    """

    def __init__(self, X: Any, device: Any) -> None:
        self.device, self.shape, self._X = device, X.shape, canonical(X)
        self.batches = [slice(0, X.shape[0])]
        columns = sent(self._X.indices, device)
        counts = sent(np.diff(self._X.indptr), device)
        # Short indices where they reach all entries.
        index = torch.int32 if self._X.nnz <= torch.iinfo(torch.int32).max else torch.int64
        numbers = torch.arange(X.shape[0], dtype=index, device=device)
        rows = torch.repeat_interleave(numbers, counts)
        order = torch.sort(columns, stable=True).indices
        starts = torch.zeros(X.shape[1] + 1, dtype=torch.int64, device=device)
        starts[1:] = torch.cumsum(torch.bincount(columns, minlength=X.shape[1]), 0)
        self._block = SparseColumns(
            starts, rows[order], sent(self._X.data, device)[order], self.shape
        )

    def blocks(self) -> "Iterator[SparseColumns]":
        return iter([self._block])

    def columns(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self._block[:, columns][rows]

    def __getitem__(self, rows: Indices) -> Any:
        return self._X[rows]

    def resident(self) -> Any:
        raise ValueError(
            "a search by penalty takes dense X on a device: give n_features_to_select, or leave "
            "device=None."
        )


class SparseColumns:
    """Entries by column: where those of each column start, their rows and values."""

    def __init__(
        self, starts: Tensor, rows: Tensor, values: Tensor, shape: tuple[int, int]
    ) -> None:
        self._starts, self._rows, self.values, self.shape = starts, rows, values, shape
        self._filled: SparseColumns | None = None

    def products(self, linear: Tensor, squared: Tensor, missing: bool) -> tuple[Tensor, Any]:
        """Columns ``X^T linear`` and ``(X * X)^T squared``; ``isnan(X)^T linear`` if `missing`."""
        values, absent = self.values.double(), None
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
        kind = {"dtype": self.values.dtype, "device": counts.device}
        dense = torch.zeros((self.shape[0], len(indices)), **kind)
        dense[self._rows[entries].long(), place] = self.values[entries]
        return dense

    def filled(self, means: Tensor, parts: Tensor) -> "SparseColumns":
        """With means in place of missing entries, by the part of each row and the column."""
        if self._filled is None:
            there = means[parts[self._rows.long()], self._columns().long()]
            values = torch.where(torch.isnan(self.values), there, self.values)
            self._filled = SparseColumns(self._starts, self._rows, values, self.shape)
        return self._filled

    def hashes(self, keys: Tensor, exact: bool) -> Tensor:
        found = torch.zeros(self.shape[0], dtype=torch.int64, device=keys.device)
        parts = (self.values, self._columns(), self._rows)
        for values, columns, rows in zip(
            *(torch.split(p, _BLOCK_ENTRIES) for p in parts), strict=True
        ):
            found.index_add_(0, rows, bits(values, exact) * keys[columns])
        return found

    def _columns(self) -> Tensor:
        columns = torch.arange(self.shape[1], dtype=torch.int32, device=self._starts.device)
        return torch.repeat_interleave(columns, torch.diff(self._starts))

    def _transposed(self, values: Tensor) -> Tensor:
        parts = self._starts.to(self._rows.dtype), self._rows, values
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse (CSR tensor support|invariant checks)")
            return torch.sparse_csr_tensor(*parts, self.shape[::-1], check_invariants=False)


def as_tensor(X: Any) -> Tensor:
    """An array as a tensor of the same memory, where torch can have it."""
    if is_foreign(X):
        return X if isinstance(X, torch.Tensor) else torch.from_dlpack(X)
    with warnings.catch_warnings():
        # Nothing is written to it.
        warnings.filterwarnings("ignore", "The given NumPy array is not writ")
        return torch.from_numpy(X.copy() if min(X.strides) < 0 else X)


def sent(values: NDArray[Any], device: Any, dtype: Any = None) -> Tensor:
    """A copy on the device."""
    return as_tensor(np.ascontiguousarray(values)).to(device=device, dtype=dtype, copy=True)
