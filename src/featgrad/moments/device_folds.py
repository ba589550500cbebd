"""Moments over folds (see `featgrad.moments.folds`) that stay in the memory of an accelerator."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.linalg import hankel

from featgrad.arrays import Floats, Indices, Singles
from featgrad.moments.device_arrays import Tensor, fetched, sent, sent_together
from featgrad.moments.device_paths import all_paths
from featgrad.moments.folds import Folds, Scale


@dataclass(frozen=True)
class DeviceFolds(Folds):
    """Folds without rows or C_f of their own, which are here together."""

    grams: Tensor  # C_f, shape (folds, columns, columns)

    def columns(self, indices: Indices) -> "DeviceFolds":
        index = sent(indices, self.grams.device)
        folds = [fold._replace(cross=fold.cross[indices]) for fold in self.folds]
        return DeviceFolds(folds, self.grams[:, index[:, None], index])

    def only(self, chosen: Sequence[int]) -> "DeviceFolds":
        return DeviceFolds([self.folds[i] for i in chosen], self.grams[list(chosen)])

    def _column_squares(self) -> Floats:
        return fetched(self.grams.sum(0).diagonal())

    def _divided(self, scale: Scale) -> "DeviceFolds":
        columns = sent(scale.columns, self.grams.device).to(self.grams.dtype)
        folds = [fold.divided(scale) for fold in self.folds]
        return DeviceFolds(folds, self.grams / columns / columns[:, None])

    @cached_property
    def _covariance(self) -> Floats:
        return fetched(self.grams.sum(0)) / self._total

    @property
    def place(self) -> Tensor:
        return self.grams

    def without_each(self, inverse: Singles, ridge: float) -> Floats:
        crosses = np.array([fold.cross for fold in self.folds]) / self._total
        rest = sent(crosses.sum(0) - crosses, self.grams.device)
        grams = self.grams.double() / self._total
        others = grams.sum(0) - grams
        others.diagonal(dim1=1, dim2=2).add_(ridge)
        return fetched(torch.linalg.solve(others, rest))

    def value_and_gradient(
        self, mask: Floats, coefficients: Floats, scale: float, sequence: Sequence[int]
    ) -> tuple[float, Floats]:
        order, place = len(coefficients), np.argsort(sequence)
        alpha = coefficients / self._tuple_weights[:order] / float(np.sum(self.variance))
        strength, counts, is_before = sent_together(
            [mask / scale, hankel(alpha), place[:, None] > place], self.grams
        )

        def product(vectors: Tensor) -> Tensor:
            return torch.bmm(vectors * self._share, self.grams)

        paths = all_paths(self._first_there, is_before, strength, order, product)
        found = fetched(paths.moments_and_gradient(strength, counts))
        return float(alpha @ found[:order]), found[order:] / scale

    @cached_property
    def _first_there(self) -> Tensor:
        return sent(self._first.transpose(0, 2, 1), self.grams.device)
