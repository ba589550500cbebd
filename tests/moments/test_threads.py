"""The limit on the threads of BLAS, which holds for the whole process."""

import pytest
from threadpoolctl import threadpool_info

from featgrad._support.threads import one_blas_thread


def blas_threads() -> set[int]:
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def test_the_last_of_several_lifts_the_limit():
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


def test_an_error_lifts_the_limit():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        1 / 0  # noqa: B018
    assert blas_threads() == before
