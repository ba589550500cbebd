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

from featgrad.data.accumulated.fold_moments import FoldMoments, MomentColumns, fit_into_memory
from featgrad.data.checkpoint import (
    NO_CHECKPOINT,
    Arrays,
    Checkpoint,
    Sums,
    matrix_of,
    matrix_state,
)
from featgrad.data.checks import check_weights
from featgrad.data.compression import Compression, CrossSums
from featgrad.data.dealt import N_FOLDS, DealtRows, of_one_variance
from featgrad.data.first_reading import FEWEST_SAMPLED, SAMPLE_ENTRIES, FirstReading, stacked
from featgrad.data.passing import Onlooker
from featgrad.data.prepare import ESTIMATE_ROWS, build_engine
from featgrad.data.sources import Block, Source, ahead
from featgrad.engines.folds import Fold, GrowingFold
from featgrad.engines.problem import Problem
from featgrad.engines.spectrum import top_eigenvalue
from featgrad.engines.sweeps import Engine
from featgrad.objective.targets import Target

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


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
    checkpoint : Checkpoint
        Where passes are kept.

    Attributes
    ----------
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Targets by position.
    weights : ndarray of shape (n_rows,)
        Weights by position, which sum to one.
    """

    def __init__(
        self,
        source: Source,
        preprocess: str,
        missing: str,
        rng: np.random.RandomState,
        checkpoint: Checkpoint = NO_CHECKPOINT,
    ) -> None:
        self._source, self._preprocess, self._checkpoint = ahead(source), preprocess, checkpoint
        self.n_features = source.n_features
        first = FirstReading(self.n_features, missing, rng)
        blocks = ((block,) for block in used_rows(self._source))
        checkpoint.through("first", blocks, first.add, first)
        self.n_rows = first.n_rows
        if self.n_rows < 2:
            raise ValueError(
                f"source has {self.n_rows} row(s) of positive weight while a minimum of 2 is "
                "required: pass more rows."
            )
        order = np.argsort(first.keys, kind="stable")
        self._positions = np.empty(self.n_rows, np.intp)
        self._positions[order] = np.arange(self.n_rows)
        self.y = first.y[order]
        self.weights = check_weights(first.weights[order], self.n_rows)
        self._sample = first.sample
        self._first_rows: Any = None
        self._compression = Compression(first.sample, first.means, preprocess)

    def dealt(self, outputs: Floats) -> DealtRows | MomentColumns:
        """Columns over folds of rows, beside centred outputs, as the search sees them.

        Where the moments of all columns fit into memory, one reading gathers them, and the rows
        that `sampled` takes.
        """
        n_outputs = outputs.shape[1]
        if self.n_rows < N_FOLDS or not fit_into_memory(self.n_features, n_outputs):
            return DealtRows(self, outputs, self.weights)
        outputs = of_one_variance(outputs, self.weights)
        n_sampled = self._sample.shape[0]
        self._compression.settle(self._sample, np.full(n_sampled, 1 / n_sampled))
        moments, first = FoldMoments(self.n_features, n_outputs), _Gathered()
        count = self._n_estimated(self.n_features)

        def add(at: Indices, X: Any) -> None:
            folds = at * N_FOLDS // self.n_rows
            moments.add(self._compression, X, outputs[at], self.weights[at], folds)
            first.add(*_before(count, at, X))

        self._checkpoint.through("moments", self._blocks(), add, _Together([moments, first]))
        self._first_rows = first.by_position()
        return MomentColumns(moments, self._compression, n_outputs, self._preprocess)

    def cross(self, outputs: Floats, groups: Sequence[slice]) -> Floats:
        """``sum_n w_n x_n y_n`` over each group of rows, shape (features, groups, outputs).

        Reads the source once. The first call also takes the columns' means and variances.
        `outputs` have weighted mean 0.
        """
        shape = (len(groups), outputs.shape[1])
        sums = CrossSums(self.n_features, shape[0] * shape[1])

        def add(at: Indices, X: Any) -> None:
            weighted = self._spread(at, outputs, groups)
            self._compression.add(sums, X, self.weights[at], weighted)

        self._checkpoint.through(f"cross {len(groups)}", self._blocks(), add, sums)
        return self._compression.cross(sums).reshape(self.n_features, *shape)

    def folds(self, spans: Sequence[slice], indices: Indices, outputs: Floats) -> list[Fold]:
        """Some columns over runs of rows, standardised; reads the source once for all."""
        growing = [GrowingFold() for _ in spans]

        def add(at: Indices, X: Any) -> None:
            values = self._compression.standardised(X[:, indices], indices)
            of_row = _span_of(at, spans)
            for i in np.unique(of_row):
                rows = np.flatnonzero(of_row == i)
                growing[i].add(values[rows], outputs[at[rows]], self.weights[at[rows]])

        self._checkpoint.through("folds", self._blocks(), add, _Together(growing))
        return [fold.fold() for fold in growing]

    def sampled(self, indices: Indices, target: Target, filters: tuple[Floats, ...]) -> Problem:
        """Some columns, as the source holds them, of not too many rows; may read the source once.

        The target is that of all rows: a rare class may be missing among some of them.
        """
        first = self._first_rows
        first = self._first("sampled", indices) if first is None else first[:, indices]
        engine, weights = self._engine(first)
        outputs = target.outputs[: len(weights)]
        return Problem(engine, outputs, weights, target.variance, filters, scale=1.0)

    def standardisers(self) -> tuple[Floats, Floats]:
        """Mean and scale of the raw columns that pass; after `cross`."""
        return self._compression.standardisers(sparse.issparse(self._sample))

    def top_eigenvalue(self, indices: Indices) -> float:
        """Of the covariance of some standardised columns; reads the source once."""
        first = self._first(f"spectrum of {len(indices)}", indices)
        engine, weights = self._engine(first)
        return top_eigenvalue(engine, np.ones(len(indices)), weights)

    def let_pass(self, name: str, rows_at_once: int, onlooker: Onlooker) -> None:
        """Show positions and raw columns of all rows; reads the source once."""
        pieces = (
            (at[start : start + rows_at_once], X[start : start + rows_at_once])
            for at, X in self._blocks()
            for start in range(0, len(at), rows_at_once)
        )

        def add(at: Indices, X: Any) -> None:
            onlooker.add(at, self._compression.raw(X))

        self._checkpoint.through(name, pieces, add, onlooker)

    def _engine(self, first: Any) -> tuple[Engine, Floats]:
        """Rows of the first positions, with their weights."""
        n_rows = first.shape[0]
        weights = self.weights[:n_rows] / self.weights[:n_rows].sum()
        return build_engine(first, np.arange(n_rows), weights, self._preprocess), weights

    def _first(self, name: str, indices: Indices) -> Any:
        """Some columns of the first positions."""
        gathered, count = _Gathered(), self._n_estimated(len(indices))

        def add(at: Indices, X: Any) -> None:
            positions, rows = _before(count, at, X)
            gathered.add(positions, rows[:, indices])

        self._checkpoint.through(name, self._blocks(), add, gathered)
        return gathered.by_position()

    def _n_estimated(self, n_columns: int) -> int:
        """Rows that tell how much so many columns explain."""
        if sparse.issparse(self._sample):
            n_columns = min(n_columns, 1 + self._sample.nnz // self._sample.shape[0])
        n_rows = max(FEWEST_SAMPLED, SAMPLE_ENTRIES // n_columns)
        return min(n_rows, ESTIMATE_ROWS, self.n_rows)

    def _blocks(self) -> Iterator[tuple[Indices, Any]]:
        """Positions and features of each block's rows."""
        start = 0
        for block in used_rows(self._source):
            at = self._positions[start : start + len(block)]
            start += len(block)
            if len(at) < len(block):
                continue
            if not np.array_equal(block.y, self.y[at]):
                raise ValueError(
                    "source has other targets than when it was first read, in rows "
                    f"{start - len(block)} to {start}: leave it unchanged during the fit, and "
                    "remove the checkpoint if it was changed on purpose."
                )
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


