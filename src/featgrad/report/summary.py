"""Summary of a data set, and what is needed to reproduce a selection."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.report.columns import count_constant, count_missing, row_blocks
from featgrad.report.values import label_text

_PACKAGES = ("featgrad", "numpy", "scipy", "scikit-learn")


def summarise_data(X: Any, y: Any, task: str) -> dict[str, str]:
    n_rows, n_columns = X.shape
    lines = {"Rows": f"{n_rows:,}", "Candidate features": f"{n_columns:,}"}
    if sparse.issparse(X):
        lines["Entries other than 0"] = f"{X.nnz / (n_rows * n_columns):.2%}"
    missing, constant = int(count_missing(X).sum()), count_constant(X)
    lines["Missing values"] = f"{missing / (n_rows * n_columns):.2%}" if missing else "none"
    if constant:
        lines["Constant features"] = f"{constant:,}, never chosen"
    lines["Target"] = _target_summary(np.asarray(y), task)
    return lines


def _target_summary(y: NDArray[Any], task: str) -> str:
    if y.ndim == 2 and y.shape[1] > 1:
        return f"{y.shape[1]} outputs"
    if task == "regression":
        return (
            f"mean {y.mean():.4g}, standard deviation {y.std():.4g}, {y.min():.4g} to {y.max():.4g}"
        )
    labels, counts = np.unique(y, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:5]
    shares = ", ".join(f"{label_text(labels[i])}: {counts[i] / counts.sum():.1%}" for i in largest)
    more = len(labels) - len(largest)
    return f"{len(labels)} classes ({shares}{f', {more} more' if more else ''})"


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
    digest: Any = hashlib.blake2b(digest_size=8)
    arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    for values in (*arrays, np.asarray(y)):
        digest.update(f"{values.dtype}{values.shape}".encode())
        if values.dtype.kind == "O":
            digest.update("\0".join(map(str, values.ravel())).encode())
            continue
        for rows in row_blocks(values):
            digest.update(np.ascontiguousarray(values[rows]))
    return str(digest.hexdigest())
