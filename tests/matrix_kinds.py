"""The kinds of matrix that moments take, and the data that tests on all of them share."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import reference
from featgrad.math import formulas
from featgrad.moments.rows import StandardisedRows
from featgrad.moments.sweeps import RowMoments
from featgrad.plan import DEVICE_BLOCKS


@dataclass(frozen=True)
class Kind:
    """A kind of matrix that moments take, and how exact its results are."""

    make: Callable[[np.ndarray], Any]
    dtype: type = np.float64
    library: str | None = None
    is_sparse: bool = False
    in_blocks: bool = False  # value and gradient over blocks of rows

    @property
    def tolerance(self) -> float:
        return 1e-9 if self.dtype is np.float64 else 1e-4

    def rounded(self, X: np.ndarray) -> np.ndarray:
        """The values that the matrix holds, in double precision."""
        return X.astype(self.dtype).astype(np.float64)

    def parts(self, n_rows: int) -> np.ndarray:
        """The part of each row: rows of one part are never multiplied with each other."""
        n_parts = min(n_rows, DEVICE_BLOCKS) if self.in_blocks else n_rows
        parts = np.array_split(np.arange(n_rows), n_parts)
        return np.repeat(np.arange(n_parts), [len(part) for part in parts])

    def standardised(
        self,
        X: np.ndarray,
        weights: np.ndarray,
        preprocess: str = "zscore",
        rows: np.ndarray | None = None,
    ) -> StandardisedRows:
        rows = np.arange(len(X)) if rows is None else rows
        return StandardisedRows.of(self.make(X), rows, weights, preprocess)


def _of_library(name: str, dtype: str) -> Callable[[np.ndarray], Any]:
    def make(X: np.ndarray) -> Any:
        xp = importlib.import_module(name)
        return xp.asarray(X, dtype=getattr(xp, dtype))

    return make


def _on_accelerator(dtype: str) -> Callable[[np.ndarray], Any]:
    """On torch's CPU where there is none."""

    def make(X: np.ndarray) -> Any:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        return torch.asarray(X, dtype=getattr(torch, dtype), device=device)

    return make


def _csr(dtype: type, index: type) -> Callable[[np.ndarray], Any]:
    def make(X: np.ndarray) -> Any:
        matrix = sparse.csr_array(X.astype(dtype))
        matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
        return matrix

    return make


KINDS = {
    "dense-float64": Kind(lambda X: X.copy()),
    "dense-float32": Kind(lambda X: X.astype(np.float32), np.float32),
    "fortran-float64": Kind(np.asfortranarray),
    "array-api-strict": Kind(
        _of_library("array_api_strict", "float64"), library="array_api_strict"
    ),
    "torch-float64": Kind(_of_library("torch", "float64"), library="torch"),
    "torch-float32": Kind(_of_library("torch", "float32"), np.float32, library="torch"),
    "blocks-float64": Kind(_on_accelerator("float64"), library="torch", in_blocks=True),
    "blocks-float32": Kind(_on_accelerator("float32"), np.float32, library="torch", in_blocks=True),
    **{
        f"csr-{dtype.__name__}-{index.__name__}": Kind(_csr(dtype, index), dtype, is_sparse=True)
        for dtype in (np.float64, np.float32)
        for index in (np.int32, np.int64)
    },
}


@dataclass(frozen=True)
class Example:
    """Features (some with many zeros), centred outputs and weights that sum to one."""

    X: np.ndarray
    outputs: np.ndarray
    weights: np.ndarray
    mask: np.ndarray

    def problem(self, kind: Kind, order: int, *, filter: str = "monotone", **options: Any):
        """The moments of such a matrix, and the value and gradient that they should have."""
        preprocess = options.get("preprocess", "zscore")
        rows = kind.standardised(self.X, self.weights, **options)
        Z = reference.standardise(kind.rounded(self.X), self.weights, preprocess)
        scale = float(np.linalg.norm(np.sqrt(self.weights)[:, None] * Z, 2) ** 2)
        variance = float(np.sum(self.weights @ self.outputs**2))
        coefficients = formulas.coefficients(filter, order)
        problem = RowMoments(
            rows, self.outputs, self.weights, variance, (coefficients,), scale, kind.in_blocks
        )
        value, gradient = reference.value_and_gradient(
            Z, self.outputs, self.mask, self.weights, coefficients, scale, kind.parts(len(Z))
        )
        return problem, value / variance, gradient / variance


def example(
    n_rows: int, n_features: int, *, n_outputs: int = 1, weighted: bool = True, far: float = 0.0
) -> Example:
    """Every second column is full, with mean `far`; the others hold zeros in half their rows."""
    rng = np.random.default_rng([n_rows, n_features, n_outputs])
    X = rng.standard_normal((n_rows, n_features))
    X[:, 0::2] += far
    X[:, 1::2] *= 1.5 * (rng.random(X[:, 1::2].shape) < 0.5)
    slopes = rng.standard_normal((n_features, n_outputs)) / np.sqrt(n_features)
    outputs = X @ slopes + 0.3 * rng.standard_normal((n_rows, n_outputs))
    weights = rng.uniform(0.2, 2.0, n_rows) if weighted else np.ones(n_rows)
    weights /= weights.sum()
    return Example(X, outputs - weights @ outputs, weights, rng.random(n_features))


def relative_error(found: Any, expected: Any) -> float:
    """Norm-wise."""
    difference = np.linalg.norm(np.asarray(found) - np.asarray(expected))
    return float(difference / np.linalg.norm(expected))
