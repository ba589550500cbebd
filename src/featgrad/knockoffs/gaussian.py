"""Second-order Gaussian knockoffs: copies of the columns that have no say in the target.

With the covariance C of the columns and a block-diagonal S, one block for each unit, the copies are
``X (I - C^-1 S) + E`` with rows of E from ``N(0, 2 S - S C^-1 S)``. Columns and copies then have
the covariance ``[[C, C - S], [C - S, C]]``: any unit can change places with its copy (Candès, Fan,
Janson & Lv 2018). The larger S, the less a copy resembles its column. S is that of maximum entropy,
the largest ``log det S + log det(2 C - S)`` (Gimenez & Zou 2019), which leaves no unit without
power where few columns are close to collinear.
"""

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.covariance import ledoit_wolf

from featgrad.arrays import Floats, Indices
from featgrad.plan import ENTROPY_GAIN, ENTROPY_STEPS

# Share of the identity that keeps covariances of collinear columns regular; a feasible S.
_ROUNDING = 1e-6


class Knockoffs:
    """Draws copies of standardised columns.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Columns of mean 0 and variance 1.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, which sum to one.
    units : ndarray of shape (n_columns,)
        The unit of each column.
    """

    def __init__(self, X: Floats, weights: Floats, units: Indices) -> None:
        self._X = X
        self.covariance = shrunk_covariance(X, weights)
        self.difference = maximum_entropy(self.covariance, units)
        factor = linalg.cho_factor(self.covariance, lower=True, check_finite=False)
        towards = linalg.cho_solve(factor, self.difference, check_finite=False)
        self._mean = X - X @ towards
        noise = 2 * self.difference - self.difference @ towards
        noise += _ROUNDING * np.eye(len(noise))
        self._root = linalg.cholesky(noise, check_finite=False)

    def draw(self, rng: np.random.RandomState) -> Floats:
        """One copy of all columns."""
        return np.asarray(self._mean + rng.standard_normal(self._X.shape) @ self._root)


def shrunk_covariance(X: Floats, weights: Floats) -> Floats:
    """Ledoit and Wolf's: as much of the identity as the rows are too few."""
    scaled = X * np.sqrt(weights * len(weights))[:, None]
    shrunk, _ = ledoit_wolf(scaled, assume_centered=True)
    return np.asarray((1 - _ROUNDING) * shrunk + _ROUNDING * np.eye(len(shrunk)))


def maximum_entropy(covariance: Floats, units: Indices) -> Floats:
    """The block-diagonal S of the largest ``log det S + log det(2 C - S)``.

    With ``A = 2 C - S`` it is the one whose blocks are ``((A^-1)_gg)^-1``. Steps towards that never
    lower the entropy if they are short enough.
    """
    S = _ROUNDING * np.eye(len(covariance))
    entropy, inverse = _entropy(covariance, S, units)
    step = 1.0
    for _ in range(ENTROPY_STEPS):
        towards = _blockwise_inverse(inverse, units) - S
        further = _entropy(covariance, S + step * towards, units)
        while further[0] <= entropy and step > _ROUNDING:
            step /= 2
            further = _entropy(covariance, S + step * towards, units)
        gain = further[0] - entropy
        if gain <= 0:
            break
        S, (entropy, inverse) = S + step * towards, further
        if gain < ENTROPY_GAIN * len(S):
            break
        step = min(1.0, 1.5 * step)
    return S


def _entropy(covariance: Floats, S: Floats, units: Indices) -> tuple[float, Floats]:
    """``log det S + log det A`` and the inverse of A."""
    A, failed = linalg.lapack.dpotrf(2 * covariance - S, lower=True, overwrite_a=True)
    if failed:
        return -np.inf, A
    entropy = 2 * float(np.log(np.diagonal(A)).sum()) + _log_det(S, units)
    below, _ = linalg.lapack.dpotri(A, lower=True, overwrite_c=True)
    return entropy, np.tril(below) + np.tril(below, -1).T


def _log_det(S: Floats, units: Indices) -> float:
    single, groups = _by_width(units)
    total = float(np.log(np.diagonal(S)[single]).sum())
    return total + sum(float(np.linalg.slogdet(S[np.ix_(g, g)])[1]) for g in groups)


def _blockwise_inverse(inverse: Floats, units: Indices) -> Floats:
    single, groups = _by_width(units)
    found = np.zeros_like(inverse)
    found[single, single] = 1 / np.diagonal(inverse)[single]
    for group in groups:
        block = np.ix_(group, group)
        found[block] = np.linalg.inv(inverse[block])
    return found


def _by_width(units: Indices) -> tuple[Indices, list[Any]]:
    """Columns that are units by themselves, and groups of several."""
    order = np.argsort(units, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(units[order])) + 1)
    single = np.array([group[0] for group in groups if len(group) == 1], np.intp)
    return single, [group for group in groups if len(group) > 1]
