"""Compiled loops of the running engine; two threads, each with the columns below or above a split.

A feature's record holds the vectors that rows are multiplied with (`sent`), the sums that rows are
added to (`received`), and at its end two weights for what a row itself has added to the first
vector. With one output and order 4 it is half a cache line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from featgrad.engines.prefetch import prefetch

# Columns that are looked at together.
_TILE = 256
# Entries between the one in use and the one whose record is fetched.
_AHEAD = 16

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Integers = NDArray[Any]


@njit(cache=True)  # type: ignore[untyped-decorator]
def _first_from(indices: Integers, start: int, stop: int, column: int) -> int:
    """The first entry of a row whose column is not below `column`."""
    while start < stop:
        middle = (start + stop) // 2
        if indices[middle] < column:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True)  # type: ignore[untyped-decorator]
def entries_of_part(
    indptr: Integers, indices: Integers, n: int, part: int, split: int
) -> tuple[int, int]:
    """The entries of a row that belong to one thread."""
    start, stop = indptr[n], indptr[n + 1]
    middle = _first_from(indices, start, stop, split)
    return (start, middle) if part == 0 else (middle, stop)


@njit(parallel=True, cache=True, fastmath=True, error_model="numpy")  # type: ignore[untyped-decorator]
def project(
    indptr: Integers, indices: Integers, data: NDArray[Any], first: int, records: Singles,
    width: int, along: Floats,
) -> None:  # fmt: skip
    """``x_n^T sent`` and ``x_n^T S x_n`` of raw rows, by thread: (parts, rows, width + 2)."""
    end, split = records.shape[1] - 2, len(records) // 2
    for part in prange(2):
        for i in range(along.shape[1]):
            start, stop = entries_of_part(indptr, indices, first + i, part, split)
            for j in range(width + 2):
                along[part, i, j] = 0
            # Whole records are indexed: a view of one counts references, for both threads.
            square, mixed = 0.0, 0.0
            for entry in range(start, stop):
                prefetch(records, np.uintp(indices[min(entry + _AHEAD, stop - 1)]), 0)
                d = np.uintp(indices[entry])
                x = data[entry]
                for j in range(width):
                    along[part, i, j] += x * records[d, j]
                square += x * x * records[d, end]
                mixed += x * records[d, end + 1]
            along[part, i, width], along[part, i, width + 1] = square, mixed


@njit(parallel=True, cache=True, fastmath=True, error_model="numpy")  # type: ignore[untyped-decorator]
def collect(
    indptr: Integers, indices: Integers, data: NDArray[Any], first: int, records: Singles,
    width: int, along: Floats,
) -> None:  # fmt: skip
    """Add rows times what they were projected to, (rows, width), to what is received."""
    split = len(records) // 2
    for part in prange(2):
        for i in range(len(along)):
            start, stop = entries_of_part(indptr, indices, first + i, part, split)
            for entry in range(start, stop):
                prefetch(records, np.uintp(indices[min(entry + _AHEAD, stop - 1)]), 0)
                d = np.uintp(indices[entry])
                x = data[entry]
                for j in range(width):
                    records[d, width + j] += x * along[i, j]


@njit(parallel=True, cache=True, fastmath=True, error_model="numpy")  # type: ignore[untyped-decorator]
def send(
    records: Singles, first: Singles, factors: Floats, centres: Floats, mean: Singles,
    inverse: Singles, mask: Singles, order: int, offsets: Floats,
) -> None:  # fmt: skip
    """Set what rows are multiplied with: the mask times the vectors, in units of raw columns.

    `offsets` (blocks, width + 1) takes the sums over means that rows have to be rid of.
    """
    n_blocks, n_outputs = offsets.shape[0], first.shape[1]
    width = (order - 1) * n_outputs
    end = records.shape[1] - 2
    step = (len(records) + n_blocks - 1) // n_blocks
    for block in prange(n_blocks):
        offset = offsets[block]
        offset[:] = 0
        for d in range(block * step, min(len(records), (block + 1) * step)):
            # Most columns are closed, and were so before.
            if mask[d] == 0 and records[d, end] == 0:
                continue
            strength = mask[d] * inverse[d]
            for c in range(min(n_outputs, width)):
                records[d, c] = strength * first[d, c]
            for j in range(width - n_outputs):
                sums = records[d, width + j] - mean[d] * centres[j]
                records[d, n_outputs + j] = strength * inverse[d] * sums * factors[j]
            for j in range(width):
                offset[j] += mean[d] * records[d, j]
            records[d, end] = strength * inverse[d]
            records[d, end + 1] = records[d, end] * mean[d]
            offset[width] += records[d, end + 1] * mean[d]


@njit(parallel=True, cache=True, fastmath=True, error_model="numpy")  # type: ignore[untyped-decorator]
def meet(
    records: Singles, first: Singles, factors: Floats, centres: Floats, mean: Singles,
    inverse: Singles, mask: Singles, alpha: Floats, gradient: Singles, values: Floats,
) -> None:  # fmt: skip
    """``sum_i alpha_i sum_j r_j r_(i-j)`` of each column.

    `values` (blocks) takes the sums of mask times ``alpha_i r_0 r_i``.
    """
    n_blocks, n_outputs, order = len(values), first.shape[1], len(alpha)
    width = (order - 1) * n_outputs
    step = (len(records) + n_blocks - 1) // n_blocks
    for block in prange(n_blocks):
        stop = min(len(records), (block + 1) * step)
        r = np.empty((order, _TILE), np.float32)
        value = 0.0
        # Columns by tiles, so that the inner loops are long enough to be vectorised.
        for begin in range(block * step, stop, _TILE):
            size = min(_TILE, stop - begin)
            gradient[begin : begin + size] = 0
            for c in range(n_outputs):
                for t in range(size):
                    r[0, t] = first[begin + t, c]
                for j in range(order - 1):
                    at = j * n_outputs + c
                    factor, centre = np.float32(factors[at]), np.float32(centres[at])
                    for t in range(size):
                        d = begin + t
                        sums = records[d, width + at] - mean[d] * centre
                        r[j + 1, t] = inverse[d] * sums * factor
                for i in range(order):
                    share = np.float32(alpha[i])
                    for j in range(i + 1):
                        for t in range(size):
                            gradient[begin + t] += share * r[j, t] * r[i - j, t]
                    own = np.float32(0)
                    for t in range(size):
                        own += mask[begin + t] * r[0, t] * r[i, t]
                    value += alpha[i] * own
        values[block] = value
