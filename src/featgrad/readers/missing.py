"""Missing values that say something of the target: a feature says that they are missing."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri

from featgrad._support import Indices
from featgrad.plan import FLAG_CHANCE, FLAG_ROWS, FLAG_VALUES
from featgrad.readers.columns import EncodedColumn, Layout


class EncodedRows(NamedTuple):
    """A matrix, and the variables that its columns stand for."""

    X: Any
    layout: Layout


def flags_that_explain(missing: Any, y: NDArray[Any] | None) -> list[int]:
    """Columns, rows of `missing`, of which it says more of a target than chance that they are.

    Chance is that of the best of all columns and outputs: a flag of noise is found in a share of
    `FLAG_CHANCE` of all tables. Outputs are ranks of numbers, or one for each frequent value.
    """
    counts = np.asarray(missing.sum(axis=1)).ravel()
    enough = np.flatnonzero(np.minimum(counts, missing.shape[1] - counts) >= FLAG_ROWS)
    if y is None or y.ndim != 1 or not len(enough):
        return []
    y = y if y.dtype.kind in "fiub" else y.astype(str)
    values, of_row, n_rows = np.unique(y, return_inverse=True, return_counts=True)
    outputs = (np.cumsum(n_rows) - n_rows / 2)[of_row, None]
    if y.dtype.kind == "U" or len(values) <= FLAG_VALUES:
        outputs = of_row[:, None] == np.argsort(-n_rows)[:FLAG_VALUES]
    outputs = outputs - outputs.mean(axis=0)
    outputs /= np.maximum(outputs.std(axis=0), 1e-300)
    limit, found = ndtri(1 - FLAG_CHANCE / (2 * len(enough) * outputs.shape[1])), []
    for column in enough.tolist():
        flag = missing[[column]]
        flag = (flag.toarray() if sparse.issparse(flag) else flag)[0]
        share = counts[column] / len(y)
        if np.max(np.abs(flag @ outputs)) > limit * np.sqrt(share * (1 - share) * len(y)):
            found.append(column)
    return found


def with_flags(X: Any, y: Any, names: Sequence[str] | None) -> EncodedRows | None:
    """A matrix with a column for each one whose missing values say something of the target."""
    if sparse.issparse(X):
        missing = sparse.csr_array((np.isnan(X.data), X.indices, X.indptr), X.shape).T.tocsr()
    else:
        missing = np.isnan(X).T
    said = flags_that_explain(missing, np.asarray(y))
    if not said:
        return None
    variables = [f"x{i}" for i in range(X.shape[1])] if names is None else list(map(str, names))
    layout = [
        *map(EncodedColumn, variables),
        *(EncodedColumn(variables[i], "missing") for i in said),
    ]
    return EncodedRows(append_flags(X, np.array(said)), Layout(layout, variables))


def append_flags(X: Any, columns: Indices) -> Any:
    """A matrix and, for some columns, whether their values are missing."""
    if sparse.issparse(X):
        some = X[:, columns]
        some.data = np.isnan(some.data).astype(X.dtype)
        some.eliminate_zeros()
        return sparse.hstack([X, some], format="csr")
    return np.hstack([X, np.isnan(X[:, columns])], dtype=X.dtype)
