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
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import dask
import numpy as np
from dask.core import istask
from dask.delayed import Delayed, delayed
from dask.optimization import cull
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from featgrad._support.array_api import is_dask_array, is_dask_frame
from featgrad._support.threads import one_blas_thread
from featgrad._support.types import Floats
from featgrad.checks import MATRIX
from featgrad.columns.extremes import Fences, some_rows
from featgrad.columns.sums import Standardiser, filled
from featgrad.dataset.base import Consumer, S
from featgrad.dataset.prepare import Places, Preparation, RandomOrder
from featgrad.dataset.reread import (
    Encoder,
    FirstSums,
    Reread,
    entries_per_row,
    origin_rows,
    used_rows,
)
from featgrad.dataset.sums import BatchSums
from featgrad.math.tasks import ordered_labels
from featgrad.readers import Block, Source
from featgrad.readers.arrays import group_keys
from featgrad.readers.block import canonical

# Sums that are merged at once.
_MERGED = 4
# Rows of an array from which those that are zero are not sent.
_MANY = 1 << 12
# Tasks of a visit, as a multiple of the root of the number of partitions.
_TASKS = 4
# Entries of the rows that are added at once.
_BLOCK_ENTRIES = 1 << 22
# Partitions that fences are taken from.
_FENCE_PARTS = 32
# Bytes of what several partitions are computed from that each of them may have for itself.
_SMALL = 1 << 20
T = TypeVar("T")
_State = dict[str, Any]


def on_dask(X: Any, y: Any, sample_weight: Any, groups: Any, preparation: Preparation) -> "OnDask":
    """Rows of Dask collections."""
    return OnDask(partitions_of(X, y, sample_weight, groups), X.shape[1], preparation)


def files_on_dask(source: Source, preparation: Preparation) -> "OnDask":
    """Rows of files that are read by the workers, each of which has them."""
    parts = [FilePart(i, part) for i, part in enumerate(source.parts())]
    return OnDask(parts, source.n_features, preparation)


