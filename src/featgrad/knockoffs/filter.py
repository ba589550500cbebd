"""From statistics of several knockoffs to chosen units, at a given false discovery rate.

A statistic is as likely below 0 as above for a unit that has no say, so that the units below ``-t``
show how many of those above t are false (Barber & Candès 2015). Units that most knockoffs choose
depend little on the seed (Ren, Wei & Candès 2023). Of these at most twice as many are false as one
knockoff chooses, in expectation; no more than with one if, among units that have no say, those are
fewer that are chosen more often. E-values of the same knockoffs keep the rate exactly and find less
(Ren & Barber 2024).
"""

import numpy as np

from featgrad._support.types import Flags, Floats


def threshold(statistics: Floats, fdr: float) -> float:
    """The least t at which the share of false ones among those above is estimated small enough.

    That is ``(1 + #(W <= -t)) / #(W >= t)`` at most `fdr`. Infinite where there is no such t.
    """
    ranked, magnitudes = np.sort(statistics), np.sort(np.abs(statistics[statistics != 0]))
    above = len(ranked) - np.searchsorted(ranked, magnitudes, side="left")
    below = np.searchsorted(ranked, -magnitudes, side="right")
    enough = np.flatnonzero(1 + below <= fdr * above)
    return float(magnitudes[enough[0]]) if len(enough) else np.inf


def frequencies(statistics: Floats, fdr: float) -> Floats:
    """Share of the knockoffs that choose each unit, from statistics of shape (knockoffs, units)."""
    return np.asarray(np.mean([row >= threshold(row, fdr) for row in statistics], axis=0))


def by_e_values(statistics: Floats, fdr: float) -> Flags:
    """Units that the mean of e-values over knockoffs chooses, each of them at half the rate."""
    n_units = statistics.shape[1]
    values = np.zeros(n_units)
    for row in statistics:
        least = threshold(row, fdr / 2)
        values += (row >= least) / (1 + np.sum(row <= -least)) / len(statistics)
    # A p-value of 1 / (units * mean) is one of e-values, whatever their dependence.
    return step_up(1 / np.maximum(n_units * values, 1.0), fdr)


def step_up(p_values: Floats, fdr: float) -> Flags:
    """Units that Benjamini & Hochberg (1995) choose."""
    ranked = np.sort(p_values)
    enough = ranked <= fdr * np.arange(1, len(ranked) + 1) / len(ranked)
    return np.asarray(p_values <= ranked[enough].max(initial=-1.0))
