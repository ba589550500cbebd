"""Compiled loops over the entries of CSR rows; two threads, each with its own columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad._support.compiled import compiled, prefetch
from featgrad._support.types import Floats

# Entries between the one in use and the one whose record is fetched.
_AHEAD = 16


@compiled()
def _first_from(indices: NDArray[Any], start: int, stop: int, column: int) -> int:
    """The first entry of a row whose column is not below `column`."""
    while start < stop:
        middle = (start + stop) // 2
        if indices[middle] < column:
            start = middle + 1
        else:
            stop = middle
    return start


@compiled()
def entries_of_part(
    indptr: NDArray[Any], indices: NDArray[Any], n: int, part: int, split: int
) -> tuple[int, int]:
    """The entries of a row that belong to one thread, with the columns below or above a split."""
    start, stop = indptr[n], indptr[n + 1]
    middle = _first_from(indices, start, stop, split)
    return (start, middle) if part == 0 else (middle, stop)


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
