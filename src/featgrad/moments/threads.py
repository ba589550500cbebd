"""Limit BLAS to one thread for short products."""

import functools
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Compute products in the calling thread.

    Other threads of BLAS would keep a core busy while they wait for the next product.
    """
    limit: AbstractContextManager[Any] = _blas().limit(limits=1, user_api="blas")
    return limit


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
