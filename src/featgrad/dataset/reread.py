"""Rows that are not kept: each visit brings them again, with random places.

The place of a row decides its fold and whether it belongs to the sample, so that a sorted file does
not matter.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support.threads import one_blas_thread
from featgrad._support.types import Floats, Indices, Keys
from featgrad.checks import check_missing, check_raw_weights
from featgrad.columns.extremes import Fences, Limits
from featgrad.columns.sums import ArraySums, ColumnSums, Fill
from featgrad.dataset.base import RowSample, Storage
from featgrad.dataset.checkpoint import Arrays, matrix_of, matrix_state
from featgrad.dataset.prepare import Preparation, usable_filters
from featgrad.dataset.splits import (
    folds_of_groups,
    parts_of,
    parts_of_groups,
    random_splits,
    roles_of_rows,
    split_layout,
)
from featgrad.dataset.sums import PartMeans, Rows, RowSums
from featgrad.math.target_sums import Outputs, TargetSums
from featgrad.math.targets import stratified
from featgrad.math.tasks import RowsOf, Task, task_by_rows
from featgrad.plan import ESTIMATE_ROWS, FEWEST_KEPT, KEPT_ENTRIES, TASK_ROWS
from featgrad.readers import Block

# Of the rows that the origins of columns are taken from.
_ORIGIN_ENTRIES = 1 << 22


class FirstSums(ArraySums):
    """Sums of targets and weights, and the rows of each group."""

    def __init__(
        self, n_features: int, task: str, missing: str, fences: Fences | None = None
    ) -> None:
        self._missing, self.fences = missing, fences
        n_filled = n_features if missing == "mean" else 0
        self._columns, self.targets = ColumnSums(n_filled, 1, missing=True), TargetSums(task)
        self.limits, self.groups = Limits(), GroupCounts()
        self.weight, self._n_rows = np.zeros(1), np.zeros(1, np.int64)

    def add(self, block: Block) -> None:
        check_missing(block.X, self._missing)
        block = block if self.fences is None else self.fences.block(block)
        weights = check_raw_weights(block.weight, len(block))
        if self._missing == "mean":
            with one_blas_thread():
                self._columns.add(block.X, 0.0, weights[:, None])
        self.targets.add(block.y, weights)
        self.limits.add(block.X)
        if block.groups is not None:
            self.groups.add(block.groups)
        self.weight += weights.sum()
        self._n_rows += len(block)

    def _parts(self) -> dict[str, Any]:
        names = ("_columns", "targets", "limits", "groups", "weight", "_n_rows")
        return {name: vars(self)[name] for name in names}

    @property
    def n_rows(self) -> int:
        return int(self._n_rows[0])

    @property
    def means(self) -> Floats | None:
        """Means of columns; None where nothing is missing."""
        return self._columns.means()[0] if self._columns.n_missing[0] else None


class GroupCounts(ArraySums):
    """How many rows each group has, by its key."""

    def __init__(self) -> None:
        self.keys, self.counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)

    def add(self, keys: Keys, counts: Any = 1) -> None:
        every = np.append(self.keys, keys)
        counts = np.append(self.counts, np.broadcast_to(counts, len(keys)))
        self.keys, places = np.unique(every, return_inverse=True)
        self.counts = np.bincount(places, counts, len(self.keys)).astype(np.int64)

    def merge(self, other: Self) -> None:
        self.add(other.keys, other.counts)


def origin_rows(block: Block) -> Any:
    """The first rows of a block, which the origins of columns are taken from."""
    return block.X[: max(1, _ORIGIN_ENTRIES // block.X.shape[1])]


class FoldsOfGroups(NamedTuple):
    """The fold of each group or, of few groups, the first of the folds that its rows share."""

    keys: Keys  # of the groups, rising
    folds: Indices
    n_shared: int

    def __call__(self, keys: Keys, places: Indices) -> Indices:
        first = self.folds[np.searchsorted(self.keys, keys)]
        return np.asarray(first + places % self.n_shared)


class Encoder(NamedTuple):
    """From blocks to rows with outputs, weights that sum to one, cells and no missing entries."""

    outputs: Outputs
    weight: float  # of all rows
    n_rows: int
    n_folds: int
    task: str  # "binary" where two classes count alike
    fences: Fences | None
    fill: Fill | None = None
    groups: FoldsOfGroups | None = None

    def __call__(self, block: Block, places: Indices, folds: Any = None) -> Rows:
        """Rows of a block, with their places, and their folds where these do not follow."""
        block = block if self.fences is None else self.fences.block(block)
        weights = check_raw_weights(block.weight, len(block)) / self.weight
        outputs, classes = stratified(self.outputs(block.y), self.task)
        if self.groups is not None and block.groups is not None:
            folds = self.groups(block.groups, places)
        elif folds is None:
            folds = places * self.n_folds // self.n_rows
        cells = folds.astype(np.intp) * len(self.class_shares) + classes
        X = block.X if self.fill is None else self.fill(block.X, cells)
        return Rows(outputs, weights, cells, X, places, block.groups)

    @property
    def class_shares(self) -> Floats:
        share = self.outputs.means[0]
        return np.array([1 - share, share] if self.task == "binary" else [1.0])

    def centred(self, outputs: Floats) -> Floats:
        """Outputs of rows in the units of the target."""
        if self.task != "binary":
            return outputs * self.outputs.deviations
        return (outputs > 0) - self.outputs.means


class Reread(Storage):
    """Rows that come again in each visit."""

    _encoder: Encoder
    # What users call the rows.
    _name = "source"
    # Of a row, on average.
    _n_entries: int
    _gathered: "Gathered | None" = None
    # Of rows in their order, where a splitter has divided them, and whether into runs.
    _folds: NDArray[np.int16] | None = None
    _are_runs = False

    def _learn(self, first: FirstSums, preparation: Preparation, balance: bool = True) -> None:
        """What the first visit has found."""
        self.n_rows, self._preprocess = first.n_rows, preparation.preprocess
        if self.n_rows < 2:
            raise ValueError(
                f"{self._name} has {self.n_rows} row(s) of positive weight while a minimum of 2 is "
                "required: pass more rows."
            )
        self.filters = usable_filters(preparation, self.n_rows)
        self._fold_of_groups = self._lay_out(first.groups, preparation)
        self._guess, is_certain = first.targets.task()
        self._encode(first, self._guess if is_certain else None, balance)

    def _lay_out(self, groups: GroupCounts, preparation: Preparation) -> FoldsOfGroups | None:
        """Folds and splits; returns the folds of groups if there are any."""
        cv, n_folds = preparation.belonging.cv, preparation.n_folds
        if cv is not None and len(groups.keys):
            raise ValueError(
                f"cv={cv!r} and groups are both given for rows that are read again and again: "
                "leave one of them out."
            )
        if cv is not None:
            roles, rows = roles_of_rows(cv, None, None, self.n_rows), np.arange(self.n_rows)
            layout = split_layout(roles, rows, None, n_folds, preparation.order)
            self.n_folds, self.splits = layout.n_folds, layout.splits
            self._folds = layout.folds.astype(np.int16)
            self._are_runs, self.held_out_by = layout.clusters is not None, "cv"
            return None
        if len(groups.keys) == 0:
            self.n_folds = min(n_folds, self.n_rows)
            self.splits = random_splits(self.n_folds)
            return None
        parts = parts_of_groups(groups.keys, groups.counts)
        n_parts = int(parts.max()) + 1
        per_part = -(-n_folds // n_parts)
        self.n_folds, self.held_out_by = n_parts * per_part, "groups"
        self.splits = random_splits(self.n_folds, n_parts)
        if len(groups.keys) < n_folds:
            return FoldsOfGroups(groups.keys, parts * per_part, per_part)
        folds = parts * per_part
        for part in range(n_parts):
            own = np.flatnonzero(parts == part)
            folds[own] += folds_of_groups(groups.keys[own], groups.counts[own], per_part)
        return FoldsOfGroups(groups.keys, folds, 1)

    def _learn_fill(self, first: FirstSums) -> None:
        """What missing entries count as; takes a visit if there are any."""
        if first.means is not None:
            start = partial(PartMeans, self.n_features, self._parts_of_cells)
            fill = self.visit("missing", start).fill()
            self._encoder = self._encoder._replace(fill=fill)

    def _encode(self, first: FirstSums, task: Task | None, balance: bool = True) -> None:
        """Encode targets for a task, or as numbers until it is known."""
        outputs = first.targets.outputs(task or Task("regression"))
        self.task, self.n_outputs = outputs.encoding.task, len(outputs.means)
        self._is_certain, weight = task is not None, float(first.weight[0])
        # Classes that count by their shares are numbers.
        shape = self.n_rows, self.n_folds, self.task if balance else "regression"
        groups = self._fold_of_groups
        self._encoder = Encoder(outputs, weight, *shape, first.fences, groups=groups)
        self.class_shares = self._encoder.class_shares

    def _settle_task(self, first: FirstSums) -> None:
        """Look at some rows where the values leave the task open; takes a visit then."""
        if self._is_certain:
            return
        count = min(TASK_ROWS, self.n_rows)
        gathering = partial(Gathered, np.arange(self.n_features), count, self.n_rows)
        rows, outputs = self.visit("task", gathering).rows(), self._encoder.outputs
        y = np.round(rows.outputs[:, 0] * outputs.deviations + outputs.means)
        some = RowsOf(rows.X.__getitem__, np.arange(len(y)), rows.cells)
        self._encode(first, task_by_rows(self._guess, y, some))

    def sample(self, columns: Indices) -> RowSample:
        """Some columns of not too many rows; takes a visit.

        The target is that of all rows: a rare class may be missing among some of them.
        """
        rows = self._sampled(columns)
        outputs, variance = self._encoder.centred(rows.outputs), self._encoder.outputs.variance
        weights, folds = rows.weights / rows.weights.sum(), rows.cells // len(self.class_shares)
        sample = self._sample_of(rows.X, outputs, weights, variance, folds, rows.places)
        clusters: Any = rows.groups
        if self._are_runs:
            clusters = parts_of(self.splits, self.n_folds)[folds]
        if clusters is None:
            return sample
        return sample._replace(clusters=np.unique(clusters, return_inverse=True)[1])

    def design_effect(self) -> float:
        """Takes a visit where rows belong together."""
        are_clustered = self._are_runs or self._encoder.groups is not None
        return super().design_effect() if are_clustered else 1.0

    def sampling(self) -> Callable[[], RowSums]:
        """All columns of the sample."""
        return self._gathering(np.arange(self.n_features))

    def keep_sample(self, gathered: RowSums) -> None:
        assert isinstance(gathered, Gathered)
        self._gathered = gathered

    def _sampled(self, columns: Indices) -> Rows:
        """Some columns of rows with evenly spaced places, in the order of these."""
        if self._gathered is not None:
            rows = self._gathered.rows()
            return rows._replace(X=rows.X[:, columns])
        return self.visit("sample", self._gathering(columns)).rows()

    def _gathering(self, columns: Indices) -> "Callable[[], Gathered]":
        entries = min(len(columns), self._n_entries)
        count = min(max(FEWEST_KEPT, KEPT_ENTRIES // entries), ESTIMATE_ROWS, self.n_rows)
        return partial(Gathered, columns, count, self.n_rows)


class Gathered:
    """Some columns of so many rows, with evenly spaced places, hence from all folds alike."""

    def __init__(self, columns: Indices, count: int, n_rows: int) -> None:
        self._columns, self._count, self._n_rows = columns, count, n_rows
        self._parts: list[Rows] = []

    def add(self, rows: Rows) -> None:
        own = np.flatnonzero(rows.places * self._count % self._n_rows < self._count)
        some = rows.take(own)
        self._parts.append(some._replace(X=some.X[:, self._columns]))

    def merge(self, other: "Gathered") -> None:
        self._parts += other._parts

    def rows(self) -> Rows:
        """All of them, by rising place; their places are now those in the given order."""
        rows = Rows.joined(self._parts)
        order = np.argsort(rows.places, kind="stable")
        return rows.take(order)._replace(places=order)

    def state(self) -> Arrays:
        arrays = Rows.joined(self._parts)._asdict()
        there = {name: part for name, part in arrays.items() if part is not None}
        return {**matrix_state(there.pop("X")), **there}

    def restore(self, state: Arrays) -> None:
        arrays = {name: state[name] for name in Rows._fields if name in state and name != "X"}
        self._parts = [Rows(X=matrix_of(state), **arrays)]


def used_rows(blocks: Any) -> Iterator[Block]:
    """Blocks without rows of weight zero."""
    for block in blocks:
        if block.weight is not None and not block.weight.all():
            block = block.only(block.weight != 0)
        if len(block):
            yield block


def entries_per_row(X: Any) -> int:
    return 1 + X.nnz // X.shape[0] if sparse.issparse(X) else int(X.shape[1])
