"""Compiled loops and their cache.

numba detects stale code by the file of a function, not by those of the functions it calls: here
the cache is in a folder named by the state of all of them, and never has to be deleted by hand.
"""

import functools
import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import config, njit

_PACKAGE = Path(__file__).parents[1]
_PREFIX = "featgrad-"
# Files of kernels, and of what they take from others.
_KERNELS = ("*kernels.py", "moments/*.py", "_support/*.py")


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a kernel, with options of numba."""

    def decorate(function: Callable[..., Any]) -> Any:
        folder, before = _cache_folder(), config.CACHE_DIR
        # numba reads the folder while it decorates.
        config.CACHE_DIR = folder or before
        try:
            kernel = njit(function, cache=folder is not None, **options)
        finally:
            config.CACHE_DIR = before
        # There is none where numba is told not to compile.
        cache = getattr(kernel, "_cache", None)
        if cache is not None:
            cache.save_overload = functools.partial(_save_if_possible, cache.save_overload)
        return kernel

    return decorate


def _save_if_possible(save: Callable[..., None], *compilation: Any) -> None:
    """Keep a kernel if there is space for it; if not, the next process compiles it again."""
    with suppress(OSError):
        save(*compilation)


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
    for other in folder.parent.glob(f"{_PREFIX}*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
