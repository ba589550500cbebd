"""How much more each unit matters than its knockoff: lasso coefficients of both together.

Losses without a feature, as in the search, separate a column from a similar knockoff less well: a
set holds one of the two or both, where coefficients are shared out between them. The penalty is
that of the smallest generalised cross-validation error along the path, which treats columns and
knockoffs alike.
"""

from collections.abc import Iterator

import numpy as np

from featgrad._support.types import Floats, Indices
from featgrad.plan import PATH_END, PATH_PATIENCE, PATH_POINTS, PATH_SHARE

# Largest change of a coefficient of a standardised column at which descent ends, and most sweeps.
_TOLERANCE = 1e-2
_MOST_SWEEPS = 1000


def differences(
    X: Floats,
    copies: Floats,
    outputs: Floats,
    weights: Floats,
    units: Indices,
    rng: np.random.RandomState,
) -> Floats:
    """Coefficients of each unit less those of its knockoff, in sums of norms over outputs.

    Outputs have variance 1, as have the columns; weights of the rows sum to one. Units change
    places with their knockoffs at random: descent treats columns alike only at its end.
    """
    count = int(units.max()) + 1
    signs = rng.choice([-1.0, 1.0], count)
    stays = signs[units] > 0
    both = np.where(stays, X, copies), np.where(stays, copies, X)
    columns = weighted(np.concatenate(both, axis=1), weights)
    beta = best_coefficients(columns, weighted(outputs, weights))
    first, second = np.split(np.linalg.norm(beta, axis=1), 2)
    return signs * np.bincount(units, first - second, minlength=count)


def weighted(X: Floats, weights: Floats) -> Floats:
    """Columns as rows, times the roots of the weights, with mean square 1."""
    columns = X.T * np.sqrt(weights * len(weights))
    squares = np.mean(columns**2, axis=1)
    return np.ascontiguousarray(columns / np.sqrt(squares + (squares == 0))[:, None])


def best_coefficients(columns: Floats, targets: Floats) -> Floats:
    """Those of the penalty with the smallest generalised cross-validation error.

    Columns and targets are rows. The path ends when the error has not become smaller for some
    penalties, or more columns are active than a share of the rows.
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
    # Imported here: the compiler behind it takes longer to load than everything else.
    from featgrad.knockoffs.lasso_kernels import sweep

    n_rows = columns.shape[1]
    beta, residuals = np.zeros((len(columns), len(targets))), targets.copy()
    along = np.linalg.norm(columns @ residuals.T, axis=1) / n_rows
    for penalty in along.max() * np.geomspace(1, PATH_END, PATH_POINTS):
        for _ in range(_MOST_SWEEPS):
            # Columns that the present residuals call for; others stay at 0.
            called = (along > penalty) | beta.any(axis=1)
            active = np.flatnonzero(called)
            change = sweep(columns, active, penalty, beta, residuals)
            for _ in range(_MOST_SWEEPS):
                if change <= _TOLERANCE * penalty:
                    break
                change = sweep(columns, active, penalty, beta, residuals)
            along = np.linalg.norm(columns @ residuals.T, axis=1) / n_rows
            if not np.any((along > (1 + _TOLERANCE) * penalty) & ~called):
                break
        yield beta, residuals
