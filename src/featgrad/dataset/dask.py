"""Rows on a cluster: a map over partitions and a tree of sums.

A visit sends a question (a few numbers per column, models, a standardiser) to the workers and
brings sums back, never rows but those of a sample that does not grow with their number. Each visit
computes the partitions again, unless they were persisted before. One task computes and adds up some
partitions, one after the other, where these can be computed by themselves. Nothing is rechunked:
column chunks of a partition are joined where it is visited.

The place of a row follows from its partition and its position there, and sums are merged in the
order of the partitions: neither depends on the workers, so that a lost one changes nothing.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import dask
import numpy as np
from dask.core import istask
from dask.delayed import Delayed, delayed
from dask.optimization import cull
from dask.sizeof import sizeof
from scipy import sparse
from sklearn.utils import check_array

from featgrad import plan
from featgrad._support.array_api import is_dask_array, is_dask_frame
from featgrad._support.threads import one_blas_thread
from featgrad.checks import MATRIX
from featgrad.columns.extremes import Fences
from featgrad.columns.sample import KeyedSample, n_bytes
from featgrad.dataset.base import Consumer, S
from featgrad.dataset.memory import Preparation
from featgrad.dataset.reread import Encoder, FirstSums, Reread, entries_per_row, used_rows
from featgrad.dataset.sums import BatchSums
from featgrad.math.tasks import ordered_labels
from featgrad.readers import Block, Source
from featgrad.readers.block import canonical, group_keys

# Sums that are merged at once.
_MERGED = 4
# Tasks of a visit, as a multiple of the root of the number of partitions.
_TASKS = 4
# Entries of the rows that are added at once.
_BLOCK_ENTRIES = 1 << 22
# Bytes of what several partitions are computed from that each of them may have for itself.
_SMALL = 1 << 20
T = TypeVar("T")


def files_on_dask(source: Source, preparation: Preparation) -> "OnDask":
    """Rows of files that are read by the workers, each of which has them."""
    parts = [FilePart(i, part) for i, part in enumerate(source.parts())]
    return OnDask(parts, source.n_features, preparation)


class Visited(NamedTuple):
    """A part, and what its rows have: the first one's number, their count, folds of a splitter."""

    part: "Part"
    first: int = 0
    n_rows: int = 0
    folds: Any = None


