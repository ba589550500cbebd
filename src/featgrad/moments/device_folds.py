"""Moments over folds that stay in the memory of an accelerator, and copies to it and back.

With vectors of one degree known for all folds, their sums over the folds before and behind give
those of the next degree by one batched product for both directions:

    r_0 = b_f,    r_(j+1)(f) = C_f S sum of r_j over the folds before (or behind) f.
"""

import gc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import hankel

from featgrad._support.array_api import is_foreign
from featgrad._support.types import Floats, Indices, Singles
from featgrad.moments.cells import Cells, Division
from featgrad.moments.folds import Folds, Gradient, Totals

Tensor = Any  # torch.Tensor, which type checkers need not know


def as_tensor(X: Any) -> Tensor:
    """An array as a tensor of the same memory, where torch can have it."""
    if is_foreign(X):
        return X if isinstance(X, torch.Tensor) else torch.from_dlpack(X)
    with warnings.catch_warnings():
        # Nothing is written to it.
        warnings.filterwarnings("ignore", "The given NumPy array is not writ")
        return torch.from_numpy(X.copy() if min(X.strides) < 0 else X)


def sent(values: NDArray[Any], device: Any, dtype: Any = None) -> Tensor:
    """A copy on the device."""
    return as_tensor(np.ascontiguousarray(values)).to(device=device, dtype=dtype, copy=True)


def sent_together(parts: Sequence[NDArray[Any]], like: Tensor) -> list[Tensor]:
    """Copies on the device and of the type of a tensor, by way of one."""
    flat = torch.from_numpy(np.concatenate([np.ravel(part) for part in parts]).astype(np.float64))
    there = flat.to(like.dtype).to(like.device)
    pieces = torch.split(there, [part.size for part in parts])
    return [piece.reshape(part.shape) for piece, part in zip(pieces, parts, strict=True)]


def fetched(values: Tensor) -> NDArray[np.float64]:
    """A copy on the host in double precision."""
    return np.asarray(values.double().cpu().numpy())


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


# Entries of C_f that are multiplied at once.
_AT_ONCE = 1 << 28


@dataclass(frozen=True)
class DeviceCells(Cells):
    """Cells without products of their own: those of all cells are here together."""

    grams: Tensor  # shape (cells, columns, columns)

    def columns(self, indices: Indices) -> "DeviceCells":
        index = sent(indices, self.grams.device)
        cells = [cell.columns(indices) for cell in self.cells]
        return DeviceCells(cells, self.n_strata, self.grams[:, index[:, None], index])

    def centred(self, division: Division) -> tuple["DeviceFolds", Floats]:
        folds, means = super().centred(division)
        shape = -1, self.n_strata, *self.grams.shape[1:]
        own, kind = list(division.folds), {"device": self.grams.device, "dtype": self.grams.dtype}
        shares = division.shares.reshape(-1, self.n_strata)[own]
        weights = np.einsum("fs,fs->f", shares, self._of_cells("weight")[own])
        sums = np.einsum("fs,fsd->fd", shares, self._of_cells("sums")[own])
        grams = (self.grams.reshape(shape)[own] * sent(shares, **kind)[..., None, None]).sum(1)
        # A rank-two correction: what the means take from rows and from columns.
        shift = sent(sums - weights[:, None] / 2 * means, **kind)
        taken = sent(means, **kind)[:, None] * shift[:, None, :]
        return DeviceFolds(folds.folds, grams - taken - taken.mT), means

    def _of_cells(self, name: str) -> Floats:
        """A number or vector of each cell, by fold."""
        values = np.array([getattr(cell, name) for cell in self.cells])
        return values.reshape(-1, self.n_strata, *values.shape[1:])


