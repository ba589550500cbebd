"""From statistics of several knockoffs to chosen units, at a given false discovery rate.

A statistic is as likely below 0 as above for a unit that has no say, so that the units below ``-t``
show how many of those above t are false. Every threshold that is found from the smallest magnitudes
upwards gives e-values (Ren & Barber 2024); their means over knockoffs are e-values too, and
choosing by them depends little on the seed.
"""

import numpy as np

from featgrad.arrays import Flags, Floats
from featgrad.plan import KNOCKOFF_SHARE


def stopping_threshold(statistics: Floats, fdr: float) -> float:
    """The least t at which the share of false ones among those above is estimated small enough.

    That is ``(1 + #(W <= -t)) / #(W >= t)`` at most a third of `fdr`, as knockoffs differ in what
    they choose, or none below -t at all, lest few units are never chosen. Infinite where there is
    no such t.
    """
    ranked, magnitudes = np.sort(statistics), np.sort(np.abs(statistics[statistics != 0]))
    above = len(ranked) - np.searchsorted(ranked, magnitudes, side="left")
    below = np.searchsorted(ranked, -magnitudes, side="right")
    enough = np.flatnonzero(1 + below <= np.maximum(1, KNOCKOFF_SHARE * fdr * above))
    return float(magnitudes[enough[0]]) if len(enough) else np.inf


def e_values(statistics: Floats, fdr: float) -> Floats:
    """E-values of units, from their statistics for one knockoff after another.

    Shape (knockoffs, units) becomes (units,). Over units that have no say they sum to at most the
    number of units, in expectation.
    """
    n_units = statistics.shape[1]
    found = np.zeros_like(statistics)
    for values, own in zip(statistics, found, strict=True):
        threshold = stopping_threshold(values, fdr)
        own[values >= threshold] = n_units / (1 + np.count_nonzero(values <= -threshold))
    return np.asarray(found.mean(axis=0))


def largest_set(values: Floats, fdr: float) -> Flags:
    """The e-BH procedure: the k largest e-values, for the largest k with all at least D / (fdr k).

    (Wang & Ramdas 2022)
    """
    n_units = len(values)
    ranked = np.argsort(-values, kind="stable")
    needed = n_units / (fdr * np.arange(1, n_units + 1))
    # Means of e-values are rounded.
    enough = np.flatnonzero(values[ranked] >= needed * (1 - 1e-9))
    chosen = np.zeros(n_units, bool)
    if len(enough):
        chosen[ranked[: enough[-1] + 1]] = True
    return chosen
