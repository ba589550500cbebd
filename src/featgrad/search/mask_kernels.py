"""Compiled loops over all features, for masks of many millions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from featgrad._support.compiled import PIECES, compiled
from featgrad._support.types import Singles

# Beyond this a sigmoid is as good as 0, and its column closed: ten million add up to one.
FAR = 16.0
# Squarings that make an exponential of one of a small number.
_SQUARINGS = 8


@compiled()
def _features(n: int, from_piece: int, to_piece: int) -> tuple[np.uintp, np.uintp]:
    """Those of the pieces from one up to another."""
    return np.uintp(n * from_piece // PIECES), np.uintp(n * to_piece // PIECES)


@compiled(nogil=True, fastmath=True, error_model="numpy")
def opened(
    from_piece: int, to_piece: int, v: Singles, theta: float, sharpness: float, mask: Singles
) -> None:
    """Set the mask to ``sigmoid(sharpness (v - theta))``, to four digits.

    The exponential is ``(1 + u + u^2/2 + u^3/6 + u^4/24)^256`` at ``u = -x / 256``: unlike the
    library's, several at once.
    """
    far, middle, slope = np.float32(FAR), np.float32(theta), np.float32(sharpness)
    one, half = np.float32(1), np.float32(0.5)
    start, stop = _features(len(v), from_piece, to_piece)
    for d in range(start, stop):
        x = min(max(slope * (v[d] - middle), -far), far)
        u = -x * np.float32(1 / (1 << _SQUARINGS))
        e = one + u * (one + u * (half + u * (np.float32(1 / 6) + u * np.float32(1 / 24))))
        for _ in range(_SQUARINGS):
            e *= e
        mask[d] = one / (one + e) if x > -far else np.float32(0)


@compiled(nogil=True)
def counted(
    from_piece: int, to_piece: int, v: Singles, low: float, high: float, counts: NDArray[Any]
) -> None:
    """Features by bins of equal width: those beyond are in the last, those below in none.

    `counts` has the shape (PIECES, bins), and is all zeros.
    """
    bins = counts.shape[1]
    per_bin, most = np.float32(bins / (high - low)), np.float32(bins - 1)
    start, stop = _features(len(v), from_piece, to_piece)
    for d in range(start, stop):
        place = (v[d] - np.float32(low)) * per_bin
        # Most features lie below: counting them would make each wait for the one before.
        if place >= 0:
            counts[from_piece, np.uintp(min(place, most))] += 1


@compiled(nogil=True, fastmath=True, error_model="numpy")
def move(
    from_piece: int, to_piece: int,
    v: Singles, momentum: Singles, gradient: Singles, mean: float, length: float,
    memory: float, step: float,
) -> None:  # fmt: skip
    """A step along the gradient, in units of its standard deviation."""
    share, middle = np.float32((1 - memory) / max(length, 1e-30)), np.float32(mean)
    kept, along = np.float32(memory), np.float32(step)
    start, stop = _features(len(v), from_piece, to_piece)
    for d in range(start, stop):
        momentum[d] = kept * momentum[d] + share * (gradient[d] - middle)
        v[d] += along * momentum[d]
