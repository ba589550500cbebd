"""Folds engine: moments over folds of rows instead of rows, for a few columns.

Split the rows into folds and let T be strictly triangular over folds: only tuples of rows from
distinct folds enter, so the moments are as unbiased as those over rows,

    m_i = sum over f_0 < .. < f_(i+1) of b_(f_0)^T S C_(f_1) S .. S b_(f_(i+1)),

with ``b_f = sum w x y`` and ``C_f = sum w x x^T`` over the rows of fold f. Once these are known the
rows are not needed any more: value and gradient cost the same for any number of rows, and so do
elimination, cross-validation and resampling, which drop folds. Folds with few rows are kept as
rows, whose products cost less than those of their C_f.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, hankel, lapack

from featgrad._support.array_api import namespace, placed_like, to_numpy
from featgrad._support.types import Floats, Indices, Singles
from featgrad.math.formulas import tuple_weights

# Entries of b_f, for all masks, whose gradients are taken at once.
_AT_ONCE = 1 << 16


class Fold(NamedTuple):
    """What is known of the rows of one fold."""

    weight: float
    squared_weights: float  # sum of w^2
    # b_f, shape (columns, outputs), and sum w y^2 per output.
    cross: Floats
    squares: Floats
    # C_f or, where rows are few for so many columns, these times the root of their weight.
    matrix: Singles
    is_gram: bool

    def product(self, vectors: Singles, out: Singles) -> None:
        """``V C_f``, for vectors that are rows."""
        A = self.matrix
        np.matmul(vectors if self.is_gram else vectors @ A.T, A, out=out)

    def covariance(self) -> Singles:
        """C_f."""
        return self.matrix if self.is_gram else self.matrix.T @ self.matrix

    def columns(self, indices: Indices) -> "Fold":
        rows = self.matrix.take(indices, axis=0) if self.is_gram else self.matrix
        return self._replace(cross=self.cross[indices], matrix=rows.take(indices, axis=1))

    def column_squares(self) -> Floats:
        """Diagonal of C_f."""
        if self.is_gram:
            return np.diagonal(self.matrix).astype(np.float64)
        return np.asarray(np.sum(self.matrix**2, axis=0, dtype=np.float64))

    def divided(self, columns: Floats, outputs: Floats) -> "Fold":
        """With columns and outputs divided by these."""
        single = columns.astype(np.float32)
        matrix = self.matrix / single
        return self._replace(
            cross=self.cross / columns[:, None] / outputs,
            squares=self.squares / outputs**2,
            matrix=matrix / single[:, None] if self.is_gram else matrix,
        )


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
        return not self.is_gram and len(self.matrix) < len(self.cross)

    @property
    def rows(self) -> Any:
        """Few rows of the columns."""
        return self.matrix if self.places is None else self.matrix.take(self.places, axis=1)

    @property
    def covariance(self) -> Any:
        """Covariance of the columns."""
        if not self.is_gram:
            rows = self.rows
            return rows.T @ rows
        if self.places is None:
            return self.matrix
        xp, index = namespace(self.matrix), placed_like(self.matrix, self.places)
        return xp.take(xp.take(self.matrix, index, axis=0), index, axis=1)

    @property
    def variances(self) -> Floats:
        """Of the columns."""
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


class Gradient(NamedTuple):
    """The explained fraction of the target's variance, and its gradient in the mask, are wanted.

    Outputs count by their variance.
    """

    folds: "Folds"
    mask: Floats
    coefficients: Floats
    scale: float
    sequence: Sequence[int]  # the order of the folds

    @property
    def alpha(self) -> Floats:
        """What the moments of each order count, of the target's variance."""
        weights = self.folds.tuple_weights[: len(self.coefficients)]
        return np.asarray(self.coefficients / weights / float(np.sum(self.folds.variance)))


