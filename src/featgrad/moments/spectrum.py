"""Spectrum of the covariance of masked features, which sets the scale of the filter."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigvalsh_tridiagonal

from featgrad._support import Floats, Indices
from featgrad._support.array_api import to_numpy
from featgrad.moments.folds import Totals
from featgrad.moments.rows import StandardisedRows
from featgrad.plan import SPECTRUM_PROBES, SPECTRUM_ROWS, SPECTRUM_STEPS


class Spectrum(NamedTuple):
    """Largest eigenvalue, the mean weighted by the eigenvalues themselves, and the plain mean."""

    top: float
    centre: float
    mean: float


def spectrum(rows: StandardisedRows, mask: Floats, weights: Floats) -> Spectrum:
    """Estimate the spectrum of the population covariance C of ``mask^(1/2) x``.

    The largest eigenvalue l of the sample is biased upwards if features are many compared with
    rows. For a spike lambda over a bulk of mean variance t,
    ``l = lambda (1 + (tr C / n) / (lambda - t))`` (Baik & Silverstein 2006); inverted, it gives
    lambda, and at the edge of the bulk the smallest detectable spike. The bias of the trace of the
    squared covariance is ``(tr C)^2 / n``.
    """
    if rows.n_rows > SPECTRUM_ROWS:
        rows = rows.take(np.arange(SPECTRUM_ROWS))
    weights = weights[: rows.n_rows] / weights[: rows.n_rows].sum()
    root = np.sqrt(mask * rows.inverse_variance)
    active = np.flatnonzero(root)
    if len(active) == 0:
        return Spectrum(1.0, 1.0, 1.0)

    def covariance(vectors: Floats) -> Floats:
        return (root * rows.covariance_product((root * vectors.T).T, weights).T).T

    trace, square = _traces(covariance, active, len(root))
    sample = _largest(covariance, active, len(root))
    bias = trace * float(np.sum(weights**2))
    top = _debiased(sample, trace / len(active), bias)
    mean = trace / len(active)
    centre = max(square / trace - bias, mean)
    return Spectrum(top, min(centre, top), min(mean, top))


def top_of_covariance(totals: Totals) -> float:
    """The largest eigenvalue from a covariance."""
    # Products of rows have the same largest eigenvalue.
    products = totals.rows @ totals.rows.T if totals.has_few_rows else totals.covariance
    products = to_numpy(products).astype(np.float32)
    # Rows that are all alike are none once they are centred.
    last = (len(products) - 1, len(products) - 1)
    found = eigh(products, eigvals_only=True, subset_by_index=last) if len(products) else [0.0]
    sample = float(found[0])
    variances = totals.variances
    varying = max(1, int(np.count_nonzero(variances)))
    trace = float(variances.sum())
    return _debiased(sample, trace / varying, trace / totals.n_effective)


def best_ridge(totals: Totals, ridges: Floats, freedom: float) -> float:
    """The ridge with the smallest error by generalised cross-validation (Golub et al. 1979).

    ``RSS / (1 - df / n)^2``, with ``df = sum of l / (l + ridge)`` over the eigenvalues l of the
    covariance. Where df is no small share of n the error depends on columns chosen by the same
    rows: ridges that take more than a share `freedom` are passed over. They are given as multiples
    of the mean variance of the columns.
    """
    covariance = to_numpy(totals.covariance).astype(np.float32)
    ridges = ridges * totals.mean_variance
    values, vectors = eigh(covariance, driver="evd")
    explained = np.sum((vectors.T @ totals.cross) ** 2, axis=1)
    shrunk = np.maximum(values, 0.0) + ridges[:, None]
    kept = 1 - ridges[:, None] / shrunk
    share = kept.sum(1) / totals.n_effective
    error = (totals.variance - ((2 - kept) / shrunk) @ explained) / (1 - share) ** 2
    return float(ridges[np.argmin(np.where(share <= freedom, error, np.inf))])


def _debiased(sample: float, bulk: float, bias: float) -> float:
    middle = sample + bulk - bias
    inside = middle**2 - 4 * sample * bulk
    if middle <= 0 or inside <= 0:
        return math.sqrt(sample * bulk)
    return (middle + math.sqrt(inside)) / 2


def _traces(
    covariance: Callable[[Floats], Floats], active: Indices, size: int
) -> tuple[float, float]:
    """Traces of C and C^2: exact for few features, by random signs (Hutchinson) for many."""
    exact = len(active) <= SPECTRUM_PROBES
    count = len(active) if exact else SPECTRUM_PROBES
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(active), count))
    probes = np.zeros((size, count))
    probes[active] = np.eye(count) if exact else signs
    products = covariance(probes)
    share = 1.0 if exact else 1 / count
    return share * float(np.sum(probes * products)), share * float(np.sum(products**2))


def _largest(covariance: Callable[[Floats], Floats], active: Indices, size: int) -> float:
    """Lanczos with full reorthogonalisation."""
    start = np.zeros(size)
    start[active] = np.random.default_rng(1).standard_normal(len(active))
    basis = [start / np.linalg.norm(start)]
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    for _ in range(min(SPECTRUM_STEPS, len(active))):
        product = covariance(basis[-1])
        diagonal.append(float(basis[-1] @ product))
        Q = np.array(basis)
        product -= Q.T @ (Q @ product)
        product -= Q.T @ (Q @ product)
        length = float(np.linalg.norm(product))
        if length <= 1e-7 * abs(diagonal[0]):
            break
        off_diagonal.append(length)
        basis.append(product / length)
    values = eigvalsh_tridiagonal(np.array(diagonal), np.array(off_diagonal[: len(diagonal) - 1]))
    return float(values[-1])
