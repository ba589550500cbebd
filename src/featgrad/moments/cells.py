"""Moments of cells of rows, and of divisions: some folds, standardised by their own rows.

A cell holds the rows of a fold or, of two classes, those of one class in a fold. Cells know their
sums as well as their products, so that any choice of folds can be centred, scaled and, of two
classes, weighted as if there were no other rows:

    C = sum of shares_c (C_c - m s_c^T - s_c m^T + w_c m m^T),   m = sum of shares_c s_c
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import namespace
from featgrad.moments.folds import Folds, submatrices, typed_like


class CellShape(NamedTuple):
    """How many folds, cells of a fold (two for two classes) and outputs there are."""

    n_folds: int
    n_strata: int
    n_outputs: int

    @property
    def n_cells(self) -> int:
        return self.n_folds * self.n_strata


class Division(NamedTuple):
    """Some folds whose rows are used as if there were no others."""

    folds: tuple[int, ...]
    n_strata: int
    # What the weight of a row counts, by its cell: the weights of these rows sum to one, those of
    # other rows are 0, and two classes count alike.
    shares: Floats
    # Of the outputs, over these rows.
    means: Floats
    deviations: Floats  # 1 for an output that does not vary


def shares_of_classes(weights: Floats) -> Floats:
    """What the weight of a row counts, so that classes count alike and sum to one.

    A class without rows counts as it comes.
    """
    present = weights > 0
    return np.asarray(1 / np.where(present, present.sum() * weights, weights.sum()))


class OutputMoments(NamedTuple):
    """Sums over the rows of each cell, which comes first in each."""

    weights: Floats
    squared_weights: Floats
    sums: Floats  # of outputs
    squares: Floats
    n_strata: int  # cells of a fold: one for each of two classes, else one

    def division(self, folds: Sequence[int]) -> Division:
        by_fold = self.weights.reshape(-1, self.n_strata)
        by_class = np.zeros_like(by_fold)
        by_class[list(folds)] = shares_of_classes(by_fold[list(folds)].sum(axis=0))
        shares = by_class.ravel()
        means = shares @ self.sums
        variance = shares @ self.squares - means**2
        varies = variance > 1e-12 * (shares @ self.squares)
        deviations = np.sqrt(np.where(varies, variance, 1.0))
        return Division(tuple(folds), self.n_strata, shares, means, deviations)


class Scale(NamedTuple):
    """What is taken off columns, and what columns and outputs are then divided by."""

    means: Floats
    columns: Floats
    outputs: Floats


class Cells(NamedTuple):
    """Moments of all cells over the same columns."""

    outputs: OutputMoments
    crosses: Floats  # sums of w x (1, y), shape (cells, columns, 1 + outputs)
    # Sums of w x x^T or, where rows are few for so many columns, these times the root of their
    # weight, and zeros where a cell has fewer rows than others.
    matrix: Any
    # Roots of the weights of such rows, shape (cells, rows); None for sums of products.
    roots: Any = None

    def columns(self, indices: Indices) -> "Cells":
        if np.array_equal(indices, np.arange(self.crosses.shape[1])):
            return self
        matrix = submatrices(self.matrix, indices, self.roots is None)
        return self._replace(crosses=self.crosses[:, indices], matrix=matrix)

    def n_effective(self, division: Division) -> float:
        """Rows of equal weight that would say as much as those of a division."""
        # Without the rounding of sums, so that rows of equal weight count as whole numbers.
        return round(float(1 / (division.shares**2 @ self.outputs.squared_weights)), 6)

    def divided(self, division: Division, variances: Floats, varies: Flags) -> tuple[Folds, Scale]:
        """The folds of a division, with columns of these variances and outputs of variance 1.

        Columns that do not vary in the division become 0.
        """
        folds, means = self.centred(division)
        squares = folds.column_squares() / variances
        columns = np.sqrt(np.where(squares > 0, squares, 1.0))
        scale = Scale(means, np.where(varies, columns, np.inf), division.deviations)
        return folds.divided(scale.columns, scale.outputs), scale

    def centred(self, division: Division) -> tuple[Folds, Floats]:
        """The folds of a division, with columns and outputs of mean 0, and the columns' means."""
        own, centre = list(division.folds), division.means
        cells = np.arange(len(division.shares)).reshape(-1, division.n_strata)[own]

        def of_folds(sums: Floats) -> Floats:
            return np.asarray(np.einsum("fs,fs...->f...", division.shares[cells], sums[cells]))

        weights, outputs = of_folds(self.outputs.weights), of_folds(self.outputs.sums)
        squares, crosses = of_folds(self.outputs.squares), of_folds(self.crosses)
        sums = crosses[:, :, 0]
        means, gaps = sums.sum(axis=0), outputs - weights[:, None] * centre
        crosses = crosses[:, :, 1:] - sums[:, :, None] * centre - means[:, None] * gaps[:, None]
        variance = (squares - centre * (outputs + gaps)).sum(axis=0)
        shift = sums - weights[:, None] / 2 * means
        matrix, is_gram = self._matrices(division, cells, means, shift), self.roots is None
        n_effective = self.n_effective(division)
        return Folds(weights, n_effective, crosses, variance, matrix, is_gram), means

    def _matrices(self, division: Division, cells: Indices, means: Floats, shift: Floats) -> Any:
        """Centred products of the rows of each fold, or the rows themselves."""
        matrix, xp, mean = self.matrix, namespace(self.matrix), typed_like(self.matrix, means)
        if self.roots is not None:
            # Rows of the cells of a fold follow each other, without those that are only padding.
            shares = np.sqrt(division.shares[cells]).astype(np.float32)[:, :, None]
            used = self.roots[cells] > 0
            rows = matrix[cells][used] - self.roots[cells][used][:, None] * mean
            rows *= np.broadcast_to(shares, used.shape)[used][:, None]
            counts = used.sum(axis=(1, 2))
            found = np.zeros((len(cells), counts.max(), len(means)), np.float32)
            found[np.arange(counts.max()) < counts[:, None]] = rows
            return found
        shape, shift = (len(cells), *matrix.shape[1:]), typed_like(matrix, shift)
        found = xp.zeros(shape, dtype=matrix.dtype, device=matrix.device)
        for fold, own in enumerate(cells):
            # A rank-two correction: what the means take from rows and from columns.
            taken = mean[:, None] * shift[fold, ...]
            found[fold, ...] -= taken + taken.T
            for cell in own[division.shares[own] > 0]:
                found[fold, ...] += float(division.shares[cell]) * matrix[int(cell), ...]
        return found
