"""The cache of compiled kernels."""

import errno
from pathlib import Path

import numba
import pytest
from numba.core import caching

from featgrad._support import compiled as compiling


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch) -> Path:
    """A package with a kernel, without a cache, and a home without a folder for one."""
    (tmp_path / "some_kernels.py").touch()
    monkeypatch.setattr(compiling, "_PACKAGE", tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", "/dev/null")
    compiling._cache_folder.cache_clear()
    yield tmp_path
    compiling._cache_folder.cache_clear()


def add(a, b):
    return a + b


def test_a_changed_kernel_has_another_folder(package: Path):
    before = compiling._cache_folder()
    (package / "some_kernels.py").write_text("more")
    compiling._cache_folder.cache_clear()
    after = compiling._cache_folder()
    assert before != after
    assert [str(path) for path in (package / "__pycache__").iterdir()] == [after]


def test_kernels_compile_where_nothing_can_be_written(package: Path):
    (package / "__pycache__").touch()
    assert compiling._cache_folder() is None
    assert compiling.compiled()(add)(1, 2) == 3


def test_kernels_run_where_the_disk_is_full(package: Path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    assert compiling._cache_folder() is not None
    assert compiling.compiled()(add)(1, 2) == 3


def test_the_folder_of_numba_stays_as_it_was(package: Path):
    assert compiling.compiled(nogil=True)(add)(1, 2) == 3
    assert numba.config.CACHE_DIR == ""
