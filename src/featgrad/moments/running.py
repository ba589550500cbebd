"""Running sums: value and gradient over all columns from rows that are streamed in batches.

The moments are ``b^T S (C S)^i b`` with ``b = E[x y]``, ``C = E[x x^T]``, and their gradient is
``sum_j r_j r_(i-j)`` with the vectors

    r_0 = b,    r_(j+1) = mean over the latest rows of x (x^T S r_j).

b is known from an earlier pass. A row's own share of it is taken off before it is multiplied with
that row, and r_j for j > 0 knows only rows that came before: no row explains itself. What noise
adds to the square of b is the same for all standardised columns and does not change their order.
The mask may move between batches; older rows are forgotten, since they were seen through older
masks. Memory is some 2 x order numbers per column and output.
"""

import copy
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import hankel
from sklearn.utils import gen_batches

from featgrad._support import Floats, Singles
from featgrad.columns.sums import ArraySums, add_along, measured

# Columns whose vectors are in the cache together.
_BLOCK_COLUMNS = 1 << 14
# How much more rows may count than the first ones.
_MOST_GROWTH = 1e12


class RunningSums(ArraySums):
    """What is known of columns while rows are streamed.

    `cross` is ``sum_n w_n x_n y_n`` of standardised columns over all rows, shape (columns,
    outputs); `mean` and `scale` standardise a raw column; `top` is the eigenvalue that the filter
    takes for 1. Dense columns are measured from `origin`, which is taken off before they are
    rounded to single precision.
    """

    _added = "_received", "_centres", "_weights"

    def __init__(
        self,
        cross: Floats,
        mean: Floats,
        scale: Floats,
        coefficients: Floats,
        top: float,
        origin: Any = 0.0,
    ) -> None:
        self.n_features, self._n_outputs = cross.shape
        self._order = len(coefficients)
        self._width = (self._order - 1) * self._n_outputs
        self._first = cross.astype(np.float32)
        self._origin, self._mean = origin, (mean - origin).astype(np.float32)
        self._inverse = (1 / scale).astype(np.float32)
        self._alpha = coefficients / top ** np.arange(1, self._order + 1) / self._n_outputs
        # S r_j in units of raw columns; S times the mean, and S, for what a row itself has added.
        self._sent = np.zeros((self.n_features, self._width + 1), np.float32)
        self._strength = np.zeros(self.n_features, np.float32)
        self._offsets = np.zeros(self._width + 1)
        self.begin()
        self._known = np.ones(self._width, bool)
        self._growth = np.ones(())
        self.mask: Singles = np.zeros(self.n_features, np.float32)

    def begin(self) -> None:
        """Forget all rows."""
        self._received = np.zeros((self.n_features, self._width), np.float32)
        self._centres, self._weights = np.zeros((2, self._width))

    def set_mask(self, mask: Singles, share: float = 1.0) -> None:
        """The mask for rows to come; those so far count less by a factor."""
        # Rows that come count more: the same, without touching what was received.
        self._growth /= share
        if self._growth > _MOST_GROWTH:
            for name in self._added:
                vars(self)[name] /= self._growth
            self._growth = np.ones(())
        self._offsets = np.zeros_like(self._offsets)
        for block in gen_batches(self.n_features, _BLOCK_COLUMNS):
            # Most columns are closed, and were so before.
            if mask[block].any() or self.mask[block].any():
                self._offsets += self._send(mask[block], block)
        self.mask = mask
        # r_(j+1) comes from rows that are multiplied with an r_j.
        self._known[self._n_outputs :] = self._weights[: -self._n_outputs] > 0

    def _send(self, mask: Singles, block: slice) -> Singles:
        """Set what some columns of rows are multiplied with; sums over the means of columns."""
        sent, width, n_outputs = self._sent[block], self._width, self._n_outputs
        strength = mask * self._inverse[block]
        for j in range(self._order - 1):
            place = slice(j * n_outputs, (j + 1) * n_outputs)
            np.multiply(strength[:, None], self._vector(j, block), out=sent[:, place])
        np.multiply(strength, self._inverse[block], out=self._strength[block])
        np.multiply(self._strength[block], self._mean[block], out=sent[:, width])
        return np.asarray(self._mean[block] @ sent)

    def add(self, X: Any, outputs: Floats, weights: Floats) -> None:
        """Rows of raw columns, their outputs and weights, which sum to one over all rows."""
        width, n_outputs = self._width, self._n_outputs
        if width == 0:
            return
        if sparse.issparse(X):
            squares = sparse.csr_array((X.data**2, X.indices, X.indptr), shape=X.shape)
        else:
            X = measured(X, self._origin, np.float32)
            squares = X**2
        along = np.asarray(X @ self._sent, np.float64)
        own = squares @ self._strength - 2 * along[:, width] + self._offsets[width]
        projected = along[:, :width] - self._offsets[:width]
        # What a row itself has added to r_0.
        projected[:, :n_outputs] -= (weights * own)[:, None] * outputs
        projected[:, :n_outputs] /= 1 - weights[:, None]
        projected *= weights[:, None] * self._growth
        self._centres += projected.sum(axis=0)
        if sparse.issparse(X):
            add_along(X, X.data, projected, self._received)
        else:
            self._received += X.T @ projected.astype(np.float32)
        self._weights += self._known * (weights.sum() * self._growth)

    def elsewhere(self) -> "RunningSums":
        """A copy without what only this one needs, to `begin` and add rows in other processes."""
        other = copy.copy(self)
        for name in ("_first", "_mean", "_inverse", "mask", *self._added):
            del other.__dict__[name]
        return other

    def value_and_gradient(self) -> tuple[float, Singles]:
        """Explained fraction of the outputs' variance, which is 1 each, and its gradient."""
        value, gradient = 0.0, np.empty(self.n_features, np.float32)
        for block in gen_batches(self.n_features, _BLOCK_COLUMNS):
            r = np.array([self._vector(j, block) for j in range(self._order)])
            first = np.einsum("o,odc,dc->d", self._alpha.astype(np.float32), r, r[0])
            value += float(self.mask[block] @ first)
            gradient[block] = np.einsum("odc,odc->d", r, self._mixed(r))
        return value, gradient

    def _mixed(self, r: Singles) -> Singles:
        """What each vector is multiplied with: ``sum_i alpha_i r_(i-j)``."""
        counts = hankel(self._alpha).astype(np.float32)
        return np.asarray(np.tensordot(counts, r, axes=1))

    def _vector(self, j: int, block: slice) -> Singles:
        """r_j of some columns, shape (columns, outputs); 0 where no rows are known."""
        if j == 0:
            return self._first[block]
        place = slice((j - 1) * self._n_outputs, j * self._n_outputs)
        weights, centres = self._weights[place], self._centres[place].astype(np.float32)
        factors = np.where(weights > 0, 1 / np.where(weights > 0, weights, 1.0), 0.0)
        centred = self._received[block, place] - np.multiply.outer(self._mean[block], centres)
        centred *= factors.astype(np.float32)
        centred *= self._inverse[block, None]
        return np.asarray(centred)
