"""Atomic replacement of files, and files that one process at a time may use."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows: no locks
    fcntl = None  # type: ignore[assignment]


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Temporary file in the folder of `path` that replaces it unless the block fails.

    It is created exclusively under a unique name, which ends with the suffix of `path`: writers may
    choose the format by it.
    """
    path = Path(path)
    temporary = path.with_name(f"{_prefix(path)}{uuid4().hex}{path.suffix}")
    temporary.touch(exist_ok=False)
    try:
        with naming(path):
            yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context in which errors of a full disk name the file that is written."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            error.filename = error.filename or str(path)
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Context in which no other process has the lock of this path, which a kill releases.

    Temporary files that a killed process left of it are removed. Raises BlockingIOError.
    """
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _locked_file(lock)
    try:
        for left in path.parent.glob(f"{escape(_prefix(path))}*"):
            left.unlink(missing_ok=True)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _locked_file(lock: Path) -> int:
    """Descriptor of the lock file, of which no other process has the lock."""
    while True:
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600)
        if fcntl is None:
            return descriptor
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise
        # Its holder may have removed the file after it was opened: others lock a new one then.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        os.close(descriptor)


def _prefix(path: Path) -> str:
    """Of the names of temporary files in the place of this one."""
    return f".{path.name}.featgrad-"
