"""Minimum redundancy, maximum relevance (Peng et al. 2005), quotient form with ANOVA F.

Each step takes the column with the largest F divided by its mean absolute correlation with the
columns taken so far. Only the correlations with the newest column are computed, so a step costs
one product of X with a vector, dense or sparse.
"""

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers.scaling import anova

# Keeps the quotient finite for a column that is uncorrelated with everything taken.
SMALLEST_REDUNDANCY = 1e-3


def mrmr(X, y, size):
    """The first `size` columns in the order in which they are taken."""
    relevance = anova(X, y)
    X = X.astype(np.float64)
    mean, scale = column_moments(X)
    open_ = scale > 0
    redundancy = np.zeros(X.shape[1])
    taken = []
    for step in range(min(size, np.count_nonzero(open_))):
        merit = relevance / np.maximum(redundancy / max(step, 1), SMALLEST_REDUNDANCY)
        merit[~open_] = -np.inf
        best = int(np.argmax(merit))
        taken.append(best)
        open_[best] = False
        redundancy += np.abs(correlations(X, mean, scale, best))
    return np.array(taken)


def column_moments(X):
    """Column means, and norms of the centred columns (0 for constant ones)."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = X.multiply(X) if sp.issparse(X) else X * X
    centred = np.asarray(square.sum(axis=0)).ravel() - X.shape[0] * mean**2
    centred[centred <= 1e-12 * X.shape[0] * (mean**2 + 1e-300)] = 0.0
    return mean, np.sqrt(centred)


def correlations(X, mean, scale, column):
    """Correlation of every column with one of them; 0 for constant columns."""
    x = X[:, [column]].toarray().ravel() if sp.issparse(X) else X[:, column]
    covariance = X.T @ x - X.shape[0] * mean * mean[column]
    return np.divide(covariance, scale * scale[column], out=np.zeros_like(mean), where=scale > 0)
