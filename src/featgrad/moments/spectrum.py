"""The spectrum of the masked features' covariance, as far as it sets the filter's scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from featgrad.arrays import Floats, Indices
from featgrad.moments.sweeps import Engine

# Rows that the covariance is looked at through, Lanczos steps and random probes: the spectrum is
# needed to a few per cent only.
_MAX_ROWS = 10_000
_STEPS = 14
_PROBES = 32


class Spectrum(NamedTuple):
    """Largest eigenvalue, and the mean eigenvalue weighted by the eigenvalues themselves."""

    top: float
    centre: float


def spectrum(engine: Engine, mask: Floats, weights: Floats) -> Spectrum:
    """Spectrum of the population covariance C of ``mask^(1/2) x``, as far as the rows tell.

    The sample's largest eigenvalue l overshoots when features are many beside rows. For a spike
    lambda over a bulk of mean variance t, ``l = lambda (1 + (tr C / n) / (lambda - t))``
    (Baik & Silverstein 2006); inverted, it gives lambda, and at the bulk's edge the smallest spike
    that could be told from the bulk. The trace of the squared covariance overshoots by
    ``(tr C)^2 / n``.
    """
    if engine.n_rows > _MAX_ROWS:
        engine = engine.take(np.arange(_MAX_ROWS))
    weights = weights[: engine.n_rows] / weights[: engine.n_rows].sum()
    root = np.sqrt(mask * engine.inverse_variance)
    active = np.flatnonzero(root)
    if len(active) == 0:
        return Spectrum(1.0, 1.0)

    def covariance(vectors: Floats) -> Floats:
        return (root * engine.covariance_product((root * vectors.T).T, weights).T).T

    trace, square = _traces(covariance, active, len(root))
    sample = _largest(covariance, active, len(root))
    crowding = trace * float(np.sum(weights**2))
    top = _unspiked(sample, trace / len(active), crowding)
    centre = max(square / trace - crowding, trace / len(active))
    return Spectrum(top, min(centre, top))


def top_eigenvalue(engine: Engine, mask: Floats, weights: Floats) -> float:
    return spectrum(engine, mask, weights).top


def _unspiked(sample: float, bulk: float, crowding: float) -> float:
    middle = sample + bulk - crowding
    inside = middle**2 - 4 * sample * bulk
    if middle <= 0 or inside <= 0:
        return math.sqrt(sample * bulk)
    return (middle + math.sqrt(inside)) / 2


def _traces(
    covariance: Callable[[Floats], Floats], active: Indices, size: int
) -> tuple[float, float]:
    """Traces of C and C^2: exact for few features, by random signs (Hutchinson) for many."""
    exact = len(active) <= _PROBES
    count = len(active) if exact else _PROBES
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
    beside: list[float] = []
    for _ in range(min(_STEPS, len(active))):
        product = covariance(basis[-1])
        diagonal.append(float(basis[-1] @ product))
        Q = np.array(basis)
        product -= Q.T @ (Q @ product)
        product -= Q.T @ (Q @ product)
        length = float(np.linalg.norm(product))
        if length <= 1e-7 * abs(diagonal[0]):
            break
        beside.append(length)
        basis.append(product / length)
    values = eigvalsh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    return float(values[-1])
