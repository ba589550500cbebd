"""Products of all pairs of columns: priced on the GPU, and whole fits that find five of them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.helpers.gpu.timing import seconds
from benchmarks.helpers.record import Figure
from featgrad import FeatureGradientConstructor
from featgrad.construct.prices import Residuals, best_pairs
from featgrad.plan import BUILT

ROWS, COLUMNS, PRODUCTS = 60_000, 10_000, 5
TRUTH = {f"x{2 * i} * x{2 * i + 1}" for i in range(PRODUCTS)}


def planted(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Five products, and noise of their variance."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.randn((n_rows, n_columns), device="cuda", generator=generator)
    noise = torch.randn(n_rows, device="cuda", generator=generator)
    signal = (X[:, 0 : 2 * PRODUCTS : 2] * X[:, 1 : 2 * PRODUCTS : 2]).sum(1)
    return X.cpu().numpy(), (signal + PRODUCTS**0.5 * noise).double().cpu().numpy()


def figures() -> Iterator[tuple[str, int, list[Figure]]]:
    X, y = planted(ROWS, COLUMNS)
    n_pairs = COLUMNS * (COLUMNS + 1) // 2
    weights = np.full(ROWS, 1 / ROWS)
    centred = ((y - y.mean()) / y.std() * weights)[:, None]
    residuals = Residuals(np.arange(ROWS), weights, centred, np.zeros((ROWS, 0)), centred)
    there = torch.asarray(X, device="cuda")
    taken = seconds(lambda: list(best_pairs(there, there, residuals, BUILT, True)), 5)
    about = f"{n_pairs:,} products of {COLUMNS:,} columns, float32"
    yield about, ROWS, [Figure("pricing", taken, "s", "<= 0.6")]
    planted_few = planted(2_000, 500)
    fitted(*planted_few, estimate=False)
    for estimate, how in ((False, "no estimates"), (True, "with estimates")):
        constructor, taken = fitted(X, y, estimate)
        found = {one.name for one in constructor.constructed_}
        yield (
            f"{about}, {how}",
            ROWS,
            [
                Figure("fit, transfer included", taken, "s", "<= 10"),
                Figure("found", len(found & TRUTH), "", f">= {PRODUCTS}"),
                Figure("false", len(found - TRUTH), "", "<= 1"),
            ],
        )


def fitted(
    X: np.ndarray, y: np.ndarray, estimate: bool
) -> tuple[FeatureGradientConstructor, float]:
    constructor = FeatureGradientConstructor(
        PRODUCTS, operations="products", device="cuda", estimate=estimate, random_state=0
    )
    start = time.perf_counter()
    return constructor.fit(X, y), time.perf_counter() - start
