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
from scipy.optimize import minimize_scalar

from featgrad._support.types import Floats, Indices
from featgrad.plan import ENTROPY_GAIN, ENTROPY_STEPS

# Share of the identity that keeps covariances of collinear columns regular; a feasible S.
_ROUNDING = 1e-6


def knockoff_copies(
    X: Floats, weights: Floats, units: Indices, count: int, rng: np.random.RandomState
) -> Iterator[Floats]:
    """Copies of columns of mean 0 and variance 1, under weights that sum to one.

    Every second one has the noise of the last, with other signs.
    """
    covariance = shrunk_covariance(X, weights)
    S = maximum_entropy(covariance, units)
    factor = linalg.cho_factor(covariance, lower=True, check_finite=False)
    towards = linalg.cho_solve(factor, S, check_finite=False)
    mean = X - X @ towards
    root = linalg.cholesky(2 * S - S @ towards + _ROUNDING * np.eye(len(S)), check_finite=False)
    for i in range(count):
        if i % 2 == 0:
            normal = rng.standard_normal(X.shape)
            noise = linalg.blas.dtrmm(1.0, root, normal.T, trans_a=True).T
        yield mean - noise if i % 2 else mean + noise


def shrunk_covariance(X: Floats, weights: Floats) -> Floats:
    """With as much of the identity as makes rows most likely by mean and covariance of the others.

    The N others of a row have the scatter matrix of all less ``z z^T``, with the row's distance z
    from their mean, divided by its standard deviation. With the share a of the identity,
    ``b = (1 - a) / (N - 1)``, G of all rows and ``q = z^T G^-1 z``, the log-likelihood of the row
    is ``-(log det G + log(1 - b q) + q / (1 - b q)) / 2``.
    """
    n_rows, n_columns = X.shape
    scaled = X * np.sqrt(weights * n_rows)[:, None]
    variances, squares = _along_axes(scaled)
    squares /= (1 - weights)[:, None]

    def loss(log_share: float) -> float:
        share = np.exp(log_share)
        b = (1 - share) / max(n_rows - 2, 1)
        G = b * n_rows * variances + share
        q = squares @ (1 / G)
        left = (1 - b * q).clip(_ROUNDING)
        unseen = (n_columns - len(G)) * log_share
        return float(np.log(G).sum() + unseen + np.mean(np.log(left) + q / left))

    bounds = np.log(_ROUNDING), 0.0
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.01})
    share = np.exp(found.x)
    return np.asarray((1 - share) * scaled.T @ scaled / n_rows + share * np.eye(n_columns))


def _along_axes(X: Floats) -> tuple[Floats, Floats]:
    """Variances along principal axes, and squares of each row along them."""
    n_rows, n_columns = X.shape
    gram = X.T @ X if n_columns <= n_rows else X @ X.T
    variances, axes = linalg.eigh(gram / n_rows, overwrite_a=True, check_finite=False)
    variances = variances.clip(0)
    return variances, (X @ axes) ** 2 if n_columns <= n_rows else n_rows * variances * axes**2


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
