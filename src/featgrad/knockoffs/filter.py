"""From statistics of several knockoffs to chosen units, at a given false discovery rate.

A statistic is as likely below 0 as above for a unit that has no say, so that the units below ``-t``
show how many of those above t are false (Barber & Candès 2015). Units that most knockoffs choose
depend little on the seed (Ren, Wei & Candès 2023). Of these at most twice as many are false as one
knockoff chooses, in expectation; no more than with one if, among units that have no say, those are
fewer that are chosen more often.
"""

import numpy as np

from featgrad.arrays import Floats


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
