"""p-values of single units, for few that stand out: one knockoff chooses at least ``1 / fdr``.

What all other columns leave of a column and what they leave of the target are uncorrelated if the
unit has no say. Both are residuals of lasso models without the unit, so that errors of the two
models multiply (conditional randomisation with distilled columns: Liu, Katsevich, Janson & Ramdas
2022). Variances are those of the products themselves: they may differ from row to row.
"""

import numpy as np
from scipy import stats

from featgrad._support.types import Floats, Indices
from featgrad.knockoffs.statistic import best_coefficients
from featgrad.plan import LEAST_OWN_VARIANCE


def p_values(columns: Floats, targets: Floats, units: Indices) -> Floats:
    """Of units 0, 1 and so on. Columns and targets are rows, columns with mean square 1."""
    others = columns.copy()
    coefficients = best_coefficients(columns, targets)
    by_all = targets - coefficients.T @ columns
    found = np.ones(int(units.max()) + 1)
    for unit in range(len(found)):
        own = np.flatnonzero(units == unit)
        others[own] = 0
        # A model without a unit that it does not use is the same model.
        left = _left(targets, others) if coefficients[own].any() else by_all
        parts = [_left(column[None], others)[0] for column in columns[own]]
        # The lasso leaves a little of a column that others are copies of.
        parts = [part for part in parts if np.mean(part**2) > LEAST_OWN_VARIANCE]
        products = [part * output for part in parts for output in left]
        if products:
            found[unit] = _mean_is_zero(np.transpose(products))
        others[own] = columns[own]
    return found


def _left(targets: Floats, columns: Floats) -> Floats:
    return np.asarray(targets - best_coefficients(columns, targets).T @ columns)


def _mean_is_zero(X: Floats) -> float:
    """p-value of the hypothesis that all columns have mean 0: Hotelling's test."""
    ones = np.ones(len(X))
    coefficients, _, rank, _ = np.linalg.lstsq(X, ones)
    explained, free = float(ones @ X @ coefficients), len(X) - int(rank)
    if rank == 0 or free == 0:
        return 1.0
    return float(stats.f.sf(explained / rank * free / max(len(X) - explained, 1e-300), rank, free))
