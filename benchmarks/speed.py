"""`make bench-speed`: each ratio beside its bar, printed and kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import torch

from benchmarks.helpers.record import RESULTS, Figure, record
from benchmarks.helpers.speed import data, lemma
from benchmarks.helpers.speed.measure import milliseconds, ratio, side_by_side
from featgrad.moments.sweeps import RowMoments

# Data in words, rows of them, and what was measured.
Told = tuple[str, int, Figure]


def against_lemma(n_rows: int, n_features: int, order: int, repeats: int) -> Iterator[Told]:
    X = data.dense(n_rows, n_features)
    problem = data.problem(X, order)
    half = np.full(n_features, 0.5)
    centred = torch.from_numpy(X - X.mean(0)) / problem.scale**0.5
    y = torch.from_numpy(problem.outputs[:, 0].astype(np.float32))
    v = torch.zeros(n_features)
    alpha = list(problem.alpha / n_rows ** np.arange(2, order + 2))
    seconds = side_by_side(
        repeats,
        ours=lambda: problem.value_and_gradient(half),
        lemma=lambda: lemma.value_and_gradient(centred, y, v, alpha),
    )
    about = f"dense, {n_features:,} columns, order {order}, float32", n_rows
    yield *about, Figure("value and gradient", milliseconds(seconds["ours"]), "ms")
    faster = ratio(seconds["lemma"], seconds["ours"])
    yield *about, Figure("faster than the paper's Lemma in torch", faster, "x", ">= 30")


def sparse_against_scipy(repeats: int) -> Iterator[Told]:
    X = data.text_like(20_242, 47_236, 74)
    problem = data.problem(X, 4)
    half = np.full(X.shape[1], 0.5)
    v, u = np.ones(X.shape[1], np.float32), np.ones(X.shape[0], np.float32)
    seconds = side_by_side(
        repeats, ours=lambda: problem.value_and_gradient(half), scipy=lambda: (X @ v, X.T @ u)
    )
    about = f"CSR, 47,236 columns, {X.nnz:,} entries, order 4", X.shape[0]
    yield *about, Figure("value and gradient", milliseconds(seconds["ours"]), "ms")
    beside = ratio(seconds["ours"], seconds["scipy"])
    yield *about, Figure("beside X @ v and X.T @ u", beside, "x", "<= 5")
    faster = against_densified(X, problem)
    bar = "batches of 1000, faster than densifying each for the Lemma"
    yield *about, Figure(bar, faster, "x", ">= 200")


def against_densified(X: object, problem: RowMoments) -> float:
    """One epoch in mini-batches of 1000 rows, the Lemma on each batch made dense and centred."""
    rows = X[:1000]  # type: ignore[index]
    half = np.full(problem.n_features, 0.5)
    batch = problem.batches(1000)[0]
    mean = np.asarray(X.mean(0), dtype=np.float32)  # type: ignore[attr-defined]
    alpha = list(batch.alpha / 1000.0 ** np.arange(2, 6))
    y = torch.from_numpy(batch.outputs[:1000, 0].astype(np.float32))
    y = torch.nn.functional.pad(y, (0, 1000 - len(y)))

    def densified() -> None:
        centred = torch.from_numpy(rows.toarray() - mean)
        lemma.value_and_gradient(centred, y, torch.zeros(problem.n_features), alpha)

    seconds = side_by_side(3, ours=lambda: batch.value_and_gradient(half), densified=densified)
    return ratio(seconds["densified"], seconds["ours"])


def doubled(repeats: int) -> Iterator[Told]:
    """Time against rows, features, entries and order doubled."""

    def timed(first: RowMoments, second: RowMoments) -> float:
        masks = [np.full(p.n_features, 0.5) for p in (first, second)]
        seconds = side_by_side(
            repeats,
            single=lambda: first.value_and_gradient(masks[0]),
            double=lambda: second.value_and_gradient(masks[1]),
        )
        return ratio(seconds["double"], seconds["single"])

    base = data.problem(data.dense(4000, 1000), 4)
    tall, wide = (data.problem(data.dense(*shape), 4) for shape in ((8000, 1000), (4000, 2000)))
    deep = replace(base, filters=(np.ones(8),))
    rows = data.problem(data.text_like(10_000, 20_000, 50), 4)
    deep_rows = replace(rows, filters=(np.ones(8),))
    entries = data.problem(data.text_like(10_000, 20_000, 100), 4)
    pairs = {"rows": (base, tall), "features": (base, wide), "order": (base, deep)}
    for what, pair in pairs.items():
        figure = Figure(f"time when {what} double", timed(*pair), "x", "<= 2.2")
        yield "dense, 1,000 columns, order 4", 4000, figure
    for what, pair in {"entries": (rows, entries), "order": (rows, deep_rows)}.items():
        figure = Figure(f"time when {what} double", timed(*pair), "x", "<= 2.2")
        yield "CSR, 20,000 columns, order 4", 10_000, figure


# Traced allocations rather than resident pages, which the system may take back at any time.
_MEMORY = """
import tracemalloc, numpy as np
from featgrad import FeatureGradientSelector
X = np.empty((200_000, 2_000), np.float32)
rng = np.random.default_rng(0)
for start in range(0, len(X), 10_000):
    X[start : start + 10_000] = rng.standard_normal((10_000, 2_000), dtype=np.float32)
y = (X[:, 0] + X[:, 1] > 0).astype(int)
tracemalloc.start()
FeatureGradientSelector(2, random_state=0).fit(X, y)
print(tracemalloc.get_traced_memory()[1] / X.nbytes)
"""

_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"

_FIRST_FIT = """
import time, numpy as np
rng = np.random.default_rng(0)
X, y = rng.standard_normal((100, 20)), rng.integers(0, 2, 100)
from featgrad import FeatureGradientSelector
t = time.perf_counter()
FeatureGradientSelector(5).fit(X, y)
print(time.perf_counter() - t)
"""


def fresh(code: str) -> float:
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def in_fresh_processes() -> Iterator[Told]:
    modules = "featgrad", "sklearn.feature_selection"
    rounds = [[fresh(_IMPORT.format(module)) for module in modules] for _ in range(5)]
    ours, theirs = np.array(rounds).T
    beside = float(np.median(ours / theirs))
    bar = "import beside sklearn.feature_selection"
    yield "a fresh process", 0, Figure(bar, beside, "x", "<= 1.5")
    first = float(np.median([fresh(_FIRST_FIT) for _ in range(3)]))
    yield "a fresh process, dense, 20 columns", 100, Figure("first fit", first, "s", "<= 1")
    extra = 100 * fresh(_MEMORY)
    figure = Figure("extra peak memory of a fit, of X", extra, "%", "<= 25")
    yield "dense, 2,000 columns, float32", 200_000, figure


def main() -> None:
    for about, rows, figure in chain(
        against_lemma(11_552, 784, 6, repeats=5),
        against_lemma(6_000, 5_000, 6, repeats=3),
        sparse_against_scipy(repeats=15),
        doubled(repeats=7),
        in_fresh_processes(),
    ):
        asked = f" (asked {figure.asked})" if figure.asked else ""
        print(f"{about}: {figure.bar} {figure.measured:.3g} {figure.unit}{asked}", flush=True)
        command = "python -m benchmarks.speed"
        record(about, rows, command, [figure], RESULTS / "speed", "Speed")


if __name__ == "__main__":
    main()
