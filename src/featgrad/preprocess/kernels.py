"""Compiled loops over the entries of CSR rows; two threads, each with its own columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad.arrays import Floats
from featgrad.compiling import compiled
from featgrad.moments.prefetch import prefetch
from featgrad.moments.running_kernels import entries_of_part

# Entries between the one in use and the one whose record is fetched.
_AHEAD = 16


@compiled(nogil=True, error_model="numpy")
def add_products(
    from_part: int, to_part: int,
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], linear: Floats,
    squared: Floats, records: Floats,
) -> None:  # fmt: skip
    """Add ``x linear[n]`` and then ``x^2 squared[n]`` of all entries to the records of columns."""
    split, width = len(records) // 2, linear.shape[1]
    for part in range(from_part, to_part):
        for n in range(len(linear)):
            start, stop = entries_of_part(indptr, indices, n, part, split)
            for entry in range(start, stop):
                prefetch(records, np.uintp(indices[min(entry + _AHEAD, stop - 1)]), 0)
                x = np.float64(data[entry])
                # A view of the record would count references, for both threads.
                d = np.uintp(indices[entry])
                for c in range(width):
                    records[d, c] += x * linear[n, c]
                for c in range(squared.shape[1]):
                    records[d, width + c] += x * x * squared[n, c]
