"""Means of what is there, for what is missing."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.array_api import namespace
from featgrad._support.threads import one_blas_thread
from featgrad._support.types import Floats, Indices
from featgrad.columns.standardise import ArraySums


class PresentMeans(ArraySums):
    """Weighted means of the entries that are not missing, added up over blocks of rows.

    Each part of the rows has means of its own.
    """

    def __init__(self, n_features: int, n_parts: int) -> None:
        self.total, self.absent = np.zeros((2, n_features, n_parts))
        self.weight, self.is_missing = np.zeros(n_parts), np.zeros((), bool)

    def add(self, X: Any, weights: Floats, parts: Indices) -> None:
        """More rows; parts below 0 count as absent."""
        by_part = np.where(parts[:, None] == np.arange(len(self.weight)), weights[:, None], 0.0)
        self.weight += by_part.sum(axis=0)
        with one_blas_thread():
            if not has_missing(X):
                self.total += X.T @ by_part
                return
            self.is_missing[...] = True
            entries = X.data if sparse.issparse(X) else X
            self.total += _with_entries(X, np.nan_to_num(entries)).T @ by_part
            self.absent += _with_entries(X, np.isnan(entries)).T @ by_part

    def means(self) -> Floats | None:
        """The means of each part, shape (parts, features); None where nothing is missing.

        A part that has no entry of a column takes the mean of all parts, or 0.
        """
        if not self.is_missing:
            return None
        there = self.weight - self.absent
        total, present = self.total.sum(axis=1), there.sum(axis=1)
        overall = np.divide(total, present, out=np.zeros_like(total), where=present > 0)
        means = np.tile(overall[:, None], len(self.weight))
        return np.asarray(np.divide(self.total, there, out=means, where=there > 0).T)


class Fill(NamedTuple):
    """What missing entries count as, by the part of the rows that a row belongs to."""

    means: Floats  # shape (parts, features)
    part_of_cell: Indices

    def only(self, columns: Any) -> "Fill":
        return self._replace(means=self.means[:, columns])

    def __call__(self, X: Any, cells: Indices) -> Any:
        """Rows without missing entries."""
        parts = self.part_of_cell[cells]
        if sparse.issparse(X):
            X = sparse.csr_array(X, copy=True)
            places = np.flatnonzero(np.isnan(X.data))
            rows = np.searchsorted(X.indptr, places, side="right") - 1
            X.data[places] = self.means[parts[rows], X.indices[places]]
            return X
        missing = np.isnan(X)
        rows, columns = np.nonzero(missing)
        filled = X.astype(np.float64)
        filled[rows, columns] = self.means[parts[rows], columns]
        return filled


def filled(X: Any, means: Floats | None) -> Any:
    """Rows whose missing entries count as these means."""
    one_part = np.zeros(X.shape[0], np.intp)
    return X if means is None else Fill(means[None], one_part[:1])(X, one_part)


def present_means(X: Any, weights: Floats) -> Floats | None:
    """Means of a whole matrix; None where nothing is missing."""
    if not has_missing(X):
        return None
    means = PresentMeans(X.shape[1], 1)
    means.add(X, weights, np.zeros(len(weights), np.intp))
    found = means.means()
    return None if found is None else found[0]


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
