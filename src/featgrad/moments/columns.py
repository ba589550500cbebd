"""Weighted mean and variance of columns, merged over blocks of rows without cancellation."""

from typing import Any

import numpy as np

from featgrad._support.array_api import to_numpy
from featgrad._support.types import Floats

# A column with a smaller ratio of standard deviation to mean varies by rounding only.
_ROUNDING = 1e-12


def inverse_variance(mean: Floats, variance: Floats, preprocess: str) -> Floats:
    """1 / variance, or 1 for "center"; 0 for constant columns."""
    varies = variance > (_ROUNDING * np.abs(mean)) ** 2
    if preprocess == "center":
        return varies.astype(np.float64)
    return np.divide(1.0, variance, out=np.zeros_like(variance), where=varies)


class DenseColumnMoments:
    """Means and variances over blocks of rows; missing entries count as the column's mean."""

    def __init__(self, n_features: int) -> None:
        self.mean = np.zeros(n_features)
        self.has_missing = False
        self._scatter = np.zeros(n_features)
        self._present = np.zeros(n_features)
        self._total = 0.0

    @property
    def variance(self) -> Floats:
        return self._scatter / self._total

    def add(self, xp: Any, block: Any, weights: Any) -> None:
        """Merge a float64 block (Chan et al.), shifted by its own first row."""
        missing = xp.isnan(block)
        zero = xp.zeros_like(block)
        origin = xp.where(missing[:1, :], zero[:1, :], block[:1, :])
        shifted = xp.where(missing, zero, block - origin)
        present = weights @ xp.astype(~missing, xp.float64)
        mean = weights @ shifted / xp.where(present > 0, present, xp.ones_like(present))
        deviation = xp.where(missing, zero, shifted - mean)
        scatter = weights @ (deviation * deviation)
        self.has_missing |= bool(xp.any(missing))
        self._total += float(xp.sum(weights))
        present, scatter = to_numpy(present), to_numpy(scatter)
        mean = to_numpy(origin)[0] + to_numpy(mean)
        total = self._present + present
        share = np.divide(present, total, out=np.zeros_like(total), where=total > 0)
        gap = np.where(present > 0, mean - self.mean, 0.0)
        self.mean = self.mean + share * gap
        self._scatter += scatter + gap**2 * self._present * share
        self._present = total
