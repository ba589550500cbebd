"""Compiled products of blocks of rows with a few columns, for a GPU.

Blocks are visited one after another, from both ends at the same time: the sums over the blocks
before are known when a block is reached, so that all degrees are columns of the same two products.
A block is read from memory once for both, since it fits into the cache. Products of single
precision are three of the matrix units' own ("tf32x3"), whose error is that of single precision.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"

import torch
import triton
import triton.language as tl

from featgrad.moments.device_arrays import Tensor
from featgrad.moments.device_paths import Paths

# Columns of a product: those of the smallest that the matrix units take.
MOST_COLUMNS = 16
# Rows or columns of a product that one program has, and how many of the others it adds at once.
_ROW_TILE, _ROW_DEPTH = 64, 64
_COLUMN_TILE, _COLUMN_DEPTH = 128, 32
_STAGES = 3
_SUM_TILE = 1024
# Programs in each of the two products, as a multiple of the processors.
_PROGRAMS = 4


@triton.jit(do_not_specialize=["step"])
def _rows_times(
    A, V, R, step, n_blocks, n_rows, n_columns, width, n_outputs,
    COLUMNS: tl.constexpr, TILE: tl.constexpr, DEPTH: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """``R[s, outputs + c] = A_b V[s, c]`` for block b of sweep s; the first outputs stay."""
    sweep = tl.program_id(1)
    block = tl.where(sweep == 0, step, n_blocks - 1 - step)
    n = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.arange(0, COLUMNS)
    total = tl.zeros((TILE, COLUMNS), tl.float32)
    rows = A + (block.to(tl.int64) * n_rows + n)[:, None] * n_columns
    for start in tl.range(0, n_columns, DEPTH, num_stages=STAGES):
        d = start + tl.arange(0, DEPTH)
        a = tl.load(
            rows + d[None, :], mask=(n < n_rows)[:, None] & (d < n_columns)[None, :], other=0.0
        )
        inside = (c < width - n_outputs)[None, :] & (d < n_columns)[:, None]
        v = tl.load(
            V + (sweep * width + c)[None, :] * n_columns + d[:, None], mask=inside, other=0.0
        )
        total = tl.dot(a, v, total, input_precision="tf32x3")
    inside = (c < width - n_outputs)[None, :] & (n < n_rows)[:, None]
    tl.store(R + (sweep * width + n_outputs + c)[None, :] * n_rows + n[:, None], total, mask=inside)


@triton.jit(do_not_specialize=["step"])
def _columns_times(
    A, Y, R, P, step, n_blocks, n_rows, n_columns, width, n_outputs, share,
    COLUMNS: tl.constexpr, TILE: tl.constexpr, DEPTH: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """``P[s, part, c] = A_b^T R[s, c]`` over a share of the rows; the first columns are Y's."""
    part, sweep = tl.program_id(1), tl.program_id(2)
    block = tl.where(sweep == 0, step, n_blocks - 1 - step)
    d = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS, TILE), tl.float32)
    for start in tl.range(0, share, DEPTH, num_stages=STAGES):
        n = part * share + start + tl.arange(0, DEPTH)
        is_row = n < n_rows
        rows = A + (block.to(tl.int64) * n_rows + n)[:, None] * n_columns
        a = tl.load(rows + d[None, :], mask=is_row[:, None] & (d < n_columns)[None, :], other=0.0)
        is_seed = (c < n_outputs)[:, None]
        seeds = Y + (block * n_outputs + c)[:, None] * n_rows + n[None, :]
        found = R + (sweep * width + c)[:, None] * n_rows + n[None, :]
        r = tl.load(
            tl.where(is_seed, seeds, found), mask=(c < width)[:, None] & is_row[None, :], other=0.0
        )
        total = tl.dot(r, a, total, input_precision="tf32x3")
    at = ((sweep * tl.num_programs(1) + part) * width + c)[:, None] * n_columns + d[None, :]
    tl.store(P + at, total, mask=(c < width)[:, None] & (d < n_columns)[None, :])


