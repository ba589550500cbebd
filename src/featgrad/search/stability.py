"""How much a choice depends on the rows at hand."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from featgrad.arrays import Flags, Floats


@dataclass(frozen=True)
class Stability:
    """Agreement of choices from random halves of the rows.

    Attributes
    ----------
    frequencies : ndarray of shape (n_features,)
        Share of the halves from which each feature was chosen.
    index : float
        1 where all choices are the same, about 0 where they agree by chance only.
    interval : tuple of float
        Its 95 % interval.
    """

    frequencies: Floats
    index: float
    interval: tuple[float, float]


def agreement(chosen: Flags) -> Stability:
    """Stability of choices, shape (choices, features) (Nogueira, Sechidis & Brown 2018)."""
    n_choices, n_features = chosen.shape
    Z = chosen.astype(np.float64)
    frequencies = Z.mean(axis=0)
    sizes = Z.sum(axis=1)
    share = float(sizes.mean()) / n_features
    by_chance = share * (1 - share)
    if by_chance == 0:
        return Stability(frequencies, 1.0, (1.0, 1.0))
    variance = frequencies * (1 - frequencies) * n_choices / (n_choices - 1)
    index = 1 - float(variance.mean()) / by_chance
    # What each choice contributes; their spread gives the interval.
    parts = (Z @ frequencies) / n_features - sizes * share / n_features
    parts += index / 2 * (2 * share * sizes / n_features - sizes / n_features - share + 1)
    parts /= by_chance
    error = 2 / n_choices * math.sqrt(float(np.sum((parts - parts.mean()) ** 2)))
    half = float(ndtri(0.975)) * error
    return Stability(frequencies, index, (index - half, min(1.0, index + half)))
