"""The home of rows on an accelerator: a search's questions about them are answered there.

Prices of all columns and the moments of working sets are taken on the device, which keeps the
latter. What comes back to the host are numbers per column, matrices of the chosen columns, and
predictions of a sample of rows that does not grow with their number.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch

from featgrad._support.array_api import namespace, placed_like
from featgrad._support.types import Floats, Indices
from featgrad.columns.sums import ArraySums, ColumnSums, Fill, Standardiser
from featgrad.dataset.base import Consumer, Dataset, RowSample, S
from featgrad.dataset.row_sums import CrossSums, Model, PartMeans, PriceSums
from featgrad.dataset.splits import FoldLayout
from featgrad.math.targets import Target, stratified, to_one_variance
from featgrad.moments.block_problem import BlockProblem
from featgrad.moments.cells import Cell, Cells, CellShape, OutputMoments
from featgrad.moments.dense import DenseEngine
from featgrad.moments.device_arrays import Tensor, fetched, sent
from featgrad.moments.device_folds import DeviceCells
from featgrad.moments.problem import Problem
from featgrad.plan import ESTIMATE_ROWS

# Rows that the origins of columns are taken from.
_ORIGIN_ROWS = 1000


class DeviceRows(NamedTuple):
    """A block of rows (see `featgrad.dataset.row_sums.Rows`), and which of them each cell has."""

    outputs: Tensor
    weights: Tensor
    cells: Tensor
    X: Any
    of_cells: Sequence[tuple[int, Tensor]]

    def by_cell(self) -> Iterator[tuple[int, Tensor]]:
        return iter(self.of_cells)


class DevicePriceSums(PriceSums):
    """`PriceSums` on a device, for all models at once."""

    def __init__(self, device: Any, *of_host: Any) -> None:
        super().__init__(*of_host, like=torch.zeros(1, device=device))
        models, n_outputs = self._models, self._n_outputs
        like = torch.zeros(1, device=device)
        self._origin = placed_like(like, self._standardiser.origin)
        self._affine = self._standardiser.affine(self._union, like)
        self._covariance = sent(self._noise, device)
        self._used = sent(self._union, device)
        divisions = [model.division for model in models]
        learned = [np.ones_like(divisions[0].shares), *(d.shares for d in self._learned.values())]
        self._learned_shares = sent(np.array(learned[: self._n_learned]), device)
        self._shares = sent(np.array([division.shares for division in divisions]), device)
        self._deviations = sent(np.array([division.deviations for division in divisions]), device)
        self._intercepts = sent(np.stack([model.intercepts for model in models], axis=1), device)
        # Coefficients of all models side by side, over the columns that any of them has.
        together = np.zeros((len(self._shares[0]), len(self._union), len(models), n_outputs))
        for i, (model, places) in enumerate(zip(models, self._places, strict=True)):
            together[:, places, i] = model.coefficients
        self._together = sent(together.astype(np.float32), device).flatten(2)

    def add(self, rows: Any) -> None:
        # Rows that are not in use have no weight: any cell will do.
        residuals = rows.outputs[:, None] - self._intercepts[rows.cells]
        if len(self._union):
            values = self._affine(rows.X[:, self._used])
            for cell, own in rows.by_cell():
                explained = values[own] @ self._together[cell]
                residuals[own] -= explained.reshape(-1, *residuals.shape[1:])
        residuals /= self._deviations
        residuals *= (self._shares[:, rows.cells].T * rows.weights[:, None])[:, :, None]
        squares = residuals.square().sum(2)
        by_model = torch.cat([residuals, squares[:, :, None]], dim=2).flatten(1)
        learned = []
        if self._n_learned:
            learned = [self._learned_shares[:, rows.cells].T * rows.weights[:, None]]
        self._covariance += torch.einsum("nmc,nmd->mcd", residuals, residuals)
        linear = torch.cat([*learned, by_model], dim=1)
        self._columns.add(rows.X, self._origin, linear, torch.cat([*learned, squares], dim=1))

    def fetch(self) -> None:
        """Bring all sums to the host."""
        self._noise = fetched(self._covariance)
        self._columns.fetch()


class DeviceCellSums(ArraySums):
    """Sums and products of some columns, with each other and with the outputs, over each cell."""

    def __init__(self, shape: CellShape, columns: Tensor, standardiser: Standardiser) -> None:
        size, device = (shape.n_cells, len(columns)), columns.device
        self._columns = columns
        self._affine = standardiser.affine(columns.cpu().numpy(), columns)
        self.grams = torch.zeros((*size, len(columns)), device=device)
        # Of columns with outputs and with 1.
        self.crosses = torch.zeros((*size, shape.n_outputs + 1), device=device)

    def add(self, rows: Any) -> None:
        root = rows.weights.sqrt()[:, None]
        values = self._affine(rows.X[:, self._columns]) * root.float()
        outputs = torch.cat([rows.outputs * root, root], dim=1).float()
        for cell, own in rows.by_cell():
            part = values[own]
            self.grams[cell].addmm_(part.T, part)
            self.crosses[cell].addmm_(part.T, outputs[own])


class OnDevice(Dataset):
    """Rows of a dense or sparse matrix whose blocks are visited on a device.

    `rows` are those in use, in random order, with weights that sum to one; missing entries count as
    means, if `has_missing`; the target is that of all rows of the matrix.
    """

    def __init__(
        self,
        matrix: Any,
        rows: Tensor,
        weights: Tensor,
        has_missing: bool,
        target: Target,
        filters: tuple[Floats, ...],
        preprocess: str,
        layout: FoldLayout,
    ) -> None:
        self._matrix, self._rows, self._target = matrix, rows, target
        self.filters, self._preprocess, self.task = filters, preprocess, target.task
        self.n_rows, self.n_features = len(rows), matrix.shape[1]
        self.n_outputs, self._clusters = target.outputs.shape[1], layout.clusters
        self.n_folds, self.splits = layout.n_folds, layout.splits
        self.held_out_by = layout.held_out_by
        # By row of the matrix; rows that are not in use have no weight and belong to no cell.
        device = matrix.device
        self._weights = torch.zeros(matrix.shape[0], dtype=torch.float64, device=device)
        self._weights[rows] = weights
        outputs = to_one_variance(sent(target.outputs, device), self._weights)
        self._outputs, classes = stratified(outputs, target.task)
        self.class_shares = np.ones(1)
        if target.task == "binary":
            self.class_shares = fetched(torch.bincount(classes, self._weights, minlength=2))
        self._cells = torch.full((matrix.shape[0],), -1, device=device)
        self._cells[rows] = sent(layout.folds, device)
        self._cells = torch.where(
            self._cells < 0, -1, self._cells * len(self.class_shares) + classes
        )
        self._of_cells = [self._divided(slice(*span)) for span in matrix.spans]
        self._fill: Fill | None = None
        if has_missing:
            start = partial(PartMeans, self.n_features, self._parts_of_cells, self._weights)
            self._fill = self.visit("missing", start).fill()
        first = torch.sort(rows[:_ORIGIN_ROWS]).values
        self.standardiser = Standardiser.from_sample(self._rows_on_host(first), preprocess)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        sums = start()
        parts = zip(self._matrix.spans, self._of_cells, self._matrix.blocks(), strict=True)
        for span, of_cells, block in parts:
            rows = slice(*span)
            numbers = self._outputs[rows], self._weights[rows], self._cells[rows]
            if self._fill is not None:
                block = self._fill(block, self._cells[rows])
            there: Any = DeviceRows(*numbers, block, of_cells)
            sums.add(there)
        if isinstance(sums, DevicePriceSums):
            sums.fetch()
        return sums

    def _rows_on_host(self, rows: Tensor) -> Any:
        """Rows of the matrix without missing entries."""
        X = self._matrix.rows_on_host(rows)
        if self._fill is None:
            return X
        fill = Fill(fetched(self._fill.means), self._parts_of_cells)
        return fill(X, self._cells[rows].cpu().numpy())

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Batches are copied to the host, where the search that takes them runs."""
        for rows in torch.split(self._rows, batch_rows):
            shares = self.whole.shares[self._cells[rows].cpu().numpy()]
            weights = fetched(self._weights[rows]) * shares
            consumer.add(fetched(self._outputs[rows]), weights, self._rows_on_host(rows))

    def sample(self, columns: Indices) -> RowSample:
        """Some columns of evenly spaced rows of the random order, on the device."""
        places = torch.arange(self.n_rows, device=self._rows.device)
        count = min(ESTIMATE_ROWS, self.n_rows)
        taken = places * count % self.n_rows < count
        rows = self._rows[taken]
        there = sent(columns, rows.device)
        X = self._matrix.rows(rows, there).contiguous()
        if self._fill is not None:
            X = self._fill.only(there)(X, self._cells[rows])
        weights, cells = fetched(self._weights[rows]), self._cells[rows].cpu().numpy()
        numbers, folds = rows.cpu().numpy(), cells // len(self.class_shares)
        outputs = self._target.outputs[numbers]
        weights /= weights.sum()
        sample = self._sample_of(X, outputs, weights, self._target.variance, folds, numbers)
        if self._clusters is None:
            return sample
        return sample._replace(clusters=self._clusters[taken.cpu().numpy()])

    def problem(self) -> Problem:
        rows = self._rows.cpu().numpy()
        weights = fetched(self._weights[self._rows])
        outputs = self._target.outputs[rows]
        X = self._matrix.resident()
        engine = DenseEngine.from_array(X, namespace(X), rows, weights, self._preprocess)
        return BlockProblem(engine, outputs, weights, self._target.variance, self.filters, 1.0)

    def cell_moments(self, columns: Indices) -> Cells:
        there = sent(columns, self._matrix.device)
        sums = self.visit("moments", partial(DeviceCellSums, self.shape, there, self.standardiser))
        outputs, squared = self._outputs_of_cells, self._squared_weights
        crosses = fetched(sums.crosses)
        no_rows, no_roots = np.zeros((0, len(columns)), np.float32), np.zeros(0, np.float32)
        cells = [
            Cell(float(w), float(q), cross[:, -1], o, cross[:, :-1], s, no_rows, no_roots)
            for w, q, o, s, cross in zip(*outputs[:1], squared, *outputs[1:3], crosses, strict=True)
        ]
        return DeviceCells(cells, outputs.n_strata, sums.grams)

    def _cross_sums(self) -> ColumnSums:
        device = self._matrix.device
        like = torch.zeros(1, device=device)
        start = partial(CrossSums, self.n_features, self.whole, self.standardiser, like)
        columns = self.visit("cross", start).columns
        columns.fetch()
        return columns

    def _price_sums(self, models: Sequence[Model], learn: bool) -> Callable[[], PriceSums]:
        device = self._matrix.device
        return partial(DevicePriceSums, device, self.n_features, models, self.standardiser, learn)

    def _divided(self, rows: slice) -> list[tuple[int, Tensor]]:
        """Places of the rows of each cell within a block."""
        own = self._cells[rows]
        order = torch.sort(own, stable=True).indices
        counts = torch.bincount(own + 1, minlength=self.shape.n_cells + 1).tolist()
        parts = torch.split(order, counts)[1:]
        return [(cell, part) for cell, part in enumerate(parts) if len(part)]

    @cached_property
    def _outputs_of_cells(self) -> OutputMoments:
        weights, n_outputs = self._weights[:, None], self.n_outputs
        numbers = [torch.ones_like(weights), self._outputs, self._outputs.square()]
        found = self._by_cell(torch.cat(numbers, dim=1) * weights)
        sums, squares = found[:, 1 : 1 + n_outputs], found[:, 1 + n_outputs :]
        return OutputMoments(found[:, 0], sums, squares, len(self.class_shares))

    @cached_property
    def _squared_weights(self) -> Floats:
        return self._by_cell(self._weights.square()[:, None])[:, 0]

    def _by_cell(self, numbers: Tensor) -> Floats:
        """Sums of numbers of rows in each cell."""
        shape = self.shape.n_cells + 1, numbers.shape[1]
        sums = torch.zeros(shape, dtype=torch.float64, device=numbers.device)
        return fetched(sums.index_add_(0, self._cells + 1, numbers))[1:]
