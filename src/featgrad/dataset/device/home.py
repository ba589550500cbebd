"""The home of rows on an accelerator: a search's questions about them are answered there.

Prices of all columns and the moments of working sets are taken on the device, which keeps the
latter. What comes back to the host are numbers per column, matrices of the chosen columns, and
predictions of a sample of rows that does not grow with their number.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from featgrad.arrays import Floats, Indices
from featgrad.dataset.base import Consumer, Dataset, S, Sample
from featgrad.dataset.device.matrix import centred
from featgrad.dataset.row_sums import CrossSums, Model, Prices, PriceSums
from featgrad.math.targets import Target, balanced, to_one_variance
from featgrad.moments.array_api import namespace
from featgrad.moments.block_problem import BlockProblem
from featgrad.moments.dense import DenseEngine
from featgrad.moments.device_arrays import Tensor, fetched, sent
from featgrad.moments.device_folds import DeviceFolds
from featgrad.moments.folds import Fold, Folds
from featgrad.moments.problem import Problem
from featgrad.plan import ESTIMATE_ROWS
from featgrad.preprocess.standardise import ArraySums, ColumnSums, Standardiser

# Rows that the origins of columns are taken from.
_ORIGIN_ROWS = 1000


class DeviceRows(NamedTuple):
    """A block of rows (see `featgrad.dataset.base.Rows`), and which of them each fold has."""

    outputs: Tensor
    weights: Tensor
    folds: Tensor
    X: Any
    of_folds: Sequence[tuple[int, Tensor]]

    def by_fold(self) -> Iterator[tuple[int, Tensor]]:
        return iter(self.of_folds)


class DeviceStandardiser:
    """A standardiser's numbers on a device."""

    def __init__(self, standardiser: Standardiser, device: Any) -> None:
        self.origin, self.mean, self.factor = (
            sent(numbers, device)
            for numbers in (standardiser.origin, standardiser.mean, standardiser.factor)
        )
        self.fill = None if standardiser.fill is None else sent(standardiser.fill, device)

    def filled(self, block: Any) -> Any:
        return block.filled(self.fill)

    def __call__(self, block: Any, columns: Tensor) -> Tensor:
        """Some columns of a block, standardised, in single precision."""
        values = block.columns(columns)
        if self.fill is not None:
            values = torch.where(torch.isnan(values), self.fill[columns], values.double())
        return centred(values, self.mean[columns]) * self.factor[columns].float()


def zeros_on(device: Any) -> Callable[[Any], Tensor]:
    """Makes arrays in double precision on a device."""
    return partial(torch.zeros, dtype=torch.float64, device=device)


def on_host(sums: ColumnSums) -> ColumnSums:
    """Sums that were added up on a device."""
    vars(sums).update({name: fetched(array) for name, array in vars(sums).items()})
    return sums


class DevicePriceSums(PriceSums):
    """`PriceSums` on a device, for all models at once."""

    def __init__(self, device: Any, *of_host: Any) -> None:
        super().__init__(*of_host, zeros=zeros_on(device))
        models, n_outputs = self._models, self._n_outputs
        self._there = DeviceStandardiser(self._standardiser, device)
        self._covariance = sent(self._noise, device)
        self._used = sent(self._union, device)
        self._shares = sent(np.array([model.shares for model in models]), device)
        # Coefficients of all models side by side, over the columns that any of them has.
        together = np.zeros((len(self._shares[0]), len(self._union), len(models), n_outputs))
        for i, (model, places) in enumerate(zip(models, self._places, strict=True)):
            together[:, places, i] = model.coefficients
        self._together = sent(together.astype(np.float32), device).flatten(2)

    def add(self, rows: Any) -> None:
        n_models = len(self._models)
        residuals = rows.outputs[:, None].repeat(1, n_models, 1)
        if len(self._union):
            values = self._there(rows.X, self._used)
            for fold, own in rows.by_fold():
                explained = values[own] @ self._together[fold]
                residuals[own] -= explained.reshape(-1, *residuals.shape[1:])
        shares = self._shares[:, rows.folds].T * rows.weights[:, None]
        residuals *= shares[:, :, None]
        squares = residuals.square().sum(2)
        own_weight = [rows.weights[:, None]] if self._learn else []
        by_model = torch.cat([residuals, squares[:, :, None]], dim=2).flatten(1)
        linear = torch.cat([*own_weight, by_model], dim=1)
        squared = torch.cat([*own_weight, squares], dim=1)
        self._covariance += torch.einsum("nmc,nmd->mcd", residuals, residuals)
        self._columns.add(self._there.filled(rows.X), self._there.origin, linear, squared)

    def prices(self) -> list[Prices]:
        self._noise = fetched(self._covariance)
        on_host(self._columns)
        return super().prices()


class DeviceFoldSums(ArraySums):
    """Products of some columns with each other and with the outputs, over each fold."""

    def __init__(
        self, n_folds: int, n_outputs: int, columns: Tensor, standardiser: Standardiser
    ) -> None:
        shape, device = (n_folds, len(columns)), columns.device
        self._columns, self._there = columns, DeviceStandardiser(standardiser, device)
        self.grams = torch.zeros((*shape, len(columns)), device=device)
        self.crosses = torch.zeros((*shape, n_outputs), device=device)

    def add(self, rows: Any) -> None:
        root = rows.weights.sqrt()[:, None]
        values = self._there(rows.X, self._columns) * root.float()
        outputs = (rows.outputs * root).float()
        for fold, own in rows.by_fold():
            part = values[own]
            self.grams[fold].addmm_(part.T, part)
            self.crosses[fold].addmm_(part.T, outputs[own])


