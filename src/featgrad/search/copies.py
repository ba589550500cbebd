"""Second-order Gaussian knockoffs: copies of columns that have no effect on the target.

With the covariance C of the columns and a block-diagonal S, one block for each unit, the copies are
``X (I - C^-1 S) + E`` with rows of E from ``N(0, 2 S - S C^-1 S)``. Columns and copies then have
the covariance ``[[C, C - S], [C - S, C]]``: any unit can change places with its copy (Candès, Fan,
Janson & Lv 2018). The larger S, the less a copy resembles its column. S is that of maximum entropy,
the largest ``log det S + log det(2 C - S)`` (Gimenez & Zou 2019), which leaves no unit without
power where few columns are close to collinear.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.covariance import ledoit_wolf

from featgrad._support import Floats, Indices
from featgrad.plan import ENTROPY_GAIN, ENTROPY_STEPS

# Share of the identity that keeps covariances of collinear columns regular; a feasible S.
_ROUNDING = 1e-6


def knockoff_copies(
    X: Floats, weights: Floats, units: Indices, count: int, rng: np.random.RandomState
) -> Iterator[Floats]:
    """Copies of columns of mean 0 and mean square 1, of rows times the roots of their weights.

    Every second one has the noise of the last, with other signs.
    """
    covariance, _ = ledoit_wolf(X, assume_centered=True)
    covariance += _ROUNDING * np.eye(len(covariance))
    S = maximum_entropy(covariance, units)
    factor = linalg.cho_factor(covariance, lower=True, check_finite=False)
    towards = linalg.cho_solve(factor, S, check_finite=False)
    mean = X - X @ towards
    root = linalg.cholesky(2 * S - S @ towards + _ROUNDING * np.eye(len(S)), check_finite=False)
    roots = np.sqrt(weights / weights.mean())[:, None]
    for i in range(count):
        if i % 2 == 0:
            normal = rng.standard_normal(X.shape)
            noise = linalg.blas.dtrmm(1.0, root, normal.T, trans_a=True).T * roots
        yield mean - noise if i % 2 else mean + noise


def maximum_entropy(covariance: Floats, units: Indices) -> Floats:
    """The block-diagonal S of the largest ``log det S + log det(2 C - S)``.

    With ``A = 2 C - S`` it is the one whose blocks are ``((A^-1)_gg)^-1``. Steps towards that never
    lower the entropy if they are short enough.
    """
    S, blocks = _ROUNDING * np.eye(len(covariance)), _blocks(units)
    entropy, inverse = _entropy(covariance, S, blocks)
    step = 1.0
    for _ in range(ENTROPY_STEPS):
        towards = -S
        for block in blocks:
            towards[block] += np.linalg.inv(inverse[block])
        further = _entropy(covariance, S + step * towards, blocks)
        while further[0] <= entropy and step > _ROUNDING:
            step /= 2
            further = _entropy(covariance, S + step * towards, blocks)
        gain = further[0] - entropy
        if gain <= 0:
            break
        S, (entropy, inverse) = S + step * towards, further
        if gain < ENTROPY_GAIN * len(S):
            break
        step = min(1.0, 1.5 * step)
    return S


def _entropy(covariance: Floats, S: Floats, blocks: Sequence[Any]) -> tuple[float, Floats]:
    """``log det S + log det A`` and the inverse of A."""
    A, failed = linalg.lapack.dpotrf(2 * covariance - S, lower=True, overwrite_a=True)
    if failed:
        return -np.inf, A
    entropy = 2 * float(np.log(np.diagonal(A)).sum())
    entropy += sum(float(np.linalg.slogdet(S[block])[1].sum()) for block in blocks)
    below, _ = linalg.lapack.dpotri(A, lower=True, overwrite_c=True)
    return entropy, np.tril(below) + np.tril(below, -1).T


def _blocks(units: Indices) -> list[Any]:
    """Rows and columns of the blocks of S, those of one width together."""
    order = np.argsort(units, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(units[order])) + 1)
    widths = {len(group) for group in groups}
    alike = [np.array([group for group in groups if len(group) == width]) for width in widths]
    return [(group[:, :, None], group[:, None]) for group in alike]
