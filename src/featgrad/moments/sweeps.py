"""Two sweeps over the rows that meet in the middle: exact moments, then their gradient.

With ``T = triud(X S X^T)`` and rows in a fixed order, the moments ``y^T T^(i+1) y`` sum over paths
of increasing rows. A sweep carries ``Z_j = sum_m x_m r_j[m]`` over the rows m it has visited and
gives each next row ``r_0 = w y``, ``r_(j+1)[n] = w_n x_n^T S Z_j``. The left sweep starts at the
first row, the right one at the last; when they meet,

- every path lies left of the middle, right of it, or crosses it on exactly one edge, whose
  contribution is ``Z_a(left)^T S Z_b(right)``: the moments are known after half a sweep each;
- each sweep then continues into rows whose vectors the other has already computed, which gives the
  gradient over pairs (earlier row, later row). Pairs across the middle are counted by both sweeps
  and subtracted once.

The sweeps are independent before and after the middle, so an engine whose kernels release the
interpreter lock runs them on two cores.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from scipy.linalg import hankel

from featgrad._support.threads import one_blas_thread
from featgrad._support.types import Floats, Indices, Span


class Engine(Protocol):
    """Rows of a matrix in a fixed order, centred, with their sweeps."""

    n_rows: int
    n_features: int
    # 1 / variance of each column ("zscore") or 1 ("center"); 0 for constant columns.
    inverse_variance: Floats
    # Whether two sweeps can run at the same time in two threads.
    concurrent: bool

    def begin(self, strength: Floats, order: int, n_outputs: int) -> tuple[Any, Any]:
        """Empty running sums of the left and of the right sweep, for ``S = diag(strength)``."""

    def sweep(
        self, sums: Any, span: Span, seeds: Floats, weights: Floats, partner: Floats | None = None
    ) -> Floats:
        """Update the sums with the rows of `span`; return ``r_0 .. r_order`` of those rows.

        Seeds are (outputs, rows), the result is (order + 1, outputs, rows). With `partner`,
        shape (order, outputs, rows), also add
        ``sum_n x_n * sum_b partner_b[n] Z_b`` to the gradient held by the sums.
        """

    def overlap(self, left: Any, right: Any) -> Floats:
        """``Z_a(left)^T S Z_b(right)`` where a + b < order, shape (outputs, order, order)."""

    def cross(self, left: Any, right: Any, hankel: Floats) -> float:
        """``sum_ab hankel_ab Z_a(left)^T S Z_b(right)``, summed over outputs.

        Its gradient is subtracted from the sums, as both sweeps will add these pairs.
        """

    def collected(self, left: Any, right: Any) -> Floats:
        """The sum of the gradients of both sweeps."""

    def covariance_product(self, vectors: Floats, weights: Floats) -> Floats:
        """``X^T W X V`` over the first ``len(weights)`` rows, for a vector or a few columns V."""

    def values(self) -> Any:
        """All rows, with the variance that `inverse_variance` brings them to; where they are."""

    def take(self, rows: Indices) -> "Engine":
        """The same matrix restricted to some of the present rows, in the given order."""

    def columns(self, indices: Indices) -> "Engine":
        """The same rows restricted to some columns."""


class TwoSweeps:
    """Moments and their gradient for one mask.

    The constructor runs the sweeps to the middle, where `moments` can be called. The gradient and
    the paths through rows continue the sweeps to the end: call one of them, once and last.
    """

    def __init__(
        self, engine: Engine, strength: Floats, outputs: Floats, weights: Floats, order: int
    ) -> None:
        self._engine = engine
        self._order = order
        self._weights = weights
        self._outputs = np.ascontiguousarray(outputs.T)
        self._seeds = self._outputs * weights
        n_rows, n_outputs = outputs.shape
        self._halves = (0, n_rows // 2), (n_rows // 2, n_rows)
        lower, upper = self._halves
        with one_blas_thread():
            self._left, self._right = engine.begin(strength, order, n_outputs)
            self._first, self._last = self._both(
                lambda: self._advance(self._left, lower), lambda: self._advance(self._right, upper)
            )

    def moments(self) -> Floats:
        """Raw moments, shape (order, outputs): paths left, right and across the middle."""
        raw = self._within_halves()
        with one_blas_thread():
            across = self._engine.overlap(self._left, self._right)
        for a in range(self._order):
            for b in range(self._order - a):
                raw[a + b] += across[:, a, b]
        return raw

    def value_and_gradient(self, alpha: Floats) -> tuple[float, Floats]:
        """``sum_i alpha_i m_i``, the moments m_i summed over outputs, and ``d/d strength``."""
        # h[a, b] = alpha[a + b], 0 beyond the order: coefficient of a pair of path lengths.
        counts = hankel(alpha)
        value = float(alpha @ self._within_halves().sum(axis=1))
        with one_blas_thread():
            value += self._engine.cross(self._left, self._right, counts)
            self._finish(counts)
            return value, self._engine.collected(self._left, self._right)

    def paths_through_rows(self) -> Floats:
        """Sum of the paths through each row, by raw moment, shape (rows, order, outputs)."""
        with one_blas_thread():
            before_last, after_first = self._finish()
        left = np.concatenate([self._first, before_last], axis=2)
        right = np.concatenate([after_first, self._last], axis=2)
        through = np.stack(
            [sum(left[a] * right[i + 1 - a] for a in range(i + 2)) for i in range(self._order)]
        )
        # Both vectors include the weight of the row; a path counts it once.
        through /= self._weights
        return np.ascontiguousarray(through.transpose(2, 0, 1))

    def _mixed(self, vectors: Floats, hankel: Floats | None) -> Floats | None:
        """``sum_a hankel_ab r_a`` of each row."""
        if hankel is None:
            return None
        used = vectors[: self._order]
        return (hankel @ used.reshape(self._order, -1)).reshape(used.shape)

    def _finish(self, hankel: Floats | None = None) -> tuple[Floats, Floats]:
        """Continue into the other half; the mixed vectors of its rows are the partners."""
        lower, upper = self._halves
        return self._both(
            lambda: self._advance(self._left, upper, self._mixed(self._last, hankel)),
            lambda: self._advance(self._right, lower, self._mixed(self._first, hankel)),
        )

    def _advance(self, sums: Any, span: Span, partner: Floats | None = None) -> Floats:
        rows = slice(*span)
        return self._engine.sweep(sums, span, self._seeds[:, rows], self._weights[rows], partner)

    def _within_halves(self) -> Floats:
        """Raw moments of the paths left and right of the middle."""
        (_, middle), _ = self._halves
        halves = (self._first, self._outputs[:, :middle]), (self._last, self._outputs[:, middle:])
        return np.asarray(sum(np.einsum("jcn,cn->jc", r[1:], y) for r, y in halves))

    def _both(
        self, left: Callable[[], Floats], right: Callable[[], Floats]
    ) -> tuple[Floats, Floats]:
        if not self._engine.concurrent:
            return left(), right()
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(right)
            return left(), other.result()
