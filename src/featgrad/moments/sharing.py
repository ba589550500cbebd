"""Compiled loops over pieces of the work, shared between threads that sleep while they wait.

Numba's own threads wait for each other and for work by spinning. Where a machine has anything else
to do, such as reading the next block, that takes longer than a short loop.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numba

# Pieces whose sums are taken apart: more than there are threads, so that their number says nothing
# about the result.
PIECES = 16


def shared(kernel: Callable[..., None], n_pieces: int, *arguments: Any) -> None:
    """Call ``kernel(first, end, *arguments)`` for runs of pieces that make up all of them.

    The kernel has to be compiled to release the interpreter's lock.
    """
    n_threads = min(n_pieces, numba.config.NUMBA_NUM_THREADS)
    edges = [n_pieces * i // n_threads for i in range(n_threads + 1)]
    own, *others = pairwise(edges)
    coming = [_threads().submit(kernel, *run, *arguments) for run in others]
    try:
        kernel(*own, *arguments)
    finally:
        for part in coming:
            part.result()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="featgrad")


# Threads do not survive a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)
