"""Compiled loops over the rows of a CSR matrix, with implicit centring.

With column means mu, every product with ``x_n - mu`` is one with x_n and a few scalars per power:
``(x_n - mu)^T S Z~_j = x_n^T S Z_j - H_j x_n^T S mu - q_j + H_j mu^T S mu``, where Z~ are sums over
centred rows, Z those over raw ones, ``H_j = sum r_j`` and ``q_j = sum r_j x^T S mu``.

The record F[d] of a feature consists of chunks of four: ``[S, mu, pairs, -]``, then its running
sums Z. It takes one or two cache lines, and the sums of a chunk fit one register. Indices are
unsigned: signed ones would be tested for negative values at each access. Inner functions are
inlined late (`forceinline`): inlined early they would count references to their arrays for each
row, which costs more than the loops themselves.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, operator"
from functools import cache, partial

import numpy as np
from numba import njit
from numba.core import config

from featgrad._support.compiled import compiled, prefetch

CHUNK = 4
STRENGTH, MEAN, PAIRS = range(3)
_compiled = partial(compiled, nogil=True, fastmath={"contract", "nsz"}, error_model="numpy")


@njit(forceinline=True)
def _project(indices, data, origin, step, count, next_row, F, chunk):
    """``x^T S Z`` for the four sums of a chunk and ``x^T S mu``.

    Two chains of additions hide each other's latency. Records of the next row, at an offset of
    `next_row` entries, are prefetched meanwhile.
    """
    u0 = u1 = u2 = u3 = v0 = v1 = v2 = v3 = a = b = F.dtype.type(0)
    pairs_end = count & ~np.uintp(1)
    for j in range(np.uintp(0), pairs_end, np.uintp(2)):
        e = origin + step * j
        prefetch(F, np.uintp(indices[e + next_row]), chunk)
        prefetch(F, np.uintp(indices[e + step + next_row]), chunk)
        d = np.uintp(indices[e])
        x = data[e] * F[d, 0, STRENGTH]
        a += x * F[d, 0, MEAN]
        u0 += x * F[d, chunk, 0]
        u1 += x * F[d, chunk, 1]
        u2 += x * F[d, chunk, 2]
        u3 += x * F[d, chunk, 3]
        d = np.uintp(indices[e + step])
        x = data[e + step] * F[d, 0, STRENGTH]
        b += x * F[d, 0, MEAN]
        v0 += x * F[d, chunk, 0]
        v1 += x * F[d, chunk, 1]
        v2 += x * F[d, chunk, 2]
        v3 += x * F[d, chunk, 3]
    for j in range(pairs_end, count):
        e = origin + step * j
        d = np.uintp(indices[e])
        x = data[e] * F[d, 0, STRENGTH]
        a += x * F[d, 0, MEAN]
        u0 += x * F[d, chunk, 0]
        u1 += x * F[d, chunk, 1]
        u2 += x * F[d, chunk, 2]
        u3 += x * F[d, chunk, 3]
    return u0 + v0, u1 + v1, u2 + v2, u3 + v3, a + b


@njit(forceinline=True)
def _accumulate(indices, data, origin, step, count, F, chunk, r):
    """``Z += x r`` for the four sums of a chunk."""
    r0, r1, r2, r3 = r
    for j in range(count):
        e = origin + step * j
        d = np.uintp(indices[e])
        x = data[e]
        F[d, chunk, 0] += x * r0
        F[d, chunk, 1] += x * r1
        F[d, chunk, 2] += x * r2
        F[d, chunk, 3] += x * r3


@njit(forceinline=True)
def _accumulate_with_pairs(indices, data, origin, step, count, F, chunk, r, w, through_mean):
    """The same, after ``pairs_d += x_d (sum_b w_b Z_b[d] - mu_d through_mean)``."""
    r0, r1, r2, r3 = r
    w0, w1, w2, w3 = w
    for j in range(count):
        e = origin + step * j
        d = np.uintp(indices[e])
        x = data[e]
        z0, z1, z2, z3 = F[d, chunk, 0], F[d, chunk, 1], F[d, chunk, 2], F[d, chunk, 3]
        product = (w0 * z0 + w1 * z1) + (w2 * z2 + w3 * z3)
        F[d, 0, PAIRS] += x * (product - F[d, 0, MEAN] * through_mean)
        F[d, chunk, 0] = z0 + x * r0
        F[d, chunk, 1] = z1 + x * r1
        F[d, chunk, 2] = z2 + x * r2
        F[d, chunk, 3] = z3 + x * r3


@njit(forceinline=True)
def _four(rows, i, chunk, kind):
    """The four values of row i for a chunk."""
    k = np.uintp(CHUNK) * (chunk - np.uintp(1))
    a, b, c, d = k, k + np.uintp(1), k + np.uintp(2), k + np.uintp(3)
    return kind(rows[i, a]), kind(rows[i, b]), kind(rows[i, c]), kind(rows[i, d])


@njit(forceinline=True)
def _begin_pairs(F, W):
    """Pairs of earlier rows with all later ones, whose vectors sum to W, through -mu."""
    for d in range(F.shape[0]):
        product = F.dtype.type(0)
        for chunk in range(1, F.shape[1]):
            for lane in range(CHUNK):
                product += W[chunk, lane] * F[d, chunk, lane]
        F[d, 0, PAIRS] -= F[d, 0, MEAN] * product


@_compiled()
def sweep(
    indptr, indices, data, first, last, ascending, seeds, weights, mean_norm, F, H, q, vectors, W
):
    """Carry the sums over rows first..last; W is empty or the partner's (rows, powers).

    With W, pairs become ``sum_n x_n W Z - mu (sum_n x_n h_n + sum_n W Z)`` and ``sum_n h_n`` is
    returned, with ``h_n = sum_b W_b[n] H_b``. Rows of W and of vectors are padded with zeros to
    whole chunks.
    """
    n_rows, n_outputs, chunks = last - first, np.uintp(seeds.shape[0]), np.uintp(F.shape[1])
    width, kind = np.uintp(len(H)), F.dtype.type
    with_pairs = W.shape[0] > 0
    U = np.zeros((F.shape[1], CHUNK), F.dtype)
    U_flat = U.ravel()[CHUNK:]
    # Sum of W over later rows: a row's raw entries are paired with it through -mu.
    W_later = np.zeros(width)
    if with_pairs:
        for k in range(width):
            W_later[k] = W[:, k].sum()
            U_flat[k] = W_later[k]
        _begin_pairs(F, U)
    h_total = 0.0
    along_mean = kind(0)
    # Entries are visited in the direction of the rows, so that memory is read in one direction.
    step = np.uintp(1) if ascending else ~np.uintp(0)
    for position in range(n_rows):
        i = np.uintp(position if ascending else n_rows - 1 - position)
        start, stop = np.uintp(indptr[first + i]), np.uintp(indptr[first + i + 1])
        origin, count = start if ascending else stop - np.uintp(1), stop - start
        inside = count <= start and stop + count <= np.uintp(len(indices))
        next_row = step * count if inside else np.uintp(0)
        for chunk in range(np.uintp(1), chunks):
            U[chunk, 0], U[chunk, 1], U[chunk, 2], U[chunk, 3], along_mean = _project(
                indices, data, origin, step, count, next_row, F, chunk
            )
        for k in range(n_outputs):
            vectors[i, k] = seeds[k, i]
        for k in range(width):
            centred = U_flat[k] - q[k] + H[k] * (mean_norm - along_mean)
            vectors[i, n_outputs + k] = weights[i] * centred
        h = later = 0.0
        for k in range(width):
            vector = vectors[i, k]
            if with_pairs:
                h += W[i, k] * H[k]
                W_later[k] -= W[i, k]
                later += vector * W_later[k]
            H[k] += vector
            q[k] += vector * along_mean
        h_total += h
        through_mean = kind((h + later) / (chunks - np.uintp(1)))
        for chunk in range(np.uintp(1), chunks):
            r = _four(vectors, i, chunk, kind)
            if with_pairs:
                w = _four(W, i, chunk, kind)
                _accumulate_with_pairs(
                    indices, data, origin, step, count, F, chunk, r, w, through_mean
                )
            else:
                _accumulate(indices, data, origin, step, count, F, chunk, r)
    return h_total


@_compiled()
def cross(left, left_H, right, right_H, hankel, order, n_outputs):
    """Subtract ``sum_ab hankel_ab Z~_a(left) Z~_b(right)``, over outputs, from the left pairs.

    Returns their sum over features, weighted by strength. `hankel` is padded with zeros to whole
    chunks, so that its loops have a constant length.
    """
    value = 0.0
    last, outputs = np.uintp(order - 1), np.uintp(n_outputs)
    size, chunk = np.uintp(hankel.shape[0]), np.uintp(CHUNK)
    for d in range(left.shape[0]):
        mean, crossing = left[d, MEAN], 0.0
        for c in range(outputs):
            for first in range(np.uintp(0), size, chunk):
                for second in range(np.uintp(0), size - first, chunk):
                    for a in range(first, first + chunk):
                        mixed = 0.0
                        for b in range(second, second + chunk):
                            k = min(b, last) * outputs + c
                            mixed += hankel[a, b] * (right[d, chunk + k] - mean * right_H[k])
                        k = min(a, last) * outputs + c
                        crossing += mixed * (left[d, chunk + k] - mean * left_H[k])
        left[d, PAIRS] -= crossing
        value += left[d, STRENGTH] * crossing
    return value


@cache
def compile_sweep(value_dtype, index_dtype):
    """Compile the sweep (or load it) with SLP vectorisation of the four sums of a chunk."""
    before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1
    try:
        index = np.zeros(1, index_dtype)
        vector, records = np.zeros(1, value_dtype), np.zeros((1, 2, CHUNK), value_dtype)
        sums, rows = np.zeros(CHUNK), np.zeros((1, 1))
        sweep(
            index, index, vector, 0, 0, True, rows, rows[0], 0.0, records, sums, sums, rows,
            rows[:0],
        )  # fmt: skip
    finally:
        config.SLP_VECTORIZE = before
