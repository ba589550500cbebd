"""Rows dealt to folds: what the search for k features sees of rows that lie or can be read again.

Rows come in random order, so that runs of them are random folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from featgrad.dataset.passing import Onlooker
from featgrad.moments.folds import Fold

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Folds that rows are dealt to, where there are as many rows, and runs of folds to hold out.
N_FOLDS = 20
GROUPS = [range(first, first + 4) for first in range(0, N_FOLDS, 4)]


def of_one_variance(outputs: Floats, weights: Floats) -> Floats:
    """Centred outputs that count alike, whatever their units or however rare their class."""
    deviation = np.sqrt(weights @ outputs**2)
    return np.asarray(outputs / np.where(deviation > 0, deviation, 1.0))


class RowColumns(Protocol):
    """Standardised columns of rows that have positions, weights and outputs of variance 1."""

    n_features: int
    n_rows: int
    n_outputs: int

    def cross(self, groups: Sequence[slice]) -> Floats:
        """``sum_n w_n x_n y_n`` over each group of rows, shape (features, groups, outputs)."""
        ...

    def folds(self, spans: Sequence[slice], indices: Indices) -> list[Fold]:
        """Some columns over runs of rows; after `cross`, which learns how to standardise."""
        ...

    def standardisers(self) -> tuple[Floats, Floats]:
        """Mean and scale of the raw columns that pass; after `cross`."""
        ...

    def top_eigenvalue(self, indices: Indices) -> float:
        """Of the covariance of some standardised columns."""
        ...

    def let_pass(self, name: str, rows_at_once: int, onlooker: Onlooker) -> None:
        """Show outputs, weights and raw columns of all rows."""
        ...


class DealtRows:
    """Columns over folds of rows.

    Parameters
    ----------
    columns : RowColumns
        The features, with weights and outputs of the rows.
    """

    def __init__(self, columns: RowColumns) -> None:
        self.rows = columns
        self.n_features, self.n_outputs = columns.n_features, columns.n_outputs
        self.n_rows = columns.n_rows
        self.n_folds = min(N_FOLDS, self.n_rows)
        each, left = divmod(self.n_rows, self.n_folds)
        edges = [i * each + min(i, left) for i in range(self.n_folds + 1)]
        self._spans = [slice(*edge) for edge in pairwise(edges)]
        # Too few rows tell nothing about strategies.
        self.groups = GROUPS if self.n_folds == N_FOLDS else [range(self.n_folds)]

    def cross(self) -> Floats:
        """``sum_n w_n x_n y_n`` over groups of folds, shape (features, groups, outputs)."""
        spans = self._spans
        rows = [slice(spans[group[0]].start, spans[group[-1]].stop) for group in self.groups]
        return self.rows.cross(rows)

    def folds(self, indices: Indices) -> list[Fold]:
        """Some columns over all folds; after `cross`, which learns how to standardise."""
        return self.rows.folds(self._spans, indices)
