"""Moments of cells of rows, and of divisions: some folds, standardised by their own rows.

A cell holds the rows of a fold or, of two classes, those of one class in a fold. Cells know their
sums as well as their products, so that any choice of folds can be centred, scaled and, of two
classes, weighted as if there were no other rows:

    C = sum of shares_c (C_c - m s_c^T - s_c m^T + w_c m m^T),   m = sum of shares_c s_c
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from featgrad._support.types import Flags, Floats, Indices, Singles
from featgrad.moments.folds import Fold, Folds


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
    """Weight, sums of outputs and of their squares in each cell, which comes first in each."""

    weights: Floats
    sums: Floats
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


class Cell(NamedTuple):
    """What is known of the rows of one cell."""

    weight: float
    squared_weights: float  # sum of w^2
    sums: Floats  # sum of w x
    output_sums: Floats  # sum of w y
    cross: Floats  # sum of w x y, shape (columns, outputs)
    squares: Floats  # sum of w y^2 per output
    # Sum of w x x^T or, where rows are few for so many columns, these times the root of their
    # weight.
    matrix: Singles
    # Roots of the weights of such rows; None for sums of products.
    roots: Singles | None = None

    def columns(self, indices: Indices) -> "Cell":
        rows = self.matrix.take(indices, axis=0) if self.roots is None else self.matrix
        matrix = rows.take(indices, axis=1)
        return self._replace(sums=self.sums[indices], cross=self.cross[indices], matrix=matrix)

    def joined(self, other: "Cell") -> "Cell":
        """The cell of the rows of both."""
        one, more = self._asdict(), other._asdict()
        added = {name: one[name] + more[name] for name in self._fields[:-2]}
        if self.roots is not None and other.roots is not None:
            rows = np.concatenate([self.matrix, other.matrix])
            if _are_few(rows):
                return Cell(**added, matrix=rows, roots=np.concatenate([self.roots, other.roots]))
            return Cell(**added, matrix=rows.T @ rows)
        return Cell(**added, matrix=self.products() + other.products())

    def products(self) -> Singles:
        """Sum of w x x^T."""
        return self.matrix if self.roots is None else self.matrix.T @ self.matrix


def make_cell(values: Singles, outputs: Floats, weights: Floats) -> Cell:
    """Cell of rows, their outputs and weights."""
    roots = np.sqrt(weights).astype(np.float32)
    rows = values * roots[:, None]
    cross = rows.T @ (outputs * np.sqrt(weights)[:, None]).astype(np.float32)
    is_gram = not _are_few(rows)
    return Cell(
        float(weights.sum()),
        float(np.sum(weights**2)),
        (rows.T @ roots).astype(np.float64),
        weights @ outputs,
        cross.astype(np.float64),
        weights @ outputs**2,
        rows.T @ rows if is_gram else rows,
        None if is_gram else roots,
    )


def _are_few(rows: Singles) -> bool:
    """Whether rows take less memory and time than their products."""
    return bool(2 * rows.shape[0] <= rows.shape[1])


@dataclass(frozen=True)
class Cells:
    """Moments of all cells over the same columns."""

    cells: Sequence[Cell]
    n_strata: int

    def columns(self, indices: Indices) -> "Cells":
        return Cells([cell.columns(indices) for cell in self.cells], self.n_strata)

    def n_effective(self, division: Division) -> float:
        """Rows of equal weight that would say as much as those of a division."""
        squared = [cell.squared_weights for cell in self.cells]
        return float(1 / (division.shares**2 @ np.array(squared)))

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
        shares, centre = division.shares, division.means
        means = np.asarray(sum(s * cell.sums for s, cell in zip(shares, self.cells, strict=True)))
        folds = []
        for fold in division.folds:
            first = fold * self.n_strata
            own = [i for i in range(first, first + self.n_strata) if shares[i] > 0]
            weight, sums, outputs, cross, squares = (
                sum(shares[i] * getattr(self.cells[i], name) for i in own)
                for name in ("weight", "sums", "output_sums", "cross", "squares")
            )
            cross = cross - np.multiply.outer(means, outputs - weight * centre)
            folds.append(
                Fold(
                    float(weight),
                    float(sum(shares[i] ** 2 * self.cells[i].squared_weights for i in own)),
                    cross - np.multiply.outer(sums, centre),
                    squares - 2 * centre * outputs + weight * centre**2,
                    *self._matrix(own, shares, means, sums - weight / 2 * means),
                )
            )
        return Folds(folds), means

    def _matrix(
        self, own: Sequence[int], shares: Floats, means: Floats, shift: Floats
    ) -> tuple[Singles, bool]:
        """Centred products of the rows of a fold, or its rows; whether it is the former."""
        cells, mean = [self.cells[i] for i in own], means.astype(np.float32)
        roots = np.sqrt(shares[list(own)]).astype(np.float32)
        rows = [
            root * (cell.matrix - np.multiply.outer(cell.roots, mean))
            for root, cell in zip(roots, cells, strict=True)
            if cell.roots is not None
        ]
        if len(rows) == len(cells):
            return np.concatenate(rows), False
        total = np.multiply.outer(-mean, shift.astype(np.float32))
        total += total.T.copy()
        for root, cell in zip(roots, cells, strict=True):
            total += root**2 * cell.products()
        return total, True
