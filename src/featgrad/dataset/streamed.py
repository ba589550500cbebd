"""Rows of a source, read again block by block in every pass.

Rows have random places, so that a sorted file does not matter: they decide the fold of a row and
whether it belongs to the sample. Nothing of all rows stays in memory: targets and weights are read
again with the features, and places drawn again.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from featgrad.arrays import Floats, Indices
from featgrad.checks import check_raw_weights
from featgrad.dataset.base import Consumer, Dataset, Rows, RowSums, Sample
from featgrad.dataset.checkpoint import (
    NO_CHECKPOINT,
    Arrays,
    Checkpoint,
    Sums,
    matrix_of,
    matrix_state,
)
from featgrad.dataset.first_reading import FirstReading, checksum
from featgrad.dataset.prepare import build_engine, usable_order
from featgrad.math.filters import up_to
from featgrad.math.targets import Target
from featgrad.moments.problem import Problem
from featgrad.plan import ESTIMATE_ROWS, FEWEST_KEPT, KEPT_ENTRIES
from featgrad.preprocess.standardise import Standardiser
from featgrad.readers import Block, Source, prefetched
from featgrad.readers.block import rows_of, stacked


class Streamed(Dataset):
    """A source of blocks; making it reads the source once.

    Rows of weight zero count as absent. `filters` are the filter and its lower orders.
    """

    def __init__(
        self,
        source: Source,
        *,
        task: str,
        order: int,
        filter: Any,
        preprocess: str,
        missing: str,
        n_folds: int,
        rng: np.random.RandomState,
        checkpoint: Checkpoint = NO_CHECKPOINT,
    ) -> None:
        self._source, self._name = prefetched(source), getattr(source, "name", "source")
        self._preprocess, self._checkpoint = preprocess, checkpoint
        self.n_features = source.n_features
        first = FirstReading(self.n_features, task, missing, rng)
        self._first = first
        checkpoint.through("first", self._blocks(), first.add, first)
        self.n_rows = first.order.n_rows
        if self.n_rows < 2:
            raise ValueError(
                f"source has {self.n_rows} row(s) of positive weight while a minimum of 2 is "
                "required: pass more rows."
            )
        first.limits.check(source.feature_names)
        first.order.settle()
        self._order = first.order
        self._weight = float(first.weight[0])
        self._outputs = first.targets.outputs()
        self.task, self.n_outputs = self._outputs.encoding.task, len(self._outputs.means)
        self.n_folds = min(n_folds, self.n_rows)
        self.filters = up_to(filter, usable_order(order, filter, self.n_rows))
        self._is_sparse = sparse.issparse(first.first_rows)
        self._entries_per_row = _entries_per_row(first.first_rows)
        self.standardiser = Standardiser.from_sample(first.first_rows, first.means, preprocess)
        self._passes = 0
        self._gathered: _Gathered | None = None

    def visit(self, name: str, add: Callable[[Rows], None], sums: Sums) -> None:
        """Read the source once."""
        self._passes += 1
        parts = ((rows.weights, rows) for rows in self._rows())
        self._checkpoint.through(f"{self._passes} {name}", parts, lambda _, rows: add(rows), sums)

    def sample(self, columns: Indices) -> Sample:
        """Some columns of not too many rows; reads the source once.

        The target is that of all rows: a rare class may be missing among some of them.
        """
        rows = self._sampled(columns)
        weights = rows.weights / rows.weights.sum()
        # Choosing columns leaves them one after the other, where engines take rows.
        X = rows.X if self._is_sparse else np.ascontiguousarray(rows.X)
        engine = build_engine(X, np.arange(len(weights)), weights, self._preprocess)
        encoded = self._outputs
        outputs = rows.outputs * encoded.deviations
        target = Target(outputs, encoded.variance, self.task)
        problem = Problem(engine, outputs, weights, encoded.variance, self.filters, 1.0)
        return Sample(problem, target, rows.folds)

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Read the source once."""
        pieces = (
            (rows.outputs[start:stop], rows.weights[start:stop], rows_of(rows.X, start, stop))
            for rows in self._rows()
            for start in range(0, len(rows.weights), batch_rows)
            for stop in [start + batch_rows]
        )

        def add(outputs: Floats, weights: Floats, X: Any) -> None:
            consumer.add(outputs, weights, self.standardiser.filled(X))

        self._checkpoint.through(name, pieces, add, consumer)

    def gather_sample(self) -> RowSums:
        """All columns of the sample, from a visit that reads the rows anyway."""
        columns = np.arange(self.n_features)
        self._gathered = self._gathering(columns)
        return self._gathered

    def _sampled(self, columns: Indices) -> Rows:
        """Some columns of rows with evenly spaced places, in the order of these."""
        if self._gathered is not None:
            rows = self._gathered.rows()
            return rows._replace(X=rows.X[:, columns])
        gathered = self._gathering(columns)
        self.visit("sample", gathered.add, gathered)
        return gathered.rows()

    def _gathering(self, columns: Indices) -> "_Gathered":
        return _Gathered(columns, self._n_sampled(len(columns)), self.n_rows)

    def _n_sampled(self, n_columns: int) -> int:
        """Rows of so many columns that are sampled."""
        entries = min(n_columns, self._entries_per_row)
        return min(max(FEWEST_KEPT, KEPT_ENTRIES // entries), ESTIMATE_ROWS, self.n_rows)

    def _blocks(self) -> Iterator[tuple[Block, int]]:
        """Blocks and their checksums: what was read before must still be the same."""
        seen = 0
        for i, block in enumerate(used_rows(self._source)):
            seen += len(block)
            found = checksum(block, whole=self._checkpoint.is_kept)
            if i < len(self._first.checksums) and found != self._first.checksums[i]:
                raise ValueError(
                    f"{self._name} is not what it was when it was first read, in rows "
                    f"{seen - len(block) + 1} to {seen}: leave it unchanged during the fit, and "
                    "remove the checkpoint if it was changed on purpose."
                )
            yield block, found

    def _rows(self) -> Iterator[Rows]:
        """The rows of each block."""
        seen, next_places = 0, self._order.again()
        for block, _ in self._blocks():
            seen += len(block)
            if seen > self.n_rows:
                continue
            weights = check_raw_weights(block.weight, len(block)) / self._weight
            places = next_places(len(block))
            folds = places * self.n_folds // self.n_rows
            yield Rows(self._outputs(block.y), weights, folds, block.X, places)
        if seen != self.n_rows:
            raise ValueError(
                f"source had {self.n_rows} rows of positive weight when it was first read and "
                f"{seen} when it was read again: leave it unchanged during the fit."
            )


_GATHERED = ("places", "outputs", "weights", "folds")


class _Gathered:
    """Some columns of so many rows, with evenly spaced places, hence from all folds alike."""

    def __init__(self, columns: Indices, count: int, n_rows: int) -> None:
        self._columns, self._count, self._n_rows = columns, count, n_rows
        self._parts: list[tuple[Indices, Floats, Floats, Indices, Any]] = []

    def add(self, rows: Rows) -> None:
        assert rows.places is not None
        own = np.flatnonzero(rows.places * self._count % self._n_rows < self._count)
        X = rows.X[own][:, self._columns]
        parts = rows.places[own], rows.outputs[own], rows.weights[own], rows.folds[own]
        self._parts.append((*parts, X))

    def rows(self) -> Rows:
        """All of them, by rising place."""
        places, outputs, weights, folds, X = self._joined()
        order = np.argsort(places, kind="stable")
        return Rows(outputs[order], weights[order], folds[order], X[order])

    def state(self) -> Arrays:
        *arrays, X = self._joined()
        return {**dict(zip(_GATHERED, arrays, strict=True)), **matrix_state(X)}

    def restore(self, state: Arrays) -> None:
        places, outputs, weights, folds = (state[name] for name in _GATHERED)
        self._parts = [(places, outputs, weights, folds, matrix_of(state))]

    def _joined(self) -> tuple[Indices, Floats, Floats, Indices, Any]:
        *arrays, X = zip(*self._parts, strict=True)
        places, outputs, weights, folds = map(np.concatenate, arrays)
        return places, outputs, weights, folds, stacked(X)


def used_rows(source: Source) -> Iterator[Block]:
    """Blocks without rows of weight zero."""
    for block in source:
        if block.weight is not None and not block.weight.all():
            block = block.only(block.weight != 0)
        if len(block):
            yield block


def _entries_per_row(X: Any) -> int:
    return 1 + X.nnz // X.shape[0] if sparse.issparse(X) else int(X.shape[1])
