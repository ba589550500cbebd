"""Means of what is there, for what is missing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.arrays import Floats
from featgrad.moments.array_api import namespace
from featgrad.moments.threads import one_blas_thread
from featgrad.preprocess.standardise import ArraySums


class PresentMeans(ArraySums):
    """Weighted means of the entries that are not missing, added up over parts of the rows."""

    def __init__(self, n_features: int) -> None:
        self.total, self.absent = np.zeros((2, n_features))
        self.weight, self.is_missing = np.zeros(()), np.zeros((), bool)

    def add(self, X: Any, weights: Floats) -> None:
        self.weight += weights.sum()
        with one_blas_thread():
            if not has_missing(X):
                self.total += X.T @ weights
                return
            self.is_missing[...] = True
            entries = X.data if sparse.issparse(X) else X
            self.total += _with_entries(X, np.nan_to_num(entries)).T @ weights
            self.absent += _with_entries(X, np.isnan(entries)).T @ weights

    def means(self) -> Floats | None:
        """The means, 0 where all is missing; None where nothing is."""
        if not self.is_missing:
            return None
        there = self.weight - self.absent
        means = np.zeros_like(there)
        return np.divide(self.total, there, out=means, where=there > 0)


def present_means(X: Any, weights: Floats) -> Floats | None:
    """Means of a whole matrix; None where nothing is missing."""
    if not has_missing(X):
        return None
    means = PresentMeans(X.shape[1])
    means.add(X, weights)
    return means.means()


def has_missing(X: Any) -> bool:
    """Whether a matrix of any array library, or a sparse one, has NaN."""
    entries = X.data if sparse.issparse(X) else X
    xp = namespace(entries)
    # A sum is finite only if no term is NaN; looking at each entry takes a second array.
    with np.errstate(over="ignore", invalid="ignore"):
        is_float = xp.isdtype(entries.dtype, "real floating")
        suspect = is_float and not bool(xp.isfinite(xp.sum(entries)))
    return suspect and bool(xp.any(xp.isnan(entries)))


def _with_entries(X: Any, entries: NDArray[Any]) -> Any:
    if not sparse.issparse(X):
        return entries
    return sparse.csr_array((entries.astype(np.float64), X.indices, X.indptr), shape=X.shape)
