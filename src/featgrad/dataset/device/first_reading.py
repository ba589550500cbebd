"""What is learned of rows when they are first visited: their hashes, and what is missing."""

from typing import Any

import torch

from featgrad.arrays import Floats
from featgrad.checks import refuse_infinite, refuse_missing
from featgrad.moments.device_arrays import Tensor, fetched


class FirstReading:
    """Hashes of the rows, and sums of what is there.

    Parameters
    ----------
    matrix : DenseMatrix
        The rows.
    weights : tensor
        Of the rows; they sum to one.
    keys : tensor
        One for each column, for the hashes.
    """

    def __init__(self, matrix: Any, weights: Tensor, keys: Tensor) -> None:
        self._total = self._absent = torch.zeros((), dtype=torch.float64, device=matrix.device)
        self._is_missing = torch.zeros((), dtype=torch.bool, device=matrix.device)
        hashes = []
        for (start, stop), block in zip(matrix.spans, matrix.blocks(), strict=True):
            hashes.append(block.hashes(keys))
            total, absent, is_missing = block.present(weights[start:stop])
            self._total, self._absent = self._total + total, self._absent + absent
            self._is_missing = self._is_missing | is_missing
        self.hashes = torch.cat(hashes)

    def means(self, missing: str) -> Floats | None:
        """What missing entries count as, None where nothing is missing; refuses what may not be."""
        if not bool(torch.isfinite(self._total).all()):
            refuse_infinite()
        if not bool(self._is_missing):
            return None
        if missing == "error":
            refuse_missing()
        there = 1 - self._absent
        return fetched(torch.where(there > 0, self._total / there, 0.0))
