"""Prices of columns that do not exist: covariances with residuals, by blocks of products.

For parts u and v of rows with weighted residuals e, which sum to 0, the product u v has the
covariance ``sum_n u_n v_n e_n``: that of all pairs is one product of matrices. Its square, relative
to the variance of u v, is the price at first order. The best are then built and priced exactly.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import fdtri

from featgrad._support import Flags, Floats, Indices, Singles
from featgrad._support.array_api import dense
from featgrad.dataset.sums import Prices
from featgrad.plan import NEAR_ZERO, PAIR_WORK, RARE_RANK, VARIANCE_ROWS

# Entries of a block of prices.
_BLOCK_ENTRIES = 1 << 22
# Multiplications of dense columns in the time of one of sparse columns.
_SPARSE_WORK = 30


class Residuals(NamedTuple):
    """What a cross-fitted model leaves of the outputs in the rows of a division."""

    rows: Indices  # of X
    weights: Floats  # sum to one
    values: Floats  # times the weights; of each output they sum to 0

    @property
    def noise(self) -> Floats:
        """Eigenvalues of the covariance of a column of noise with the residuals."""
        n_outputs = self.values.shape[1]
        return np.asarray(np.linalg.eigvalsh(self.values.T @ self.values) / n_outputs)

    def price(self, columns: Floats, count: int) -> tuple[Floats, Flags]:
        """What columns would add, and whether it is more than the best of so many of noise would.

        Noise is that of all rows, and that of the rows where a column is large, which may be few:
        Student's t takes the place of the normal distribution.
        """
        missing = np.isnan(columns)
        means = self.weights @ np.where(missing, 0.0, columns) / (self.weights @ ~missing)
        centred = np.where(missing, 0.0, columns - means)
        variance = self.weights @ centred**2
        varies = variance > (1e-9 * means) ** 2
        centred /= np.sqrt(np.where(varies, variance, 1.0))
        n_outputs, squares = self.values.shape[1], np.sum(self.values**2, axis=1)
        along = np.sum((centred.T @ self.values) ** 2, axis=1) / n_outputs
        shares = (self.weights[:, None] * centred) ** 2
        own, noise = squares @ centred**2 / n_outputs, self.noise
        chance = Prices(along, noise).chance(RARE_RANK, count)
        freedom = noise.sum() ** 2 / max(np.sum(noise**2), 1e-300)
        n_rows = shares.sum(axis=0) ** 2 / np.maximum(np.sum(shares**2, axis=0), 1e-300)
        ratio = fdtri(freedom, np.maximum(n_rows - 1, 1e-3), 1 - (RARE_RANK - 0.3) / count)
        limit = own * n_rows * ratio / np.maximum(n_rows - 1 + freedom * ratio, 1e-300)
        worth = varies & (along - own > chance) & (along > limit)
        # Of fewer rows, as many would agree by chance.
        worth &= n_rows * noise.sum() > noise.sum() + chance
        return np.where(varies, along - own, 0.0), worth


@dataclass(frozen=True)
class Parts:
    """Columns that others are constructed of, in the rows of a division, on a common scale."""

    expressions: list[Any]
    values: Any  # (x - origin) / scale in single precision; CSR rows keep their zeros
    origins: Floats
    scales: Floats
    is_binary: Flags  # columns of two values
    n_given: int  # the first ones are those of X
    ranked: Indices  # the most promising first
    most_parents: float  # columns one of which each pair has

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.values))

    def parents(self, work: float = 1.0) -> Indices:
        """Columns one of which each pair has: all, or the best of them where work is too much.

        The work of an operation is that of all pairs of different columns, times so much.
        """
        n = len(self.expressions)
        rows = self.values.shape[0]
        if self.is_sparse:  # in which both columns are other than 0, on average
            rows = max(_SPARSE_WORK, _SPARSE_WORK * self.values.nnz**2 // (rows * n**2))
        most = min(self.most_parents, n, max(1, PAIR_WORK // int(1 + work * rows * n)))
        return np.sort(self.ranked[: int(most)])

    def in_units(self, columns: Any, values: Any) -> Any:
        """Numbers on the common scale as they are in the units of columns, rounded to be shown."""
        scale = self.scales[columns]
        found = self.origins[columns] + scale * values
        return [rounded(*each) for each in zip(found.tolist(), scale.tolist(), strict=True)]


def rounded(value: float, scale: float) -> float:
    """To about a hundredth of a scale."""
    return round(value, 2 - int(np.floor(np.log10(scale)))) if scale > 0 else value


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
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    is_binary = np.all((values == low) | (values == high) | np.isnan(values), axis=0)
    means, scales = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    scales = np.where(scales > 1e-9 * np.maximum(-low, high), scales, 0.0)
    near = (np.abs(means) <= NEAR_ZERO * scales) | (is_binary & (low == 0))
    both = zip(np.where(near, 0.0, means).tolist(), scales.tolist(), strict=True)
    origins = np.array([rounded(*each) for each in both])
    values = ((values - origins) / np.where(scales > 0, scales, np.inf)).astype(np.float32)
    return np.nan_to_num(values, copy=False), origins, scales, is_binary


class Best:
    """The best candidates of several blocks: two places and a price of each."""

    def __init__(self, kept: int) -> None:
        self._kept, self.bar = kept, 0.0
        self.first, self.second = np.zeros((2, 0), np.intp)
        self.prices = np.zeros(0, np.float32)

    def add(self, first: Indices, second: Indices, prices: Any) -> None:
        self.prices = np.concatenate([self.prices, prices])
        self.first = np.concatenate([self.first, first])
        self.second = np.concatenate([self.second, second])
        if len(self.prices) > self._kept:
            best = np.argpartition(-self.prices, self._kept)[: self._kept]
            self.first, self.second = self.first[best], self.second[best]
            self.prices = self.prices[best]
            self.bar = float(self.prices.min())


def best_pairs(
    first: Any, second: Any, residuals: Residuals, kept: int, are_same: bool = False
) -> Best:
    """Pairs of columns whose products have about the highest prices.

    With `are_same` the first columns are also the first among the second ones, and each pair counts
    once. Variances of products of dense columns are those of some rows.
    """
    best, errors = Best(kept), residuals.values.astype(np.float32)
    step = max(1, _BLOCK_ENTRIES // second.shape[1])
    some = slice(None)
    if sparse.issparse(first):
        first, second = first.tocsc(), second.tocsc()
    else:
        some = slice(None, None, -(-len(errors) // VARIANCE_ROWS))
    for start in range(0, first.shape[1], step):
        offset = start if are_same else 0
        prices = _pair_prices(first[:, start : start + step], second[:, offset:], errors, some)
        if are_same:
            prices[np.tril_indices(len(prices), -1, prices.shape[1])] = 0
        places = np.flatnonzero(prices.ravel() > best.bar)
        rows, columns = np.divmod(places, prices.shape[1])
        best.add(rows + start, columns + offset, prices.ravel()[places])
    return best


def _pair_prices(first: Any, second: Any, errors: Singles, some: slice) -> Singles:
    """Those of all products of two columns; their variance is that of some rows."""
    prices = np.zeros((first.shape[1], second.shape[1]), np.float32)
    for error in errors.T:
        prices += dense((first * error[:, None]).T @ second) ** 2
    u, v = first[some], second[some]
    n_rows = np.float32(u.shape[0])
    variance = dense((u * u).T @ (v * v)) - dense(u.T @ v) ** 2 / n_rows
    # Rows that have no product other than 0 say nothing of a variance; another row may have one.
    squares = [np.asarray((one * one).mean(axis=0), np.float32) for one in (u, v)]
    np.maximum(variance, np.multiply.outer(*squares) + np.float32(1e-9), out=variance)
    prices /= variance
    return prices