class _Together:
    """Several sums of one pass."""

    def __init__(self, parts: Sequence[Sums]) -> None:
        self._parts = parts

    def state(self) -> Arrays:
        return {
            f"{i}.{name}": array
            for i, part in enumerate(self._parts)
            for name, array in part.state().items()
        }

    def restore(self, state: Arrays) -> None:
        states: list[dict[str, NDArray[Any]]] = [{} for _ in self._parts]
        for path, array in state.items():
            i, name = path.split(".", 1)
            states[int(i)][name] = array
        for part, of_part in zip(self._parts, states, strict=True):
            part.restore(of_part)


class _Gathered:
    """Rows of some positions, as they come."""

    def __init__(self) -> None:
        self._positions: list[Indices] = []
        self._parts: list[Any] = []

    def add(self, positions: Indices, rows: Any) -> None:
        self._positions.append(positions)
        self._parts.append(rows)

    def by_position(self) -> Any:
        return stacked(self._parts)[np.argsort(np.concatenate(self._positions))]

    def state(self) -> Arrays:
        positions = np.concatenate(self._positions)
        return {"positions": positions, **matrix_state(stacked(self._parts))}

    def restore(self, state: Arrays) -> None:
        self._positions, self._parts = [state["positions"]], [matrix_of(state)]


def used_rows(source: Source) -> Iterator[Block]:
    """Blocks without rows of weight zero."""
    for block in source:
        if block.weight is not None and not block.weight.all():
            block = block.only(block.weight != 0)
        if len(block):
            yield block


def _before(count: int, positions: Indices, X: Any) -> tuple[Indices, Any]:
    """Those of the rows that have one of the first positions."""
    rows = np.flatnonzero(positions < count)
    return positions[rows], X[rows]


def _span_of(positions: Indices, spans: Sequence[slice]) -> Indices:
    """The span, of those that follow each other from 0, that each position falls into."""
    return np.searchsorted([span.stop for span in spans], positions, side="right")
