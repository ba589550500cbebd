"""Limit BLAS to one thread."""

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

_blas = functools.cache(ThreadpoolController)


class _Limit:
    """The limit of the whole process: the first of several fits sets it, the last one lifts it."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._limiter: Any = None

    def take(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limiter = _blas().limit(limits=1, user_api="blas")
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limiter.restore_original_limits()


_limit = _Limit()
if hasattr(os, "register_at_fork"):
    # A fork copies a lock as it is, held or not, but not the thread that would release it.
    os.register_at_fork(after_in_child=lambda: _limit.__init__())  # type: ignore[misc]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Compute products in the calling thread.

    Other threads of BLAS would keep a core busy while they wait for the next product.
    """
    _limit.take()
    try:
        yield
    finally:
        _limit.release()
