"""Compiled loops over all features, for masks of many millions."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

# Pieces of the features whose sums are taken apart: more than there are threads.
PIECES = 16
# Beyond this a sigmoid is as good as 0, and its column closed.
_FAR = 20.0


@njit(cache=True)  # type: ignore[untyped-decorator]
def _piece(n: int, piece: int) -> tuple[int, int]:
    step = (n + PIECES - 1) // PIECES
    return min(n, piece * step), min(n, (piece + 1) * step)


@njit(parallel=True, cache=True)  # type: ignore[untyped-decorator]
def opened(v: Singles, theta: float, sharpness: float, mask: Singles) -> tuple[float, float]:
    """Set the mask to ``sigmoid(sharpness (v - theta))``; its sum, and that of ``s (1 - s)``."""
    sums = np.empty((PIECES, 2))
    for piece in prange(PIECES):
        start, stop = _piece(len(v), piece)
        total, slope = 0.0, 0.0
        for d in range(start, stop):
            x = sharpness * (v[d] - theta)
            s = 1 / (1 + math.exp(-x)) if x > -_FAR else 0.0
            mask[d] = s
            total += s
            slope += s * (1 - s)
        sums[piece, 0], sums[piece, 1] = total, slope
    return sums[:, 0].sum(), sums[:, 1].sum()


@njit(parallel=True, cache=True)  # type: ignore[untyped-decorator]
def spread(mask: Singles, gradient: Singles) -> tuple[float, float]:
    """Mean and standard deviation of the gradient over the mask."""
    sums = np.empty((PIECES, 3))
    for piece in prange(PIECES):
        start, stop = _piece(len(mask), piece)
        weight, total, square = 0.0, 0.0, 0.0
        for d in range(start, stop):
            weight += mask[d]
            total += mask[d] * gradient[d]
            square += mask[d] * gradient[d] * gradient[d]
        sums[piece, 0], sums[piece, 1], sums[piece, 2] = weight, total, square
    weight = max(sums[:, 0].sum(), 1e-300)
    mean = sums[:, 1].sum() / weight
    return mean, math.sqrt(max(sums[:, 2].sum() / weight - mean**2, 0.0))


@njit(parallel=True, cache=True)  # type: ignore[untyped-decorator]
def move(
    v: Singles, momentum: Singles, gradient: Singles, mean: float, length: float,
    memory: float, step: float,
) -> None:  # fmt: skip
    """A step along the gradient, in units of its standard deviation."""
    share = (1 - memory) / max(length, 1e-30)
    for d in prange(len(v)):
        momentum[d] = memory * momentum[d] + share * (gradient[d] - mean)
        v[d] += step * momentum[d]
