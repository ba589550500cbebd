"""Few columns: exact moments of all of them over folds of rows, and nothing of the rows.

With ``z = (1, outputs, columns)`` of a row, ``sum w z z^T`` over a fold holds its weight, all sums,
squares and products. Means and deviations are put in at the end: an affine map of z.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
from sklearn.utils import gen_batches

from featgrad._support import Floats, Indices
from featgrad._support.threads import one_blas_thread
from featgrad.columns.sums import SINGLE, ArraySums, Standardiser
from featgrad.dataset.base import Dataset, RowSample, Storage
from featgrad.dataset.sums import Model, Prices, Rows, RowSums, without_columns
from featgrad.moments.cells import Cells, CellShape, Division, OutputMoments

_BLOCK_ENTRIES = 1 << 20


class FoldMoments(ArraySums):
    """Moments over folds of columns that are standardised, about, before they are added up.

    Where rows of a sample have to be gathered, that is done at the same time.
    """

    _added = "sums", "n_rows", "squared_weights", "sample"

    def __init__(
        self,
        n_features: int,
        shape: CellShape,
        standardiser: Standardiser,
        sampling: Callable[[], RowSums] | None = None,
    ) -> None:
        size, self.standardiser = 1 + shape.n_outputs + n_features, standardiser
        self.sample = None if sampling is None else sampling()
        self._affine = standardiser.affine()
        self.sums = np.zeros((shape.n_cells, size, size))
        self.n_rows = np.zeros(shape.n_cells, np.int64)
        self.squared_weights = np.zeros(shape.n_cells)

    def add(self, rows: Rows) -> None:
        if self.sample is not None:
            self.sample.add(rows)
        step = max(len(self.sums), _BLOCK_ENTRIES // rows.X.shape[1])
        for some in gen_batches(len(rows.weights), step):
            block = rows.take(some)
            root = np.sqrt(block.weights)[:, None]
            z = np.concatenate(
                [root, block.outputs * root, self._affine(block.X) * root], axis=1, dtype=np.float32
            )
            with one_blas_thread():
                for cell, own in block.by_cell():
                    part = z[own]
                    self.sums[cell] += part.T @ part
                    self.n_rows[cell] += len(own)
                    self.squared_weights[cell] += np.sum(block.weights[own] ** 2)


class AllMoments(Dataset):
    """Columns known by their moments, and sampled rows."""

    def __init__(self, moments: FoldMoments, rows: Storage, preprocess: str) -> None:
        self._moments, self._first, self._rows = moments, 1 + rows.n_outputs, rows
        self._preprocess = preprocess
        self.n_features, self.n_outputs = rows.n_features, rows.n_outputs
        self.n_rows, self.n_folds = int(moments.n_rows.sum()), rows.n_folds
        self.task, self.filters, self.standardiser = rows.task, rows.filters, moments.standardiser
        self.splits, self._n_strata = rows.splits, len(rows.class_shares)
        self.held_out_by = rows.held_out_by
        total = moments.sums.sum(axis=0)
        self._weight = total[0, 0]
        of_classes = moments.sums[:, 0, 0].reshape(-1, self._n_strata).sum(axis=0)
        self.class_shares = of_classes / self._weight
        # Sums in single precision are first centred and scaled by all rows, and columns centred by
        # the median of cells, which rows of few of these cannot move.
        self._mean = total[0] / self._weight
        square = np.diagonal(total) / self._weight
        variance = square - self._mean**2
        means = moments.sums[moments.sums[:, 0, 0] > 0, 0]
        self._mean[self._first :] = np.median(means / means[:, :1], axis=0)[self._first :]
        self._mean[0] = 0.0
        self._scale = np.sqrt(np.where(variance > SINGLE * square, variance, 1.0))
        self._scale[0] = 1.0
        if preprocess == "center":
            self._scale[self._first :] = 1.0
        self._standards = {}

    def sample(self, columns: Indices) -> RowSample:
        return self._rows.sample(columns)

    def _outputs_by_cell(self) -> OutputMoments:
        sums, first = self._standardised, self._first
        squares = np.diagonal(sums, axis1=1, axis2=2)[:, 1:first]
        weights = sums[:, 0, 0], self._moments.squared_weights / self._weight**2
        return OutputMoments(*weights, sums[:, 0, 1:first], squares, self._n_strata)

    def division(self, folds: Sequence[int]) -> Division:
        return self._outputs_of_cells.division(folds)

    def cell_moments(self, columns: Indices) -> Cells:
        sums, places = self._standardised, self._first + columns
        grams = np.empty((len(sums), len(places), len(places)), np.float32)
        for gram, inner in zip(grams, sums, strict=True):
            gram[:] = inner.take(places, axis=0).take(places, axis=1)
        return Cells(self._outputs_of_cells, sums[:, places, : self._first], grams)

    def marginals(self, divisions: Sequence[Division]) -> list[Prices]:
        for division in divisions:
            self._standards[division.folds] = self._learned(division)
        return self.price([without_columns(division) for division in divisions])

    def _learned(self, division: Division) -> Standardiser:
        """How columns, as moments have them, are standardised in a division."""
        # Rounding is that of the sums as they were added up.
        sums, shares = self._moments.sums, division.shares / self._weight
        squares = np.diagonal(sums, axis1=1, axis2=2)[:, self._first :]
        standard = Standardiser(np.zeros(self.n_features), self._preprocess, is_sparse=False)
        standard.learn(shares @ sums[:, 0, self._first :], shares @ squares)
        mean, scale = self._mean[self._first :], self._scale[self._first :]
        standard.mean, standard.factor = (standard.mean - mean) / scale, standard.factor * scale
        return standard

    def price(self, models: Sequence[Model]) -> list[Prices]:
        return [self._price(model) for model in models]

    def _price(self, model: Model) -> Prices:
        first, places, division = self._first, self._first + model.columns, model.division
        standard = self._standards[division.folds]
        along, of_rows = np.zeros((self.n_features, self.n_outputs)), np.zeros(self.n_outputs)
        noise = np.zeros((self.n_outputs, self.n_outputs))
        scale = 1 / division.deviations
        for cell in np.flatnonzero(division.shares):
            sums, share = self._standardised[cell], division.shares[cell]
            beta, offset = model.coefficients[cell] * scale, model.intercepts[cell] * scale
            # Sums of products with the residuals: outputs less intercepts less predictions.
            residual = sums[:, 1:first] * scale - np.multiply.outer(sums[:, 0], offset)
            residual -= sums[places].T @ beta
            along += share * residual[first:]
            of_rows += share * residual[0]
            squares = residual[1:first] * scale[:, None] - np.multiply.outer(offset, residual[0])
            squares -= beta.T @ residual[places]
            # Of all rows a row is paired with, it is left out itself: its share of the squares.
            mean_weight = self._moments.squared_weights[cell] / max(sums[0, 0], 1e-300)
            noise += share**2 * mean_weight / self._weight**2 * squares
        along = standard.centred(along, of_rows)
        values = np.sum(along**2, axis=1) - float(np.trace(noise)) * standard.variance
        values = np.where(standard.factor > 0, values, 0.0) / self.n_outputs
        return Prices(values, np.linalg.eigvalsh((noise + noise.T) / 2) / self.n_outputs)

    @cached_property
    def _standardised(self) -> Floats:
        """``A sums A^T`` of each cell, for the map ``z -> A z`` to mean 0 and variance 1."""
        mean, scale = self._mean, self._scale
        standardised = np.empty_like(self._moments.sums)
        for sums, centred in zip(self._moments.sums, standardised, strict=True):
            # A rank-two correction: what the means take from rows and from columns.
            shift = sums[0] - sums[0, 0] / 2 * mean
            np.subtract(sums, np.multiply.outer(mean, shift), out=centred)
            centred -= np.multiply.outer(shift, mean)
            centred /= scale
            centred /= scale[:, None] * self._weight
        return standardised


def with_all_moments(dataset: Storage, preprocess: str) -> AllMoments:
    """The moments of all columns of a dataset, whose rows are not needed any more."""
    start = partial(
        FoldMoments, dataset.n_features, dataset.shape, dataset.standardiser, dataset.sampling()
    )
    moments = dataset.visit("all moments", start)
    dataset.gathered = moments.sample
    return AllMoments(moments, dataset, preprocess)
