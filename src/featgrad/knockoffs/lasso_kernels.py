"""Compiled coordinate descent for the lasso, with one or several outputs."""

import numpy as np

from featgrad._support.compiled import compiled
from featgrad._support.types import Floats, Indices


@compiled(nogil=True, fastmath=True)
def sweep(
    columns: Floats, active: Indices, penalty: float, beta: Floats, residuals: Floats
) -> float:
    """Descend once along each active column; returns the largest change of a coefficient.

    Columns are rows of the first array, with mean square 1. The penalty is on the norm of a
    column's coefficients over outputs.
    """
    n_rows, n_outputs = columns.shape[1], beta.shape[1]
    largest = 0.0
    new = np.empty(n_outputs)
    for j in active:
        column = columns[j]
        norm = 0.0
        for c in range(n_outputs):
            along = 0.0
            for n in range(n_rows):
                along += column[n] * residuals[c, n]
            new[c] = along / n_rows + beta[j, c]
            norm += new[c] ** 2
        norm = np.sqrt(norm)
        shrink = 1 - penalty / norm if norm > penalty else 0.0
        for c in range(n_outputs):
            change = shrink * new[c] - beta[j, c]
            if change != 0.0:
                beta[j, c] += change
                for n in range(n_rows):
                    residuals[c, n] -= change * column[n]
                largest = max(largest, abs(change))
    return largest
