"""Matrices of the shapes that are timed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from featgrad.dataset.memory import Preparation, prepare
from featgrad.moments.sweeps import RowMoments
from featgrad.plan import FOLDS


def dense(n_rows: int, n_features: int) -> Any:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n_rows, n_features), dtype=np.float32)


def text_like(n_rows: int, n_features: int, per_row: int) -> Any:
    """CSR rows of distinct columns whose popularity falls as a power of their rank."""
    rng = np.random.default_rng(0)
    popularity = (10 + np.arange(n_features)) ** -0.9
    popularity /= popularity.sum()
    rank_to_column = rng.permutation(n_features)
    drawn = rng.choice(n_features, size=(n_rows, 2 * per_row), p=popularity)
    rows = [np.sort(rank_to_column[rng.permutation(np.unique(row))[:per_row]]) for row in drawn]
    indptr = np.append(0, np.cumsum([len(row) for row in rows]))
    values = rng.random(indptr[-1], dtype=np.float32)
    parts = values, np.concatenate(rows).astype(np.int32), indptr.astype(np.int32)
    return sparse.csr_matrix(parts, shape=(n_rows, n_features))


def problem(X: Any, order: int) -> RowMoments:
    y = np.random.default_rng(1).integers(0, 2, X.shape[0])
    rng = np.random.RandomState(0)
    preparation = Preparation(order, "kong-valiant", "binary", "zscore", "error", rng, FOLDS)
    prepared = prepare(X, y, None, preparation)
    return prepared.row_moments(X, "zscore").scaled()
