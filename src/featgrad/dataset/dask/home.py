"""The home of rows on a cluster: a map over partitions and a tree of sums.

A visit sends a question (a few numbers per column, models, a standardiser) to the workers and
brings sums back, never rows but those of a sample that does not grow with their number. Each visit
computes the partitions again, unless they were persisted before. One task computes and adds up some
partitions, one after the other, where these can be computed by themselves.

The place of a row follows from its partition and its position there, and sums are merged in the
order of the partitions: neither depends on the workers, so that a lost one changes nothing.
"""

import copy
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import dask
import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from featgrad._support.threads import one_thread
from featgrad._support.types import Floats, Indices
from featgrad.columns.fences import Fences, some_rows
from featgrad.columns.sums import Standardiser, filled
from featgrad.dataset.base import Consumer, S
from featgrad.dataset.checkpoint import Arrays
from featgrad.dataset.dask.partitions import FilePart, Part, Partition, naming, partitions_of
from featgrad.dataset.order import Places, RandomOrder
from featgrad.dataset.placed import Encoder, FirstSums, Placed, entries_per_row, origin_rows
from featgrad.dataset.prepare import Preparation
from featgrad.dataset.sums import BatchSums, RowSums
from featgrad.readers import Block, Source

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
T = TypeVar("T")


def on_dask(X: Any, y: Any, sample_weight: Any, groups: Any, preparation: Preparation) -> "OnDask":
    """Rows of Dask collections."""
    return OnDask(partitions_of(X, y, sample_weight, groups), X.shape[1], preparation)


def files_on_dask(source: Source, preparation: Preparation) -> "OnDask":
    """Rows of files that are read by the workers, each of which has them."""
    parts = [FilePart(i, part) for i, part in enumerate(source.parts())]
    return OnDask(parts, source.n_features, preparation)