@dataclass(frozen=True)
class Folds:
    """Disjoint folds of rows over the same columns."""

    folds: Sequence[Fold]

    @property
    def n_columns(self) -> int:
        return len(self.folds[0].cross)

    @cached_property
    def weights(self) -> Floats:
        """Weights of the folds, which sum to one."""
        weights = np.array([fold.weight for fold in self.folds])
        return np.asarray(weights / weights.sum())

    @property
    def n_effective(self) -> float:
        """Rows of equal weight that would say as much: ``(sum w)^2 / sum w^2``."""
        squared = sum(fold.squared_weights for fold in self.folds)
        # Without the rounding of sums, so that rows of equal weight count as whole numbers.
        return round(self._total**2 / squared, 6)

    @cached_property
    def variance(self) -> Floats:
        """Variance of each output."""
        return np.asarray(sum(fold.squares for fold in self.folds) / self._total)

    def cross(self) -> Floats:
        """Covariance of columns and outputs."""
        return np.asarray(sum(fold.cross for fold in self.folds) / self._total)

    def covariance(self) -> Floats:
        """Covariance of the columns."""
        return self._covariance

    def gradients(self, tasks: Sequence[Gradient]) -> list[tuple[float, Floats]]:
        """Values and gradients of tasks about these folds and others of their kind.

        Masks that ask about the same folds in the same order share products.
        """
        alike: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for i, task in enumerate(tasks):
            alike.setdefault((id(task.folds), tuple(task.sequence)), []).append(i)
        found: dict[int, tuple[float, Floats]] = {}
        for places in alike.values():
            folds = tasks[places[0]].folds
            count = max(1, _AT_ONCE // max(1, folds.first.size))
            for start in range(0, len(places), count):
                together = places[start : start + count]
                found |= zip(together, folds._together([tasks[i] for i in together]), strict=True)
        return [found[i] for i in range(len(tasks))]

    @cached_property
    def _covariance(self) -> Floats:
        if not any(fold.is_gram for fold in self.folds):
            rows = self._rows()
            return np.asarray(rows.T @ rows)
        total = np.zeros((self.n_columns, self.n_columns))
        for fold in self.folds:
            total += fold.covariance()
        return total / self._total

    def _rows(self) -> Singles:
        """Those of all folds, which are kept as rows, of weights that sum to one."""
        rows = np.concatenate([fold.matrix for fold in self.folds])
        rows *= np.sqrt(self.share)
        return rows

    def totals(self) -> Totals:
        """Moments over all folds."""
        moments = self.cross(), float(np.sum(self.variance)), self.n_effective
        if not any(fold.is_gram for fold in self.folds):
            rows = self._rows()
            if 2 * len(rows) <= self.n_columns:
                return Totals(rows, *moments, is_gram=False)
        return Totals(self.covariance(), *moments)

    def without_each(self, inverse: Singles, ridge: float) -> Floats:
        """Ridge coefficients without the rows of each fold, shape (folds, columns, outputs).

        ``(C + ridge I - C_f)^-1 (b - b_f)``, from ``inverse = (C + ridge I)^-1`` of all folds: a
        correction of low rank where a fold has few rows.
        """
        crosses = np.array([fold.cross for fold in self.folds]) / self._total
        rest = crosses.sum(0) - crosses
        if any(fold.is_gram or len(fold.matrix) > len(inverse) for fold in self.folds):
            grams = np.array([fold.covariance() for fold in self.folds]) / self._total
            others = grams.sum(0, dtype=np.float64) - grams + ridge * np.eye(len(inverse))
            return np.asarray(np.linalg.solve(others, rest))
        return self._without_rows(rest, inverse)

    def _without_rows(self, rest: Floats, inverse: Singles) -> Floats:
        """The same by Woodbury's formula, with ``inverse = R^T R``."""
        root, _ = lapack.spotrf(inverse)
        rows = self._rows()
        along = blas.strmm(1.0, root, rows.T, overwrite_b=True).T  # X R^T
        targets, found, start = root @ rest.astype(np.float32), np.empty(rest.shape), 0
        for i, fold in enumerate(self.folds):
            own = along[start : start + len(fold.matrix)]
            start += len(own)
            inner = np.eye(len(own), dtype=np.float32) - own @ own.T
            _, moved, _ = lapack.sposv(inner, own @ targets[i])
            found[i] = root.T @ (targets[i] + own.T @ moved)
        return found

    def columns(self, indices: Indices) -> "Folds":
        return Folds([fold.columns(indices) for fold in self.folds])

    def column_squares(self) -> Floats:
        """Sum of w x^2 of each column."""
        return np.asarray(sum(fold.column_squares() for fold in self.folds))

    def divided(self, columns: Floats, outputs: Floats) -> "Folds":
        """With columns and outputs divided by these."""
        return Folds([fold.divided(columns, outputs) for fold in self.folds])

    def _together(self, tasks: Sequence[Gradient]) -> list[tuple[float, Floats]]:
        """Of several masks, which have the filter and the order of folds in common."""
        alpha, sequence = tasks[0].alpha, tasks[0].sequence
        order = len(alpha)
        # Arrays have the shape (folds, order, masks, outputs, columns).
        scales = np.array([task.scale for task in tasks])
        masks = np.array([task.mask for task in tasks])
        strength = (masks / scales[:, None]).astype(np.float32)[:, None]
        vectors, before = self._sweep(strength, order, sequence)
        _, after = self._sweep(strength, order, sequence[::-1])
        first = strength * self.first[list(sequence)][:, None]
        moments = np.einsum("fmcd,fomcd->mo", first, before, dtype=np.float64)
        # Pairs of a fold and the ones behind it: left vectors times the sums of right ones.
        flat = after[::-1].reshape(len(sequence), order, -1)
        mixed = np.matmul(hankel(alpha).astype(np.float32), flat).reshape(vectors.shape)
        mixed *= vectors
        gradients = np.sum(mixed, axis=(0, 1, 3), dtype=np.float64) / scales[:, None]
        return list(zip((moments @ alpha).tolist(), gradients, strict=True))

    def _sweep(
        self, strength: Singles, order: int, sequence: Sequence[int]
    ) -> tuple[Singles, Singles]:
        """Vectors of each fold and their sums over the folds before it.

        ``r_0 = b_f``, ``r_(j+1) = C_f S Z_j``, for each mask.
        """
        n_outputs, n_columns = self.first.shape[1:]
        shape = len(sequence), order, len(strength), n_outputs, n_columns
        vectors, before = np.empty(shape, np.float32), np.zeros(shape, np.float32)
        vectors[0, 1:], strength = 0.0, strength * self.share
        for step, i in enumerate(sequence):
            vectors[step, 0] = self.first[i]
            if step:
                np.add(before[step - 1], vectors[step - 1], out=before[step])
            if step and order > 1:
                weighted = (strength * before[step, :-1]).reshape(-1, n_columns)
                product = vectors[step, 1:].reshape(-1, n_columns)
                self.folds[i].product(weighted, product)
        return vectors, before

    @cached_property
    def tuple_weights(self) -> Floats:
        """What moments of each order are divided by, as far as there are folds for it."""
        return tuple_weights(self.weights, len(self.folds) - 1)

    @cached_property
    def first(self) -> Singles:
        """b_f of folds whose weights sum to one, shape (folds, outputs, columns)."""
        crosses = np.array([fold.cross.T for fold in self.folds])
        return (crosses * self.share).astype(np.float32)

    @cached_property
    def share(self) -> np.float32:
        return np.float32(1 / self._total)

    @property
    def _total(self) -> float:
        return sum(fold.weight for fold in self.folds)
