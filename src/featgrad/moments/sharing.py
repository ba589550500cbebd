"""Parallel compiled loops in threads that sleep while they wait.

The threads of numba spin while they wait for each other and for work. If the machine has other
work, such as reading the next block, that takes longer than a short loop.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numba

from featgrad.moments.threads import is_alone

# Number of pieces with separate sums: a constant, so that results do not depend on the number of
# threads.
PIECES = 16


def shared(kernel: Callable[..., None], n_pieces: int, *arguments: Any) -> None:
    """Call ``kernel(first, end, *arguments)`` in each thread for its share of the pieces.

    The kernel must be compiled with `nogil`.
    """
    n_threads = 1 if is_alone() else min(n_pieces, numba.config.NUMBA_NUM_THREADS)
    edges = [n_pieces * i // n_threads for i in range(n_threads + 1)]
    own, *others = pairwise(edges)
    futures = [_threads().submit(kernel, *run, *arguments) for run in others]
    try:
        kernel(*own, *arguments)
    finally:
        for future in futures:
            future.result()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="featgrad")


# Threads do not survive a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)