@triton.jit(do_not_specialize=["step"])
def _add_up(
    P, S, Z, V, vectors, sums, step, n_blocks, n_columns, width, n_parts, TILE: tl.constexpr
):
    """Keep the block's vectors and the sums before it, then add the ones to the others."""
    c, sweep = tl.program_id(1), tl.program_id(2)
    block = tl.where(sweep == 0, step, n_blocks - 1 - step)
    d = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = d < n_columns
    own = tl.zeros((TILE,), tl.float32)
    for part in range(n_parts):
        at = ((sweep * n_parts + part) * width + c) * n_columns + d
        own += tl.load(P + at, mask=inside, other=0.0)
    at = (sweep * width + c) * n_columns + d
    before = tl.load(Z + at, mask=inside, other=0.0)
    kept = ((sweep * width + c) * n_blocks + block) * n_columns + d
    tl.store(vectors + kept, own, mask=inside)
    tl.store(sums + kept, before, mask=inside)
    tl.store(Z + at, before + own, mask=inside)
    strength = tl.load(S + d, mask=inside, other=0.0)
    tl.store(V + at, (before + own) * strength, mask=inside)


class Sequential:
    """Paths through the blocks of a matrix, shape (blocks, rows, columns)."""

    def __init__(self, A: Tensor, seeds: Tensor, strength: Tensor, order: int) -> None:
        self._A, self._strength, self._order = A, strength, order
        self._seeds = seeds.mT.contiguous()
        n_blocks, n_rows, n_columns = A.shape
        self._n_outputs = seeds.shape[2]
        self._width = width = order * self._n_outputs

        def empty(*shape: int) -> Tensor:
            return torch.empty(shape, dtype=A.dtype, device=A.device)

        tiles = triton.cdiv(n_columns, _COLUMN_TILE)
        processors = torch.cuda.get_device_properties(A.device).multi_processor_count
        parts = max(1, _PROGRAMS * processors // (2 * tiles))
        self._share = _COLUMN_DEPTH * triton.cdiv(n_rows, parts * _COLUMN_DEPTH)
        self._n_parts = triton.cdiv(n_rows, self._share)
        # For each of the two sweeps: products with rows and columns, sums so far and these masked.
        self._R, self._P = empty(2, width, n_rows), empty(2, self._n_parts, width, n_columns)
        self._Z, self._V = empty(2, width, n_columns), empty(2, width, n_columns)
        self._vectors, self._sums = (empty(2, width, n_blocks, n_columns) for _ in range(2))

    def __call__(self) -> Paths:
        n_blocks, n_rows, n_columns = self._A.shape
        self._Z.zero_()
        self._V.zero_()
        for step in range(n_blocks):
            self._multiply(step, n_blocks, n_rows, n_columns)
        shape = self._order, self._n_outputs, n_blocks, n_columns
        vectors, behind = self._vectors[0].reshape(shape), self._sums[1].reshape(shape)
        return Paths(vectors.transpose(1, 2), behind.transpose(1, 2))

    def _multiply(self, step: int, *shape: int) -> None:
        n_blocks, n_rows, n_columns = shape
        counts = self._width, self._n_outputs
        _rows_times[triton.cdiv(n_rows, _ROW_TILE), 2](
            self._A, self._V, self._R, step, *shape, *counts,
            MOST_COLUMNS, _ROW_TILE, _ROW_DEPTH, _STAGES,
        )  # fmt: skip
        _columns_times[triton.cdiv(n_columns, _COLUMN_TILE), self._n_parts, 2](
            self._A, self._seeds, self._R, self._P, step, *shape, *counts, self._share,
            MOST_COLUMNS, _COLUMN_TILE, _COLUMN_DEPTH, _STAGES,
        )  # fmt: skip
        _add_up[triton.cdiv(n_columns, _SUM_TILE), self._width, 2](
            self._P, self._strength, self._Z, self._V, self._vectors, self._sums,
            step, n_blocks, n_columns, self._width, self._n_parts, _SUM_TILE,
        )  # fmt: skip