class OnDask(Reread):
    """Partitions of rows; making it computes them once. Rows of weight zero count as absent."""

    _name = "X"
    is_divided = True

    def __init__(self, parts: "Sequence[Part]", n_features: int, preparation: Preparation) -> None:
        self.n_features, fences = n_features, None
        self._at_once = (
            1 if isinstance(parts[0], Partition) else 1 + int(len(parts) ** 0.5 / _TASKS)
        )
        if preparation.preprocess == "robust":
            some = [Visited(part) for part in parts[:: -(-len(parts) // plan.FENCE_PARTS)]]
            start: Any = partial(KeyedSample, plan.FENCE_BYTES // len(some), n_bytes)
            rows = _sums_over(some, 1, start, None)[0].rows()
            fences = Fences.of(rows.X, rows.y, preparation.task)
        start = partial(FirstSums, preparation.task, preparation.missing, fences, len(parts))
        every = [Visited(part) for part in parts]
        first, counts = _sums_over(every, self._at_once, start, None)
        starts = np.cumsum([0, *counts]).tolist()
        used = zip(parts, starts, counts, strict=False)
        self._parts = [Visited(part, start, count) for part, start, count in used if count]
        self._learn(first, preparation)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        """Add up the rows of some partitions in each task, and then the sums of these."""
        return self._sums_over(self._parts, self._at_once, start)

    def n_batches(self, batch_rows: int) -> int:
        return len(self._batches(batch_rows))

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Batches of whole partitions, each of which is added up by all workers."""
        for parts in self._batches(batch_rows):
            start = partial(BatchSums, consumer.elsewhere(), self.whole.shares)
            consumer.take(self._sums_over(parts, 1, start).running)

    def _batches(self, batch_rows: int) -> list[list[Visited]]:
        """Consecutive partitions that begin in the same batch of rows."""
        batches: dict[int, list[Visited]] = {}
        for visited in self._parts:
            batches.setdefault(visited.first // batch_rows, []).append(visited)
        return list(batches.values())

    def _sums_over(self, parts: list[Visited], at_once: int, start: Callable[[], S]) -> S:
        if (folds := self._layout.folds) is not None:
            parts = [one._replace(folds=folds[one.first : one.first + one.n_rows]) for one in parts]
        sums: S = _sums_over(parts, at_once, start, self._encoder)[0]
        return sums


def _sums_over(
    parts: Sequence[Visited], at_once: int, start: Any, encoder: Encoder | None
) -> tuple[Any, list[int]]:
    """Sums over some parts at a time, merged in a tree in the order of the parts; their rows."""
    question = delayed((start, encoder), traverse=False)
    found = [delayed(_sums_of)(question, some) for some in _by(at_once, parts)]
    while len(found) > 1:
        found = [delayed(_merged)(question, some) for some in _by(_MERGED, found)]
    # A question goes with the graph, however large: there it survives the loss of any worker.
    large = {"distributed.admin.large-graph-warning-threshold": "1TB"}
    with dask.config.set(large if "distributed" in sys.modules else {}):
        more, counts = found[0].compute()
    sums = start()
    sums.merge(more)
    return sums, counts


def _sums_of(question: Any, parts: Sequence[Visited]) -> tuple[Any, list[int]]:
    """Sums over the rows of parts, encoded where that is known, and how many rows each has."""
    (start, encoder), counts = question, []
    sums = start()
    for part, first, count, folds in parts:
        counts.append(0)
        try:
            blocks = part.rows()
            if encoder is not None:
                blocks = encoder.rows("it", blocks, first, count, folds)
            for block in blocks:
                with one_blas_thread():
                    sums.add(block)
                counts[-1] += block.X.shape[0]
        except ValueError as error:
            raise ValueError(f"Partition {part.number}: {error}") from error
    return sums.added(), counts


def _merged(question: Any, found: Sequence[tuple[Any, list[int]]]) -> tuple[Any, list[int]]:
    start, _ = question
    sums = start()
    for more, _ in found:
        sums.merge(more)
    return sums.added(), [count for _, counts in found for count in counts]


def _by(count: int, parts: Sequence[T]) -> list[Sequence[T]]:
    """So many at a time."""
    return [parts[first : first + count] for first in range(0, len(parts), count)]


class Partition(NamedTuple):
    """What a block is made of, delayed or computed."""

    number: int
    X: Any  # its chunks of columns
    y: Any
    weight: Any
    groups: Any

    def rows(self) -> Iterator[Block]:
        chunks = [_matrix(chunk) for chunk in self.X]
        X = chunks[0]
        if len(chunks) > 1:
            is_sparse = sparse.issparse(X)
            X = sparse.hstack(chunks, format="csr") if is_sparse else np.concatenate(chunks, axis=1)
        y = np.asarray(ordered_labels(self.y))
        weight = None if self.weight is None else np.asarray(self.weight, np.float64)
        keys = None if self.groups is None else group_keys(np.asarray(self.groups), len(y))
        for name, part in (("y", y), ("sample_weight", weight), ("groups", keys)):
            if part is not None and len(part) != X.shape[0]:
                raise ValueError(
                    f"{name} has {len(part)} rows but X has {X.shape[0]}: partition them alike."
                )
        block, step = Block(X, y, weight, keys), max(1, _BLOCK_ENTRIES // entries_per_row(X))
        return used_rows(block.rows(i, i + step) for i in range(0, len(block), step))


class Recipe:
    """A partition that is computed inside the task that visits it: its rows stay there."""

    # No tuple: Dask would look for tasks in it.
    def __init__(self, number: int, keys: Any, tasks: Mapping[Any, Any]) -> None:
        self.number, self.keys, self.tasks = number, keys, tasks

    def rows(self) -> Iterator[Block]:
        parts = iter(dask.get(self.tasks, [key for key in self.keys if key is not None]))
        there = (None if key is None else next(parts) for key in self.keys)
        return Partition(self.number, *there).rows()


class FilePart(NamedTuple):
    """A part of files, read where it is visited."""

    number: int
    source: Source

    def rows(self) -> Iterator[Block]:
        return used_rows(self.source)


# What is visited; all but partitions are computed by the task that visits them.
Part = Partition | Recipe | FilePart


def partitions_of(X: Any, y: Any, sample_weight: Any, groups: Any) -> Sequence[Part]:
    """The partitions of Dask collections, which have to be alike."""
    if is_dask_frame(X):
        _check_numeric(X)
        chunks: Sequence[Sequence[Delayed]] = [[part] for part in X.to_delayed()]
    else:
        # Optimised one by one, features and targets would have no task in common any more.
        chunks = X.to_delayed(optimize_graph=False).tolist()
    others = (
        [None] * len(chunks) if given is None else _column(name, given, X, len(chunks))
        for name, given in (("sample_weight", sample_weight), ("groups", groups))
    )
    parts: Any = zip(chunks, _column("y", y, X, len(chunks)), *others, strict=True)
    return _recipes([Partition(i, *part) for i, part in enumerate(parts)])


def _recipes(partitions: Sequence[Partition]) -> Sequence[Part]:
    """How to compute partitions one by one.

    They stay as they are where some have tasks in common, which Dask computes once, or are
    persisted: Dask knows where.
    """
    graph: dict[Any, Any] = {}
    for part in (*partitions[0].X, *partitions[0][2:]):
        graph |= {} if part is None else dict(part.dask)
    found = []
    for number, X, *others in partitions:
        chunks = [chunk.key for chunk in X]
        keys = [None if part is None else part.key for part in others]
        wanted = [*chunks, *(key for key in keys if key is not None)]
        found.append(Recipe(number, [chunks, *keys], cull(graph, wanted)[0]))
    uses = Counter(key for recipe in found for key in recipe.tasks)
    common = [graph[key] for key, count in uses.items() if count > 1]
    has_futures = any(type(n).__module__.startswith("distributed") for n in graph.values())
    if has_futures or any(istask(node) or sizeof(node) > _SMALL for node in common):
        return partitions
    return found


def _column(name: str, given: Any, X: Any, count: int) -> list[Delayed]:
    if not hasattr(given, "to_delayed"):
        raise ValueError(
            f"{name} is of type {type(given).__name__} but X is a Dask collection: give a Dask "
            "array or series with the partitions of X."
        )
    parts = given.to_delayed(optimize_graph=not is_dask_array(given))
    if is_dask_array(given):
        if given.ndim == 2 and parts.shape[1] > 1:
            raise ValueError(f"{name} has chunks of columns: rechunk it to have one.")
        parts = parts.ravel()
    if len(parts) != count or _differ(given, X):
        raise ValueError(
            f"{name} has {len(parts)} partitions and X has {count}, or rows are divided "
            "differently: rechunk or repartition one of them like the other."
        )
    return list(parts)


def _differ(given: Any, X: Any) -> bool:
    """Whether rows are known to be divided differently."""
    if not (is_dask_array(given) and is_dask_array(X)):
        return False
    pairs = zip(given.chunks[0], X.chunks[0], strict=True)
    return any(one != other for one, other in pairs if not np.isnan([one, other]).any())


def _check_numeric(X: Any) -> None:
    for name, dtype in X.dtypes.items():
        categories = getattr(dtype, "categories", None)
        kind = dtype.kind if categories is None else categories.dtype.kind
        if kind not in "biuf":
            raise ValueError(
                f"Column {name!r} of X holds {dtype}: convert it to numbers, as "
                "dask.dataframe.get_dummies does with known categories, or leave it out."
            )


def _matrix(chunk: Any) -> Any:
    if hasattr(chunk, "to_scipy_sparse"):  # of the package sparse
        chunk = chunk.to_scipy_sparse()
    if sparse.issparse(chunk):
        chunk = sparse.csr_array(chunk)
    X = check_array(chunk, **MATRIX, ensure_min_samples=0, ensure_min_features=0, input_name="X")
    return canonical(X) if sparse.issparse(X) else X
