"""Atomic replacement of files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Temporary file in the folder of `path` that replaces it unless the block fails.

    It is created exclusively under a unique name, which ends with the suffix of `path`: writers may
    choose the format by it.
    """
    path = Path(path)
    temporary = path.with_name(f".featgrad-{uuid4().hex}{path.suffix}")
    temporary.touch(exist_ok=False)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
