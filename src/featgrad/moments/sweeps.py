"""The paper's estimator over rows: exact moments, their gradient and standard error by two sweeps.

With ``T = triud(X S X^T)`` and rows in a fixed order, the moments ``y^T T^(i+1) y`` sum over paths
of increasing rows. A sweep carries ``Z_j = sum_m x_m r_j[m]`` over the rows m it has visited and
gives each next row ``r_0 = w y``, ``r_(j+1)[n] = w_n x_n^T S Z_j``. The left sweep starts at the
first row, the right one at the last; when they meet,

- every path lies left of the middle, right of it, or crosses it on exactly one edge, whose
  contribution is ``Z_a(left)^T S Z_b(right)``: the value is known after half a sweep each;
- each sweep then continues into rows whose vectors the other has already computed, which gives the
  gradient over pairs (earlier row, later row). Pairs across the middle are counted by both sweeps
  and subtracted once.

The sweeps are independent before and after the middle, so that they run on two cores.

Dense rows of any array library are visited in blocks, by products of matrices. On an accelerator T
is strictly triangular over a few blocks of rows instead of rows, for value and gradient: as
unbiased, and without products between the rows of a block. The rows of a CSR matrix are visited one
by one (`sparse_sweep`).

The exact leave-one-row-out jackknife costs nothing beyond a pair of sweeps: the paths through a
row are the products of its two vectors. For a statistic of degree c the jackknife overstates the
variance c-fold, which matters if features outnumber rows. This bias is measured on targets with
random signs, whose true value is 0. The same replicates determine the order: all orders follow from
the same moments, and the highest one with acceptable noise is used.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import hankel
from sklearn.utils import gen_even_slices

from featgrad._support import Floats, Indices, Span
from featgrad._support.array_api import captured, namespace, on_cpu, placed_like, to_numpy
from featgrad._support.threads import one_blas_thread
from featgrad.math.formulas import tuple_weights, tuple_weights_without_each
from featgrad.moments.rows import StandardisedRows
from featgrad.moments.spectrum import spectrum
from featgrad.plan import DEVICE_BLOCKS

# Rows per block: products within a block cost operations in proportion to its rows, so they are few
# if starting an operation is cheap (CPU), and many if it is not (accelerators, few columns).
_BLOCK_ROWS = 64
_BLOCK_ROWS_WIDE = 32
_BLOCK_ROWS_DEVICE = 1024
_WIDE = 1000
# Columns per row of a block from which Gram matrices of blocks are kept: they are small then.
_SMALL_SHARE = 8
# Columns from which products are long enough for two threads to run despite the interpreter lock.
_LONG = 512
# Targets with random signs; fewer suffice if their variance is at most this share of that of the
# jackknife.
_REPLICATES = 32
_MIN_REPLICATES = 8
_NEGLIGIBLE = 0.1
# Largest acceptable standard deviation of the noise, as a share of the target's variance.
_MAX_NOISE = 0.1
# Replicates are outputs of one pair of sweeps as long as these take no more floats.
_MAX_FLOATS = 1 << 21


@dataclass(frozen=True)
class RowMoments:
    """The explained fraction of the target's variance as a function of the mask."""

    rows: StandardisedRows
    outputs: Floats  # centred target, shape (rows, outputs)
    weights: Floats  # positive, sum to one
    variance: float  # of the target
    filters: tuple[Floats, ...]  # coefficients, preceded by those of lower orders if there are any
    scale: float = 1.0  # the eigenvalue that is scaled to 1
    in_blocks: bool = False  # whether value and gradient are those over blocks of rows

    @property
    def coefficients(self) -> Floats:
        return self.filters[-1]

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    @property
    def order(self) -> int:
        return len(self.coefficients)

    @cached_property
    def alpha(self) -> Floats:
        """Coefficient of each raw moment: ``a_i / e_(i+2)(w) / var(y)``."""
        weights = self.weights
        if self.in_blocks:
            weights = np.array([weights[rows].sum() for rows in self._blocks_of_device()])
        return self.coefficients / tuple_weights(weights, self.order) / self.variance

    @cached_property
    def strength(self) -> Floats:
        """Factor of a feature with mask 1 in an inner product of rows."""
        return self.rows.inverse_variance / self.scale

    def scaled(self) -> "RowMoments":
        """The same with the whole spectrum within the filter's reach."""
        found = spectrum(self.rows, np.ones(self.n_features), self.weights)
        return replace(self, scale=found.top)

    def columns(self, columns: Indices) -> "RowMoments":
        return replace(self, rows=self.rows.columns(columns))

    def batches(self, size: int) -> "list[RowMoments]":
        """Moments of consecutive runs of at least `size` rows."""
        n_rows = len(self.weights)
        found = []
        for run in np.array_split(np.arange(n_rows), max(1, n_rows // size)):
            weights = self.weights[run] / self.weights[run].sum()
            rows, outputs = self.rows.take(run), self.outputs[run]
            found.append(replace(self, rows=rows, outputs=outputs, weights=weights))
        return found

    def value_and_gradient(self, mask: Floats) -> tuple[float, Floats]:
        if self.in_blocks:
            return self._over_blocks(mask)
        blocks, order = self._blocks(), self.order
        lower, upper = blocks[: len(blocks) // 2], blocks[len(blocks) // 2 :]
        # h[a, b] = alpha[a + b], 0 beyond the order: what a pair of path lengths counts.
        counts = hankel(self.alpha)
        with one_blas_thread():
            # 1. Both to the middle.
            left, right = self._sweeps(mask, self.outputs)
            first, last = self._both(lambda: left.advance(lower), lambda: right.advance(upper))
            # 2. Paths in either half, and across the middle.
            middle = first.shape[2]
            raw = np.einsum("jcn,nc->j", first[1:], self.outputs[:middle])
            raw += np.einsum("jcn,nc->j", last[1:], self.outputs[middle:])
            crossing = _crossing(left.sums, right.sums, counts)
            value = float(self.alpha @ raw) + float(crossing @ left.strength)
            # 3. Each into the other half, whose rows have the other's vectors.
            partners = [np.tensordot(counts, half[:order], axes=1) for half in (last, first)]
            self._both(
                lambda: left.advance(upper, partners[0]), lambda: right.advance(lower, partners[1])
            )
            total = to_numpy(left.gradient + right.gradient - crossing)
        return value, total * self.strength

    def paths_through_rows(self, mask: Floats, outputs: Floats) -> Floats:
        """Sum of the paths through each row, by raw moment, shape (rows, order, outputs).

        The raw moment i is the sum over rows divided by i + 2, the number of rows of a path.
        """
        blocks = self._blocks()
        with one_blas_thread():
            left, right = self._sweeps(mask, outputs)
            before, after = self._both(lambda: left.advance(blocks), lambda: right.advance(blocks))
        through = np.stack(
            [sum(before[a] * after[i + 1 - a] for a in range(i + 2)) for i in range(self.order)]
        )
        # Both vectors include the weight of the row; a path counts it once.
        through /= self.weights
        return np.ascontiguousarray(through.transpose(2, 0, 1))

    def _over_blocks(self, mask: Floats) -> tuple[float, Floats]:
        """Value and gradient where T is strictly triangular over blocks of rows."""
        strength, vectors, gradient, run = self._run_over_blocks
        strength[...] = self.rows.array((mask * self.strength)[:, None])
        run()
        last = to_numpy(vectors[:, self.outputs.shape[1] :]).astype(np.float64)
        raw = np.einsum("njc,nc->j", last.reshape(len(last), self.order, -1), self.outputs)
        return float(self.alpha @ raw), to_numpy(gradient) * self.strength

    @cached_property
    def _run_over_blocks(self) -> tuple[Any, Any, Any, Callable[[], None]]:
        """Mask times strength, r_0 .. r_order and the gradient, and what computes these from it.

        Each of two sweeps takes two long products for a block, which suits an accelerator:
        ``dz/ds_d = sum_n x_nd sum_b W_b[n] Z_b[d]`` with W of the first rows and Z of the last.
        """
        rows, blocks, n_outputs = self.rows, self._blocks_of_device(), self.outputs.shape[1]
        X, xp, size = rows.centred(0, rows.n_rows), namespace(rows.X), self.order * n_outputs
        weights, outputs = rows.array(self.weights[:, None]), rows.array(self.outputs)
        counts = rows.array(np.kron(hankel(self.alpha), np.eye(n_outputs)))
        nothing = rows.array(np.zeros((rows.n_features, size)))
        strength, gradient = nothing[:, :1] + 0, nothing[:, 0] + 0
        vectors = rows.array(np.zeros((rows.n_rows, size + n_outputs)))

        def ends(block: slice, Z: Any) -> Any:
            """r_0 .. r_order of a block."""
            return weights[block] * xp.concat([outputs[block], X[block] @ (strength * Z)], axis=1)

        def run() -> None:
            Z, before, later = nothing, nothing, []
            gradient[...] = 0.0
            for block in reversed(blocks):
                later.append(Z)
                vectors[block] = ends(block, Z)
                Z = Z + X[block].T @ vectors[block][:, :size]
            for block, Z in zip(blocks, reversed(later), strict=True):
                own = ends(block, before)[:, :size]
                both = X[block].T @ xp.concat([own, own @ counts], axis=1)
                before = before + both[:, :size]
                gradient[...] += xp.sum(both[:, size:] * Z, axis=1)

        run = run if on_cpu(X) else captured(run, X.device)
        return strength, vectors, gradient, run

    def _blocks_of_device(self) -> list[slice]:
        n_rows = len(self.weights)
        return list(gen_even_slices(n_rows, min(n_rows, DEVICE_BLOCKS)))

    def _blocks(self) -> list[Span]:
        n_rows, X = len(self.weights), self.rows.X
        step = _BLOCK_ROWS_WIDE if self.n_features >= _WIDE else _BLOCK_ROWS
        step = step if self.rows.is_sparse or on_cpu(X) else _BLOCK_ROWS_DEVICE
        return list(pairwise([*range(0, n_rows, step), n_rows]))

    def _sweeps(self, mask: Floats, outputs: Floats) -> tuple[Any, Any]:
        given = self.rows, mask * self.strength, outputs, self.weights, self.order
        if self.rows.is_sparse:
            # Imported here: the compiler behind it takes longer to load than everything else.
            from featgrad.moments.sparse_sweep import SparseSweep

            return SparseSweep(*given, ascending=True), SparseSweep(*given, ascending=False)
        both = partial(DenseSweep, *given, {})
        return both(ascending=True), both(ascending=False)

    def _both(
        self, left: Callable[[], Floats], right: Callable[[], Floats]
    ) -> tuple[Floats, Floats]:
        rows = self.rows
        if not rows.is_sparse and not (on_cpu(rows.X) and self.n_features >= _LONG):
            return left(), right()
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(right)
            return left(), other.result()


class DenseSweep:
    """A sweep over blocks of dense rows in one direction.

    For a block A, ``G = A S A^T`` over earlier rows and ``U = Z S A^T`` give the block's vectors by
    ``r_(j+1) = w (U_j + G r_j)``; everything else is a product of matrices. `sums` are Z over the
    rows that were visited, shape (order * outputs, features); `strength` is the diagonal of S.
    """

    def __init__(
        self,
        rows: StandardisedRows,
        strength: Floats,
        outputs: Floats,
        weights: Floats,
        order: int,
        grams: dict[int, Any],
        *,
        ascending: bool,
    ) -> None:
        self._rows, self._order, self._ascending = rows, order, ascending
        self.strength, self._weights = rows.array(strength), rows.array(weights)
        self._seeds = rows.array((outputs * weights[:, None]).T)
        self.sums = rows.array(np.zeros((order * outputs.shape[1], rows.n_features)))
        self.gradient = rows.array(np.zeros(rows.n_features))
        # Gram matrices of blocks, which the other sweep uses again where they are small.
        self._grams, self._masks = grams, dict[int, Any]()

    def advance(self, blocks: Sequence[Span], partner: Floats | None = None) -> Floats:
        """Visit rows that follow each other; returns r_0 .. r_order, (order + 1, outputs, rows).

        With `partner`, of shape (order, outputs, rows), ``sum_n x_n * sum_b partner_b[n] Z_b`` is
        added to the gradient.
        """
        n_outputs = self._seeds.shape[0]
        if not blocks:
            return np.zeros((self._order + 1, n_outputs, 0))
        first, xp = blocks[0][0], namespace(self.sums)
        if partner is not None:
            partner = self._rows.array(partner.reshape(self.sums.shape[0], -1))
        found = []
        for start, stop in blocks if self._ascending else reversed(blocks):
            A = self._rows.centred(start, stop)
            vectors = self._vectors(A, start, stop)
            R = xp.concat(vectors[:-1], axis=0)
            if partner is not None:
                W = partner[:, start - first : stop - first]
                self.gradient += xp.sum((W @ A) * self.sums, axis=0)
            self.sums += R @ A
            if partner is not None:
                A *= self._earlier(W.T @ R) @ A
                self.gradient += xp.sum(A, axis=0)
            found.append(xp.concat(vectors, axis=0))
        whole = xp.concat(found if self._ascending else found[::-1], axis=1)
        return to_numpy(whole).astype(np.float64).reshape(self._order + 1, n_outputs, -1)

    def _vectors(self, A: Any, start: int, stop: int) -> list[Any]:
        """r_0 .. r_order of a block."""
        w, n_outputs = self._weights[start:stop], self._seeds.shape[0]
        U = ((self.sums * self.strength) @ A.T) * w
        vectors = [self._seeds[:, start:stop]]
        G = self._earlier(self._gram(A, start)).T * w
        for j in range(0, U.shape[0], n_outputs):
            vectors.append(U[j : j + n_outputs, :] + vectors[-1] @ G)
        return vectors

    def _gram(self, A: Any, start: int) -> Any:
        gram = self._grams.pop(start, None)
        if gram is None:
            gram = (A * self.strength) @ A.T
            if _SMALL_SHARE * gram.shape[0] <= self._rows.n_features:
                self._grams[start] = gram
        return gram

    def _earlier(self, products: Any) -> Any:
        """Products of each row of a block with those that are visited before it."""
        xp, size = namespace(products), products.shape[0]
        if size not in self._masks:
            ones = xp.ones_like(products)
            self._masks[size] = xp.tril(ones, k=-1) if self._ascending else xp.triu(ones, k=1)
        return products * self._masks[size]


def _crossing(left: Any, right: Any, counts: Floats) -> Any:
    """``sum_ab counts_ab Z_a(left) Z_b(right)`` of each feature, over outputs."""
    xp = namespace(left)
    counts = xp.astype(placed_like(left, counts), left.dtype)
    mixed = counts @ xp.reshape(left, (counts.shape[0], -1))
    return xp.sum(xp.reshape(mixed, left.shape) * right, axis=0)


class Measured(NamedTuple):
    value: float
    standard_error: float
    order: int


def measure(moments: RowMoments, mask: Floats) -> Measured:
    """Estimate with the filter of the highest order whose noise is acceptable."""
    value, jackknife = _replicates(moments, mask, moments.outputs)
    null_values, null_jackknife = _null(moments, mask, jackknife[0])
    null = np.mean(null_values**2, axis=0)
    chosen = int(np.max(np.flatnonzero(np.sqrt(null) <= _MAX_NOISE), initial=0))
    excess = np.mean(null_jackknife, axis=0) - null
    variance = max(float(jackknife[0, chosen] - excess[chosen]), float(null[chosen]))
    order = moments.order - len(null) + chosen + 1
    return Measured(float(value[0, chosen]), math.sqrt(variance), order)


def _null(moments: RowMoments, mask: Floats, jackknife: Floats) -> tuple[Floats, Floats]:
    """Estimates and their jackknife variances for targets with random signs.

    As many targets at once as fit into memory.
    """
    rng = np.random.default_rng(0)
    n_rows, n_outputs = moments.outputs.shape
    capacity = _MAX_FLOATS // (max(n_rows, moments.n_features) * moments.order * n_outputs)
    values = variances = np.zeros((0, len(jackknife)))
    while len(values) < _REPLICATES:
        wanted = _MIN_REPLICATES if len(values) < _MIN_REPLICATES else _REPLICATES
        count = int(np.clip(capacity, 1, wanted - len(values)))
        signs = rng.choice([-1.0, 1.0], size=(n_rows, count))
        outputs = (signs[:, :, None] * moments.outputs[:, None, :]).reshape(n_rows, -1)
        more_values, more_variances = _replicates(moments, mask, outputs)
        values = np.concatenate([values, more_values])
        variances = np.concatenate([variances, more_variances])
        if len(values) >= _MIN_REPLICATES and _is_negligible(values, variances, jackknife):
            break
    return values, variances


def _is_negligible(values: Floats, variances: Floats, jackknife: Floats) -> bool:
    """Whether the noise neither changes the standard error nor excludes an order."""
    null = np.mean(values**2, axis=0)
    larger = np.maximum(null, np.mean(variances, axis=0))
    acceptable = np.sqrt(null) <= _MAX_NOISE / 2
    return bool(np.all((larger <= _NEGLIGIBLE * jackknife) & acceptable))


def _replicates(moments: RowMoments, mask: Floats, outputs: Floats) -> tuple[Floats, Floats]:
    """Estimates and jackknife variances, both (replicates, filters).

    `outputs` holds the output columns of all replicates.
    """
    (n_rows, n_outputs), order, weights = moments.outputs.shape, moments.order, moments.weights
    filters = np.array([np.pad(row, (0, order - len(row))) for row in moments.filters])
    through = moments.paths_through_rows(mask, outputs)
    through = through.reshape(n_rows, order, -1, n_outputs).sum(axis=3)
    # A path of the moment i goes through i + 2 rows.
    raw = through.sum(axis=0) / np.arange(2, order + 2)[:, None]
    values = filters @ (raw / (tuple_weights(weights, order) * moments.variance)[:, None])
    # e_(i+2) of the other rows is 0 if they are too few for a tuple.
    left = tuple_weights_without_each(weights, order)[:, :, None]
    without = np.divide(raw - through, left, out=np.zeros_like(through), where=left > 0)
    # The target's variance is estimated from the same rows and shrinks with them.
    variance = moments.variance - weights * np.sum(moments.outputs**2, axis=1)
    share = np.divide(1 - weights, variance, out=np.zeros_like(variance), where=variance > 0)
    each = np.einsum("fo,nor,n->nrf", filters, without, share, optimize=True)
    influence = (np.tensordot(weights, each, axes=1) - each) * (1 - weights)[:, None, None]
    return values.T, np.sum(influence**2, axis=0) * n_rows / (n_rows - 1)
