"""Forward selection: another start for swaps, by least squares alone.

Columns that sum to a constant, as those of a category do, explain the same in many ways. Where the
descent begins with the wrong ones, swaps of one column do not lead out of them.
"""

import numpy as np

from featgrad._support import Flags
from featgrad._support.array_api import to_numpy
from featgrad.moments.folds import Totals

# What is left of a column that others explain is no less, relative to its variance.
_LEAST = 1e-9


def forward(totals: Totals, kept: Flags, size: int, ridge: float) -> tuple[Flags, float]:
    """Kept columns, and up to a size the one each time that explains most beyond those before.

    Returns them, and what they explain. With rows L of the Cholesky factor of ``C + ridge I`` of
    the chosen columns, column m has ``C_mm + ridge - sum L_:m^2`` of its own, which explains
    ``(b_m - L_:m^T L^-T b)^2`` over that.
    """
    is_gram, left = not totals.has_few_rows, totals.cross.astype(np.float64)
    matrix = to_numpy(totals.covariance if is_gram else totals.rows)
    own = totals.variances + ridge
    inside, factor, least = np.zeros(len(own), bool), np.zeros((size, len(own))), _LEAST * own
    explained = 0.0
    for i in range(size):
        gains = np.sum(left**2, axis=1) / np.maximum(own, least)
        best = int(np.argmax(np.where(inside, -np.inf, np.where(kept, np.inf, gains))))
        explained += float(gains[best])
        column = matrix[best] if is_gram else matrix.T @ matrix[:, best]
        inside[best], root = True, np.sqrt(max(own[best], least[best]))
        factor[i] = column - factor[:i, best] @ factor[:i]
        factor[i, best] += ridge
        factor[i] /= root
        left -= np.outer(factor[i], left[best] / root)
        own -= factor[i] ** 2
    return inside, explained
