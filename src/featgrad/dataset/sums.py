"""What is added up over rows: each answer to a question about them.

Sums over some rows and over others merge into those of all of them, so that blocks of rows can be
visited one after the other, or by many workers at the same time.
"""

import copy
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from joblib import cpu_count
from scipy.special import chdtri

from featgrad._support import Floats, Indices, Keys
from featgrad._support.array_api import is_foreign, namespace, placed_like, to_numpy, zeros
from featgrad._support.threads import one_blas_thread
from featgrad.columns.sums import ArraySums, ColumnPicker, ColumnSums, Fill, Standardiser
from featgrad.moments.cells import Cells, CellShape, Division, OutputMoments
from featgrad.readers.block import stack_rows

if TYPE_CHECKING:  # the compiler behind it takes longer to load than everything else
    from featgrad.moments.running import RunningSums


# Multiplications that pay for threads.
_LONG_PRODUCTS = 1 << 30
# Rows of a cell, on average, whose products are added to those of others in one step.
_WAITING_ROWS = 256

# By the folds of a division.
Standards = dict[tuple[int, ...], Standardiser]


class Rows(NamedTuple):
    """A block of rows without missing entries: outputs, weights that sum to one over all rows.

    The cell of a row is its fold or, of two classes, its fold times two plus its class; -1 for rows
    that are not in use, which have no weight. Places are those in a random order, or random keys,
    where not all rows are in memory. Groups are keys of rows that belong together.
    """

    outputs: Floats
    weights: Floats
    cells: Indices
    X: Any
    places: Any = None
    groups: Keys | None = None
    of_cells: Any = None  # which of the rows each cell has, where that is known

    def take(self, rows: Any) -> "Rows":
        parts: Any = (None if part is None else part[rows] for part in self)
        return Rows(*parts)

    @staticmethod
    def joined(parts: "Sequence[Rows]") -> "Rows":
        columns = zip(*parts, strict=True)
        return Rows(*(None if part[0] is None else stack_rows(part) for part in columns))  # type: ignore[arg-type]

    def by_cell(self) -> Iterator[tuple[int, Any]]:
        return rows_by_cell(self.cells) if self.of_cells is None else iter(self.of_cells)


def rows_by_cell(cells: Any) -> Iterator[tuple[int, Any]]:
    """Each cell that occurs, and its rows."""
    xp = namespace(cells)
    order, found = xp.argsort(xp.astype(cells, xp.int16), stable=True), xp.unique_counts(cells)
    counts = to_numpy(found.counts)
    for cell, stop, count in zip(found.values.tolist(), np.cumsum(counts), counts, strict=True):
        if cell >= 0:
            yield cell, order[stop - count : stop]


class RowSums(Protocol):
    """Adds up blocks of rows; can be stored in between, and merged with the sums of other rows."""

    def add(self, rows: Rows) -> None:
        """More rows."""

    def merge(self, other: Self) -> None:
        """Rows that other sums have."""

    def added(self) -> Self:
        """A copy with nothing but what was added up."""


class Model(NamedTuple):
    """Linear models of the same columns, one for each fold, fitted to other folds of a division."""

    division: Division
    columns: Indices
    # For columns and outputs as rows have them, by cell: (cells, columns, outputs) and (cells,
    # outputs).
    coefficients: Floats
    intercepts: Floats


def without_columns(division: Division) -> Model:
    """The model that predicts the mean."""
    n_cells, n_outputs = len(division.shares), len(division.means)
    intercepts = np.tile(division.means, (n_cells, 1))
    return Model(division, np.zeros(0, np.intp), np.zeros((n_cells, 0, n_outputs)), intercepts)


class Prices(NamedTuple):
    """What columns would add to a model, at first order, in explained fraction of the target."""

    values: Floats  # squared covariance with the model's residuals, over pairs of distinct rows
    noise: Floats  # eigenvalues of the covariance of a column of noise with the residuals

    def chance(self, rank: float = 1, count: Any = None) -> Any:
        """What the best of so many columns of noise reaches, or that of another rank.

        The count is that of the values unless others were priced as well; may be several.

        Prices of noise are sums of squares weighted by `noise`, less their mean: close to a
        multiple of chi-squared with the same mean and variance (Satterthwaite).
        """
        mean, squares = float(self.noise.sum()), float(np.sum(self.noise**2))
        if squares == 0:
            return 0.0
        freedom = mean**2 / squares
        share = np.minimum(0.5, (rank - 0.3) / (len(self.values) if count is None else count))
        quantile = chdtri(freedom, share)
        return mean * (quantile / freedom - 1)


