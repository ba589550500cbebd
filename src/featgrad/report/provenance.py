"""How to get the same selection again."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy import sparse

_PACKAGES = ("featgrad", "numpy", "scipy", "scikit-learn")
_BLOCK_ENTRIES = 1 << 20


def versions() -> str:
    found = [f"{package} {_version(package)}" for package in _PACKAGES]
    return ", ".join([*found, f"Python {platform.python_version()}"])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from its sources
        return "(not installed)"


def fingerprint(X: Any, y: Any) -> str:
    """A short hash of the values, their types and their shape."""
    digest = hashlib.blake2b(digest_size=8)
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for part in (*parts, np.asarray(y)):
        _add(digest, part)
    return digest.hexdigest()


def _add(digest: Any, values: Any) -> None:
    digest.update(f"{values.dtype}{values.shape}".encode())
    if values.dtype.kind == "O":
        digest.update("\0".join(map(str, values.ravel())).encode())
        return
    step = max(1, _BLOCK_ENTRIES // max(1, values[:1].size))
    for start in range(0, len(values), step):
        digest.update(np.ascontiguousarray(values[start : start + step]))
