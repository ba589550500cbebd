"""Prices of columns that do not exist: covariances with residuals, by blocks of products.

For parts u and v of rows with weighted residuals e, which sum to 0, the product u v has the
covariance ``sum_n u_n v_n e_n``: that of all pairs is one product of matrices. Its square, relative
to the variance of u v, is the price at first order. The best are then built and priced exactly.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import fdtri

from featgrad._support import Flags, Floats, Indices, Singles
from featgrad._support.array_api import is_foreign, namespace, placed_like, to_numpy
from featgrad.construct.curves import Curve
from featgrad.construct.expressions import Constructed, Expression, Given, rounded
from featgrad.dataset.sums import Prices
from featgrad.plan import (
    DEVICE_PAIR_WORK,
    LARGE_SHARE,
    LEAST_OWN_VARIANCE,
    NEAR_ZERO,
    PAIR_WORK,
    RARE_RANK,
    VARIANCE_ROWS,
)

# Entries of a block of prices.
_BLOCK_ENTRIES = 1 << 22
# Multiplications of dense columns in the time of one of sparse columns.
_SPARSE_WORK = 30


class Residuals(NamedTuple):
    """What a cross-fitted model leaves of the outputs in the rows of a division."""

    rows: Indices  # of X
    weights: Floats  # sum to one
    values: Floats  # times the weights; of each output they sum to 0
    # A constant and the columns of the model, orthonormal, times roots of the weights.
    basis: Floats
    outputs: Floats  # of which they are left, times the weights

    def price(self, columns: Any, rivals: Floats) -> tuple[Floats, Flags]:
        """What columns would add, and whether it is more than the best of their rivals would.

        That is by what the model's columns do not have of them.
        """
        own, varies = self.own(columns)
        values = placed_like(own, self.values)
        prices, worth = self.worth(own, own.T @ values, rivals)
        return np.where(varies, prices, 0.0), varies & worth

    def own(self, columns: Any) -> tuple[Any, Flags]:
        """What the model does not have of columns, of variance 1, and whether that varies."""
        xp = namespace(columns)
        weights, basis = (placed_like(columns, part) for part in (self.weights, self.basis))
        roots, missing = weights[:, None] ** 0.5, xp.isnan(columns)
        known = xp.clip(weights @ xp.astype(~missing, xp.float64), 1e-300, None)
        means = weights @ xp.where(missing, 0.0, columns) / known
        centred = roots * xp.where(missing, 0.0, columns - means)
        variance = xp.sum(centred**2, axis=0)
        left = centred - basis @ (basis.T @ centred)
        own_variance = xp.sum(left**2, axis=0)
        varies = (own_variance > LEAST_OWN_VARIANCE * variance) & (variance > (1e-9 * means) ** 2)
        return left / (roots * xp.where(varies, own_variance, 1.0) ** 0.5), to_numpy(varies)

    def worth(self, own: Any, covariances: Any, rivals: Floats) -> tuple[Floats, Flags]:
        """Prices of what columns have of their own, and whether these are more than chance.

        Noise is that of all rows, and that of the rows where a column is large, which may be few:
        Student's t takes the place of the normal distribution.
        """
        xp, n_outputs = namespace(own), self.values.shape[1]
        weights, values = (placed_like(own, part) for part in (self.weights, self.values))
        shares = (weights[:, None] * own) ** 2
        n_rows = xp.sum(shares, axis=0) ** 2 / xp.clip(xp.sum(shares**2, axis=0), 1e-300, None)
        same_row = xp.sum(values**2, axis=1) @ own**2 / n_outputs
        along = xp.sum(covariances**2, axis=1) / n_outputs
        along, same_row, n_rows = map(to_numpy, (along, same_row, n_rows))
        noise = np.linalg.eigvalsh(self.values.T @ self.values) / n_outputs
        chance = Prices(along, noise).chance(RARE_RANK, rivals)
        freedom = noise.sum() ** 2 / max(np.sum(noise**2), 1e-300)
        ratio = fdtri(freedom, np.maximum(n_rows - 1, 1e-3), 1 - (RARE_RANK - 0.3) / rivals)
        ratio = np.minimum(ratio, 1e100)  # of one row, older versions of SciPy say infinite
        limit = same_row * n_rows * ratio / np.maximum(n_rows - 1 + freedom * ratio, 1e-300)
        worth = (along - same_row > chance) & (along > limit)
        # Of fewer rows, as many would agree by chance.
        worth &= n_rows * noise.sum() > noise.sum() + chance
        return along - same_row, worth


class Parts(NamedTuple):
    """Columns that others are constructed of, in the rows of a division."""

    X: Any  # all rows of the given columns
    rows: Indices  # of the division
    expressions: Sequence[Expression]
    ranked: Indices  # places of these columns, the most promising first
    most_parents: float
    values: Any  # (x - origin) / scale in single precision; CSR rows keep their zeros
    origins: Floats
    scales: Floats
    is_binary: Flags  # columns of two values

    def parents(self, work: float) -> Indices:
        """Columns one of which each pair has: all, or the best of them where work is too much.

        The work of an operation is that of all pairs of different columns, times so much.
        """
        n, rows = len(self.expressions), self.values.shape[0]
        if sparse.issparse(self.values):  # in which both columns are other than 0, on average
            rows = _SPARSE_WORK * self.values.nnz**2 / (rows * n**2)
        possible = DEVICE_PAIR_WORK if is_foreign(self.values) else PAIR_WORK
        most = min(self.most_parents, n, max(1, possible // int(1 + work * rows * n)))
        return np.sort(self.ranked[: int(most)])

    def rivals(self, columns: Sequence[Constructed], count: int, total: int) -> Floats:
        """Of how many columns of noise each constructed column has to exceed the best.

        Half of the chance is alike for all candidates, of which there are so many in total. The
        other half goes by the ranks r of parts, as ``1 / r``, so that few rows show what promising
        columns make; without ranks a column would have the count.
        """
        relative = np.empty(len(self.expressions))
        relative[self.ranked] = 1 + np.arange(len(relative))
        relative *= np.mean(1 / relative)
        of_part = dict(zip(self.expressions, relative.tolist(), strict=True))
        own = [math.prod(of_part[part] for part in one.made_of(of_part)) for one in columns]
        return np.minimum(2.0 * total, 2.0 * count * np.array(own))

    def curves(self, curve: Curve, columns: Indices) -> Iterator[tuple[Indices, Floats, Singles]]:
        """Given ones among some dense columns, a number of each, and the curve: of size 1."""
        given = {i: one.index for i, one in enumerate(self.expressions) if isinstance(one, Given)}
        columns = np.array([i for i in columns.tolist() if i in given], np.intp)
        if sparse.issparse(self.X) or len(columns) == 0:
            return
        chosen = placed_like(self.X, np.array([given[i] for i in columns.tolist()]))
        raw = to_numpy(self.X[:, chosen]).astype(np.float64)
        raw = np.where(np.isnan(raw), self.origins[columns], raw)
        own = raw[self.rows]
        for numbers in curve.numbers(own):
            exists = np.isfinite(numbers)
            values = curve.apply((raw if curve.is_ordered else own)[:, exists], numbers[exists])
            values = values[self.rows] if curve.is_ordered else values
            size = np.sqrt(np.mean(values**2, axis=0))
            values = values / np.where(size > 0, size, 1.0)
            yield columns[exists], numbers[exists], values.astype(np.float32)

    def uncentred(self) -> Any:
        """Columns on their scale, not centred."""
        shift = self.origins / np.where(self.scales > 0, self.scales, 1.0)
        return self.values + placed_like(self.values, shift.astype(np.float32))


def on_one_scale(values: Any) -> tuple[Any, Floats, Floats, Flags]:
    """Columns less their origin over their deviation, with both, and which have two values.

    The origin is the mean, rounded; 0 where the mean is near it, of 0 and 1, and of sparse columns.
    """
    if sparse.issparse(values):
        squares = values.multiply(values).mean(axis=0)
        scales = np.sqrt(np.where(squares > 0, squares, 1.0))
        values = sparse.csr_array(values, dtype=np.float32, copy=True)
        values.data /= scales[values.indices]
        return values, np.zeros(len(scales)), scales, np.zeros(len(scales), bool)
    step = max(1, _BLOCK_ENTRIES // max(1, values.shape[0]))  # columns that stay in the cache
    starts = range(0, max(1, values.shape[1]), step)
    scaled, *known = zip(*(_scaled(values[:, i : i + step]) for i in starts), strict=True)
    origins, scales, is_binary = map(np.concatenate, known)
    return namespace(values).concat(scaled, axis=1), origins, scales, is_binary


def _scaled(values: Any) -> tuple[Any, Floats, Floats, Flags]:
    """The same of a block of dense columns."""
    xp = namespace(values)
    there = ~xp.isnan(values)
    low = xp.min(xp.where(there, values, xp.inf), axis=0)
    high = xp.max(xp.where(there, values, -xp.inf), axis=0)
    is_binary = to_numpy(xp.all((values == low) | (values == high) | ~there, axis=0))
    low, high, counts = map(to_numpy, (low, high, xp.sum(there, axis=0, dtype=xp.float64)))
    means = to_numpy(xp.sum(xp.where(there, values, 0.0), axis=0, dtype=xp.float64)) / counts
    squares = xp.where(there, values - _alike(values, means), 0.0) ** 2
    scales = np.sqrt(to_numpy(xp.sum(squares, axis=0, dtype=xp.float64)) / counts)
    scales = np.where(scales > 1e-9 * np.maximum(-low, high), scales, 0.0)
    near = (np.abs(means) <= NEAR_ZERO * scales) | (is_binary & (low == 0))
    origins = np.where(near, 0.0, rounded(means, scales))
    values = values - _alike(values, origins)
    values /= _alike(values, np.where(scales > 0, scales, np.inf))
    return xp.astype(xp.where(there, values, 0.0), xp.float32), origins, scales, is_binary


def _alike(values: Any, numbers: Floats) -> Any:
    """Numbers in the library and type of other values."""
    return namespace(values).astype(placed_like(values, numbers), values.dtype)


def best_pairs(
    first: Any, second: Any, residuals: Residuals, kept: int, are_same: bool = False
) -> Iterator[tuple[int, int, float]]:
    """Pairs of columns whose products have about the highest prices, and these.

    With `are_same` the first columns are also the first among the second ones, and each pair counts
    once. Variances of products of dense columns are those of some rows, unless both are 0 in most
    rows; of sparse columns only those are priced that have a row in common.
    """
    first, found, bar = placed_like(second, first), np.zeros((3, 0)), 0.0
    errors, per_column = placed_like(second, residuals.values.astype(np.float32)), second.shape[1]
    sizes = [_sizes(one) for one in (first, second)]
    if is_sparse := sparse.issparse(first):
        per_column = int(np.diff(first.indptr) @ np.diff(second.indptr)) // first.shape[1] + 1
        first, second = first.tocsc(), second.tocsc()
    step = max(1, _BLOCK_ENTRIES // per_column)
    for start in range(0, first.shape[1], step):
        offset = start if are_same else 0
        priced = _sparse_prices if is_sparse else _pair_prices
        own, others = slice(start, start + step), slice(offset, None)
        known = sizes[0][:, own], sizes[1][:, others]
        prices = priced(first[:, own], second[:, others], errors, *known)
        if is_sparse:
            prices = sparse.triu(prices) if are_same else prices
            (rows, columns), prices = prices.coords, prices.data
            above = prices > bar
            rows, columns = rows[above], columns[above]
        else:
            xp = namespace(prices)
            prices = xp.triu(prices) if are_same else prices
            above = prices > bar
            rows, columns = map(to_numpy, xp.nonzero(above))
        block = np.stack([rows + start, columns + offset, to_numpy(prices[above])])
        found = np.concatenate([found, block], axis=1)
        if found.shape[1] > kept:
            found = found[:, np.argpartition(-found[2], kept)[:kept]]
            bar = float(found[2].min())
    return zip(*found[:2].astype(int).tolist(), found[2].tolist(), strict=True)


def _sizes(values: Any) -> Any:
    """Mean squares of columns, and in which share of the rows they are large."""
    squares = (values * values).mean(axis=0) + 1e-9
    return namespace(squares).stack([squares, abs(values).mean(axis=0) ** 2 / squares])


def _pair_prices(first: Any, second: Any, errors: Any, *sizes: Any) -> Any:
    """Those of all products of two dense columns.

    Their variance is that of some rows, or of all where these would miss the few that matter.
    """
    n_rows = len(errors)
    some = slice(None, None, -(-n_rows // VARIANCE_ROWS))
    variance = _squares(first[some], second[some]) * (n_rows / len(errors[some]))
    is_rare = [to_numpy(each[1]) < LARGE_SHARE for each in sizes]
    rare, others, of_second = map(np.flatnonzero, (is_rare[0], ~is_rare[0], is_rare[1]))
    for i, j in ((rare, np.arange(second.shape[1])), (others, of_second)):
        if len(i) and len(j):
            i, j = placed_like(first, i), placed_like(first, j)
            variance[i[:, None], j] = _squares(first[:, i], second[:, j])
    prices = sum(((first * error[:, None]).T @ second) ** 2 for error in errors.T)
    # Rows that have no product other than 0 say nothing of a variance; another row may have one.
    return prices / namespace(first).maximum(variance, sizes[0][0][:, None] * sizes[1][0])


def _squares(first: Any, second: Any) -> Any:
    """Sums of squares of all products of two dense columns, less their means."""
    return (first * first).T @ (second * second) - (first.T @ second) ** 2 / first.shape[0]


def _sparse_prices(first: Any, second: Any, errors: Floats, *sizes: Any) -> Any:
    """Those of products of two sparse columns that are not 0 everywhere."""
    squares = (first * first).T @ (second * second)
    worth = (squares - (first.T @ second).power(2) / first.shape[0]).tocsr()
    rows, columns = worth.tocoo().coords
    worth.data = 1 / np.maximum(worth.data, sizes[0][0][rows] * sizes[1][0][columns])
    prices = 0 * worth
    for error in errors.T:
        weighted = first.copy()
        weighted.data *= error[first.indices]
        prices += (weighted.T @ second).power(2)
    return prices.multiply(worth).tocoo()
