"""Folds engine: moments over folds of rows instead of rows, for a few columns.

Split the rows into folds and let T be strictly triangular over folds: only tuples of rows from
distinct folds enter, so the moments are as unbiased as those over rows,

    m_i = sum over f_0 < .. < f_(i+1) of b_(f_0)^T S C_(f_1) S .. S b_(f_(i+1)),

with ``b_f = sum w x y`` and ``C_f = sum w x x^T`` over the rows of fold f. Once these are known the
rows are not needed any more: value and gradient cost the same for any number of rows, and so do
elimination, cross-validation and resampling, which drop folds. Where folds have few rows these are
kept, as their products cost less than those of C_f. Matrices are arrays of NumPy or, on an
accelerator, of torch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import hankel

from featgrad._support import Floats, Indices
from featgrad._support.array_api import is_foreign, namespace, placed_like, to_numpy
from featgrad.math.formulas import tuple_weights

# Entries of b_f, for all masks, and on an accelerator of C_f, whose gradients are taken at once.
_AT_ONCE = 1 << 16
_AT_ONCE_ON_DEVICE = 1 << 28


class Totals(NamedTuple):
    """Moments of second order over all rows."""

    # Covariance of columns, an array of NumPy or, on an accelerator, of torch. Of few rows the rows
    # themselves, times the root of their share of the weight.
    matrix: Any
    cross: Floats  # of columns and outputs
    variance: float  # summed over outputs
    n_effective: float  # rows of equal weight that would say as much
    is_gram: bool = True
    # Which columns of the matrix are meant: it is shared by many choices of columns.
    places: Indices | None = None

    @property
    def has_few_rows(self) -> bool:
        """Whether rows are known, and fewer than the columns: their products are smaller."""
        return not self.is_gram and 0 < len(self.matrix) < len(self.cross)

    @property
    def rows(self) -> Any:
        """Few rows of the columns."""
        return self.matrix if self.places is None else self.matrix.take(self.places, axis=1)

    @property
    def covariance(self) -> Any:
        if not self.is_gram:
            rows = self.rows
            return rows.T @ rows
        return self.matrix if self.places is None else _square(self.matrix, self.places)

    @property
    def variances(self) -> Floats:
        if not self.is_gram:
            return np.asarray(np.sum(self.rows**2, axis=0, dtype=np.float64))
        diagonal = to_numpy(namespace(self.matrix).linalg.diagonal(self.matrix))
        return diagonal if self.places is None else diagonal[self.places]

    @property
    def mean_variance(self) -> float:
        """Of the columns: 1 unless these are only centred, and also where none of them varies."""
        return float(np.mean(self.variances)) or 1.0

    def columns(self, indices: Indices) -> "Totals":
        places = indices if self.places is None else self.places[indices]
        return self._replace(cross=self.cross[indices], places=places)


def stacked(totals: Sequence[Totals], ridges: Sequence[float], width: int) -> tuple[Any, Any]:
    """``C + ridge I`` and covariances with outputs of several.

    Those that have fewer columns get more that explain nothing, of variance 1.
    """
    like, shape = totals[0].matrix, (len(totals), width, width)
    xp = namespace(like)
    covariance = xp.zeros(shape, dtype=xp.float64, device=like.device)
    cross = np.zeros((len(totals), width, totals[0].cross.shape[1]))
    ridge, columns = np.ones((len(totals), width)), np.arange(width)
    for i, (one, own) in enumerate(zip(totals, ridges, strict=True)):
        count = len(one.cross)
        covariance[i, :count, :count] = one.covariance
        cross[i, :count], ridge[i, :count] = one.cross, own
    covariance[:, columns, columns] += placed_like(like, ridge)
    return covariance, placed_like(like, cross)


@dataclass(frozen=True)
class Folds:
    """Disjoint folds of rows over the same columns; the weights of all rows sum to one."""

    weights: Floats  # of the folds
    n_effective: float  # rows of equal weight that would say as much
    crosses: Floats  # b_f, shape (folds, columns, outputs)
    variance: Floats  # of each output
    # C_f of each fold or, where rows are few for so many columns, these times the root of their
    # weight, and zeros where a fold has fewer rows than others.
    matrix: Any
    is_gram: bool = True

    @property
    def n_columns(self) -> int:
        return int(self.crosses.shape[1])

    @property
    def total_variance(self) -> float:
        """Over outputs; 1 where the only row of a class is held out, and nothing varies."""
        return float(self.variance.sum()) or 1.0

    @property
    def grams(self) -> Any:
        """C_f of each fold."""
        return self.matrix if self.is_gram else self.matrix.mT @ self.matrix

    @cached_property
    def tuple_weights(self) -> Floats:
        """What moments of each order are divided by, as far as there are folds for it."""
        return tuple_weights(self.weights, len(self.weights) - 1)

    def totals(self) -> Totals:
        xp, is_gram = namespace(self.matrix), True
        if not self.is_gram:
            matrix = self.matrix.reshape(-1, self.n_columns)
            matrix = matrix[matrix.any(axis=1)]
            is_gram = 2 * len(matrix) > self.n_columns
            matrix = matrix.T @ matrix if is_gram else matrix
        else:
            matrix = xp.sum(self.matrix, axis=0, dtype=xp.float64)
        cross = self.crosses.sum(axis=0)
        return Totals(matrix, cross, self.total_variance, self.n_effective, is_gram)

    def without_each(self, ridge: float) -> Floats:
        """Ridge coefficients without the rows of each fold, shape (folds, columns, outputs)."""
        xp, rest = namespace(self.matrix), self.crosses.sum(axis=0) - self.crosses
        if not self.is_gram and math.prod(self.matrix.shape[:2]) < self.n_columns:
            return np.array([self._without(f, b, ridge) for f, b in enumerate(rest)])
        grams = xp.astype(self.grams, xp.float64)
        others = xp.sum(grams, axis=0) + placed_like(grams, ridge * np.eye(self.n_columns)) - grams
        return to_numpy(xp.linalg.solve(others, placed_like(grams, rest)))

    def _without(self, fold: int, b: Floats, ridge: float) -> Floats:
        """``(X^T X + ridge I)^-1 b = (b - X^T (X X^T + ridge I)^-1 X b) / ridge``, X without it."""
        rows = np.delete(self.matrix, fold, axis=0).reshape(-1, self.n_columns).astype(np.float64)
        along = np.linalg.solve(rows @ rows.T + ridge * np.eye(len(rows)), rows @ b)
        return np.asarray((b - rows.T @ along) / ridge)

    def columns(self, indices: Indices) -> "Folds":
        crosses, matrix = self.crosses[:, indices], submatrices(self.matrix, indices, self.is_gram)
        return replace(self, crosses=crosses, matrix=matrix)

    def column_squares(self) -> Floats:
        xp = namespace(self.matrix)
        squares = xp.linalg.diagonal(self.matrix) if self.is_gram else self.matrix**2
        axes = 0 if self.is_gram else (0, 1)
        return to_numpy(xp.sum(squares, axis=axes, dtype=xp.float64))

    def divided(self, columns: Floats, outputs: Floats) -> "Folds":
        """With columns and outputs divided by these; in place, as the matrices are large."""
        there, matrix = typed_like(self.matrix, columns), self.matrix
        matrix /= there
        if self.is_gram:
            matrix /= there[:, None]
        crosses = self.crosses / columns[:, None] / outputs
        return replace(self, crosses=crosses, variance=self.variance / outputs**2, matrix=matrix)


def typed_like(matrix: Any, values: Floats) -> Any:
    """The values in the library, on the device and of the type of a matrix."""
    return namespace(matrix).astype(placed_like(matrix, values), matrix.dtype)


def submatrices(matrices: Any, indices: Indices, are_grams: bool) -> Any:
    """Some columns of all matrices; of products with each other these rows as well."""
    if not are_grams:
        return namespace(matrices).take(matrices, placed_like(matrices, indices), axis=2)
    count, n_columns = matrices.shape[0], len(indices)
    xp, shape = namespace(matrices), (count, n_columns, n_columns)
    found = xp.empty(shape, dtype=matrices.dtype, device=matrices.device)
    for i in range(count):
        found[i, ...] = _square(matrices[i, ...], indices)
    return found


def _square(matrix: Any, indices: Indices) -> Any:
    """Some rows and the same columns of a matrix."""
    xp, index = namespace(matrix), placed_like(matrix, indices)
    return xp.take(xp.take(matrix, index, axis=0), index, axis=1)


class Gradient(NamedTuple):
    """The explained fraction of the target's variance, and its gradient in the mask, are wanted.

    Outputs count by their variance.
    """

    folds: Folds
    mask: Floats
    coefficients: Floats
    scale: float
    sequence: Sequence[int]  # the order of the folds

    @property
    def alpha(self) -> Floats:
        """What the moments of each order count, of the target's variance."""
        weights = self.folds.tuple_weights[: len(self.coefficients)]
        return np.asarray(self.coefficients / weights / self.folds.total_variance)


