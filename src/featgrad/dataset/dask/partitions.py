"""Partitions of features, targets and weights, each a block of rows once a worker has computed it.

Nothing is rechunked: column chunks of a partition are joined where it is visited.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.core import istask
from dask.delayed import Delayed
from dask.optimization import cull
from dask.sizeof import sizeof
from scipy import sparse
from sklearn.utils import check_array

from featgrad.checks import MATRIX
from featgrad.dataset.dask.collections import is_array, is_frame
from featgrad.dataset.placed import used_rows
from featgrad.math.tasks import ordered_labels
from featgrad.readers import Block, Source
from featgrad.readers.block import canonical
from featgrad.readers.groups import group_keys

# Bytes of what several partitions are computed from that each of them may have for itself.
_SMALL = 1 << 20


class Partition(NamedTuple):
    """What a block is made of, delayed or computed."""

    number: int
    X: Any  # its chunks of columns
    y: Any
    weight: Any
    groups: Any

    def rows(self) -> Iterator[Block]:
        return used_rows([self._block()])

    def _block(self) -> Block:
        chunks = [_matrix(chunk) for chunk in self.X]
        X = chunks[0] if len(chunks) == 1 else _side_by_side(chunks)
        y = np.asarray(ordered_labels(self.y))
        weight = None if self.weight is None else np.asarray(self.weight, np.float64)
        groups = None if self.groups is None else np.asarray(self.groups)
        keys = None if groups is None else group_keys(groups, len(groups))
        for name, part in (("y", y), ("sample_weight", weight), ("groups", keys)):
            if part is not None and len(part) != X.shape[0]:
                raise ValueError(
                    f"{name} has {len(part)} rows but X has {X.shape[0]}: partition them alike."
                )
        return Block(X, y, weight, keys)


class Recipe:
    """A partition that is computed inside the task that visits it: its rows stay there."""

    def __init__(self, number: int, keys: Any, tasks: Mapping[Any, Any]) -> None:
        self.number, self._keys, self._tasks = number, keys, tasks

    def rows(self) -> Iterator[Block]:
        found = dask.get(self._tasks, [key for key in self._keys if key is not None])
        parts = iter(found)
        return Partition(
            self.number, *(None if key is None else next(parts) for key in self._keys)
        ).rows()


class FilePart(NamedTuple):
    """A part of files, read where it is visited."""

    number: int
    source: Source

    def rows(self) -> Iterator[Block]:
        return used_rows(self.source)


# What is visited; all but partitions are computed by the task that visits them.
Part = Partition | Recipe | FilePart


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
        found.append((number, [chunks, *keys], cull(graph, wanted)[0]))
    uses = Counter(key for _, _, tasks in found for key in tasks)
    common = [graph[key] for key, count in uses.items() if count > 1]
    if any(istask(node) or sizeof(node) > _SMALL for node in common) or _has_futures(graph):
        return partitions
    return [Recipe(*parts) for parts in found]


def _has_futures(graph: Mapping[Any, Any]) -> bool:
    return any(type(node).__module__.startswith("distributed") for node in graph.values())


def partitions_of(X: Any, y: Any, sample_weight: Any, groups: Any) -> Sequence[Part]:
    """The partitions of Dask collections, which have to be alike."""
    if is_frame(X):
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


@contextmanager
def naming(number: int) -> Iterator[None]:
    """Errors of the data say which partition has them."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"Partition {number}: {error}") from error


def _column(name: str, given: Any, X: Any, count: int) -> list[Delayed]:
    """Partitions of targets or weights."""
    if not hasattr(given, "to_delayed"):
        raise ValueError(
            f"{name} is of type {type(given).__name__} but X is a Dask collection: give a Dask "
            "array or series with the partitions of X."
        )
    parts = given.to_delayed(optimize_graph=not is_array(given))
    if is_array(given):
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
    if not (is_array(given) and is_array(X)):
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


def _side_by_side(chunks: list[Any]) -> Any:
    if sparse.issparse(chunks[0]):
        return sparse.hstack(chunks, format="csr")
    return np.concatenate(chunks, axis=1)
