"""Settings of a selector and its data in words, and what reproduces a selection."""

import hashlib
import platform
from collections.abc import Callable
from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad.options import version_of
from featgrad.report.columns import count_constant, count_missing, row_blocks
from featgrad.report.text import counted
from featgrad.report.values import label_text

_PACKAGES = ("featgrad", "numpy", "scipy", "scikit-learn")
_TASKS = {
    "regression": "numbers",
    "binary": "two classes",
    "multiclass": "several classes",
    "multilabel": "several labels for each row",
    "ordinal": "ordered classes",
}


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
    found = [f"{package} {version_of(package)}" for package in _PACKAGES]
    return ", ".join([*found, f"Python {platform.python_version()}"])


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


def _sizes(sizes: Any) -> str:
    numbers = [f"{size:,}" for size in np.unique(sizes)]
    return ", ".join(numbers if len(numbers) <= 20 else [*numbers[:10], "…", *numbers[-3:]])


def _groups(groups: Any) -> str:
    """How many groups of several features there are, given as lists or as labels."""
    given = list(groups)
    if np.ndim(given[0]) == 0:
        count = int(np.sum(np.unique(list(map(str, given)), return_counts=True)[1] > 1))
    else:
        count = sum(len(group) > 1 for group in given)
    return f"{counted(count, 'group')} of features, each chosen as a whole"


_SCALES = {
    "center": "features are centred, and keep their own variance",
    "robust": "features, and targets that are numbers, are clipped at Tukey's outer fences",
}
# Label and text of a parameter that has another value than its default.
_WORDS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "path_sizes": ("Sizes tried", _sizes),
    "feature_groups": ("Groups", _groups),
    "keep": ("Always chosen", lambda features: counted(len(features), "feature")),
    "exclude": ("Never chosen", lambda features: counted(len(features), "feature")),
    "n_resamples": ("Stability", lambda n: f"{n} searches, each on a random half of the rows"),
    "preprocess": ("Scale", lambda kind: _SCALES[kind]),
    "missing": ("Missing values", lambda _: "count as the mean of their column"),
    "device": ("Device", str),
}
# Parameters that are described elsewhere in a report.
_ELSEWHERE = {"n_features_to_select", "fdr", "max_cost", "task", "random_state", "verbose"}


def settings_in_words(selector: Any) -> dict[str, str]:
    """Label and text of what was asked for."""
    detected = ", detected" if selector.task == "auto" else ""
    lines = {
        "Number of features": _number(selector),
        "Target": f"{_TASKS[selector.task_]} ({selector.task_}{detected})",
    }
    defaults = type(selector)().get_params()
    other = []
    for name, value in selector.get_params().items():
        if name in _ELSEWHERE or str(value) == str(defaults[name]):
            continue
        if name in _WORDS:
            label, words = _WORDS[name]
            lines[label] = words(value)
        else:
            other.append(f"{name}={shortened(value)}")
    return lines | ({"Other parameters": ", ".join(other)} if other else {})


def search_in_words(selector: Any) -> dict[str, str]:
    """Which search ran and why, and its certificate."""
    lines = {
        decision.subject.capitalize(): f"{decision.choice} ({decision.reason})"
        for decision in selector.plan_.decisions
    }
    if selector.certificate_ is not None:
        lines["Certificate"] = str(selector.certificate_)
    return lines


def _number(selector: Any) -> str:
    wanted = selector.n_features_to_select
    if selector.fdr is not None:
        return f"as many as keep the expected share of false ones below {selector.fdr:g}"
    if selector.max_cost is not None:
        return f"as many as cost no more than {selector.max_cost:g} in total"
    if selector.plan_.search == "penalty":
        return "as many as the penalty leaves"
    if isinstance(wanted, str):
        return "the smallest that predicts held-out rows about as well as any"
    if isinstance(wanted, float):
        return f"{wanted:.3g} of all"
    return f"{wanted:,}"