def gradients(tasks: Sequence[Gradient]) -> list[tuple[float, Floats]]:
    """Values and gradients of tasks about folds that are all on the host, or all on a device."""
    found: dict[int, tuple[float, Floats]] = {}
    left = sorted(range(len(tasks)), key=lambda i: -tasks[i].folds.n_columns)
    while left:
        places = _together(tasks, left)
        found |= zip(places, _values_and_gradients([tasks[i] for i in places]), strict=True)
        left = [i for i in left if i not in found]
    return [found[i] for i in range(len(tasks))]


def _together(tasks: Sequence[Gradient], left: list[int]) -> list[int]:
    """The first of those that are left, and others that are worked on at the same time.

    Masks of the same folds in the same order share products. Starting a product on an accelerator
    takes longer than the product of a few columns: there folds of about as many columns are copied
    into one array.
    """
    first = tasks[left[0]]
    if is_foreign(first.folds.matrix):
        count = _AT_ONCE_ON_DEVICE // max(1, math.prod(first.folds.matrix.shape))
        return left[: max(1, count)]
    count = _AT_ONCE // max(1, first.folds.crosses.size)
    return [i for i in left if _shares_products(tasks[i], first)][: max(1, count)]


def _shares_products(task: Gradient, other: Gradient) -> bool:
    return task.folds is other.folds and tuple(task.sequence) == tuple(other.sequence)