class PriceSums(ArraySums):
    """Products of all columns with the residuals of models, taken where the array `like` is.

    For residuals e of a model, with ``e_n`` times the weight of row n, the price of a column is
    ``sum_c (sum_n x_n e_nc)^2 - sum_n x_n^2 sum_c e_nc^2``: no row is paired with itself. Columns
    are standardised by the rows of the model's division; with `learn` their means and variances
    there are added up as well.
    """

    _added = "_columns", "_noise"

    def __init__(
        self,
        n_features: int,
        models: Sequence[Model],
        standardiser: Standardiser,
        learn: bool,
        like: Any = None,
    ) -> None:
        self._models, self._standardiser = models, standardiser
        divisions, put = [model.division for model in models], partial(placed_like, like)
        n_models, n_outputs = len(models), len(divisions[0].means)
        # What rows count where columns are learned: among all rows, and in each division.
        self._learned = {division.folds: division for division in divisions} if learn else {}
        learned = [one.shares for one in self._learned.values()]
        learned = [np.ones_like(divisions[0].shares), *learned] if learn else []
        self._n_learned = len(learned)
        self._shares = put(np.array([*learned, *(one.shares for one in divisions)]).T)
        n_linear = self._n_learned + n_models * (n_outputs + 1)
        self._columns = ColumnSums(n_features, n_linear, len(self._shares[0]), like=like)
        self._noise = zeros((n_models, n_outputs, n_outputs), like)
        self._deviations = put(np.array([division.deviations for division in divisions]))
        self._intercepts = put(np.stack([model.intercepts for model in models], axis=1))
        # Coefficients of all models over the columns that any of them has.
        union = np.unique(np.concatenate([model.columns for model in models]))
        shape = len(self._shares), len(union), n_models * n_outputs
        together = np.zeros(shape, np.float32).reshape(*shape[:2], n_models, n_outputs)
        for i, model in enumerate(models):
            together[:, np.searchsorted(union, model.columns), i] = model.coefficients
        self._together = put(together.reshape(shape))
        self._n_columns, self._affine = len(union), standardiser.affine(union, like)
        self._pick = ColumnPicker(put(union))
        self._origin = put(standardiser.origin)

    def add(self, rows: Rows) -> None:
        xp = namespace(rows.weights)
        # Rows that are not in use have no weight: any cell will do.
        residuals = rows.outputs[:, None, :] - self._intercepts[rows.cells]
        if self._n_columns:
            values = self._affine(self._pick(rows.X))
            # BLAS can set the flag of an invalid value though all of them are finite (NumPy's issue
            # 24067).
            with np.errstate(invalid="ignore"):
                for cell, own in rows.by_cell():
                    explained = values[own] @ self._together[cell]
                    residuals[own] -= explained.reshape(-1, *residuals.shape[1:])
        weights = self._shares[rows.cells] * rows.weights[:, None]
        learned, own_weights = weights[:, : self._n_learned], weights[:, self._n_learned :]
        residuals /= self._deviations
        residuals *= own_weights[:, :, None]
        squares = xp.sum(residuals**2, axis=2)
        by_model = xp.permute_dims(residuals, (1, 0, 2))
        self._noise += xp.permute_dims(by_model, (0, 2, 1)) @ by_model
        linear = xp.concat([residuals, squares[:, :, None]], axis=2)
        linear = xp.concat([learned, linear.reshape(len(squares), -1)], axis=1)
        self._columns.add(rows.X, self._origin, linear, xp.concat([learned, squares], axis=1))

    def standards(self) -> Standards:
        """How columns are standardised in each division; also learns it of all rows."""
        self._columns.fetch()
        sums, standards = self._columns, {}
        self._standardiser.learn(sums.linear[:, 0], sums.squared[:, 0])
        for i, folds in enumerate(self._learned, start=1):
            standards[folds] = copy.copy(self._standardiser)
            standards[folds].learn(sums.linear[:, i], sums.squared[:, i])
        return standards

    def prices(self, standards: Standards) -> list[Prices]:
        self._columns.fetch()
        sums, first, noises = self._columns, self._n_learned, to_numpy(self._noise)
        n_outputs, prices = noises.shape[1], []
        for i, model in enumerate(self._models):
            standard = standards[model.division.folds]
            start = first + i * (n_outputs + 1)
            span = slice(start, start + n_outputs + 1)
            linear, of_rows = sums.linear[:, span], sums.of_linear[span]
            along = standard.centred(linear[:, :-1], of_rows[:-1])
            own = standard.centred_squares(
                sums.squared[:, [first + i]], linear[:, -1:], of_rows[-1:]
            )
            values = np.sum(along**2, axis=1) - own[:, 0]
            noise = np.linalg.eigvalsh(noises[i])
            prices.append(Prices(values / n_outputs, noise / n_outputs))
        return prices


