"""Compiled loops over the entries of CSR rows; two threads, each with its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from featgrad.moments.prefetch import prefetch
from featgrad.moments.running_kernels import entries_of_part
from featgrad.moments.sharing import PIECES
from featgrad.preprocess.compression import RUN
from featgrad.preprocess.compression_kernels import signed_root

Integers = NDArray[Any]
Floats = NDArray[np.float64]

# Entries between the one in use and the one whose record is fetched.
_AHEAD = 16


@njit(nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def add_moments(
    from_part: int, to_part: int,
    indptr: Integers, indices: Integers, data: NDArray[Any], weights: Floats, outputs: Floats,
    records: Floats,
) -> None:  # fmt: skip
    """Add ``w x``, ``w x^2`` and ``x`` times outputs of all entries to the records of columns.

    Outputs are given times weights. One record per column holds all of its sums: they share a
    line of the cache.
    """
    split = len(records) // 2
    for part in range(from_part, to_part):
        for n in range(len(weights)):
            start, stop = entries_of_part(indptr, indices, n, part, split)
            for entry in range(start, stop):
                prefetch(records, np.uintp(indices[min(entry + _AHEAD, stop - 1)]), 0)
                x = data[entry]
                # A view of the record would count references, for both threads.
                d = np.uintp(indices[entry])
                records[d, 0] += weights[n] * x
                records[d, 1] += weights[n] * x * x
                for c in range(outputs.shape[1]):
                    records[d, 2 + c] += x * outputs[n, c]


@njit(nogil=True, cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def compress(
    from_piece: int, to_piece: int,
    indices: Integers, data: NDArray[Any], usual: NDArray[np.bool_], middle: Floats,
    heavy: NDArray[np.bool_], at_zero: Floats, out: NDArray[Any],
) -> None:  # fmt: skip
    """Signed roots of entries about the middle, if heavy, less what their columns hold at zero.

    Runs of columns that are all heavy and about zero, the usual ones, are told by a byte each: all
    of them stay in the cache.
    """
    first, stop = len(data) * from_piece // PIECES, len(data) * to_piece // PIECES
    for entry in range(np.uintp(first), np.uintp(stop)):
        x = data[entry]
        d = np.uintp(indices[entry])
        if usual[d // np.uintp(RUN)]:
            out[entry] = signed_root(x)
        else:
            x -= middle[d]
            if heavy[d]:
                x = signed_root(x)
            out[entry] = x - at_zero[d]
