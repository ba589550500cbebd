"""Paths of ten sizes: on the GPU from arrays on the host, and on the host's cores."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch

from benchmarks.helpers.record import Figure
from featgrad import FeatureGradientSelector
from featgrad.dataset.device import DenseMatrix

SIZES = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
SHAPES = (60_000, 5_000), (200_000, 2_000)
# Rows and columns of the matrix that is four times the memory it may take.
LARGE = 1_600_000, 5_000


def planted(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that follow 60 columns, of which 340 others are noisy copies."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = np.empty((n_rows, n_columns), np.float32)
    signal = np.empty(n_rows, np.float32)
    of_copy = torch.randint(0, 60, (340,), device="cuda", generator=generator)
    weights = torch.linspace(1, 0.1, 60, device="cuda")
    for start in range(0, n_rows, 20_000):
        rows = slice(start, min(n_rows, start + 20_000))
        shape = rows.stop - start, n_columns
        block = torch.randn(shape, device="cuda", generator=generator)
        block[:, 60:400] += 0.5 * block[:, of_copy]
        noise = torch.randn(shape[0], device="cuda", generator=generator)
        X[rows], signal[rows] = block.cpu(), (block[:, :60] @ weights + 2 * noise).cpu()
    return X, (signal > 0).astype(int)


def fitted(
    X: np.ndarray, y: np.ndarray, device: str | None, estimate: bool = True
) -> tuple[FeatureGradientSelector, float]:
    options: Any = {"path_sizes": list(SIZES), "estimate": estimate, "random_state": 0}
    start = time.perf_counter()
    selector = FeatureGradientSelector(SIZES[-1], device=device, **options).fit(X, y)
    return selector, time.perf_counter() - start


def figures() -> Iterator[tuple[str, int, list[Figure]]]:
    fitted(*planted(2_000, 1_500), "cuda")
    for shape in SHAPES:
        X, y = planted(*shape)
        for estimate, how in ((False, "no estimates"), (True, "with estimates")):
            about = f"dense, {shape[1]:,} columns, float32, ten sizes up to {SIZES[-1]}, {how}"
            yield about, shape[0], list(_fits(X, y, estimate))


def _fits(X: np.ndarray, y: np.ndarray, estimate: bool) -> Iterator[Figure]:
    runs = [fitted(X, y, "cuda", estimate) for _ in range(3)]
    there, on_gpu = runs[0][0], float(np.median([seconds for _, seconds in runs]))
    yield Figure("fit on the GPU, transfer included", on_gpu, "s", "<= 3")
    yield Figure("the same, first of three", runs[0][1], "s")
    here, on_cpu = fitted(X, y, None, estimate)
    pairs = zip(there.path_, here.path_, strict=True)
    different = sum(len(np.setdiff1d(one.features, other.features)) for one, other in pairs)
    yield Figure("fit on 16 cores", on_cpu, "s")
    yield Figure("faster than 16 cores", on_cpu / on_gpu, "x", ">= 10")
    yield Figure("features that differ", different / sum(SIZES), "", "<= 0.02")


def large_figures() -> Iterator[tuple[str, int, list[Figure]]]:
    X, y = planted(*LARGE)
    sent = DenseMatrix._sent
    passes = 0

    def counted(matrix: DenseMatrix) -> Iterator[torch.Tensor]:
        nonlocal passes
        passes += 1
        return sent(matrix)

    with (
        mock.patch("featgrad.plan.DEVICE_SHARE", 1.0),
        mock.patch("featgrad.dataset.device.free_bytes", return_value=X.nbytes / 4),
        mock.patch.object(DenseMatrix, "_sent", counted),
    ):
        _, taken = fitted(X, y, "cuda", estimate=False)
    matrix = DenseMatrix(X, torch.zeros(1, device="cuda").device, is_resident=False)
    start = time.perf_counter()
    for _ in range(passes):
        for _ in matrix.blocks():
            pass
    torch.cuda.synchronize()
    transfer = time.perf_counter() - start
    about = (
        f"dense, {LARGE[1]:,} columns, float32, a quarter of it fits, ten sizes, no estimates",
        LARGE[0],
    )
    yield (
        *about,
        [
            Figure("fit in blocks", taken, "s"),
            Figure(f"beside its {passes} transfers", taken / transfer, "x", "<= 1.5"),
        ],
    )