class OnDevice(Dataset):
    """Rows of a dense or sparse matrix whose blocks are visited on a device.

    `rows` are those in use, in random order, with weights that sum to one; `fill` is what missing
    entries of each column count as; the target is that of all rows of the matrix.
    """

    def __init__(
        self,
        matrix: Any,
        rows: Tensor,
        weights: Tensor,
        fill: Floats | None,
        target: Target,
        filters: tuple[Floats, ...],
        preprocess: str,
        n_folds: int,
    ) -> None:
        self._matrix, self._rows, self._target = matrix, rows, target
        self.filters, self._preprocess, self.task = filters, preprocess, target.task
        self.n_rows, self.n_features = len(rows), matrix.shape[1]
        self.n_outputs, self.n_folds = target.outputs.shape[1], min(n_folds, len(rows))
        # By row of the matrix; rows that are not in use have no weight and belong to no fold.
        given = torch.zeros(matrix.shape[0], dtype=torch.float64, device=matrix.device)
        given[rows] = weights
        outputs = to_one_variance(sent(target.outputs, matrix.device), given)
        self._given_weights = given
        self._outputs, self._weights = balanced(outputs, given, target.task)
        places = torch.arange(self.n_rows, device=matrix.device)
        self._folds = torch.full((matrix.shape[0],), -1, device=matrix.device)
        self._folds[rows] = places * self.n_folds // self.n_rows
        self._of_folds = [self._divided(slice(*span)) for span in matrix.spans]
        first = matrix.rows_on_host(torch.sort(rows[:_ORIGIN_ROWS]).values)
        self.standardiser = Standardiser.from_sample(first, fill, preprocess)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        sums = start()
        parts = zip(self._matrix.spans, self._of_folds, self._matrix.blocks(), strict=True)
        for span, of_folds, block in parts:
            rows = slice(*span)
            numbers = self._outputs[rows], self._weights[rows], self._folds[rows]
            there: Any = DeviceRows(*numbers, block, of_folds)
            sums.add(there)
        return sums

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Batches are copied to the host, where the search that takes them runs."""
        for rows in torch.split(self._rows, batch_rows):
            X = self.standardiser.filled(self._matrix.rows_on_host(rows))
            consumer.add(fetched(self._outputs[rows]), fetched(self._weights[rows]), X)

    def sample(self, columns: Indices) -> Sample:
        """Some columns of evenly spaced rows of the random order, on the device."""
        places = torch.arange(self.n_rows, device=self._rows.device)
        count = min(ESTIMATE_ROWS, self.n_rows)
        rows = self._rows[places * count % self.n_rows < count]
        X = self._matrix.rows(rows, sent(columns, rows.device)).contiguous()
        weights, folds = fetched(self._given_weights[rows]), self._folds[rows].cpu().numpy()
        outputs = self._target.outputs[rows.cpu().numpy()]
        weights /= weights.sum()
        return self._sample_of(X, outputs, weights, self._target.variance, folds)

    def problem(self) -> Problem:
        rows = self._rows.cpu().numpy()
        weights = fetched(self._given_weights[self._rows])
        outputs = self._target.outputs[rows]
        X = self._matrix.resident()
        engine = DenseEngine.from_array(X, namespace(X), rows, weights, self._preprocess)
        return BlockProblem(engine, outputs, weights, self._target.variance, self.filters, 1.0)

    def fold_moments(self, columns: Indices) -> Folds:
        there = sent(columns, self._matrix.device)
        start = partial(DeviceFoldSums, self.n_folds, self.n_outputs, there, self.standardiser)
        sums = self.visit("moments", start)
        parts = zip(*self._of_outputs(), fetched(sums.crosses), strict=True)
        no_rows = np.zeros((0, len(columns)), np.float32)
        folds = [
            Fold(float(weight), float(squared), cross, squares, no_rows, is_gram=False)
            for weight, squared, squares, cross in parts
        ]
        return DeviceFolds(folds, sums.grams)

    def _cross_sums(self) -> ColumnSums:
        device = self._matrix.device
        there = DeviceStandardiser(self.standardiser, device), zeros_on(device)
        start = partial(CrossSums, self.n_features, self.n_outputs, *there)
        return on_host(self.visit("cross", start).columns)

    def _price_sums(self, models: Sequence[Model], learn: bool) -> Callable[[], PriceSums]:
        shape, device = (self.n_features, self.n_outputs), self._matrix.device
        return partial(DevicePriceSums, device, *shape, models, self.standardiser, learn)

    def _divided(self, rows: slice) -> list[tuple[int, Tensor]]:
        """Places of the rows of each fold within a block."""
        own = self._folds[rows]
        order = torch.sort(own, stable=True).indices
        counts = torch.bincount(own + 1, minlength=self.n_folds + 1).tolist()
        parts = torch.split(order, counts)[1:]
        return [(fold, part) for fold, part in enumerate(parts) if len(part)]

    def _of_outputs(self) -> tuple[Floats, Floats, Floats]:
        """Sums of the weights, of their squares and of the outputs' squares in each fold."""
        by_fold = torch.zeros((self.n_folds + 1, 2 + self.n_outputs), dtype=torch.float64,
                              device=self._matrix.device)  # fmt: skip
        weights = self._weights[:, None]
        squares = weights * self._outputs.square()
        numbers = torch.cat([weights, weights.square(), squares], dim=1)
        found = fetched(by_fold.index_add_(0, self._folds + 1, numbers))[1:]
        return found[:, 0], found[:, 1], found[:, 2:]