def _values_and_gradients(tasks: Sequence[Gradient]) -> list[tuple[float, Floats]]:
    """Of masks that share folds, their order and the filter, or of one mask for each set of folds.

    Arrays have the shape (sets, powers, masks, outputs, columns), for one fold after the other.
    """
    is_shared = all(_shares_products(task, tasks[0]) for task in tasks)
    sets, order = tasks[:1] if is_shared else tasks, max(len(task.coefficients) for task in tasks)
    C, b = _in_order(sets)
    like, xp, n_columns = C[0], namespace(C[0]), C[0].shape[-1]
    alphas, strengths = np.zeros((len(sets), order)), np.zeros((len(tasks), n_columns))
    for alpha, task in zip(alphas, sets, strict=True):
        alpha[: len(task.coefficients)] = task.alpha
    for strength, task in zip(strengths, tasks, strict=True):
        strength[: len(task.mask)] = task.mask / task.scale
    S = typed_like(like, strengths.reshape(len(sets), 1, -1, 1, n_columns))
    is_gram = sets[0].folds.is_gram
    vectors, _ = _sweep(C, is_gram, b, S, order)
    _, sums = _sweep(C[::-1], is_gram, b[::-1], S, order)
    # Pairs of a fold and the ones behind it: left vectors times the sums of right ones.
    left, right = xp.stack(vectors), xp.stack(sums[::-1])
    along = S * xp.stack(b[: len(vectors)]) * right
    moments = to_numpy(xp.sum(along, axis=(0, 4, 5), dtype=xp.float64))
    # h[a, b] = alpha[a + b]: what a pair of path lengths counts.
    counts = typed_like(like, np.array([hankel(alpha) for alpha in alphas]))
    mixed = counts @ xp.reshape(right, (*right.shape[:3], -1))
    mixed = xp.reshape(mixed, right.shape) * left
    by_column = to_numpy(xp.sum(mixed, axis=(0, 2, 4), dtype=xp.float64))
    values = np.sum(alphas[:, :, None] * moments, axis=1).ravel().tolist()
    return [
        (value, gradient[: len(task.mask)] / task.scale)
        for value, gradient, task in zip(
            values, by_column.reshape(-1, n_columns), tasks, strict=True
        )
    ]


def _sweep(
    C: Sequence[Any], is_gram: bool, b: Sequence[Any], S: Any, order: int
) -> tuple[list[Any], list[Any]]:
    """Vectors of each fold but the last, and their sums over the folds up to it.

    ``r_0 = b_f``, ``r_(j+1) = C_f S sum of r_j over the folds before f``.
    """
    xp, (n_sets, _, n_masks, _, n_columns) = namespace(S), S.shape
    shape = n_sets, order, n_masks, b[0].shape[3], n_columns
    total = xp.zeros(shape, dtype=S.dtype, device=S.device)
    vectors, sums = [], []
    for fold, (own, first) in enumerate(zip(C[:-1], b[:-1], strict=True)):
        found = xp.zeros_like(total)
        found[:, :1, ...] = first
        if fold and order > 1:
            flat = xp.reshape(S * total[:, :-1, ...], (n_sets, -1, n_columns))
            product = flat @ own if is_gram else (flat @ own.mT) @ own
            found[:, 1:, ...] = xp.reshape(product, (n_sets, order - 1, *shape[2:]))
        total = total + found
        vectors.append(found)
        sums.append(total)
    return vectors, sums


def _in_order(tasks: Sequence[Gradient]) -> tuple[list[Any], list[Any]]:
    """Matrices and b_f of one fold after the other, for all tasks, which may ask for other orders.

    Of shape (sets, rows or columns, columns) and (sets, 1, 1, outputs, columns), with zeros where
    folds or columns are fewer.
    """
    like, sets = tasks[0].folds.matrix, [task.folds for task in tasks]
    xp, shape = namespace(like), [max(one.matrix.shape[i] for one in sets) for i in range(3)]
    b = np.zeros((shape[0], len(sets), 1, 1, len(sets[0].variance), shape[2]))
    for i, (one, task) in enumerate(zip(sets, tasks, strict=True)):
        crosses = one.crosses[list(task.sequence)].transpose(0, 2, 1)
        b[: len(crosses), i, 0, 0, :, : one.n_columns] = crosses
    if len(sets) == 1:
        C = [like[fold, ...][None] for fold in tasks[0].sequence]
    else:
        C = xp.zeros((shape[0], len(sets), *shape[1:]), dtype=like.dtype, device=like.device)
        for i, (one, task) in enumerate(zip(sets, tasks, strict=True)):
            order = placed_like(like, np.array(task.sequence))
            n_folds, n_rows, n_columns = one.matrix.shape
            C[:n_folds, i, :n_rows, :n_columns] = xp.take(one.matrix, order, axis=0)
    return list(C), list(typed_like(like, b))
