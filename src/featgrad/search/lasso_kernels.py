"""The lasso by compiled coordinate descent, with one or several outputs.

Columns and targets are rows of arrays, columns with mean square 1.
"""

from collections.abc import Iterator

import numpy as np

from featgrad._support.compiled import compiled
from featgrad._support.types import Floats, Indices
from featgrad.plan import PATH_END, PATH_PATIENCE, PATH_POINTS, PATH_SHARE

# Largest change of a coefficient of a standardised column at which descent ends, and most sweeps.
_TOLERANCE = 1e-2
_MOST_SWEEPS = 1000


@compiled(nogil=True, fastmath=True)
def sweep(
    columns: Floats, active: Indices, penalty: float, beta: Floats, residuals: Floats
) -> float:
    """Descend once along each active column; returns the largest change of a coefficient.

    The penalty is on the norm of a column's coefficients over outputs.
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


def best_coefficients(columns: Floats, targets: Floats) -> Floats:
    """Those of the penalty with the smallest generalised cross-validation error.

    The path ends when the error has not become smaller for some penalties, or more columns are
    active than a share of the rows.
    """
    best, smallest, since = np.zeros((len(columns), len(targets))), np.inf, 0
    n_rows = columns.shape[1]
    for beta, residuals in lasso_path(columns, targets):
        active = int(np.count_nonzero(beta.any(axis=1)))
        if active > PATH_SHARE * n_rows:
            break
        error = float(np.sum(residuals**2)) / (1 - active / n_rows) ** 2
        since += 1
        if error < smallest:
            best, smallest, since = beta.copy(), error, 0
        if since == PATH_PATIENCE:
            break
    return best


def lasso_path(columns: Floats, targets: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Coefficients and residuals at falling penalties."""
    n_rows = columns.shape[1]
    beta, residuals = np.zeros((len(columns), len(targets))), targets.copy()
    along = np.linalg.norm(columns @ residuals.T, axis=1) / n_rows
    for penalty in along.max() * np.geomspace(1, PATH_END, PATH_POINTS):
        for _ in range(_MOST_SWEEPS):
            # Columns that the present residuals call for; others stay at 0.
            called = (along > penalty) | beta.any(axis=1)
            active = np.flatnonzero(called)
            for _ in range(_MOST_SWEEPS):
                if sweep(columns, active, penalty, beta, residuals) <= _TOLERANCE * penalty:
                    break
            along = np.linalg.norm(columns @ residuals.T, axis=1) / n_rows
            if not np.any((along > (1 + _TOLERANCE) * penalty) & ~called):
                break
        yield beta, residuals
