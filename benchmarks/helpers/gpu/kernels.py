"""One value and gradient of `Learnability` beside the paper's Lemma and two plain passes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.helpers.gpu.timing import seconds
from benchmarks.helpers.record import Figure
from benchmarks.helpers.speed import lemma
from featgrad import Learnability

ORDER = 6
# Rows, columns, how many times faster than the Lemma, and at most how many times two plain passes.
SHAPES = (
    (11_552, 784, 30, None),
    (6_000, 5_000, 30, None),
    (60_000, 5_000, 60, 4),
    (200_000, 2_000, 60, 4),
)


def figures() -> Iterator[tuple[str, int, list[Figure]]]:
    for n_rows, n_columns, faster, passes in SHAPES:
        yield (
            f"dense, {n_columns:,} columns, order {ORDER}, float32",
            n_rows,
            list(_of_shape(n_rows, n_columns, faster, passes)),
        )
        torch.cuda.empty_cache()


def _of_shape(n_rows: int, n_columns: int, faster: int, passes: int | None) -> Iterator[Figure]:
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.randn(n_rows, n_columns, device="cuda", generator=generator)
    noise = torch.randn(n_rows, device="cuda", generator=generator)
    y = torch.sign(X[:, :5].sum(1) + noise)
    mask = np.random.default_rng(0).random(n_columns)
    data = Learnability(X, y, order=ORDER, filter="kong-valiant")
    ours = seconds(lambda: data.value_and_gradient(mask))
    value, gradient = data.value_and_gradient(mask)
    alpha = [1.0] * ORDER
    v = torch.zeros(n_columns, device="cuda")
    by_lemma = seconds(lambda: lemma.value_and_gradient(X, y, v, alpha), repeats=3)
    V, U = torch.randn(n_columns, ORDER, device="cuda"), torch.randn(ORDER, n_rows, device="cuda")
    plain = seconds(lambda: (X @ V, U @ X))
    yield Figure("value and gradient", 1e3 * ours, "ms")
    yield Figure("faster than the paper's Lemma by autograd", by_lemma / ours, "x", f">= {faster}")
    asked = None if passes is None else f"<= {passes}"
    yield Figure("beside two plain passes of width 6", ours / plain, "x", asked)
    exact = Learnability(X.double(), y, order=ORDER, filter="kong-valiant")
    exact_value, exact_gradient = exact.value_and_gradient(mask)
    off = float(torch.linalg.norm(gradient - exact_gradient) / torch.linalg.norm(exact_gradient))
    yield Figure("gradient off float64", off, "", "<= 1e-4")
    yield Figure("value off float64", abs(value / exact_value - 1), "", "<= 1e-4")