@dataclass(frozen=True)
class DeviceFolds(Folds):
    """Folds without rows of their own: C_f of all folds are here together."""

    grams: Tensor  # C_f, shape (folds, columns, columns)

    def columns(self, indices: Indices) -> "DeviceFolds":
        index = sent(indices, self.grams.device)
        folds = [fold.columns(indices) for fold in self.folds]
        return DeviceFolds(folds, self.grams[:, index[:, None], index])

    def column_squares(self) -> Floats:
        return fetched(self.grams.sum(0).diagonal())

    def divided(self, columns: Floats, outputs: Floats) -> "DeviceFolds":
        there = sent(columns, self.grams.device).to(self.grams.dtype)
        folds = [fold.divided(columns, outputs) for fold in self.folds]
        return DeviceFolds(folds, self.grams / there / there[:, None])

    @cached_property
    def _covariance(self) -> Floats:
        return fetched(self.totals().covariance)

    def totals(self) -> Totals:
        covariance = self.grams.sum(0).double() / self._total
        return Totals(covariance, self.cross(), float(np.sum(self.variance)), self.n_effective)

    def without_each(self, inverse: Singles, ridge: float) -> Floats:
        crosses = np.array([fold.cross for fold in self.folds]) / self._total
        rest = sent(crosses.sum(0) - crosses, self.grams.device)
        grams = self.grams.double() / self._total
        others = grams.sum(0) - grams
        others.diagonal(dim1=1, dim2=2).add_(ridge)
        return fetched(torch.linalg.solve(others, rest))

    def gradients(self, tasks: Sequence[Gradient]) -> list[tuple[float, Floats]]:
        """Folds of about as many columns are taken at the same time."""
        found: dict[int, tuple[float, Floats]] = {}
        by_width = sorted(range(len(tasks)), key=lambda i: -tasks[i].folds.n_columns)
        while by_width:
            widest: Any = tasks[by_width[0]].folds
            count = max(1, _AT_ONCE // max(1, widest.grams.numel()))
            places, by_width = by_width[:count], by_width[count:]
            found |= zip(places, widest._together([tasks[i] for i in places]), strict=True)
        return [found[i] for i in range(len(tasks))]

    def _together(self, tasks: Sequence[Gradient]) -> list[tuple[float, Floats]]:
        # Tasks come about the same folds again and again.
        names = tuple(id(task.folds) for task in tasks)
        if names not in self._stacks:
            self._stacks[names] = _stacked([task.folds for task in tasks])
        grams, first = self._stacks[names]
        n_sets, n_folds, _, n_columns = first.shape
        order = max(len(task.coefficients) for task in tasks)
        strengths, alphas = np.zeros((n_sets, n_columns)), np.zeros((n_sets, order))
        is_before = np.zeros((n_sets, n_folds, n_folds))
        for i, task in enumerate(tasks):
            place = np.argsort(task.sequence)
            strengths[i, : len(task.mask)] = task.mask / task.scale
            alphas[i, : len(task.coefficients)] = task.alpha
            is_before[i, : len(place), : len(place)] = place[:, None] > place
        there = [strengths, np.array([hankel(alpha) for alpha in alphas]), is_before]
        strength, counts, before = sent_together(there, grams)
        results = fetched(_moments_and_gradient(first, before, strength, counts, grams))
        return [
            (float(alpha @ found[:order]), found[order:][: len(task.mask)] / task.scale)
            for alpha, found, task in zip(alphas, results, tasks, strict=True)
        ]

    @cached_property
    def _stacks(self) -> dict[tuple[int, ...], tuple[Tensor, Tensor]]:
        return {}


def _stacked(folds: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """C_f and b_f for weights that sum to one, with zeros where folds or columns are fewer.

    Of shape (sets, folds, columns, columns) and (sets, folds, outputs, columns).
    """
    like = folds[0].grams
    shape = len(folds), *(max(one.grams.shape[i] for one in folds) for i in (0, 1))
    grams = torch.zeros((*shape, shape[2]), dtype=like.dtype, device=like.device)
    first = np.zeros((*shape[:2], len(folds[0].variance), shape[2]))
    for i, one in enumerate(folds):
        own, width = len(one.folds), one.n_columns
        grams[i, :own, :width, :width] = one.grams * one.share
        first[i, :own, :, :width] = one.first
    return grams, sent(first, like.device, like.dtype)


def _moments_and_gradient(
    first: Tensor, is_before: Tensor, strength: Tensor, counts: Tensor, grams: Tensor
) -> Tensor:
    """Raw moments, then ``d/d strength`` of their sum weighted by alpha, in one vector.

    `first` are the b_f, shape (sets, folds, outputs, columns); `is_before` is 1 where the fold of
    the column comes before that of the row; `strength` is the diagonal of S, shape (sets, columns);
    ``counts[a, b]`` is ``alpha[a + b]``: what a pair of path lengths counts.
    """
    both_ways = torch.stack([is_before, is_before.mT])
    ends, order = torch.stack([first, first]), counts.shape[-1]
    strength = strength[..., None, None, :]
    vectors, behind = [], []
    for degree in range(order):
        sums = (both_ways @ ends.flatten(-2)).reshape(ends.shape)
        vectors.append(ends[0])
        behind.append(sums[1])
        if degree + 1 < order:
            masked = (sums * strength).movedim(0, -3)
            found = (masked.flatten(-3, -2) @ grams).reshape(masked.shape)
            ends = found.movedim(-3, 0).contiguous()
    # Paths from the first fold on that end in each, and from the last on, behind each.
    left, right = torch.stack(vectors, dim=-4), torch.stack(behind, dim=-4).flatten(-3)
    moments = (right @ (strength * first).flatten(-3)[..., None])[..., 0]
    mixed = (counts @ right).reshape(left.shape)
    return torch.cat([moments, (left * mixed).sum((-4, -3, -2))], dim=-1)
