"""One thread for products that are too short to be shared."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep products in the thread that asks for them.

    Those that helped with a short one would keep a core from other work, waiting for the next.
    """
    limit: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return limit


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
