"""A sweep over the rows of a CSR matrix, compiled, with implicit centring.

With column means mu, every product with ``x_n - mu`` is one with x_n and a few scalars per power:
``(x_n - mu)^T S Z~_j = x_n^T S Z_j - H_j x_n^T S mu - q_j + H_j mu^T S mu``, where Z~ are sums over
centred rows, Z those over raw ones, ``H_j = sum r_j`` and ``q_j = sum r_j x^T S mu``.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba.core import config

from featgrad._support import Floats, Span
from featgrad._support.compiled import compiled
from featgrad.moments.rows import StandardisedRows

# Sums of a feature that fit one register.
_LANES = np.uintp(4)


class SparseSweep:
    """A sweep like `featgrad.moments.sweeps.DenseSweep`; its sums are over raw rows."""

    def __init__(
        self,
        rows: StandardisedRows,
        strength: Floats,
        outputs: Floats,
        weights: Floats,
        order: int,
        ascending: bool,
    ) -> None:
        X, width = rows.X, order * outputs.shape[1]
        self._X, self._weights, self._order, self._ascending = X, weights, order, ascending
        self._seeds = outputs * weights[:, None]
        self.strength, self._mean = strength.astype(X.dtype), rows.mean.astype(X.dtype)
        self._mean_norm = float(rows.mean**2 @ strength)
        self._Z = np.zeros((X.shape[1], -(-width // int(_LANES)), int(_LANES)), X.dtype)
        self._H, self._q = np.zeros((2, width))
        self.gradient = np.zeros(X.shape[1], X.dtype)
        with _vectorised():
            self.advance([])

    @property
    def sums(self) -> Any:
        raw = self._Z.reshape(len(self._Z), -1)[:, : len(self._H)].T
        return raw - np.multiply.outer(self._H, self._mean)

    def advance(self, blocks: Sequence[Span], partner: Floats | None = None) -> Floats:
        first, last = (blocks[0][0], blocks[-1][1]) if blocks else (0, 0)
        n_rows, n_outputs = last - first, self._seeds.shape[1]
        vectors = np.empty((n_rows, n_outputs + len(self._H)))
        vectors[:, :n_outputs] = self._seeds[first:last]
        W = np.zeros((0, len(self._H)))
        if partner is not None:
            W = np.ascontiguousarray(partner.reshape(len(self._H), n_rows).T)
            # Rows to come are paired with those of before through -mu.
            raw = self._Z.reshape(len(self._Z), -1)[:, : len(self._H)]
            self.gradient -= self._mean * (raw @ W.sum(axis=0).astype(raw.dtype))
        X = self._X
        through_means = _sweep(
            X.indptr, X.indices, X.data, first, self._ascending, self._weights[first:last],
            self.strength, self._mean, self._mean_norm, self._Z, self._H, self._q, vectors, W,
            W.sum(axis=0), self.gradient,
        )  # fmt: skip
        self.gradient += self._mean**2 * through_means
        return vectors.T.reshape(self._order + 1, n_outputs, n_rows)


@contextmanager
def _vectorised() -> Iterator[None]:
    """Compile what is compiled meanwhile such that the four sums of a chunk share a register."""
    before, config.SLP_VECTORIZE = config.SLP_VECTORIZE, 1
    try:
        yield
    finally:
        config.SLP_VECTORIZE = before


@compiled(nogil=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _sweep(
    indptr, indices, data, first, ascending, weights, strength, mean, mean_norm, Z, H, q, vectors,
    W, later, gradient,
):  # fmt: skip
    """Carry the sums over rows; W is empty or the partner's (rows, powers), `later` its sum.

    `vectors` hold r_0 on entry, all on return. With W, the gradient gets ``sum_n x_n (W Z - mu
    h_n)``, less ``mu x_m`` times the W of rows after each row m, and ``sum_n h_n`` is returned,
    with ``h_n = sum_b W_b[n] H_b``. Indices are unsigned: signed ones would be tested for negative
    values at each access.
    """
    n_rows, width, kind = len(weights), len(H), Z.dtype.type
    n_outputs, with_pairs, chunks = vectors.shape[1] - width, len(W) > 0, np.uintp(Z.shape[1])
    along, r, w = np.zeros(Z[0].size, kind), np.zeros(Z[0].size, kind), np.zeros(Z[0].size, kind)
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    h_total = 0.0
    for position in range(n_rows):
        n = position if ascending else n_rows - 1 - position
        start, stop = np.uintp(indptr[first + n]), np.uintp(indptr[first + n + 1])
        along_mean = kind(0)
        for c in range(chunks):
            # x^T S Z of four sums, and x^T S mu.
            along_mean = u0 = u1 = u2 = u3 = kind(0)
            for e in range(start, stop):
                d = np.uintp(indices[e])
                x = data[e] * strength[d]
                along_mean += x * mean[d]
                u0 += x * Z[d, c, 0]
                u1 += x * Z[d, c, 1]
                u2 += x * Z[d, c, 2]
                u3 += x * Z[d, c, 3]
            i = _LANES * c
            along[i], along[i + one], along[i + two], along[i + three] = u0, u1, u2, u3
        for k in range(width):
            centred = along[k] - q[k] + H[k] * (mean_norm - along_mean)
            vectors[n, n_outputs + k] = weights[n] * centred
        through = 0.0
        for k in range(width):
            vector = vectors[n, k]
            r[k] = vector
            if with_pairs:
                w[k] = W[n, k]
                later[k] -= W[n, k]
                h_total += W[n, k] * H[k]
                through += W[n, k] * H[k] + vector * later[k]
            H[k] += vector
            q[k] += vector * along_mean
        through_mean = kind(through / Z.shape[1])
        for c in range(chunks):
            i = _LANES * c
            r0, r1, r2, r3 = r[i], r[i + one], r[i + two], r[i + three]
            w0, w1, w2, w3 = w[i], w[i + one], w[i + two], w[i + three]
            for e in range(start, stop):
                d = np.uintp(indices[e])
                x = data[e]
                z0, z1, z2, z3 = Z[d, c, 0], Z[d, c, 1], Z[d, c, 2], Z[d, c, 3]
                if with_pairs:
                    pairs = (w0 * z0 + w1 * z1) + (w2 * z2 + w3 * z3)
                    gradient[d] += x * (pairs - mean[d] * through_mean)
                Z[d, c, 0] = z0 + x * r0
                Z[d, c, 1] = z1 + x * r1
                Z[d, c, 2] = z2 + x * r2
                Z[d, c, 3] = z3 + x * r3
    return h_total
