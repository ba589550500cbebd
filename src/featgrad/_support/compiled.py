"""Compiled loops: their cache, the threads that share them, and the processor's own cache.

numba detects stale code by the file of a function, not by those of the functions it calls: here
the cache is in a folder named by the state of all of them, and never has to be deleted by hand.

The threads of numba spin while they wait for each other and for work. If the machine has other
work, such as reading the next block, that takes longer than a short loop: `shared` has threads that
sleep. Numba does not offer the prefetch instruction either.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import functools
import hashlib
import math
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from featgrad._support.threads import is_alone

_PACKAGE = Path(__file__).parents[1]
_PREFIX = "featgrad-"
# Files of kernels, and of what they take from others.
_KERNELS = ("*kernels.py", "kernels/*.py", "moments/*.py", "_support/*.py")
_LINE_BYTES = 64
_TO_READ, _KEEP_IN_EVERY_CACHE, _DATA = 0, 3, 1


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a kernel, with options of numba."""

    def decorate(function: Callable[..., Any]) -> Any:
        folder, before = _cache_folder(), config.CACHE_DIR
        # numba reads the folder while it decorates.
        config.CACHE_DIR = folder or before
        try:
            return njit(function, cache=folder is not None, **options)
        finally:
            config.CACHE_DIR = before

    return decorate


@functools.cache
def _cache_folder() -> str | None:
    """Where compiled kernels are kept; None where nothing can be written."""
    files = {path for pattern in _KERNELS for path in _PACKAGE.rglob(pattern)}
    stamps = [(str(path), path.stat().st_mtime_ns) for path in sorted(files)]
    name = _PREFIX + hashlib.sha256(repr(stamps).encode()).hexdigest()[:16]
    own = _PACKAGE / "__pycache__"
    bases = [own, Path("~/.cache").expanduser()]
    for base in [Path(config.CACHE_DIR)] if config.CACHE_DIR else bases:
        folder = base / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            if base == own:
                _remove_others(folder)
            return str(folder)
    return None


def _remove_others(folder: Path) -> None:
    """Remove caches of earlier versions of the package."""
    for other in folder.parent.glob(f"{_PREFIX}*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


def shared(kernel: Callable[..., None], n_pieces: int, *arguments: Any) -> None:
    """Call ``kernel(first, end, *arguments)`` in each thread for its share of the pieces.

    The kernel must be compiled with `nogil`.
    """
    n_threads = 1 if is_alone() else min(n_pieces, config.NUMBA_NUM_THREADS)
    edges = [n_pieces * i // n_threads for i in range(n_threads + 1)]
    own, *others = pairwise(edges)
    futures = [_threads().submit(kernel, *run, *arguments) for run in others]
    try:
        kernel(*own, *arguments)
    finally:
        for future in futures:
            future.result()


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_name_prefix="featgrad")


# Threads do not survive a fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)


def aligned(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Zeros that begin with a line of the cache, so that records span as few as possible."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.zeros(size + _LINE_BYTES, np.uint8)
    start = -room.ctypes.data % _LINE_BYTES
    return np.asarray(room[start : start + size].view(dtype).reshape(shape))


@intrinsic
def prefetch(typing_context, array, i, j):
    """Prefetch the cache line where ``array[i, j]`` begins."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        fields = context.make_array(kind)(context, builder, arguments[0])
        element = cgutils.get_item_pointer(context, builder, kind, fields, arguments[1:])
        address = builder.bitcast(element, cgutils.voidptr_t)
        int32 = cgutils.int32_t
        takes = ir.FunctionType(ir.VoidType(), [address.type, int32, int32, int32])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [address.type], takes)
        options = [int32(option) for option in (_TO_READ, _KEEP_IN_EVERY_CACHE, _DATA)]
        builder.call(hint, [address, *options])
        return context.get_dummy_value()

    return types.void(array, i, j), generate