class OnDask(Reread):
    """Partitions of rows; making it computes them once. Rows of weight zero count as absent."""

    _name = "X"
    is_divided = True

    def __init__(self, parts: "Sequence[Part]", n_features: int, preparation: Preparation) -> None:
        self.n_features = n_features
        fences = _fences(parts, preparation.task) if preparation.preprocess == "robust" else None
        options = preparation.task, preparation.missing, fences
        delayed_ones = isinstance(parts[0], Partition)
        self._at_once = 1 if delayed_ones else 1 + int(len(parts) ** 0.5 / _TASKS)
        start = partial(PartitionSums, len(parts), n_features, *options)
        first = _sums_over([(part, None, None) for part in parts], self._at_once, start, None)
        self._learn(first, preparation)
        first.limits.check(None)
        used = np.flatnonzero(first.counts).tolist()
        counts = first.counts[used].tolist()
        folds: list[Any] = [None] * len(used)
        if self._folds is not None:
            folds = np.split(self._folds, np.cumsum(counts)[:-1])
        runs = RandomOrder(preparation.rng, self.n_rows).runs(counts)
        self._parts: list[Any] = [
            (parts[i], run, own) for i, run, own in zip(used, runs, folds, strict=True)
        ]
        means = delayed(first.means, traverse=False)
        origins = delayed(_origins)(means, self._preprocess, parts[used[0]])
        self.standardiser, self._n_entries = _computed(origins)
        self._settle_task(first)
        self._learn_fill(first)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        """Add up the rows of some partitions in each task, and then the sums of these."""
        sums: S = _sums_over(self._parts, self._at_once, start, self._encoder)
        return sums

    def n_batches(self, batch_rows: int) -> int:
        return len(self._batches(batch_rows))

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Batches of whole partitions, each of which is added up by all workers."""
        for parts in self._batches(batch_rows):
            start = partial(BatchSums, consumer.elsewhere(), self.whole.shares)
            consumer.take(_sums_over(parts, 1, start, self._encoder).running)

    def _batches(self, batch_rows: int) -> list[list[Any]]:
        """Consecutive partitions that begin in the same batch of rows."""
        batches: dict[int, list[Any]] = {}
        begin = 0
        for visited in self._parts:
            batches.setdefault(begin // batch_rows, []).append(visited)
            begin += visited[1].size
        return list(batches.values())


class PartitionSums(FirstSums):
    """The first sums over rows, and the number of rows of each partition."""

    def __init__(self, n_parts: int, *options: Any) -> None:
        super().__init__(*options)
        self.counts = np.zeros(n_parts, np.int64)

    def _parts(self) -> dict[str, Any]:
        return {**super()._parts(), "counts": self.counts}

    def add_part(self, part: "Part") -> None:
        """The rows of a partition, which errors of the data name."""
        try:
            for block in part.rows():
                self.add(block)
                self.counts[part.number] += len(block)
        except ValueError as error:
            raise ValueError(f"Partition {part.number}: {error}") from error


def _sums_over(parts: Sequence[Any], at_once: int, start: Any, encoder: Encoder | None) -> Any:
    """Sums over some parts at a time, merged in a tree, in the order of the parts."""
    question = delayed((start, encoder), traverse=False)
    states = [delayed(_state_of_parts)(question, some) for some in _by(at_once, parts)]
    while len(states) > 1:
        states = [delayed(_merged_states)(question, some) for some in _by(_MERGED, states)]
    sums = start()
    sums.restore(_whole(_computed(states[0])))
    return sums


def _state_of_parts(question: Any, parts: Sequence[Any]) -> _State:
    """Sums over the rows of parts, which have places, and folds where a splitter made these."""
    start, encoder = question
    sums = start()
    for part, run, folds in parts:
        if encoder is None:
            sums.add_part(part)
            continue
        places, seen = run.drawn() if isinstance(run, Places) else run, 0
        for block in part.rows():
            step = max(1, _BLOCK_ENTRIES // entries_per_row(block.X))
            for first in range(0, len(block) if seen + len(block) <= len(places) else 0, step):
                last = min(first + step, len(block))
                own = slice(seen + first, seen + last)
                with one_blas_thread():
                    of_splitter = None if folds is None else folds[own]
                    sums.add(encoder(block.rows(first, last), places[own], of_splitter))
            seen += len(block)
        if seen != len(places):
            raise ValueError(
                f"Partition {part.number} had {len(places)} rows of positive weight when it was "
                f"first computed and {seen} when it was computed again: use data that stay the "
                "same, or persist them."
            )
    return {name: _nonzero_rows(array) for name, array in sums.state().items()}


def _merged_states(question: Any, states: Sequence[_State]) -> _State:
    start, _ = question
    sums = start()
    for state in states:
        more = start()
        more.restore(_whole(state))
        sums.merge(more)
    return {name: _nonzero_rows(array) for name, array in sums.state().items()}


def _nonzero_rows(array: NDArray[Any]) -> Any:
    """Sums of many columns without those of columns that the rows do not have."""
    if array.ndim != 2 or len(array) < _MANY:
        return array
    used = np.flatnonzero(array.any(axis=1))
    return (used, array[used], len(array)) if 2 * len(used) < len(array) else array


def _whole(state: _State) -> _State:
    state = dict(state)
    for name, found in state.items():
        if isinstance(found, tuple):
            used, values, length = found
            state[name] = np.zeros((length, values.shape[1]), values.dtype)
            state[name][used] = values
    return state


def _by(count: int, parts: Sequence[T]) -> list[Sequence[T]]:
    """So many at a time."""
    return [parts[first : first + count] for first in range(0, len(parts), count)]


def _computed(wanted: Delayed) -> Any:
    if "distributed" not in sys.modules:
        return wanted.compute()
    # A question goes with the graph, however large: there it survives the loss of any worker.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        return wanted.compute()


def _fences(parts: "Sequence[Part]", task: str) -> Fences:
    """From some rows of the first blocks of some partitions."""
    some = parts[:: -(-len(parts) // _FENCE_PARTS)]
    found = _computed(delayed([delayed(_some_rows)(part, len(some)) for part in some]))
    return Fences.of([rows for part in found for rows in part], task)


def _some_rows(part: "Part", n_parts: int) -> list[tuple[Any, Any]]:
    entries = _BLOCK_ENTRIES // n_parts
    return [some_rows(b.X, b.y, entries=entries) for b in islice(part.rows(), 1)]


def _origins(means: Floats | None, preprocess: str, part: "Part") -> tuple[Standardiser, int]:
    """A standardiser, and the entries of a row."""
    rows = origin_rows(next(part.rows()))
    return Standardiser.from_sample(filled(rows, means), preprocess), entries_per_row(rows)


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
        return used_rows([Block(X, y, weight, keys)])


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
    """Partitions of targets or weights."""
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
