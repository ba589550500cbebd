"""Blocks of rows in the memory of an accelerator, and what is asked of each.

A block answers products with numbers per row, some of its columns as dense numbers, and hashes of
its rows. Sums within a block are in single precision, over blocks in double.
"""

from typing import Any

import torch

from featgrad.moments.device_arrays import Tensor

_MIX = 0x9E3779B97F4A7C15 - (1 << 64)
_LOW = (1 << 32) - 1


class DenseBlock:
    """Rows of a dense matrix."""

    def __init__(self, values: Tensor) -> None:
        self.values = values

    def products(self, origin: Tensor, linear: Tensor, squared: Tensor) -> tuple[Tensor, Tensor]:
        """``X^T linear`` and ``(X * X)^T squared``, with X measured from the origin."""
        x = centred(self.values, origin)
        along = x.T @ linear.float()
        return along, x.square_().T @ squared.float()

    def columns(self, indices: Tensor) -> Tensor:
        """Some of the columns."""
        return self.values[:, indices]

    def filled(self, fill: Tensor | None) -> "DenseBlock":
        """Without missing entries."""
        if fill is None:
            return self
        return DenseBlock(torch.where(torch.isnan(self.values), fill, self.values.double()))

    def present(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Weighted sums of what is there, weights of what is not, and whether anything is not."""
        missing = torch.isnan(self.values)
        there = torch.where(missing, 0.0, self.values.double())
        return weights @ there, weights @ missing.double(), missing.any()

    def hashes(self, keys: Tensor) -> Tensor:
        """Sums of mixed bits times the keys of their columns (see `featgrad.dataset.rows`)."""
        return (bits(self.values) * keys).sum(1)


def centred(values: Tensor, mean: Tensor) -> Tensor:
    """``values - mean`` in single precision, taken off before it is rounded."""
    if values.dtype == torch.float32:
        return values - mean.float()
    return (values.double() - mean).float()


def mixed(bits: Tensor) -> Tensor:
    """As NumPy mixes unsigned numbers; the shift of signed ones is made to bring in zeros."""
    product = bits * _MIX
    product ^= (product >> 32) & _LOW
    product *= _MIX
    return product


def bits(values: Any) -> Tensor:
    """Bits of the values as doubles, mixed; 0 stays 0, and -0 is 0."""
    return mixed((values.double() + 0.0).view(torch.int64))
