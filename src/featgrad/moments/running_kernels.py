"""Compiled loops of the running engine: over the entries of rows, and over all columns.

What rows are multiplied with (`sent`) and what they are added to (`received`) are two tables with a
record per column. Records begin at multiples of four numbers, so that none lies on two lines of the
cache and four numbers are worked on at once; with one output and order 4 they are eight and four.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad._support.compiled import compiled, prefetch
from featgrad._support.types import Floats, Singles
from featgrad.columns.kernels import entries_of_part

# Numbers of a record that are worked on at once.
LANES = 4
# Columns that are looked at together, and that are left as they are together.
_TILE, _SENT_TILE = 256, 64
# Entries between the one in use and the one whose record is fetched.
_AHEAD = 32

Integers = NDArray[Any]


@compiled(nogil=True, fastmath=True, error_model="numpy")
def project(
    from_part: int, to_part: int,
    indptr: Integers, indices: Integers, data: NDArray[Any], first: int, sent: Singles,
    along: Floats,
) -> None:  # fmt: skip
    """``x_n^T sent`` of raw rows, last of all ``x_n^T S x_n``; each thread has its rows."""
    lanes, n_rows = along.shape[1] - 1, len(along)
    half = (n_rows + 1) // 2
    for part in range(from_part, to_part):
        rows_end = min(n_rows, (part + 1) * half)
        last = indptr[first + rows_end] - 1
        for i in range(part * half, rows_end):
            start, stop = indptr[first + i], indptr[first + i + 1]
            square = 0.0
            for lane in range(0, lanes, LANES):
                a, b, c, e, square = 0.0, 0.0, 0.0, 0.0, 0.0
                for entry in range(start, stop):
                    prefetch(sent, np.uintp(indices[min(entry + _AHEAD, last)]), 0)
                    # Whole tables are indexed: a view of a record counts references, for both
                    # threads.
                    d, j = np.uintp(indices[entry]), np.uintp(lane)
                    x = np.float64(data[entry])
                    a += x * sent[d, j]
                    b += x * sent[d, j + np.uintp(1)]
                    c += x * sent[d, j + np.uintp(2)]
                    e += x * sent[d, j + np.uintp(3)]
                    square += x * x * sent[d, np.uintp(lanes)]
                along[i, lane], along[i, lane + 1] = a, b
                along[i, lane + 2], along[i, lane + 3] = c, e
            along[i, lanes] = square


@compiled(nogil=True, fastmath=True, error_model="numpy")
def collect(
    from_part: int, to_part: int,
    indptr: Integers, indices: Integers, data: NDArray[Any], first: int, received: Singles,
    along: Singles,
) -> None:  # fmt: skip
    """Add rows times what they were projected to; each thread has its columns."""
    split, n_rows = len(received) // 2, len(along)
    for part in range(from_part, to_part):
        start, stop = entries_of_part(indptr, indices, first, part, split)
        for i in range(n_rows):
            # Records are fetched ahead into the next row: rows may be short.
            following = first + min(i + 1, n_rows - 1)
            next_start, next_stop = entries_of_part(indptr, indices, following, part, split)
            for lane in range(0, along.shape[1], LANES):
                a, b = along[i, lane], along[i, lane + 1]
                c, e = along[i, lane + 2], along[i, lane + 3]
                for entry in range(start, stop):
                    ahead = entry + _AHEAD
                    if ahead >= stop:
                        ahead = max(0, min(next_start + ahead - stop, next_stop - 1))
                    prefetch(received, np.uintp(indices[ahead]), 0)
                    d, j = np.uintp(indices[entry]), np.uintp(lane)
                    x = np.float32(data[entry])
                    received[d, j] += x * a
                    received[d, j + np.uintp(1)] += x * b
                    received[d, j + np.uintp(2)] += x * c
                    received[d, j + np.uintp(3)] += x * e
            start, stop = next_start, next_stop


@compiled(nogil=True, fastmath=True, error_model="numpy")
def send(
    from_piece: int, to_piece: int,
    sent: Singles, received: Singles, first: Singles, factors: Floats, centres: Floats,
    mean: Singles, inverse: Singles, old: Singles, mask: Singles, lanes: int, offsets: Floats,
) -> None:  # fmt: skip
    """Set what rows are multiplied with: the mask times the vectors, in units of raw columns.

    `old` is the mask before, `offsets` (pieces, lanes + 1) takes the sums over means that rows have
    to be rid of.
    """
    n_pieces, n_outputs, width = offsets.shape[0], first.shape[1], len(factors)
    step = (len(sent) + n_pieces - 1) // n_pieces
    for piece in range(from_piece, to_piece):
        offsets[piece] = 0
        stop = min(len(sent), (piece + 1) * step)
        strength = np.empty(_SENT_TILE, np.float32)
        for begin in range(piece * step, stop, _SENT_TILE):
            tile, count = np.uintp(begin), np.uintp(min(_SENT_TILE, stop - begin))
            is_open = np.float32(0)
            for t in range(count):
                is_open += mask[tile + t] + old[tile + t]
            # Most columns are closed, and were so before.
            if is_open == 0:
                continue
            for t in range(count):
                strength[t] = mask[tile + t] * inverse[tile + t]
            for c in range(np.uintp(min(n_outputs, width))):
                offset = np.float32(0)
                for t in range(count):
                    value = strength[t] * first[tile + t, c]
                    sent[tile + t, c] = value
                    offset += mean[tile + t] * value
                offsets[piece, c] += offset
            for t in range(count):
                strength[t] *= inverse[tile + t]
            for j in range(np.uintp(width - n_outputs)):
                factor, centre = np.float32(factors[j]), np.float32(centres[j])
                offset = np.float32(0)
                for t in range(count):
                    d = tile + t
                    value = strength[t] * (received[d, j] - mean[d] * centre) * factor
                    sent[d, np.uintp(n_outputs) + j] = value
                    offset += mean[d] * value
                offsets[piece, n_outputs + j] += offset
            # What a row itself has added to the first vector.
            offset = np.float32(0)
            for t in range(count):
                mixed = strength[t] * mean[tile + t]
                sent[tile + t, np.uintp(lanes - 1)] = mixed
                sent[tile + t, np.uintp(lanes)] = strength[t]
                offset += mixed * mean[tile + t]
            offsets[piece, lanes] += offset


@compiled(nogil=True, fastmath=True, error_model="numpy")
def meet(
    from_piece: int, to_piece: int,
    received: Singles, first: Singles, factors: Floats, centres: Floats, mean: Singles,
    inverse: Singles, mask: Singles, alpha: Floats, gradient: Singles, sums: Floats,
) -> None:  # fmt: skip
    """``sum_i alpha_i sum_j r_j r_(i-j)`` of each column.

    `sums` (pieces, 4) takes the sums over columns of mask times ``alpha_i r_0 r_i``, 1, the
    gradient and its square.
    """
    n_pieces, n_outputs, order = len(sums), first.shape[1], len(alpha)
    step = (len(received) + n_pieces - 1) // n_pieces
    for piece in range(from_piece, to_piece):
        stop = min(len(received), (piece + 1) * step)
        r = np.empty((order, _TILE), np.float32)
        met = np.empty(_TILE, np.float32)
        value, size, total, squares = 0.0, 0.0, 0.0, 0.0
        # Columns by tiles, so that the inner loops are long enough to be vectorised.
        for begin in range(piece * step, stop, _TILE):
            count = min(_TILE, stop - begin)
            met[:] = 0
            own = np.float32(0)
            for c in range(n_outputs):
                for t in range(np.uintp(count)):
                    r[0, t] = first[np.uintp(begin) + t, c]
                for j in range(order - 1):
                    at = np.uintp(j * n_outputs + c)
                    factor, centre = np.float32(factors[at]), np.float32(centres[at])
                    for t in range(np.uintp(count)):
                        d = np.uintp(begin) + t
                        r[j + 1, t] = inverse[d] * (received[d, at] - mean[d] * centre) * factor
                for i in range(order):
                    share = np.float32(alpha[i])
                    for t in range(np.uintp(count)):
                        own += share * mask[np.uintp(begin) + t] * r[0, t] * r[i, t]
                    # Pairs (j, i - j) and (i - j, j) are the same.
                    for j in range((i + 1) // 2):
                        for t in range(np.uintp(count)):
                            met[t] += np.float32(2) * share * r[j, t] * r[i - j, t]
                    if i % 2 == 0:
                        for t in range(np.uintp(count)):
                            met[t] += share * r[i // 2, t] * r[i // 2, t]
            value += np.float64(own)
            open_here, total_here, squares_here = np.float32(0), np.float32(0), np.float32(0)
            for t in range(np.uintp(count)):
                d = np.uintp(begin) + t
                gradient[d] = met[t]
                open_here += mask[d]
                total_here += mask[d] * met[t]
                squares_here += mask[d] * met[t] * met[t]
            size += np.float64(open_here)
            total += np.float64(total_here)
            squares += np.float64(squares_here)
        sums[piece, 0], sums[piece, 1] = value, size
        sums[piece, 2], sums[piece, 3] = total, squares
