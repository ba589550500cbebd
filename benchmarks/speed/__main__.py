"""`make bench-speed`: print each ratio beside its bar."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import torch

from benchmarks.speed import data, lemma
from benchmarks.speed.measure import milliseconds, ratio, side_by_side
from featgrad.engines.problem import Problem


def against_lemma(n_rows: int, n_features: int, order: int, repeats: int) -> None:
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
    print(
        f"dense {n_rows:,} x {n_features:,} order {order}: {milliseconds(seconds['ours'])}, Lemma "
        f"{milliseconds(seconds['lemma'])}: {ratio(seconds['lemma'], seconds['ours']):.0f}x faster "
        "(bar 30x, aim 60x)"
    )


def sparse_against_scipy(repeats: int) -> None:
    X = data.text_like(20_242, 47_236, 74)
    problem = data.problem(X, 4)
    half = np.full(X.shape[1], 0.5)
    v, u = np.ones(X.shape[1], np.float32), np.ones(X.shape[0], np.float32)
    seconds = side_by_side(
        repeats,
        ours=lambda: problem.value_and_gradient(half),
        scipy=lambda: (X @ v, X.T @ u),
    )
    print(
        f"CSR 20,242 x 47,236, {X.nnz:,} entries, order 4: {milliseconds(seconds['ours'])}, "
        f"X @ v and X.T @ u {milliseconds(seconds['scipy'])}: "
        f"{ratio(seconds['ours'], seconds['scipy']):.1f}x as long (bar 5x)"
    )
    against_densified(X, problem)


def against_densified(X: object, problem: Problem) -> None:
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
    print(
        f"CSR epoch in batches of 1000: {ratio(seconds['densified'], seconds['ours']):.0f}x faster "
        "than densifying each batch for the Lemma (bar 200x)"
    )


def doubled(repeats: int) -> None:
    """Time against rows, features, entries and order doubled."""

    def timed(first: Problem, second: Problem) -> float:
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
    print(
        f"doubling (bar 2.2): dense rows {timed(base, tall):.2f}, "
        f"features {timed(base, wide):.2f}, order {timed(base, deep):.2f}; "
        f"CSR entries {timed(rows, entries):.2f}, order {timed(rows, deep_rows):.2f}"
    )


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
FeatureGradientSelector(2, max_iter=3, random_state=0).fit(X, y)
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


def in_fresh_processes() -> None:
    modules = "featgrad", "sklearn.feature_selection"
    rounds = [[fresh(_IMPORT.format(module)) for module in modules] for _ in range(5)]
    ours, theirs = np.array(rounds).T
    print(
        f"import featgrad {np.median(ours):.2f} s: {np.median(ours / theirs):.2f}x "
        "sklearn.feature_selection (bar 1.5x)"
    )
    first = np.median([fresh(_FIRST_FIT) for _ in range(3)])
    print(f"first fit in a fresh process, 100 x 20 dense: {first:.2f} s (bar 1 s)")
    print(f"extra peak memory, 200,000 x 2,000 float32: {fresh(_MEMORY):.1%} of X (bar 25 %)")


def main() -> None:
    against_lemma(11_552, 784, 6, repeats=5)
    against_lemma(6_000, 5_000, 6, repeats=3)
    sparse_against_scipy(repeats=15)
    doubled(repeats=7)
    in_fresh_processes()


if __name__ == "__main__":
    main()
