"""Data as the authors of "Best subset, forward stepwise or lasso?" draw them, and their measures.

480 settings: four shapes, four patterns of coefficients, three correlations of neighbours, ten
ratios of signal to noise. As many validation rows as training rows choose the candidate; the error
on new rows is exact, as coefficients and covariance are known.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

# Rows and columns. Their "hi10" has five strong coefficients too.
FAMILIES = {"lo": (100, 10), "med": (500, 100), "hi5": (50, 1000), "hi10": (100, 1000)}
BETA_TYPES = (1, 2, 3, 5)
CORRELATIONS = (0.0, 0.35, 0.7)
RATIOS = tuple(round(float(ratio), 4) for ratio in np.geomspace(0.05, 6, 10))
STRONG = 5
LARGEST = 50
# Of the refit, in units of rows: as many as their relaxed lasso has weights of its two parts.
RIDGES = (0.0, *np.geomspace(0.01, 10, 9))


class Setting(NamedTuple):
    """One of the 480."""

    family: str
    beta_type: int
    rho: float
    snr: float


SETTINGS = [Setting(*parts) for parts in product(FAMILIES, BETA_TYPES, CORRELATIONS, RATIOS)]


class Drawn(NamedTuple):
    """Training and validation rows, and what is true of them."""

    X: np.ndarray
    y: np.ndarray
    X_valid: np.ndarray
    y_valid: np.ndarray
    beta: np.ndarray
    noise: float
    rho: float

    def measures(self, coefficients):
        """Error on new rows in units of the noise, F of the support, and its size."""
        chosen, true = coefficients != 0, self.beta != 0
        hits = np.count_nonzero(chosen & true)
        F = 2 * hits / (np.count_nonzero(chosen) + np.count_nonzero(true))
        risk = variance_of(coefficients - self.beta, self.rho)
        return 1 + risk / self.noise**2, F, int(np.count_nonzero(chosen))


def coefficients_of(beta_type, columns):
    """Equally spaced, first, falling, or strong ones first and a tail that fades."""
    beta = np.zeros(columns)
    if beta_type == 1:
        beta[np.round(np.linspace(0, columns - 1, STRONG)).astype(int)] = 1
    elif beta_type == 3:
        beta[:STRONG] = np.linspace(10, 0.5, STRONG)
    else:
        beta[:STRONG] = 1
    if beta_type == 5:
        beta[STRONG:] = 0.5 ** np.arange(1, columns - STRONG + 1)
    return beta


def variance_of(coefficients, rho):
    """Of a linear function of columns whose correlation is rho to the power of their distance."""
    smoothed = coefficients * coefficients
    total, carried = smoothed.sum(), 0.0
    for value in coefficients if rho else ():
        total += 2 * value * carried
        carried = rho * (carried + value)
    return float(total)


def draw(setting, repetition):
    """Rows of a setting; every setting and repetition has its own."""
    rows, columns = FAMILIES[setting.family]
    rng = np.random.default_rng([repetition, SETTINGS.index(setting)])
    X = rng.standard_normal((2 * rows, columns))
    for column in range(1, columns if setting.rho else 0):
        X[:, column] *= np.sqrt(1 - setting.rho**2)
        X[:, column] += setting.rho * X[:, column - 1]
    beta = coefficients_of(setting.beta_type, columns)
    noise = np.sqrt(variance_of(beta, setting.rho) / setting.snr)
    y = X @ beta + noise * rng.standard_normal(2 * rows)
    return Drawn(X[:rows], y[:rows], X[rows:], y[rows:], beta, noise, setting.rho)


def sizes_of(family):
    rows, columns = FAMILIES[family]
    return list(range(1, min(LARGEST, rows - 1, columns) + 1))


def validated(drawn, supports):
    """Coefficients of the support and ridge that predict validation rows best; none may be best."""
    best, error = np.zeros(drawn.beta.size), np.mean(drawn.y_valid**2)
    for support in supports:
        U, scale, V = np.linalg.svd(drawn.X[:, support], full_matrices=False)
        answers = scale * (U.T @ drawn.y)
        squares = scale[:, None] ** 2 + len(drawn.y) * np.array(RIDGES)
        refits = V.T @ (answers[:, None] / squares)
        errors = ((drawn.y_valid[:, None] - drawn.X_valid[:, support] @ refits) ** 2).mean(axis=0)
        if errors.min() < error:
            best, error = np.zeros(drawn.beta.size), errors.min()
            best[support] = refits[:, errors.argmin()]
    return best
