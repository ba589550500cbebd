"""Explained variance on an accelerator: paths through rising blocks of rows instead of rows.

With T strictly triangular over blocks only tuples of rows from distinct blocks enter, so the
moments are as unbiased as those over rows (see `featgrad.moments.folds`), and need no products
between the rows of a block.
"""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.linalg import hankel

from featgrad._support.types import Floats, Indices
from featgrad.math.tuples import tuple_weights
from featgrad.moments.dense import DenseEngine
from featgrad.moments.device_arrays import Tensor, sent
from featgrad.moments.device_paths import Paths, all_paths
from featgrad.moments.problem import Problem
from featgrad.plan import DEVICE_BLOCKS

# Columns are padded to a multiple of these, for wide loads.
_ALIGNED = 32
# Size from which blocks are visited one after another.
_SEQUENTIAL_BYTES = 1 << 29


@dataclass(frozen=True)
class BlockProblem(Problem):
    """A problem whose value and gradient are those over blocks; its sweeps are over rows."""

    engine: DenseEngine

    @cached_property
    def alpha(self) -> Floats:
        totals = np.array([self.weights[rows].sum() for rows in self._runs])
        return self.coefficients / tuple_weights(totals, self.order) / self.variance

    def value_and_gradient(self, mask: Floats) -> tuple[float, Floats]:
        value, gradient = self._blocks(mask * self.strength, self.alpha)
        return value, gradient * self.strength

    @cached_property
    def _runs(self) -> list[Indices]:
        """Rows of each block; as many blocks as the order needs at least."""
        n_rows = len(self.weights)
        return np.array_split(np.arange(n_rows), min(n_rows, DEVICE_BLOCKS))

    @cached_property
    def _blocks(self) -> "_Blocks":
        engine, runs = self.engine, self._runs
        shape = len(runs), len(runs[0]), self.n_features + -self.n_features % _ALIGNED
        root = np.sqrt(self.weights)[:, None]
        seeds = np.zeros((*shape[:2], self.outputs.shape[1]))
        like: Any = engine.centred_rows(0, 1)
        A = torch.zeros(shape, dtype=like.dtype, device=like.device)
        for block, rows in enumerate(runs):
            seeds[block, : len(rows)] = root[rows] * self.outputs[rows]
            values = engine.centred_rows(int(rows[0]), int(rows[-1]) + 1)
            scaled = values * sent(root[rows], like.device, like.dtype)
            A[block, : len(rows), : self.n_features] = scaled
        return _Blocks(A, sent(seeds, like.device, like.dtype), self.order, self.n_features)


class _Blocks:
    """Rows times the root of their weight, shape (blocks, rows, columns), and their outputs."""

    def __init__(self, A: Tensor, seeds: Tensor, order: int, n_features: int) -> None:
        self._A, self._seeds, self._order, self._n_features = A, seeds, order, n_features
        on_gpu = {"dtype": A.dtype, "device": A.device}
        self._is_before = torch.ones((len(A), len(A)), **on_gpu).tril(-1)
        # Strength and counts, and what comes of them; page-locked, for copies without delay.
        width = A.shape[2]
        self._given = torch.zeros(width + order**2, dtype=A.dtype, pin_memory=A.is_cuda)
        self._found = torch.zeros(order + width, dtype=A.dtype, pin_memory=A.is_cuda)
        self._there = torch.zeros(len(self._given), **on_gpu)
        self._strength, counts = self._there[:width], self._there[width:]
        self._counts = counts.reshape(order, order)
        self._kernels = self._sequential()
        self._launch = captured(self._run, A.device) if A.is_cuda else None

    def __call__(self, strength: Floats, alpha: Floats) -> tuple[float, Floats]:
        """``sum_i alpha_i m_i`` and its gradient."""
        given = self._given.numpy()
        given[: self._n_features] = strength
        given[self._A.shape[2] :] = np.ravel(hankel(alpha))
        if self._launch is None:
            self._run()
        else:
            self._launch()
            torch.cuda.current_stream(self._A.device).synchronize()
        found = self._found.numpy().astype(np.float64)
        return float(alpha @ found[: self._order]), found[self._order :][: self._n_features]

    def _run(self) -> None:
        self._there.copy_(self._given, non_blocking=True)
        paths = self._at_once() if self._kernels is None else self._kernels()
        found = paths.moments_and_gradient(self._strength, self._counts)
        self._found.copy_(found, non_blocking=True)

    def _at_once(self) -> Paths:
        """All blocks together, degree by degree."""
        A = self._A
        first = self._seeds.mT @ A
        return all_paths(
            first, self._is_before, self._strength, self._order, lambda V: (V @ A.mT) @ A
        )

    def _sequential(self) -> Any:
        """Block after block, by kernels that read rows half as often; None where it is not faster.

        They take single precision and a few columns, and pay where rows are many.
        """
        is_large = self._A.nbytes >= _SEQUENTIAL_BYTES
        if not self._A.is_cuda or self._A.dtype != torch.float32 or not is_large:
            return None
        from featgrad.moments import block_kernels

        if self._order * self._seeds.shape[2] > block_kernels.MOST_COLUMNS:
            return None
        return block_kernels.Sequential(self._A, self._seeds, self._strength, self._order)


def captured(run: Callable[[], None], device: Any) -> Callable[[], None]:
    """All operations of a function as one graph, which is launched at once; runs it once."""
    stream, graph = torch.cuda.Stream(device), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        run()
    stream.synchronize()
    # Graphs that are not used any more may not be taken apart while one is captured.
    gc.disable()
    try:
        with torch.cuda.stream(stream):
            graph.capture_begin()
            run()
            graph.capture_end()
    finally:
        gc.enable()
    replay: Callable[[], None] = graph.replay
    return replay
