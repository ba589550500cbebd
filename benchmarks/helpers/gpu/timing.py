"""Timing on a GPU, which works on while the host goes ahead."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch


def seconds(run: Callable[[], object], repeats: int = 9) -> float:
    """Median over some runs after two to warm up, each waited for."""
    taken = []
    for _ in range(repeats + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken[2:]))
