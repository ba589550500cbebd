"""Compression compiled: one pass over the entries in place of one for each operation."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

import math

import numpy as np
from numba import njit

# Rows of `out` that stay in the cache while their columns are filled in.
_TILE = 256


@njit(cache=True)
def signed_root(value):
    return math.copysign(math.sqrt(abs(value)), value)


@njit(nogil=True, cache=True, error_model="numpy")
def standardise(X, rows, fill, middle, heavy, mean, scale, factors, out):
    """``out[i] = factors[i] (compressed(X[rows[i]]) - mean) / scale``."""
    for first in range(0, len(rows), _TILE):
        last = min(first + _TILE, len(rows))
        for d in range(X.shape[1]):
            share = 1 / scale[d]
            for i in range(first, last):
                value = np.float64(X[rows[i], d])
                if value != value:
                    value = fill[d]
                value -= middle[d]
                if heavy[d]:
                    value = signed_root(value)
                out[i, d] = (value - mean[d]) * share * factors[i]