class OutputSums(ArraySums):
    """Weights of cells and their squares, and sums of outputs and of their squares."""

    _added = ("sums",)

    def __init__(self, shape: CellShape, like: Any = None) -> None:
        self._n_strata = shape.n_strata
        self.sums = zeros((shape.n_cells, 2 + 2 * shape.n_outputs), like)

    def add(self, rows: Rows) -> None:
        xp, weights = namespace(rows.weights), rows.weights[:, None]
        parts = [weights, weights**2, weights * rows.outputs, weights * rows.outputs**2]
        numbers = xp.concat(parts, axis=1)
        for cell, own in rows.by_cell():
            self.sums[cell, :] += xp.sum(numbers[own], axis=0)

    def moments(self) -> OutputMoments:
        sums = to_numpy(self.sums)
        outputs, squares = np.split(sums[:, 2:], 2, axis=1)
        return OutputMoments(sums[:, 0], sums[:, 1], outputs, squares, self._n_strata)


class CellSums(ArraySums):
    """Moments of some columns over each cell, taken where the array `like` is."""

    _added = "outputs", "crosses", "waiting", "roots", "cells_of_rows", "grams"

    def __init__(
        self, shape: CellShape, columns: Indices, standardiser: Standardiser, like: Any = None
    ) -> None:
        self._shape, self._pick = shape, ColumnPicker(placed_like(like, columns))
        self._affine = standardiser.affine(columns, like)
        self.outputs, size = OutputSums(shape, like), (shape.n_cells, len(columns))
        self.crosses = zeros((*size, 1 + shape.n_outputs), like)
        # Rows times the roots of their weights, on the host, until they are enough to be
        # multiplied; products of all others, or none.
        self.waiting = np.zeros((0, len(columns)), np.float32)
        self.roots, self.cells_of_rows = np.zeros(0, np.float32), np.zeros(0, np.intp)
        self.grams: Any = np.zeros((0, *self.waiting.shape), np.float32)

    def add(self, rows: Rows) -> None:
        rows = rows._replace(of_cells=list(rows.by_cell()))
        self.outputs.add(rows)
        xp, root = namespace(rows.weights), rows.weights[:, None] ** 0.5
        values = self._affine(self._pick(rows.X))
        values *= xp.astype(root, xp.float32)
        numbers = xp.astype(xp.concat([root, rows.outputs * root], axis=1), xp.float32)
        for cell, own in rows.by_cell():
            self.crosses[cell, ...] += values[own].T @ numbers[own]
        if is_foreign(values) or self._are_enough(values):
            self._multiply(values, rows.by_cell())
        else:
            self._wait(values, numbers[:, 0], rows.cells)

    def merge(self, other: Self) -> None:
        self.outputs.merge(other.outputs)
        self.crosses += other.crosses
        if len(other.grams):
            self.grams = self.grams + other.grams if len(self.grams) else other.grams.copy()
        self._wait(other.waiting, other.roots, other.cells_of_rows)

    def cells(self) -> Cells:
        moments, crosses = self.outputs.moments(), to_numpy(self.crosses)
        counts = np.bincount(self.cells_of_rows, minlength=self._shape.n_cells)
        n_rows, n_columns = counts.max(), crosses.shape[1]
        # Rows take less memory and time than their products.
        if len(self.grams) == 0 and 2 * n_rows * self._shape.n_strata <= n_columns:
            rows = np.zeros((len(counts), n_rows, n_columns), np.float32)
            roots = np.zeros(rows.shape[:2], np.float32)
            for cell, own in rows_by_cell(self.cells_of_rows):
                rows[cell, : len(own)], roots[cell, : len(own)] = self.waiting[own], self.roots[own]
            return Cells(moments, crosses, rows, roots)
        self._multiply_waiting()
        return Cells(moments, crosses, self.grams)

    def _wait(self, rows: Any, roots: Any, cells: Indices) -> None:
        used = np.flatnonzero(cells >= 0)
        self.waiting = np.concatenate([self.waiting, rows[used]])
        self.roots = np.concatenate([self.roots, roots[used]])
        self.cells_of_rows = np.concatenate([self.cells_of_rows, cells[used]])
        if self._are_enough(self.waiting):
            self._multiply_waiting()

    def _are_enough(self, rows: Any) -> bool:
        """Whether their products take less memory than rows, or are to be added to others."""
        per_cell = _WAITING_ROWS if len(self.grams) else rows.shape[1] // 2
        return bool(len(rows) > self._shape.n_cells * per_cell)

    def _multiply_waiting(self) -> None:
        self._multiply(self.waiting, rows_by_cell(self.cells_of_rows))
        self.waiting, self.roots = self.waiting[:0], self.roots[:0]
        self.cells_of_rows = self.cells_of_rows[:0]

    def _multiply(self, rows: Any, by_cell: Iterator[tuple[int, Any]]) -> None:
        if len(self.grams) == 0:
            shape, xp = (*self.crosses.shape[:2], rows.shape[1]), namespace(rows)
            self.grams = xp.zeros(shape, dtype=xp.float32, device=rows.device)

        def add(cell_and_rows: tuple[int, Any]) -> None:
            cell, own = cell_and_rows
            self.grams[cell, ...] += rows[own].T @ rows[own]

        # Cells are large and independent of each other; while a search runs, BLAS has one thread.
        are_long = not is_foreign(rows) and rows.size * rows.shape[1] > _LONG_PRODUCTS
        if are_long:
            with ThreadPoolExecutor(cpu_count()) as threads:
                list(threads.map(add, by_cell))
        else:
            for cell_and_rows in by_cell:
                add(cell_and_rows)


