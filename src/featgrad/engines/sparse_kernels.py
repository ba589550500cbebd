"""Compiled loops over the rows of a CSR matrix; nothing is centred or densified.

With column means mu, every product with ``x_n - mu`` is one with x_n and a few scalars per power:
``(x_n - mu)^T S Z~_j = x_n^T S Z_j - H_j x_n^T S mu - q_j + H_j mu^T S mu``, where Z~ are sums over
centred rows, Z those over raw ones, ``H_j = sum r_j`` and ``q_j = sum r_j x^T S mu``.

Running sums are laid out (feature, chunk, 4): a chunk's four sums of a feature come with one access
and stay in registers. Indices are made unsigned, or each access would first be tested for a
negative one.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

from functools import cache, partial

import numpy as np
from numba import njit
from numba.core import config

CHUNK = 4
_compiled = partial(njit, nogil=True, cache=True, fastmath={"contract", "nsz"}, error_model="numpy")


@njit(inline="always")
def _project(indices, data, start, stop, strength, Z, c):
    """``x^T S Z`` for the four sums of a chunk; two chains of additions hide each other's wait."""
    u0 = u1 = u2 = u3 = v0 = v1 = v2 = v3 = Z.dtype.type(0)
    pairs_end = start + ((stop - start) & ~np.uintp(1))
    for e in range(start, pairs_end, np.uintp(2)):
        d = np.uintp(indices[e])
        x = data[e] * strength[d]
        u0 += x * Z[d, c, 0]
        u1 += x * Z[d, c, 1]
        u2 += x * Z[d, c, 2]
        u3 += x * Z[d, c, 3]
        f = e + np.uintp(1)
        d = np.uintp(indices[f])
        x = data[f] * strength[d]
        v0 += x * Z[d, c, 0]
        v1 += x * Z[d, c, 1]
        v2 += x * Z[d, c, 2]
        v3 += x * Z[d, c, 3]
    for e in range(pairs_end, stop):
        d = np.uintp(indices[e])
        x = data[e] * strength[d]
        u0 += x * Z[d, c, 0]
        u1 += x * Z[d, c, 1]
        u2 += x * Z[d, c, 2]
        u3 += x * Z[d, c, 3]
    return u0 + v0, u1 + v1, u2 + v2, u3 + v3


@njit(inline="always")
def _accumulate(indices, data, start, stop, Z, c, r):
    """``Z += x r`` for the four sums of a chunk."""
    r0, r1, r2, r3 = r[c, 0], r[c, 1], r[c, 2], r[c, 3]
    for e in range(start, stop):
        d = np.uintp(indices[e])
        x = data[e]
        Z[d, c, 0] += x * r0
        Z[d, c, 1] += x * r1
        Z[d, c, 2] += x * r2
        Z[d, c, 3] += x * r3


@njit(inline="always")
def _accumulate_with_pairs(indices, data, start, stop, Z, c, r, W, pairs):
    """The same, after ``pairs_d += x_d W_b Z_b[d]``, four b at a time."""
    r0, r1, r2, r3 = r[c, 0], r[c, 1], r[c, 2], r[c, 3]
    w0, w1, w2, w3 = W[c, 0], W[c, 1], W[c, 2], W[c, 3]
    for e in range(start, stop):
        d = np.uintp(indices[e])
        x = data[e]
        z0, z1, z2, z3 = Z[d, c, 0], Z[d, c, 1], Z[d, c, 2], Z[d, c, 3]
        pairs[d, 0] += x * w0 * z0
        pairs[d, 1] += x * w1 * z1
        pairs[d, 2] += x * w2 * z2
        pairs[d, 3] += x * w3 * z3
        Z[d, c, 0] = z0 + x * r0
        Z[d, c, 1] = z1 + x * r1
        Z[d, c, 2] = z2 + x * r2
        Z[d, c, 3] = z3 + x * r3


