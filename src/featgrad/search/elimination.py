"""The exact step: leave out, one after another, the unit that ridge regression misses least.

With ``H = (C + ridge I)^-1`` and coefficients ``B = H b``, leaving out the columns g costs
``B_g^T H_gg^-1 B_g`` of explained variance, and H and B without them follow by a rank-|g| update.
One run gives the sets of all sizes; time depends on the number of columns only. While many units
are present a few go at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from featgrad.moments.folds import Folds
from featgrad.search.units import Units

Floats = NDArray[np.float64]


# One in this many of the units that are present goes at once.
_AT_ONCE = 32


def eliminate(folds: Folds, units: Units, ridge: float) -> list[int]:
    """All units but the kept ones, in the order in which they are left out."""
    penalised = folds.covariance() + ridge * np.eye(folds.n_columns)
    H: Floats = np.linalg.inv(penalised).astype(np.float64)
    B = H @ folds.cross()
    names = np.arange(units.count)
    left_out: list[int] = []
    while not units.kept.all():
        losses = np.where(units.kept, np.inf, _losses(H, B, units) / units.costs)
        count = min(max(1, units.count // _AT_ONCE), int(np.count_nonzero(~units.kept)))
        going = np.argsort(losses, kind="stable")[:count]
        left_out += names[going].tolist()
        leaving = np.zeros(units.count, bool)
        leaving[going] = True
        gone, rest = units.members(leaving), np.flatnonzero(~leaving)
        units, columns = units.only(rest)
        out, stay = H[gone], H[columns]
        inner = np.linalg.solve(out.take(gone, axis=1), out.take(columns, axis=1))
        B = B[columns] - inner.T @ B[gone]
        H = stay.take(columns, axis=1) - stay.take(gone, axis=1) @ inner
        names = names[rest]
    return left_out


def _losses(H: Floats, B: Floats, units: Units) -> Floats:
    """What each unit explains beyond the others."""
    # Right for units of one column; the others are put in their places below, by their width.
    losses = units.total(np.sum(B**2, axis=1) / np.diagonal(H))
    widths = np.bincount(units.of_column, minlength=units.count)
    if np.all(widths == 1):
        return losses
    by_unit = np.argsort(units.of_column, kind="stable")
    starts = np.cumsum(widths) - widths
    for width in np.unique(widths[widths > 1]):
        alike = np.flatnonzero(widths == width)
        columns = by_unit[starts[alike][:, None] + np.arange(width)]
        blocks = H[columns[:, :, None], columns[:, None, :]]
        losses[alike] = np.sum(B[columns] * np.linalg.solve(blocks, B[columns]), axis=(1, 2))
    return losses