class OnDask(Placed):
    """Partitions of rows; making it computes them once. Rows of weight zero count as absent."""

    _name = "X"
    is_divided = True

    def __init__(self, parts: Sequence[Part], n_features: int, preparation: Preparation) -> None:
        self.n_features = n_features
        fences = _fences(parts, preparation.task) if preparation.preprocess == "robust" else None
        empty = FirstSums(n_features, preparation.task, preparation.missing, fences)
        delayed_ones = isinstance(parts[0], Partition)
        self._at_once = 1 if delayed_ones else 1 + int(len(parts) ** 0.5 / _TASKS)
        first = _over(parts, self._at_once, _first_reading, _merged_readings, empty)
        self._learn(first.sums, preparation)
        first.sums.limits.check(None)
        used = [(part, n) for part, n in zip(parts, first.counts, strict=True) if n]
        runs = RandomOrder(preparation.rng, self.n_rows).runs([n for _, n in used])
        ends = np.cumsum([n for _, n in used])
        folds = [None] * len(used) if self._folds is None else np.split(self._folds, ends[:-1])
        self._parts: list[tuple[Part, Any, Any]] = [
            (part, run, own) for (part, _), run, own in zip(used, runs, folds, strict=True)
        ]
        means = delayed(first.sums.means, traverse=False)
        origins = delayed(_origins)(means, self._preprocess, used[0][0])
        self.standardiser, self._n_entries = _computed(origins)
        self._settle_task(first.sums)
        self._learn_fill(first.sums)

    def visit(self, name: str, start: Callable[[], S]) -> S:
        """Add up the rows of some partitions in each task, and then the sums of these."""
        return self._visited(self._parts, start, self._at_once)

    def n_batches(self, batch_rows: int) -> int:
        return len(self._batches(batch_rows))

    def stream(self, name: str, batch_rows: int, consumer: Consumer) -> None:
        """Batches of whole partitions, each of which is added up by all workers."""
        for parts in self._batches(batch_rows):
            start = partial(BatchSums, consumer.elsewhere(), self.whole.shares)
            consumer.take(self._visited(parts, start, at_once=1).running)

    def _batches(self, batch_rows: int) -> list[list[Any]]:
        """Consecutive partitions that begin in the same batch of rows."""
        batches: dict[int, list[Any]] = {}
        begin = 0
        for visited in self._parts:
            batches.setdefault(begin // batch_rows, []).append(visited)
            begin += visited[1].size
        return list(batches.values())

    def _visited(self, parts: Sequence[Any], start: Callable[[], S], at_once: int) -> S:
        sums = start()
        question = start, self._encoder
        sums.restore(_whole(_over(parts, at_once, _state_of_parts, _merged_states, question)))
        return sums


def _over(
    parts: Sequence[Any],
    at_once: int,
    answer: Callable[[Any, Sequence[Any]], T],
    merge: Callable[[Any, Sequence[T]], T],
    question: Any,
) -> T:
    """Answers for some parts at a time, merged in a tree, in the order of the parts."""
    sent = delayed(question, traverse=False)
    answers = [delayed(answer)(sent, some) for some in _by(at_once, parts)]
    while len(answers) > 1:
        answers = [delayed(merge)(sent, some) for some in _by(_MERGED, answers)]
    found: T = _computed(answers[0])
    return found


class _FirstReading(NamedTuple):
    """Rows in use of each partition, and sums over all."""

    counts: list[int]
    sums: FirstSums


def _first_reading(empty: FirstSums, parts: Sequence[Part]) -> _FirstReading:
    reading = _FirstReading([], copy.deepcopy(empty))
    for part in parts:
        before = reading.sums.n_rows
        with naming(part.number):
            for block in part.rows():
                reading.sums.add(block)
        reading.counts.append(reading.sums.n_rows - before)
    return reading


def _merged_readings(empty: FirstSums, parts: Sequence[_FirstReading]) -> _FirstReading:
    counts, sums = [n for part in parts for n in part.counts], copy.deepcopy(empty)
    for part in parts:
        sums.merge(part.sums)
    return _FirstReading(counts, sums)


def _fences(parts: Sequence[Part], task: str) -> Fences:
    """From some rows of some partitions."""
    some = parts[:: -(-len(parts) // _FENCE_PARTS)]
    found = _computed(delayed([delayed(_some_rows)(part, len(some)) for part in some]))
    return Fences.of([rows for part in found for rows in part], task)


def _some_rows(part: Part, n_parts: int) -> list[tuple[Any, Any]]:
    """Of the first block, if there is one."""
    entries = _BLOCK_ENTRIES // n_parts
    return [some_rows(b.X, b.y, entries=entries) for b in islice(part.rows(), 1)]


def _origins(means: Floats | None, preprocess: str, part: Part) -> tuple[Standardiser, int]:
    """A standardiser, and the entries of a row."""
    rows = origin_rows(next(part.rows()))
    return Standardiser.from_sample(filled(rows, means), preprocess), entries_per_row(rows)


_Question = tuple[Callable[[], RowSums], Encoder]
_Sent = dict[str, Any]


def _state_of_parts(
    question: _Question, parts: Sequence[tuple[Part, Indices | Places, Indices | None]]
) -> _Sent:
    """Sums over the rows of parts."""
    start, encoder = question
    sums = start()
    for part, run, folds in parts:
        places, seen = run.drawn() if isinstance(run, Places) else run, 0
        for block in part.rows():
            own = slice(seen, seen + len(block))
            seen += len(block)
            if seen <= len(places):
                _add(sums, encoder, block, places[own], None if folds is None else folds[own])
        if seen != len(places):
            raise ValueError(
                f"Partition {part.number} had {len(places)} rows of positive weight when it was "
                f"first computed and {seen} when it was computed again: use data that stay the "
                "same, or persist them."
            )
    return _sent(sums.state())


def _add(
    sums: RowSums, encoder: Encoder, block: Block, places: Indices, folds: Indices | None
) -> None:
    step = max(1, _BLOCK_ENTRIES // entries_per_row(block.X))
    with one_thread():
        for first in range(0, len(block), step):
            last = min(first + step, len(block))
            own = None if folds is None else folds[first:last]
            sums.add(encoder(block.rows(first, last), places[first:last], own))


def _merged_states(question: _Question, states: Sequence[_Sent]) -> _Sent:
    start, _ = question
    sums = start()
    for state in states:
        more = start()
        more.restore(_whole(state))
        sums.merge(more)
    return _sent(sums.state())


def _sent(state: Arrays) -> _Sent:
    """Sums of many columns without those of columns that the rows do not have."""
    return {name: _nonzero_rows(array) for name, array in state.items()}


def _nonzero_rows(array: NDArray[Any]) -> Any:
    if array.ndim != 2 or len(array) < _MANY:
        return array
    used = np.flatnonzero(array.any(axis=1))
    return (used, array[used], len(array)) if 2 * len(used) < len(array) else array


def _whole(sent: _Sent) -> Arrays:
    state = dict(sent)
    for name, found in sent.items():
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
