"""The dense sweep compiled for large NumPy matrices.

The same sums as in `featgrad.moments.dense`. Compilation starts only if a matrix is large enough;
loops in place of slice assignments halve its time.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from functools import partial

import numpy as np

from featgrad._support.compiled import compiled

# Starting an operation costs nothing here, so blocks are small: products within a block cost
# operations in proportion to its rows. The last block is padded with zeros.
BLOCK_ROWS = 16
_compiled = partial(compiled, nogil=True, fastmath={"contract", "nsz"}, error_model="numpy")


@_compiled()
def _centre(X, rows, start, stop, high, low, A):
    """Rows start..stop less the mean; missing entries are 0."""
    for i in range(BLOCK_ROWS):
        if start + i < stop:
            row = rows[start + i]
            for d in range(X.shape[1]):
                a = X[row, d] - high[d] - low[d]
                A[i, d] = a if a == a else 0
        else:
            for d in range(X.shape[1]):
                A[i, d] = 0


@_compiled()
def _scale(values, by, out):
    for i in range(out.shape[0]):
        for d in range(out.shape[1]):
            out[i, d] = values[i, d] * by[d]


@_compiled()
def _cut(values, start, stop, out):
    """Columns start..stop, padded with zeros."""
    for k in range(out.shape[0]):
        for i in range(BLOCK_ROWS):
            out[k, i] = values[k, start + i] if start + i < stop else 0


@_compiled()
def _recursion(G, U, weights, start, stop, ascending, R, vectors):
    """``r_(j+1) = w (U_j + G r_j)``, G over earlier rows; R holds r_0 on entry."""
    n_outputs = len(R) - len(U)
    for k in range(len(U)):
        following = R[k + n_outputs]
        for i in range(BLOCK_ROWS):
            following[i] = U[k, i]
        for m in range(BLOCK_ROWS):
            first, end = (m + 1, BLOCK_ROWS) if ascending else (0, m)
            for i in range(first, end):
                following[i] += G[m, i] * R[k, m]
        for i in range(BLOCK_ROWS):
            following[i] *= weights[start + i] if start + i < stop else 0
        for i in range(stop - start):
            vectors[k + n_outputs, start + i] = following[i]


@_compiled()
def _mix(R, W, ascending, mixing):
    """``[W^T R | W^T]``, the first over earlier rows: the coefficients of `stacked`."""
    for i in range(BLOCK_ROWS):
        for m in range(BLOCK_ROWS):
            product = R.dtype.type(0)
            if m < i if ascending else m > i:
                for k in range(len(W)):
                    product += W[k, i] * R[k, m]
            mixing[i, m] = product
        for k in range(len(W)):
            mixing[i, BLOCK_ROWS + k] = W[k, i]


@_compiled()
def _add_columns(A, product, gradient):
    """``gradient += colsum(A * product)``; a block is summed before it is added to the total."""
    for d in range(len(gradient)):
        product[0, d] *= A[0, d]
    for i in range(1, BLOCK_ROWS):
        for d in range(len(gradient)):
            product[0, d] += product[i, d] * A[i, d]
    for d in range(len(gradient)):
        gradient[d] += product[0, d]


@_compiled()
def _add(values, out):
    for k in range(out.shape[0]):
        for d in range(out.shape[1]):
            out[k, d] += values[k, d]


@_compiled()
def sweep(
    X, rows, high, low, strength, ascending, weights, Z, grams, grams_known, vectors, W, gradient
):
    """Carry the sums Z over `rows`; W is empty or the partner's (powers, rows).

    `vectors` hold r_0 on entry, all on return. With W, ``sum_n x_n * sum_b W_b[n] Z_b`` is added to
    the gradient.
    """
    n_rows, n_features, width = len(rows), X.shape[1], len(Z)
    n_outputs, n_blocks = len(vectors) - width, len(grams)
    # The block and the sums are stacked: pairs within it and with earlier rows are one product.
    stacked = np.zeros((BLOCK_ROWS + width, n_features), X.dtype)
    A, sums = stacked[:BLOCK_ROWS], stacked[BLOCK_ROWS:]
    _add(Z, sums)
    by_row = np.empty((BLOCK_ROWS, n_features), X.dtype)
    by_power = np.empty((width, n_features), X.dtype)
    mixing = np.empty((BLOCK_ROWS, BLOCK_ROWS + width), X.dtype)
    U = np.empty((width, BLOCK_ROWS), X.dtype)
    R = np.empty((n_outputs + width, BLOCK_ROWS), X.dtype)
    partner = np.empty((width, BLOCK_ROWS), X.dtype)
    for position in range(n_blocks):
        block = position if ascending else n_blocks - 1 - position
        start, stop = block * BLOCK_ROWS, min((block + 1) * BLOCK_ROWS, n_rows)
        _centre(X, rows, start, stop, high, low, A)
        if not grams_known:
            _scale(A, strength, by_row)
            np.dot(A, by_row.T, grams[block])
        _scale(sums, strength, by_power)
        np.dot(by_power, A.T, U)
        _cut(vectors, start, stop, R[:n_outputs])
        _recursion(grams[block], U, weights, start, stop, ascending, R, vectors)
        if len(W):
            _cut(W, start, stop, partner)
            _mix(R, partner, ascending, mixing)
            np.dot(mixing, stacked, by_row)
            _add_columns(A, by_row, gradient)
        np.dot(R[:width], A, by_power)
        _add(by_power, sums)
    for k in range(width):
        for d in range(n_features):
            Z[k, d] = sums[k, d]
