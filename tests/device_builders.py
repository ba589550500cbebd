"""Rows on a device: torch's CPU where there is no accelerator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dataset_builders import N_FOLDS, layout, order_of
from featgrad.dataset.memory import Prepared
from featgrad.math import formulas
from featgrad.math.targets import centre, encode


def a_device() -> Any:
    torch = pytest.importorskip("torch")
    return torch.zeros(1, device="cuda" if torch.cuda.is_available() else "cpu").device


def on_device(
    X: Any,
    Y: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    preprocess: str = "zscore",
    n_folds: int = N_FOLDS,
    seed: int = 0,
    task: str = "regression",
    is_resident: bool = True,
) -> Any:
    """The rows that `dataset_builders.in_memory` has, in the same order."""
    device = a_device()
    from featgrad.dataset.device import DenseMatrix, OnDevice, SparseMatrix

    weight = np.ones(len(Y)) if weight is None else weight
    rows = order_of(weight, seed)
    weights = weight[rows] / weight.sum()
    target = centre(encode(Y, task)[0][rows], task, weights)
    matrix = SparseMatrix(X, device) if sparse.issparse(X) else DenseMatrix(X, device, is_resident)
    matrix.hashes(np.ones(X.shape[1], int), exact=True)
    prepared = Prepared(rows, weights, target, formulas.up_to("monotone", 3), layout(rows, n_folds))
    return OnDevice(matrix, prepared, preprocess)
