"""Running engine: value and gradient over all columns from rows that are streamed in batches.

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
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.compiled import PIECES, aligned, shared
from featgrad._support.types import Floats, Singles
from featgrad.moments import running_kernels as kernels

# Entries after which the rows' projections are used: few calls of two threads each.
_ENTRIES_AT_ONCE = 1 << 22
_CHANGING = "mask", "_sent", "_received", "_centres", "_weights", "_offsets", "_known", "_growth"
_RECEIVED = "_received", "_centres", "_weights"
# How much more rows may count than the first ones.
_MOST_GROWTH = 1e12


class RunningGradient(NamedTuple):
    """Explained fraction and its gradient for a mask, and sums over the mask.

    The gradient is valid until the next one is taken. Its mean and deviation are weighted by the
    mask.
    """

    value: float
    gradient: Singles
    size: float
    mean: float
    deviation: float


class RunningSums:
    """What is known of columns while rows are streamed.

    `cross` is ``sum_n w_n x_n y_n`` of standardised columns over all rows, shape (columns,
    outputs); `mean` and `scale` standardise a raw column; `top` is the eigenvalue that the filter
    takes for 1.
    """

    def __init__(
        self, cross: Floats, mean: Floats, scale: Floats, coefficients: Floats, top: float
    ) -> None:
        self.n_features, self._n_outputs = cross.shape
        self._order = len(coefficients)
        self._width = (self._order - 1) * self._n_outputs
        self._first = cross.astype(np.float32)
        self._mean = mean.astype(np.float32)
        self._inverse = (1 / scale).astype(np.float32)
        self._alpha = coefficients / top ** np.arange(1, self._order + 1) / self._n_outputs
        # Vectors, and in the last place a weight for what a row itself has added; then another.
        self._lanes = _whole(self._width + 1)
        self._sent = aligned((self.n_features, _whole(self._lanes + 1)), np.float32)
        self.begin()
        self._offsets = np.zeros(self._lanes + 1)
        self._gradient = np.empty(self.n_features, np.float32)
        self._known = np.ones(self._width, bool)
        self._growth = np.ones(())
        self.mask: Singles = np.zeros(self.n_features, np.float32)

    def set_mask(self, mask: Singles, share: float = 1.0) -> None:
        """The mask for rows to come; those so far count less by a factor."""
        # Rows that come count more: the same, without touching what was received.
        self._growth /= share
        if self._growth > _MOST_GROWTH:
            self._shrink()
        offsets = np.empty((PIECES, *self._offsets.shape))
        shared(
            kernels.send, PIECES, self._sent, self._received, self._first, self._factors,
            self._centres, self._mean, self._inverse, self.mask, mask, self._lanes, offsets,
        )  # fmt: skip
        self.mask = mask
        self._offsets = offsets.sum(axis=0)
        # r_(j+1) comes from rows that are multiplied with an r_j.
        self._known[self._n_outputs :] = self._weights[: -self._n_outputs] > 0

    def add(self, X: Any, outputs: Floats, weights: Floats) -> None:
        """Rows of raw columns, their outputs and weights, which sum to one over all rows."""
        if self._width == 0:
            return
        if sparse.issparse(X):
            self._add_sparse(X, outputs, weights)
        else:
            self._add_dense(np.asarray(X, np.float32), outputs, weights)
        self._weights += self._known * (weights.sum() * self._growth)

    def elsewhere(self) -> "RunningSums":
        """A copy without what only this one needs, to `begin` and add rows in other processes."""
        other = copy.copy(self)
        for name in ("_first", "_mean", "_inverse", "_gradient", "mask", *_RECEIVED):
            del other.__dict__[name]
        return other

    def begin(self) -> None:
        self._received = aligned((self.n_features, _whole(self._width)), np.float32)
        self._centres, self._weights = np.zeros((2, self._width))

    def merge(self, other: "RunningSums") -> None:
        """Rows that were added elsewhere."""
        for name in _RECEIVED:
            vars(self)[name] += vars(other)[name]

    def received(self) -> dict[str, NDArray[Any]]:
        """What comes of rows, without what they are seen through."""
        return {name: vars(self)[name] for name in _RECEIVED}

    def value_and_gradient(self) -> RunningGradient:
        """Explained fraction of the outputs' variance, which is 1 each, and its gradient."""
        sums = np.empty((PIECES, 4))
        shared(
            kernels.meet, PIECES, self._received, self._first, self._factors, self._centres,
            self._mean, self._inverse, self.mask, self._alpha, self._gradient, sums,
        )  # fmt: skip
        value, size, total, squares = sums.sum(axis=0).tolist()
        weight = max(size, 1e-300)
        mean = total / weight
        deviation = math.sqrt(max(squares / weight - mean**2, 0.0))
        return RunningGradient(value, self._gradient, size, mean, deviation)

    def state(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in _CHANGING}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        for name in _CHANGING:
            getattr(self, name)[...] = state[name]

    def _shrink(self) -> None:
        """Divide all that was received, before it leaves the range of single precision."""
        self._received /= self._growth
        self._centres /= self._growth
        self._weights /= self._growth
        self._growth = np.ones(())

    @property
    def _factors(self) -> Floats:
        known = self._weights > 0
        return np.where(known, 1 / np.where(known, self._weights, 1.0), 0.0)

    def _add_sparse(self, X: Any, outputs: Floats, weights: Floats) -> None:
        at_once = max(1, _ENTRIES_AT_ONCE * len(weights) // max(1, X.nnz))
        for start in range(0, len(weights), at_once):
            rows = slice(start, min(start + at_once, len(weights)))
            some = X.indptr, X.indices, X.data, start
            along = np.empty((rows.stop - start, self._lanes + 1))
            shared(kernels.project, 2, *some, self._sent, along)
            projected = np.zeros((len(along), self._received.shape[1]), np.float32)
            projected[:, : self._width] = self._centred(along, outputs[rows], weights[rows])
            shared(kernels.collect, 2, *some, self._received, projected)

    def _add_dense(self, X: Singles, outputs: Floats, weights: Floats) -> None:
        lanes, width = self._lanes, self._width
        along = np.empty((len(X), lanes + 1))
        along[:, :lanes], along[:, lanes] = X @ self._sent[:, :lanes], X**2 @ self._sent[:, lanes]
        centred = self._centred(along, outputs, weights)
        self._received[:, :width] += X.T @ centred.astype(np.float32)

    def _centred(self, along: Floats, outputs: Floats, weights: Floats) -> Floats:
        """Weighted projections of centred rows, without what a row itself has added to r_0."""
        width, n_outputs, lanes = self._width, self._n_outputs, self._lanes
        projected = along[:, :width] - self._offsets[:width]
        length = along[:, lanes] - 2 * along[:, lanes - 1] + self._offsets[lanes]
        own = weights * length
        projected[:, :n_outputs] -= own[:, None] * outputs
        projected[:, :n_outputs] /= 1 - weights[:, None]
        projected *= weights[:, None] * self._growth
        self._centres += projected.sum(axis=0)
        return projected


def _whole(size: int) -> int:
    """Numbers in a record of at least this many."""
    return -(-size // kernels.LANES) * kernels.LANES
