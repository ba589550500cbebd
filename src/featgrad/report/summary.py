"""A data set in a few lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.report.columns import count_constant, count_missing


def summarise_data(X: Any, y: Any, task: str) -> dict[str, str]:
    n_rows, n_columns = X.shape
    lines = {"Rows": f"{n_rows:,}", "Candidate features": f"{n_columns:,}"}
    if sparse.issparse(X):
        lines["Entries other than 0"] = f"{X.nnz / (n_rows * n_columns):.2%}"
    missing, constant = count_missing(X), count_constant(X)
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
    shares = ", ".join(f"{_label(labels[i])}: {counts[i] / counts.sum():.1%}" for i in largest)
    more = len(labels) - len(largest)
    return f"{len(labels)} classes ({shares}{f', {more} more' if more else ''})"


def _label(label: Any) -> str:
    """Files of text hold numbers: a class 1 is read as 1.0."""
    return f"{label:g}" if isinstance(label, np.floating) else str(label)
