"""Columns of a source of blocks as the search for k features sees them.

Rows have positions drawn at random, so that a sorted file does not matter: the search asks for runs
of positions, and each pass over the source, in the order of the file, gathers what it asks for.
Targets, weights and positions stay in memory, of the features one block and what is gathered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.data.checks import check_missing, check_weights
from featgrad.data.compression import SAMPLE_ROWS, Compression
from featgrad.data.prepare import build_engine
from featgrad.data.present_means import PresentMeans
from featgrad.data.sources import Block, Source, ahead
from featgrad.engines.folds import Fold, GrowingFold
from featgrad.engines.problem import Problem
from featgrad.objective.targets import Target

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Most entries of a dense sample of rows, whatever their number of columns, but some rows always.
_SAMPLE_ENTRIES = 1 << 25
_FEWEST_SAMPLED = 64
# Most rows that tell how much the chosen columns explain.
_ESTIMATE_ROWS = 100_000


class StreamedColumns:
    """Compressed columns of a source; making it reads the source once.

    Parameters
    ----------
    source : Source
        The rows; those of weight zero count as absent.
    preprocess : {"zscore", "center"}
        Whether columns are compressed and brought to one variance, or only centred.
    missing : {"error", "mean"}
        Whether NaN is refused or counts as its column's mean.
    rng : RandomState
        Draws the positions.

    Attributes
    ----------
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Targets by position.
    weights : ndarray of shape (n_rows,)
        Weights by position, which sum to one.
    """

    def __init__(
        self, source: Source, preprocess: str, missing: str, rng: np.random.RandomState
    ) -> None:
        self._source, self._preprocess = ahead(source), preprocess
        self.n_features = source.n_features
        means, sample = PresentMeans(self.n_features), _Sample(self.n_features)
        keys, targets, weights = [], [], []
        for block in _used(self._source):
            check_missing(block.X, missing)
            keys.append(rng.random_sample(len(block)))
            targets.append(block.y)
            weights.append(np.ones(len(block)) if block.weight is None else block.weight)
            if missing == "mean":
                means.add(block.X, weights[-1])
            sample.add(block.X, keys[-1])
        self.n_rows = sum(len(part) for part in keys)
        if self.n_rows < 2:
            raise ValueError(
                f"source has {self.n_rows} row(s) of positive weight while a minimum of 2 is "
                "required: pass more rows."
            )
        order = np.argsort(np.concatenate(keys), kind="stable")
        self._positions = np.empty(self.n_rows, np.intp)
        self._positions[order] = np.arange(self.n_rows)
        self.y = np.concatenate(targets)[order]
        self.weights = check_weights(np.concatenate(weights)[order], self.n_rows)
        self._compression = Compression(sample.rows(), means.means(), preprocess)

    def cross(self, outputs: Floats, groups: Sequence[slice]) -> Floats:
        """``sum_n w_n x_n y_n`` over each group of rows, shape (features, groups, outputs).

        Reads the source once. The first call also takes the columns' means and variances.
        `outputs` have weighted mean 0.
        """
        shape = (len(groups), outputs.shape[1])
        parts = (
            (X, self.weights[at], self._spread(at, outputs, groups)) for at, X in self._blocks()
        )
        cross = self._compression.cross(parts, shape[0] * shape[1])
        return cross.reshape(self.n_features, *shape)

    def folds(self, spans: Sequence[slice], indices: Indices, outputs: Floats) -> list[Fold]:
        """Some columns over runs of rows, standardised; reads the source once for all."""
        growing = [GrowingFold() for _ in spans]
        for at, X in self._blocks():
            values = self._compression.standardised(X[:, indices], indices)
            of_row = _span_of(at, spans)
            for i in np.unique(of_row):
                rows = np.flatnonzero(of_row == i)
                growing[i].add(values[rows], outputs[at[rows]], self.weights[at[rows]])
        return [fold.fold() for fold in growing]

    def sampled(self, indices: Indices, target: Target, filters: tuple[Floats, ...]) -> Problem:
        """Some columns, as the source holds them, of not too many rows; reads the source once.

        The target is that of all rows: a rare class may be missing among some of them.
        """
        n_rows = max(_FEWEST_SAMPLED, _SAMPLE_ENTRIES // len(indices))
        n_rows = min(n_rows, _ESTIMATE_ROWS, self.n_rows)
        weights = self.weights[:n_rows] / self.weights[:n_rows].sum()
        engine = build_engine(
            self._first(n_rows, indices), np.arange(n_rows), weights, self._preprocess
        )
        outputs = target.outputs[:n_rows]
        return Problem(engine, outputs, weights, target.variance, filters, scale=1.0)

    def _first(self, count: int, indices: Indices) -> Any:
        """Some columns of the first positions."""
        positions, parts = [], []
        for at, X in self._blocks():
            rows = np.flatnonzero(at < count)
            positions.append(at[rows])
            parts.append(X[rows][:, indices])
        return _stacked(parts)[np.argsort(np.concatenate(positions))]

    def _blocks(self) -> Iterator[tuple[Indices, Any]]:
        """Positions and features of each block's rows."""
        start = 0
        for block in _used(self._source):
            at = self._positions[start : start + len(block)]
            start += len(block)
            if len(at) == len(block):
                yield at, block.X
        if start != self.n_rows:
            raise ValueError(
                f"source had {self.n_rows} rows of positive weight when it was first read and "
                f"{start} when it was read again: leave it unchanged during the fit."
            )

    def _spread(self, at: Indices, outputs: Floats, groups: Sequence[slice]) -> Floats:
        """Weighted outputs of some rows by group, 0 in all groups but the row's own."""
        parts = np.zeros((len(at), len(groups), outputs.shape[1]))
        parts[np.arange(len(at)), _span_of(at, groups)] = self.weights[at, None] * outputs[at]
        return parts.reshape(len(at), -1)


class _Sample:
    """Rows with the smallest keys among those seen."""

    def __init__(self, n_features: int) -> None:
        self._dense_rows = max(_FEWEST_SAMPLED, _SAMPLE_ENTRIES // n_features)
        self._keys: Floats = np.zeros(0)
        self._rows: Any = None

    def add(self, X: Any, keys: Floats) -> None:
        most = SAMPLE_ROWS if sparse.issparse(X) else min(SAMPLE_ROWS, self._dense_rows)
        all_keys = np.append(self._keys, keys)
        best = np.sort(np.argsort(all_keys, kind="stable")[:most])
        old, new = best[best < len(self._keys)], best[best >= len(self._keys)] - len(self._keys)
        if len(new):
            added = X[new]
            self._rows = added if self._rows is None else _stacked([self._rows[old], added])
            self._keys = all_keys[best]

    def rows(self) -> Any:
        return self._rows


def _used(source: Source) -> Iterator[Block]:
    """Blocks without rows of weight zero."""
    for block in source:
        if block.weight is not None and not block.weight.all():
            block = block.only(block.weight != 0)
        if len(block):
            yield block


def _span_of(positions: Indices, spans: Sequence[slice]) -> Indices:
    """The span, of those that follow each other from 0, that each position falls into."""
    return np.searchsorted([span.stop for span in spans], positions, side="right")


def _stacked(parts: list[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
