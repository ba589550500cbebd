"""Sums over rows on a device, fetched when all rows have been seen."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from featgrad.dataset.device.matrix import centred
from featgrad.dataset.row_sums import Model, Prices, PriceSums
from featgrad.moments.device_arrays import Tensor, fetched, sent
from featgrad.preprocess.standardise import ColumnSums, Standardiser


class DeviceRows(NamedTuple):
    """A block of rows (see `featgrad.dataset.base.Rows`), and which of them each fold has."""

    outputs: Tensor
    weights: Tensor
    folds: Tensor
    X: Any
    of_folds: Sequence[tuple[int, Tensor]]

    def by_fold(self) -> Iterator[tuple[int, Tensor]]:
        """Each fold that occurs, and its rows."""
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
        """The block without missing entries."""
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
    """Products of all columns with the residuals of models, on a device."""

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        models: Sequence[Model],
        standardiser: Standardiser,
        learn: bool,
        device: Any,
    ) -> None:
        super().__init__(n_features, n_outputs, models, standardiser, learn, zeros_on(device))
        self._there = DeviceStandardiser(standardiser, device)
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
