"""Timing side by side: what is compared takes turns, so that both see the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

# Long enough for the worker threads of the one before to stop waiting for more work.
_PAUSE = 0.3


def side_by_side(repeats: int, **functions: Callable[[], object]) -> dict[str, list[float]]:
    """Seconds of each function in each of `repeats` rounds, after one round to warm up."""
    for function in functions.values():
        function()
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            time.sleep(_PAUSE)
            start = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(numerator: list[float], denominator: list[float]) -> float:
    """Median over rounds of the ratio within a round."""
    return float(np.median(np.divide(numerator, denominator)))


def milliseconds(seconds: list[float]) -> float:
    return 1e3 * float(np.median(seconds))
