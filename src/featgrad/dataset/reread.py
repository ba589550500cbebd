"""Rows that are not kept: each visit brings them again, with random places.

The place of a row decides its fold and whether it belongs to the sample, so that a sorted file does
not matter.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from featgrad._support import Floats, Indices, Keys
from featgrad.checks import check_missing, check_raw_weights, check_spread
from featgrad.columns.extremes import Fences, Limits
from featgrad.columns.sums import (
    ArraySums,
    ColumnPicker,
    Fill,
    Standardiser,
    filled,
    has_missing,
    statistics,
)
from featgrad.dataset.base import RowSample, Storage
from featgrad.dataset.memory import InMemory, Preparation, Prepared, usable_filters
from featgrad.dataset.splits import (
    FoldLayout,
    folds_of_groups,
    parts_of,
    parts_of_groups,
    random_splits,
)
from featgrad.dataset.sums import PartMeans, Rows
from featgrad.math.target_sums import Outputs, TargetSums
from featgrad.math.targets import centre, stratified
from featgrad.math.tasks import RowsOf, Task, task_by_rows
from featgrad.plan import ESTIMATE_ROWS, EXACT_ORDER_ROWS, FEWEST_KEPT, KEPT_ENTRIES, TASK_ROWS
from featgrad.readers import Block
from featgrad.readers.block import stack_rows

# Of the rows that the origins of columns are taken from.
_ORIGIN_ENTRIES = 1 << 22


class FirstSums(ArraySums):
    """What has to be known of all rows before they can be encoded."""

    _added = (
        "targets", "limits", "groups", "weight", "squares", "n_rows", "n_missing", "first_rows",
        "checksums",
    )  # fmt: skip

    def __init__(self, task: str, missing: str, fences: Fences | None, n_parts: int = 1) -> None:
        self._missing, self.fences, self._n_parts = missing, fences, n_parts
        self.targets, self.limits, self.groups = TargetSums(task), Limits(), GroupCounts()
        # Blocks with missing entries are counted.
        self.n_rows = self.n_missing = 0
        self.weight = self.squares = 0.0  # of weights
        # Rows of the first block of each part, which the origins of columns are taken from.
        self.first_rows: list[Any] = []
        # Of each block, where it is known.
        self.checksums: list[int] = []

    def add(self, block: Block, checksum: int | None = None) -> None:
        """More rows, and the checksum that shows whether they are the same in a later visit."""
        check_missing(block.X, self._missing)
        block = block if self.fences is None else self.fences.block(block)
        weights = check_raw_weights(block.weight, len(block))
        self.targets.add(block.y, weights)
        self.limits.add(block.X)
        if block.groups is not None:
            self.groups.add(block.groups)
        if not self.first_rows:
            count = _ORIGIN_ENTRIES // self._n_parts // block.X.shape[1]
            self.first_rows.append(block.X[: max(1, count)])
        if checksum is not None:
            self.checksums.append(checksum)
        self.weight += float(weights.sum())
        self.squares += float(weights @ weights)
        self.n_rows += len(block)
        self.n_missing += self._missing == "mean" and has_missing(block.X)


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


class RandomOrder:
    """Places from 0 up to the number of rows, as if rows were shuffled; the same in each visit."""

    def __init__(self, rng: np.random.RandomState, n_rows: int) -> None:
        self._n_rows, self._known, self._seed = n_rows, None, 0
        if n_rows <= EXACT_ORDER_ROWS:
            keys = rng.random_sample(n_rows)
            self._known = np.searchsorted(np.sort(keys), keys)
        else:
            self._seed = rng.randint(1 << 31)

    def __call__(self, first: int, count: int) -> Indices:
        """Of so many rows from a first one on."""
        if self._known is not None:
            return self._known[first : first + count]
        keys = np.random.Generator(np.random.PCG64(self._seed).advance(first)).random(count)
        return np.asarray(keys * self._n_rows, np.intp)


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
    order: RandomOrder
    n_rows: int
    n_folds: int
    task: str  # "binary" where two classes count alike
    fences: Fences | None
    groups: FoldsOfGroups | None
    build: Callable[[Any], Any] | None = None  # appends columns
    fill: Fill | None = None

    def rows(
        self, name: str, blocks: Iterable[Block], first: int, count: int, folds: Any = None
    ) -> Iterator[Rows]:
        """Those of blocks, with so many rows from a first one on, and the folds of a splitter."""
        seen = 0
        for block in blocks:
            own = slice(seen, seen + len(block))
            seen = own.stop
            if seen <= count:
                places = self.order(first + own.start, len(block))
                yield self._encoded(block, places, None if folds is None else folds[own])
        if seen != count:
            raise ValueError(
                f"{name} had {count} rows of positive weight when it was first read and {seen} "
                "when it was read again: leave it unchanged during the fit."
            )

    def _encoded(self, block: Block, places: Indices, folds: Any) -> Rows:
        block = block if self.fences is None else self.fences.block(block)
        weights = check_raw_weights(block.weight, len(block)) / self.weight
        outputs, classes = stratified(self.outputs(block.y), self.task)
        if self.groups is not None and block.groups is not None:
            folds = self.groups(block.groups, places)
        elif folds is None:
            folds = places * self.n_folds // self.n_rows
        cells = folds.astype(np.intp) * len(self.class_shares) + classes
        X = block.X if self.build is None else self.build(block.X)
        X = X if self.fill is None else self.fill(X, cells)
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
    _layout: FoldLayout

    def _learn(
        self, first: FirstSums, preparation: Preparation, names: Any = None, balance: bool = True
    ) -> None:
        """What the first visit has found; takes a visit where the task is open or entries miss."""
        self.n_rows, self._preprocess = first.n_rows, preparation.preprocess
        if self.n_rows < 2:
            raise ValueError(
                f"{self._name} has {self.n_rows} row(s) of positive weight while a minimum of 2 is "
                "required: pass more rows."
            )
        check_spread(first.squares / first.weight / first.weight, self.n_rows)
        self.filters = usable_filters(preparation, self.n_rows)
        self._layout, groups = self._lay_out(first.groups, preparation)
        self.n_folds, self.splits = self._layout.n_folds, self._layout.splits
        self.held_out_by = self._layout.held_out_by
        first.limits.warn(names)
        first.limits.refuse(names)
        order, rows = RandomOrder(preparation.rng, self.n_rows), stack_rows(first.first_rows)
        # Of a row, on average.
        self._n_entries = entries_per_row(rows)
        rows = filled(rows, statistics(rows).mean if first.n_missing else None)
        self.standardiser = Standardiser.from_sample(rows, self._preprocess)

        def encode(task: Task) -> None:
            outputs = first.targets.outputs(task)
            self.task, self.n_outputs = outputs.encoding.task, len(outputs.means)
            # Classes that count by their shares are numbers.
            shape = self.n_rows, self.n_folds, self.task if balance else "regression"
            self._encoder = Encoder(outputs, first.weight, order, *shape, first.fences, groups)
            self.class_shares = self._encoder.class_shares

        task, is_certain = first.targets.task()
        encode(task if is_certain else Task("regression"))
        if not is_certain:
            encode(task_by_rows(task, *self._some_targets()))
        if first.n_missing:
            self._fill()

    def _fill(self) -> None:
        """What missing entries count as; takes a visit."""
        self._encoder = self._encoder._replace(fill=None)
        start = partial(PartMeans, self.n_features, self._parts_of_cells)
        self._encoder = self._encoder._replace(fill=self.visit("missing", start).fill())

    def with_columns(self, build: Callable[[Any], Any], some: InMemory) -> Self:
        """More columns, built of those of each block, as some rows have them.

        Takes a visit where entries are missing.
        """
        other = copy(self)
        other.n_features, other._n_entries = some.n_features, entries_per_row(some.X)
        other.standardiser = some.standardiser
        other._encoder, other.gathered = self._encoder._replace(build=build), None
        if self._encoder.fill is not None:
            other._fill()
        return other

    def in_memory(self, count: int) -> InMemory:
        """So many rows in their folds, with missing entries filled; takes a visit."""
        rows = self._in_units(self.visit("rows", self.sampling(count=count)).rows())
        target = centre(rows.outputs, self.task, rows.weights)
        layout = self._layout._replace(folds=rows.cells, clusters=None)
        prepared = Prepared(np.arange(len(rows.cells)), rows.weights, target, self.filters, layout)
        return InMemory(rows.X, prepared, self._preprocess)

    def _lay_out(
        self, groups: GroupCounts, preparation: Preparation
    ) -> tuple[FoldLayout, FoldsOfGroups | None]:
        """Folds and splits, and the folds of groups if there are any."""
        belonging, n_folds, keys = preparation.belonging, preparation.n_folds, groups.keys
        if belonging.cv is not None:
            if len(keys):
                raise ValueError(
                    f"cv={belonging.cv!r} and groups are both given for rows that are read again "
                    "and again: leave one of them out."
                )
            roles = belonging.roles(None, self.n_rows)
            layout = roles.layout(np.arange(self.n_rows), n_folds, preparation.order)
            return layout._replace(folds=layout.folds.astype(np.int16)), None
        if len(keys) == 0:
            n_folds = min(n_folds, self.n_rows)
            return FoldLayout(None, n_folds, random_splits(n_folds)), None
        parts = parts_of_groups(keys, groups.counts)
        n_parts = int(parts.max()) + 1
        per_part = -(-n_folds // n_parts)
        folds, are_few = parts * per_part, len(keys) < n_folds
        for part in range(0 if are_few else n_parts):
            own = np.flatnonzero(parts == part)
            folds[own] += folds_of_groups(keys[own], groups.counts[own], per_part)
        splits = random_splits(n_parts * per_part, n_parts)
        layout = FoldLayout(None, n_parts * per_part, splits, held_out_by="groups")
        return layout, FoldsOfGroups(keys, folds, per_part if are_few else 1)

    def _some_targets(self) -> tuple[Floats, RowsOf]:
        """Whole numbers of some rows, and these rows; takes a visit."""
        gathered = self.visit("task", self.sampling(count=TASK_ROWS))
        rows, outputs = gathered.rows(), self._encoder.outputs
        y = np.round(rows.outputs[:, 0] * outputs.deviations + outputs.means)
        return y, RowsOf(rows.X.__getitem__, np.arange(len(y)), rows.cells)

    def sample(self, columns: Indices) -> RowSample:
        """Some columns of not too many rows; takes a visit.

        The target is that of all rows: a rare class may be missing among some of them.
        """
        if self.gathered is None:
            rows = self.visit("sample", self.sampling(columns)).rows()
        else:
            rows = self.gathered.rows()
            rows = rows._replace(X=rows.X[:, columns])
        rows, variance = self._in_units(rows), self._encoder.outputs.variance
        clusters: Any = rows.groups
        # Rows that are held out in runs of neighbours may depend on these.
        if self._layout.clusters is not None:
            clusters = parts_of(self.splits, self.n_folds)[rows.cells]
        if clusters is not None:
            clusters = np.unique(clusters, return_inverse=True)[1]
        values = self._standardised(rows.X, rows.weights)
        about = variance, self.task, rows.cells, rows.places, clusters
        return RowSample(values, rows.outputs, rows.weights, *about)

    def design_effect(self) -> float:
        """Takes a visit where rows belong together."""
        are_clustered = self._layout.clusters is not None or self._encoder.groups is not None
        return super().design_effect() if are_clustered else 1.0

    def sampling(
        self, columns: Indices | None = None, count: int | None = None
    ) -> "Callable[[], Gathered]":
        """Of all columns, and of as many rows as estimates take, unless others are given."""
        columns = np.arange(self.n_features) if columns is None else columns
        if count is None:
            entries = min(len(columns), self._n_entries)
            count = min(max(FEWEST_KEPT, KEPT_ENTRIES // entries), ESTIMATE_ROWS)
        return partial(Gathered, columns, min(count, self.n_rows), self.n_rows)

    def _in_units(self, rows: Rows) -> Rows:
        """Outputs in the units of the target, weights that sum to one, and folds as cells."""
        weights, folds = rows.weights / rows.weights.sum(), rows.cells // len(self.class_shares)
        return rows._replace(
            outputs=self._encoder.centred(rows.outputs), weights=weights, cells=folds
        )


class Gathered(ArraySums):
    """Some columns of so many rows, with evenly spaced places, hence from all folds alike."""

    _added = ("_parts",)

    def __init__(self, columns: Indices, count: int, n_rows: int) -> None:
        self._pick, self._count, self._n_rows = ColumnPicker(columns), count, n_rows
        self._parts: list[Rows] = []

    def add(self, rows: Rows) -> None:
        own = np.flatnonzero(rows.places * self._count % self._n_rows < self._count)
        some = rows.take(own)
        self._parts.append(some._replace(X=self._pick(some.X)))

    def rows(self) -> Rows:
        """All of them, by rising place; their places are now those in the given order."""
        rows = Rows.joined(self._parts)
        order = np.argsort(rows.places, kind="stable")
        return rows.take(order)._replace(places=order)


def used_rows(blocks: Any) -> Iterator[Block]:
    """Blocks without rows of weight zero."""
    for block in blocks:
        if block.weight is not None and not block.weight.all():
            block = block.only(block.weight != 0)
        if len(block):
            yield block


def entries_per_row(X: Any) -> int:
    return 1 + X.nnz // max(1, X.shape[0]) if sparse.issparse(X) else int(X.shape[1])