@_compiled()
def sweep(
    indptr, indices, data, first, last, ascending, seeds, weights, strength, along_mean, mean_norm,
    Z, H, q, vectors, W, pairs, mean_pairs,
):  # fmt: skip
    """Carry the sums over rows first..last; W is empty or the partner's (rows, chunks, 4).

    With W, pairs collect ``sum_n x_n W Z``, mean_pairs ``sum_n x_n h_n + sum_n W Z`` but for the
    rows passed before, and ``sum_n h_n`` is returned, with ``h_n = sum_b W_b[n] H_b``.
    """
    n_rows, n_chunks, n_outputs = last - first, H.shape[0], seeds.shape[1]
    width = vectors.shape[1] - n_outputs
    with_pairs = W.shape[0] > 0
    U = np.zeros((n_chunks, CHUNK), Z.dtype)
    r = np.zeros((n_chunks, CHUNK), Z.dtype)
    # Sum of W over the rows still to come: what a row's raw entries meet through -mu later on.
    W_ahead = np.zeros((n_chunks, CHUNK))
    for i in range(W.shape[0]):
        for c in range(n_chunks):
            for lane in range(CHUNK):
                W_ahead[c, lane] += W[i, c, lane]
    through_mean = np.zeros(W.shape[0], Z.dtype)
    h_total = 0.0
    for position in range(n_rows):
        i = position if ascending else n_rows - 1 - position
        start, stop = np.uintp(indptr[first + i]), np.uintp(indptr[first + i + 1])
        for c in range(n_chunks):
            U[c, 0], U[c, 1], U[c, 2], U[c, 3] = _project(
                indices, data, start, stop, strength, Z, c
            )
        for k in range(n_outputs):
            vectors[i, k] = seeds[i, k]
        for k in range(width):
            c, lane = k // CHUNK, k % CHUNK
            centred = U[c, lane] - q[c, lane] + H[c, lane] * (mean_norm - along_mean[first + i])
            vectors[i, k + n_outputs] = weights[i] * centred
        h = ahead = 0.0
        for k in range(width):
            c, lane = k // CHUNK, k % CHUNK
            r[c, lane] = vectors[i, k]
            if with_pairs:
                h += W[i, c, lane] * H[c, lane]
                W_ahead[c, lane] -= W[i, c, lane]
                ahead += vectors[i, k] * W_ahead[c, lane]
            H[c, lane] += vectors[i, k]
            q[c, lane] += vectors[i, k] * along_mean[first + i]
        h_total += h
        for c in range(n_chunks):
            if with_pairs:
                _accumulate_with_pairs(indices, data, start, stop, Z, c, r, W[i], pairs)
            else:
                _accumulate(indices, data, start, stop, Z, c, r)
        if with_pairs:
            through_mean[i] = h + ahead
    for i in range(W.shape[0]):
        start, stop = np.uintp(indptr[first + i]), np.uintp(indptr[first + i + 1])
        for e in range(start, stop):
            mean_pairs[np.uintp(indices[e])] += data[e] * through_mean[i]
    return h_total


@_compiled()
def column_sums(indptr, indices, data, weights, origin, power, n_features):
    """Weighted sums per column: ``(x - origin)^power`` and 1 where present, 1 where stored."""
    total = np.zeros(n_features)
    present = np.zeros(n_features)
    stored = np.zeros(n_features)
    for i in range(weights.shape[0]):
        for e in range(np.uintp(indptr[i]), np.uintp(indptr[i + 1])):
            d = np.uintp(indices[e])
            stored[d] += weights[i]
            if not np.isnan(data[e]):
                total[d] += weights[i] * (data[e] - origin[d]) ** power
                present[d] += weights[i]
    return total, present, stored


@cache
def compile_sweep(value_dtype, index_dtype):
    """Compile the sweep (or load it) with the pass that makes a chunk's four sums one vector."""
    before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1
    try:
        index = np.zeros(1, index_dtype)
        vector, matrix = np.zeros(1, value_dtype), np.zeros((1, CHUNK), value_dtype)
        cube = np.zeros((1, 1, CHUNK), value_dtype)
        doubles, sums = np.zeros((1, 1)), np.zeros((1, CHUNK))
        sweep(
            index, index, vector, 0, 0, True, doubles, doubles[0], vector, doubles[0], 0.0,
            cube, sums, sums, np.zeros((1, CHUNK + 1)), cube[:0], matrix, vector,
        )  # fmt: skip
    finally:
        config.SLP_VECTORIZE = before
