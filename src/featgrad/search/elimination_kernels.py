"""Compiled loops of elimination: a round of many small steps.

A unit's columns are ``columns[first[unit] : first[unit + 1]]``.
"""

import numpy as np

from featgrad.arrays import Flags, Floats, Indices, Singles
from featgrad.compiling import compiled


@compiled(nogil=True, error_model="numpy")
def subtract(rows: Singles, row: int, share: float, other: int) -> None:
    """Subtract a share of another row."""
    target, source = rows[row], rows[other]
    for i in range(len(target)):
        target[i] -= share * source[i]


@compiled(nogil=True, error_model="numpy")
def loss(H: Singles, B: Singles, columns: Indices) -> float:
    """``B_g^T H_gg^-1 B_g``, by Gaussian elimination."""
    total = 0.0
    if len(columns) == 1:
        for coefficient in B[columns[0]]:
            total += coefficient**2
        return total / H[columns[0], columns[0]]
    inner, own = np.empty((len(columns), len(columns)), np.float32), B[columns]
    for i, column in enumerate(columns):
        inner[i] = H[column][columns]
    for i in range(len(columns)):
        for coefficient in own[i]:
            total += coefficient**2 / inner[i, i]
        for j in range(i + 1, len(columns)):
            share = inner[j, i] / inner[i, i]
            subtract(inner, j, share, i)
            subtract(own, j, share, i)
    return total


@compiled(nogil=True, error_model="numpy")
def leave_out(
    H: Singles, B: Singles, first: Indices, columns: Indices, costs: Floats, kept: Flags,
    excess: float, at_once: int,
) -> Indices:  # fmt: skip
    """Units in the order in which they go, until their costs reach the excess.

    H and B end as those of the columns that stay; rows of the others mean nothing any more.
    """
    losses, stays = np.empty(len(costs)), np.ones(len(H), np.bool_)
    present, least = len(costs), 1e-9 * (costs.sum() - excess)
    free = present - np.count_nonzero(kept)
    order, gone = np.empty(free, np.intp), 0
    is_gone = kept.copy()
    while excess > least and gone < free:
        for unit in range(len(costs)):
            unit_columns = columns[first[unit] : first[unit + 1]]
            losses[unit] = np.inf if is_gone[unit] else loss(H, B, unit_columns) / costs[unit]
        # Of equal losses the later units go first.
        ranked = len(costs) - 1 - np.argsort(losses[::-1], kind="mergesort")
        count = min(max(1, (present - gone) // at_once), free - gone)
        for unit in ranked[:count]:
            # No more of them than the budget asks for.
            if excess <= least:
                break
            is_gone[unit], order[gone] = True, unit
            gone, excess = gone + 1, excess - costs[unit]
            for column in columns[first[unit] : first[unit + 1]]:
                stays[column] = False
                for row in range(len(H)):
                    if stays[row]:
                        share = H[row, column] / H[column, column]
                        subtract(H, row, share, column)
                        subtract(B, row, share, column)
    return order[:gone]