class PartMeans(ArraySums):
    """Means of what is not missing in each part of the rows; rows may have missing entries."""

    _added = ("_columns",)

    def __init__(self, n_features: int, part_of_cell: Indices, like: Any = None) -> None:
        self._part_of_cell = placed_like(like, part_of_cell)
        self._columns = ColumnSums(n_features, int(part_of_cell.max()) + 1, like=like, missing=True)

    def add(self, rows: Rows) -> None:
        xp = namespace(rows.cells)
        parts = xp.where(rows.cells >= 0, self._part_of_cell[rows.cells], -1)[:, None]
        every = xp.arange(len(self._columns.of_linear), device=parts.device)
        by_part = xp.where(parts == every, rows.weights[:, None], 0.0)
        with one_blas_thread():
            self._columns.add(rows.X, 0.0, by_part)

    def fill(self) -> Fill | None:
        """What missing entries count as; None where nothing is missing."""
        if not self._columns.n_missing[0]:
            return None
        return Fill(self._columns.means(), self._part_of_cell)


class CrossSums(ArraySums):
    """``sum_n w_n x_n (1, y_n)`` and ``sum_n w_n x_n^2`` of each column, in a division."""

    _added: tuple[str, ...] = ("columns",)

    def __init__(self, division: Division, standardiser: Standardiser, like: Any = None) -> None:
        n_features, n_linear = len(standardiser.origin), 1 + len(division.means)
        self.columns = ColumnSums(n_features, n_linear, 1, like=like)
        self._standardiser = standardiser
        self._origin = placed_like(like, standardiser.origin)
        self._shares = placed_like(like, division.shares)

    def add(self, rows: Any) -> None:
        weights = (rows.weights * self._shares[rows.cells])[:, None]
        linear = namespace(weights).concat([weights, weights * rows.outputs], axis=1)
        self.columns.add(rows.X, self._origin, linear, weights)


class BatchSums(ArraySums):
    """What running sums receive of a batch of rows, added up elsewhere."""

    _added = ("running",)

    def __init__(self, running: "RunningSums", shares: Floats) -> None:
        self.running, self._shares = copy.copy(running), shares
        self.running.begin()

    def add(self, rows: Rows) -> None:
        self.running.add(rows.X, rows.outputs, rows.weights * self._shares[rows.cells])
