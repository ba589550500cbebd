"""The shape of webspam's trigrams with its rows in the memory of the GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.helpers.gpu.timing import seconds
from benchmarks.helpers.record import Figure
from benchmarks.helpers.scale.webspam import WebspamLike
from featgrad import FeatureGradientSelector, MiniBatch, WorkingSet
from featgrad.dataset.base import Dataset
from featgrad.dataset.device import on_device
from featgrad.dataset.memory import InMemory, Preparation, prepare
from featgrad.dataset.sums import Model

SIZE = 1000
N_FOLDS = 12


@cache
def rows() -> tuple[Any, np.ndarray, np.ndarray]:
    """The matrix, its target and the planted columns; drawn by all cores."""
    source = WebspamLike()
    with ThreadPoolExecutor() as pool:
        blocks = list(pool.map(source.block, range(0, source.n_rows, source.block_rows)))
    parts = [block.X for block in blocks]
    starts = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)]).cumsum()
    entries = [np.concatenate([getattr(p, name) for p in parts]) for name in ("data", "indices")]
    X = sparse.csr_array(
        (*entries, starts.astype(np.int32)), shape=(source.n_rows, source.n_features)
    )
    return X, np.concatenate([block.y for block in blocks]), source.planted


def taken(run: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = run()
    return found, time.perf_counter() - start


def a_model(dataset: Dataset, planted: np.ndarray) -> Model:
    """Some coefficients of the planted columns."""
    columns, n_cells = np.sort(planted), len(dataset.whole.shares)
    coefficients = np.random.default_rng(0).standard_normal((n_cells, len(columns), 1))
    return Model(dataset.whole, columns, 0.01 * coefficients, np.zeros((n_cells, 1)))


def pricing() -> Iterator[tuple[str, int, list[Figure]]]:
    X, y, planted = rows()

    def preparation() -> Preparation:
        rng = np.random.RandomState(0)
        return Preparation(4, "monotone", "auto", "zscore", "error", rng, N_FOLDS)

    there, opened = taken(lambda: on_device(X, y, None, "cuda", preparation()))

    def price(dataset: Dataset) -> Any:
        return dataset.price([a_model(dataset, planted)])

    there.marginals([there.whole])
    on_gpu = seconds(lambda: price(there), repeats=3)
    prepared = prepare(X, y, None, preparation())
    here = InMemory(X, prepared, "zscore")
    here.marginals([here.whole])
    _, on_cpu = taken(lambda: price(here))
    yield (
        *about(X),
        [
            Figure("sent to the GPU and put into columns", opened, "s"),
            Figure("one pricing on the GPU", on_gpu, "s"),
            Figure("one pricing on 16 cores", on_cpu, "s"),
            Figure("pricing faster than 16 cores", on_cpu / on_gpu, "x", ">= 10"),
        ],
    )


def fits() -> Iterator[tuple[str, int, list[Figure]]]:
    X, y, planted = rows()
    for search in (WorkingSet(), MiniBatch()):
        options: Any = {"search": search, "estimate": False, "random_state": 0}
        selector = FeatureGradientSelector(SIZE, device="cuda", **options)
        _, fit = taken(lambda chosen=selector: chosen.fit(X, y))
        recall = float(np.mean(np.isin(planted, selector.get_support(indices=True))))
        asked = ("<= 30", ">= 0.95") if isinstance(search, WorkingSet) else (None, None)
        yield (
            *about(X),
            [
                Figure(f"fit for {SIZE} columns, search {search!r}", fit, "s", asked[0]),
                Figure(f"planted columns found, search {search!r}", recall, "", asked[1]),
            ],
        )


def about(X: Any) -> tuple[str, int]:
    return f"CSR like webspam, {X.shape[1]:,} columns, {X.nnz:,} entries", X.shape[0]
