"""What is added up over rows: each answer to a question about them.

Sums over some rows and over others merge into those of all of them, so that blocks of rows can be
visited one after the other, or by many workers at the same time.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from scipy import sparse
from scipy.special import chdtri

from featgrad._support.array_api import namespace, placed_like, to_numpy, zeros
from featgrad._support.threads import one_blas_thread
from featgrad._support.types import Floats, Indices, Keys
from featgrad.columns.sums import ArraySums, ColumnSums, Fill, Standardiser
from featgrad.dataset.checkpoint import Arrays, Sums
from featgrad.moments.cells import Cell, Cells, CellShape, Division, OutputMoments, make_cell
from featgrad.readers.block import stack_rows

if TYPE_CHECKING:  # the compiler behind it takes longer to load than everything else
    from featgrad.moments.running import RunningSums


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

    def by_cell(self) -> Iterator[tuple[int, Indices]]:
        """Each cell that occurs, and its rows."""
        if self.of_cells is not None:
            yield from self.of_cells
            return
        for cell in np.unique(self.cells):
            if cell >= 0:
                yield int(cell), np.flatnonzero(self.cells == cell)


class RowSums(Sums, Protocol):
    """Adds up blocks of rows; can be stored in between, and merged with the sums of other rows."""

    def add(self, rows: Rows) -> None:
        """More rows."""

    def merge(self, other: Self) -> None:
        """Rows that other sums have."""


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

    def chance(self, rank: float = 1) -> float:
        """What the best of so many columns of noise reaches, or that of another rank.

        Prices of noise are sums of squares weighted by `noise`, less their mean: close to a
        multiple of chi-squared with the same mean and variance (Satterthwaite).
        """
        mean, squares = float(self.noise.sum()), float(np.sum(self.noise**2))
        if squares == 0:
            return 0.0
        freedom = mean**2 / squares
        share = min(0.5, (rank - 0.3) / len(self.values))
        quantile = chdtri(freedom, share)
        return float(mean * (quantile / freedom - 1))


class PriceSums(ArraySums):
    """Products of all columns with the residuals of models, taken where the array `like` is.

    For residuals e of a model, with ``e_n`` times the weight of row n, the price of a column is
    ``sum_c (sum_n x_n e_nc)^2 - sum_n x_n^2 sum_c e_nc^2``: no row is paired with itself. Columns
    are standardised by the rows of the model's division; with `learn` their means and variances
    there are added up as well.
    """

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
        self._union, self._affine = put(union), standardiser.affine(union, like)
        self._origin = put(standardiser.origin)

    def add(self, rows: Rows) -> None:
        xp = namespace(rows.weights)
        # Rows that are not in use have no weight: any cell will do.
        residuals = rows.outputs[:, None, :] - self._intercepts[rows.cells]
        if self._union.shape[0]:
            values = self._affine(rows.X[:, self._union])
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

    def _parts(self) -> dict[str, Any]:
        return {"_columns": self._columns, "_noise": self._noise}


class CellSums:
    """Moments of some columns over each cell."""

    def __init__(self, shape: CellShape, columns: Indices, standardiser: Standardiser) -> None:
        self._shape, self._columns = shape, columns
        self._affine = standardiser.affine(columns)
        # Products of rows and, of each cell, rows that are too few to be multiplied yet.
        self._found: dict[int, Cell] = {}
        self._waiting: dict[int, Cell] = {}

    def add(self, rows: Rows) -> None:
        values = self._affine(rows.X[:, self._columns])
        for cell, own in rows.by_cell():
            self._join(cell, make_cell(values[own], rows.outputs[own], rows.weights[own]))

    def merge(self, other: "CellSums") -> None:
        for cells in (other._found, other._waiting):
            for cell, more in cells.items():
                self._join(cell, more)

    def cells(self) -> Cells:
        nothing = np.zeros((0, len(self._columns)), np.float32)
        empty = make_cell(nothing, np.zeros((0, self._shape.n_outputs)), np.zeros(0))
        found = dict(self._found)
        for cell, rows in self._waiting.items():
            found[cell] = found[cell].joined(rows) if cell in found else rows
        cells = [found.get(cell, empty) for cell in range(self._shape.n_cells)]
        return Cells(cells, self._shape.n_strata)

    def state(self) -> Arrays:
        return {
            f"{cell} {found.roots is None} {name}": np.asarray(part)
            for cells in (self._found, self._waiting)
            for cell, found in cells.items()
            for name, part in found._asdict().items()
            if part is not None
        }

    def restore(self, state: Arrays) -> None:
        parts: dict[tuple[str, str], dict[str, Any]] = {}
        for path, array in state.items():
            cell, are_products, name = path.split()
            found = parts.setdefault((cell, are_products), {})
            found[name] = array if array.ndim else float(array)
        for (cell, are_products), found in parts.items():
            cells = self._found if are_products == "True" else self._waiting
            cells[int(cell)] = Cell(**found)

    def _join(self, cell: int, more: Cell) -> None:
        waiting = self._waiting.pop(cell, None)
        more = more if waiting is None else waiting.joined(more)
        if more.roots is not None:
            self._waiting[cell] = more
        else:
            there = self._found.get(cell)
            self._found[cell] = more if there is None else there.joined(more)


class OutputSums(ArraySums):
    """Weights of cells, and sums of outputs and of their squares."""

    def __init__(self, shape: CellShape) -> None:
        self._n_strata = shape.n_strata
        self.sums = np.zeros((shape.n_cells, 1 + 2 * shape.n_outputs))

    def add(self, rows: Rows) -> None:
        ones = np.ones((len(rows.weights), 1))
        numbers = np.concatenate([ones, rows.outputs, rows.outputs**2], axis=1)
        used = np.flatnonzero(rows.cells >= 0)
        # A sum over the rows of each cell is a product with a matrix of their weights.
        at = rows.cells[used], used
        by_cell = sparse.csr_array((rows.weights[used], at), (len(self.sums), len(ones)))
        self.sums += by_cell @ numbers

    def moments(self) -> OutputMoments:
        n_outputs = self.sums.shape[1] // 2
        sums, squares = self.sums[:, 1 : 1 + n_outputs], self.sums[:, 1 + n_outputs :]
        return OutputMoments(self.sums[:, 0], sums, squares, self._n_strata)

    def _parts(self) -> dict[str, Any]:
        return {"sums": self.sums}


class PartMeans(ArraySums):
    """Means of what is not missing in each part of the rows; rows may have missing entries."""

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

    def _parts(self) -> dict[str, Any]:
        return {"_columns": self._columns}


class CrossSums(ArraySums):
    """``sum_n w_n x_n (1, y_n)`` and ``sum_n w_n x_n^2`` of each column, in a division."""

    def __init__(
        self, n_features: int, division: Division, standardiser: Any, like: Any = None
    ) -> None:
        self.columns = ColumnSums(n_features, 1 + len(division.means), 1, like=like)
        self._standardiser = standardiser
        self._origin = placed_like(like, standardiser.origin)
        self._shares = placed_like(like, division.shares)

    def add(self, rows: Any) -> None:
        weights = (rows.weights * self._shares[rows.cells])[:, None]
        linear = namespace(weights).concat([weights, weights * rows.outputs], axis=1)
        self.columns.add(rows.X, self._origin, linear, weights)

    def _parts(self) -> dict[str, Any]:
        return {"columns": self.columns}


class BatchSums:
    """What running sums receive of a batch of rows, added up elsewhere."""

    def __init__(self, running: "RunningSums", shares: Floats) -> None:
        self.running, self._shares = copy.copy(running), shares
        self.running.begin()

    def add(self, rows: Rows) -> None:
        self.running.add(rows.X, rows.outputs, rows.weights * self._shares[rows.cells])

    def merge(self, other: "BatchSums") -> None:
        self.running.merge(other.running)

    def state(self) -> Arrays:
        return self.running.received()

    def restore(self, state: Arrays) -> None:
        vars(self.running).update(state)
