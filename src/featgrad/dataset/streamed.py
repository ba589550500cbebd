"""Columns of a source of blocks as the search for k features sees them.

Rows have positions drawn at random, so that a sorted file does not matter: the search asks for runs
of positions, and each pass over the source, in the order of the file, gathers what it asks for.
Nothing of all rows stays in memory: targets and weights are read again with the features, and
positions drawn again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.dataset.accumulated.fold_moments import FoldMoments, MomentColumns, fit_into_memory
from featgrad.dataset.checkpoint import (
    NO_CHECKPOINT,
    Arrays,
    Checkpoint,
    Sums,
)
from featgrad.dataset.checks import check_raw_weights
from featgrad.dataset.dealt import N_FOLDS, DealtRows
from featgrad.dataset.first_reading import (
    FEWEST_SAMPLED,
    SAMPLE_ENTRIES,
    FirstReading,
    checksum,
)
from featgrad.dataset.parts import GatheredRows, Part
from featgrad.dataset.passing import Onlooker
from featgrad.dataset.prepare import ESTIMATE_ROWS, build_engine
from featgrad.math.targets import Target
from featgrad.moments.folds import Fold, GrowingFold
from featgrad.moments.problem import Problem
from featgrad.moments.spectrum import top_eigenvalue
from featgrad.moments.sweeps import Engine
from featgrad.preprocess.compression import Compression, CrossSums
from featgrad.readers import Block, Source, prefetched
from featgrad.readers.block import rows_of

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class StreamedColumns:
    """Compressed columns of a source; making it reads the source once.

    Parameters
    ----------
    source : Source
        The rows; those of weight zero count as absent.
    task : str
        What the target is.
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
    task : str
        What the target was taken for.
    n_rows, n_features, n_outputs : int
        How many there are.
    """

    def __init__(
        self,
        source: Source,
        task: str,
        preprocess: str,
        missing: str,
        rng: np.random.RandomState,
        checkpoint: Checkpoint = NO_CHECKPOINT,
    ) -> None:
        self._source = prefetched(source)
        self._preprocess, self._checkpoint = preprocess, checkpoint
        self.n_features = source.n_features
        first = FirstReading(self.n_features, task, missing, rng)
        blocks = ((block,) for block in used_rows(self._source))
        checkpoint.through("first", blocks, first.add, first)
        self.n_rows = first.positions.n_rows
        if self.n_rows < 2:
            raise ValueError(
                f"source has {self.n_rows} row(s) of positive weight while a minimum of 2 is "
                "required: pass more rows."
            )
        first.positions.settle()
        self._positions, self._checksums = first.positions, first.checksums
        self._weight = float(first.weight[0])
        self._outputs = first.targets.outputs()
        self.task, self.n_outputs = self._outputs.encoding.task, len(self._outputs.means)
        self._sample = first.sample
        self._first_rows: Part | None = None
        self._compression = Compression(first.sample, first.means, preprocess)

    def dealt(self) -> DealtRows | MomentColumns:
        """Columns over folds of rows as the search sees them.

        Where the moments of all columns fit into memory, one reading gathers them, and the rows
        that `sampled` takes.
        """
        if self.n_rows < N_FOLDS or not fit_into_memory(self.n_features, self.n_outputs):
            return DealtRows(self)
        n_sampled = self._sample.shape[0]
        self._compression.settle(self._sample, np.full(n_sampled, 1 / n_sampled))
        moments, first = FoldMoments(self.n_features, self.n_outputs), GatheredRows()
        count = self._n_estimated(self.n_features)

        def add(*part: Any) -> None:
            outputs, weights, at, X = part
            moments.add(self._compression, X, outputs, weights, at * N_FOLDS // self.n_rows)
            first.add(Part(*part).before(count))

        self._checkpoint.through("moments", self._parts(), add, _Together([moments, first]))
        self._first_rows = first.by_position()
        return MomentColumns(moments, self._compression, self.n_outputs, self._preprocess)

    def cross(self, groups: Sequence[slice]) -> Floats:
        """``sum_n w_n x_n y_n`` over each group of rows, shape (features, groups, outputs).

        Reads the source once. The first call also takes the columns' means and variances.
        """
        shape = (len(groups), self.n_outputs)
        sums = CrossSums(self.n_features, shape[0] * shape[1])

        def add(outputs: Floats, weights: Floats, at: Indices, X: Any) -> None:
            # Weighted outputs by group, 0 in all groups but the row's own.
            spread = np.zeros((len(at), *shape))
            spread[np.arange(len(at)), _span_of(at, groups)] = weights[:, None] * outputs
            self._compression.add(sums, X, weights, spread.reshape(len(at), -1))

        self._checkpoint.through(f"cross {len(groups)}", self._parts(), add, sums)
        return self._compression.cross(sums).reshape(self.n_features, *shape)

    def folds(self, spans: Sequence[slice], indices: Indices) -> list[Fold]:
        """Some columns over runs of rows, standardised; reads the source once for all."""
        growing = [GrowingFold() for _ in spans]

        def add(outputs: Floats, weights: Floats, at: Indices, X: Any) -> None:
            values = self._compression.standardised(X[:, indices], indices)
            of_row = _span_of(at, spans)
            for i in np.unique(of_row):
                rows = np.flatnonzero(of_row == i)
                growing[i].add(values[rows], outputs[rows], weights[rows])

        self._checkpoint.through("folds", self._parts(), add, _Together(growing))
        return [fold.fold() for fold in growing]

    def sampled(self, indices: Indices, filters: tuple[Floats, ...]) -> tuple[Problem, Target]:
        """Some columns, as the source holds them, of not too many rows; may read the source once.

        The target is that of all rows: a rare class may be missing among some of them.
        """
        first = self._first_rows
        if first is None:
            first = self._first("sampled", indices)
        else:
            first = first._replace(X=first.X[:, indices])
        engine, weights = self._engine(first)
        told = self._outputs
        outputs = first.outputs * told.deviations
        target = Target(outputs, told.variance, self.task, told.positive_share)
        return Problem(engine, outputs, weights, told.variance, filters, scale=1.0), target

    def standardisers(self) -> tuple[Floats, Floats]:
        """Mean and scale of the raw columns that pass; after `cross`."""
        return self._compression.standardisers(sparse.issparse(self._sample))

    def top_eigenvalue(self, indices: Indices) -> float:
        """Of the covariance of some standardised columns; reads the source once."""
        engine, weights = self._engine(self._first(f"spectrum of {len(indices)}", indices))
        return top_eigenvalue(engine, np.ones(len(indices)), weights)

    def let_pass(self, name: str, rows_at_once: int, onlooker: Onlooker) -> None:
        """Show outputs, weights and raw columns of all rows; reads the source once."""
        pieces = (
            (outputs[start:stop], weights[start:stop], rows_of(X, start, stop))
            for outputs, weights, _, X in self._parts()
            for start in range(0, len(weights), rows_at_once)
            for stop in [start + rows_at_once]
        )

        def add(outputs: Floats, weights: Floats, X: Any) -> None:
            onlooker.add(outputs, weights, self._compression.raw(X))

        self._checkpoint.through(name, pieces, add, onlooker)

    def _engine(self, first: Part) -> tuple[Engine, Floats]:
        """Rows of the first positions, with their weights."""
        weights = first.weights / first.weights.sum()
        rows = np.arange(len(weights))
        return build_engine(first.X, rows, weights, self._preprocess), weights

    def _first(self, name: str, indices: Indices) -> Part:
        """Some columns of the first positions."""
        gathered, count = GatheredRows(), self._n_estimated(len(indices))

        def add(*part: Any) -> None:
            some = Part(*part).before(count)
            gathered.add(some._replace(X=some.X[:, indices]))

        self._checkpoint.through(name, self._parts(), add, gathered)
        return gathered.by_position()

    def _n_estimated(self, n_columns: int) -> int:
        """Rows that tell how much so many columns explain."""
        if sparse.issparse(self._sample):
            n_columns = min(n_columns, 1 + self._sample.nnz // self._sample.shape[0])
        n_rows = max(FEWEST_SAMPLED, SAMPLE_ENTRIES // n_columns)
        return min(n_rows, ESTIMATE_ROWS, self.n_rows)

    def _parts(self) -> Iterator[Part]:
        """The rows of each block."""
        seen, positions = 0, self._positions.again()
        for i, block in enumerate(used_rows(self._source)):
            seen += len(block)
            if seen > self.n_rows:
                continue
            if i == len(self._checksums) or checksum(block.y) != self._checksums[i]:
                raise ValueError(
                    "source has other targets than when it was first read, in rows "
                    f"{seen - len(block)} to {seen}: leave it unchanged during the fit, and "
                    "remove the checkpoint if it was changed on purpose."
                )
            weights = check_raw_weights(block.weight, len(block)) / self._weight
            yield Part(self._outputs(block.y), weights, positions(len(block)), block.X)
        if seen != self.n_rows:
            raise ValueError(
                f"source had {self.n_rows} rows of positive weight when it was first read and "
                f"{seen} when it was read again: leave it unchanged during the fit."
            )


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


def used_rows(source: Source) -> Iterator[Block]:
    """Blocks without rows of weight zero."""
    for block in source:
        if block.weight is not None and not block.weight.all():
            block = block.only(block.weight != 0)
        if len(block):
            yield block


def _span_of(positions: Indices, spans: Sequence[slice]) -> Indices:
    """The span, of those that follow each other from 0, that each position falls into."""
    return np.searchsorted([span.stop for span in spans], positions, side="right")
