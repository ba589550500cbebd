"""Few columns: exact moments of all of them over folds of rows, and nothing of the rows.

With ``z = (1, outputs, columns)`` of a row, ``sum w z z^T`` over a fold holds its weight, all sums,
squares and products. Means and deviations are put in at the end: an affine map of z.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from featgrad.arrays import Floats, Indices
from featgrad.dataset.base import Consumer, Dataset, S, Sample
from featgrad.dataset.row_sums import Model, Prices, Rows, RowSums
from featgrad.moments.folds import Fold, Folds
from featgrad.moments.threads import one_blas_thread
from featgrad.preprocess.standardise import ArraySums, Standardiser

_BLOCK_ENTRIES = 1 << 20


class FoldMoments(ArraySums):
    """Moments over folds of columns that are standardised, about, before they are added up.

    Where rows of a sample have to be gathered, that is done at the same time.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        n_folds: int,
        standardiser: Standardiser,
        sampling: Callable[[], RowSums] | None = None,
    ) -> None:
        size, self.standardiser = 1 + n_outputs + n_features, standardiser
        self.sample = None if sampling is None else sampling()
        self.sums = np.zeros((n_folds, size, size))
        self.n_rows = np.zeros(n_folds, np.int64)
        self.squared_weights = np.zeros(n_folds)

    def _parts(self) -> dict[str, Any]:
        names = ["sums", "n_rows", "squared_weights"] + ["sample"] * (self.sample is not None)
        return {name: vars(self)[name] for name in names}

    def add(self, rows: Rows) -> None:
        if self.sample is not None:
            self.sample.add(rows)
        step = max(len(self.sums), _BLOCK_ENTRIES // rows.X.shape[1])
        for start in range(0, len(rows.weights), step):
            block = rows.take(slice(start, start + step))
            root = np.sqrt(block.weights)[:, None]
            X = block.X.toarray() if sparse.issparse(block.X) else block.X
            z = np.concatenate(
                [root, block.outputs * root, self.standardiser(X) * root], axis=1, dtype=np.float32
            )
            with one_blas_thread():
                for fold, own in block.by_fold():
                    part = z[own]
                    self.sums[fold] += part.T @ part
                    self.n_rows[fold] += len(own)
                    self.squared_weights[fold] += np.sum(block.weights[own] ** 2)


class MomentDataset(Dataset):
    """Columns known by their moments, and sampled rows."""

    def __init__(self, moments: FoldMoments, rows: Dataset, preprocess: str) -> None:
        self._moments, self._first, self._rows = moments, 1 + rows.n_outputs, rows
        self.n_features, self.n_outputs = rows.n_features, rows.n_outputs
        self.n_rows, self.n_folds = int(moments.n_rows.sum()), len(moments.sums)
        self.task, self.filters, self.standardiser = rows.task, rows.filters, moments.standardiser
        total = moments.sums.sum(axis=0)
        self._weight = total[0, 0]
        self._mean = total[0] / self._weight
        variance = np.diagonal(total) / self._weight - self._mean**2
        columns = slice(self._first, None)
        varies = variance > 0
        varies[columns] &= self.standardiser.varies(variance[columns])
        self._varies = varies[columns]
        self._mean[0], self._scale = 0.0, np.sqrt(np.where(varies, variance, 1.0))
        self._variances = np.ones(self.n_features)
        if preprocess == "center":
            self._scale[columns] = 1.0
            self._variances = np.where(self._varies, variance[columns], 1.0)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        raise NotImplementedError("the rows are gone: everything follows from their moments")

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        raise NotImplementedError("the rows are gone: everything follows from their moments")

    def sample(self, columns: Indices) -> Sample:
        return self._rows.sample(columns)

    def variances(self) -> Floats:
        return self._variances

    def fold_moments(self, columns: Indices) -> Folds:
        first, folds = self._first, []
        used = np.concatenate([np.arange(first), first + columns])
        squared_weights = self._moments.squared_weights / self._weight**2
        for sums, squared in zip(self._standardised, squared_weights, strict=True):
            inner = sums.take(used, axis=0).take(used, axis=1)
            cross, squares = inner[first:, 1:first], np.diagonal(inner)[1:first]
            gram = inner[first:, first:].astype(np.float32)
            weight = float(inner[0, 0])
            folds.append(Fold(weight, float(squared), cross, squares, gram, is_gram=True))
        return Folds(folds)

    def marginals(self, shares: Sequence[Floats]) -> list[Prices]:
        return self.price(self._without_columns(shares))

    def price(self, models: Sequence[Model]) -> list[Prices]:
        return [self._price(model) for model in models]

    def _price(self, model: Model) -> Prices:
        first, places = self._first, self._first + model.columns
        along = np.zeros((self.n_features, self.n_outputs))
        noise = np.zeros((self.n_outputs, self.n_outputs))
        for fold, share in enumerate(model.shares):
            sums, beta = self._standardised[fold], model.coefficients[fold]
            residual = sums[:, 1:first] - sums[places].T @ beta
            along += share * residual[first:]
            squares = residual[1:first] - beta.T @ residual[places]
            # Of all rows a row is paired with, it is left out itself: its share of the squares.
            mean_weight = self._moments.squared_weights[fold] / max(sums[0, 0], 1e-300)
            noise += share**2 * mean_weight / self._weight**2 * squares
        values = np.sum(along**2, axis=1) - float(np.trace(noise)) * self._variances
        values = np.where(self._varies, values, 0.0) / self.n_outputs
        return Prices(values, np.linalg.eigvalsh((noise + noise.T) / 2) / self.n_outputs)

    @cached_property
    def _standardised(self) -> Floats:
        """``A sums A^T`` of each fold, for the map ``z -> A z`` to mean 0 and variance 1."""
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


def with_all_moments(dataset: Dataset, preprocess: str) -> MomentDataset:
    """The moments of all columns of a dataset, whose rows are not needed any more."""
    shape = dataset.n_features, dataset.n_outputs, dataset.n_folds
    start = partial(FoldMoments, *shape, dataset.standardiser, dataset.sampling())
    moments = dataset.visit("all moments", start)
    if moments.sample is not None:
        dataset.keep_sample(moments.sample)
    return MomentDataset(moments, dataset, preprocess)
