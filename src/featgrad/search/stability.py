"""How much a choice depends on the rows at hand."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from featgrad._support import Flags, Floats, Indices
from featgrad._support.results import Result
from featgrad._support.wording import SHOWN, counted, name_of
from featgrad.checks import check_option
from featgrad.search.units import Units, best_first

_ASSUMPTIONS = ("none", "unimodal")


@dataclass(frozen=True, repr=False)
class Stability(Result):
    """Agreement of choices from random halves of the rows, in complementary pairs.

    ``print(stability_)`` shows the features that are chosen most often, `plot` draws them.

    Attributes
    ----------
    frequencies : ndarray of shape (n_features,)
        Share of the halves from which each feature was chosen.
    index : float
        1 where all choices are the same, about 0 where they agree by chance only.
    interval : tuple of float
        Its 95% interval.
    n_pairs : int
        Pairs of halves.
    n_candidates : int
        Features, or groups of them, that could be chosen or not.
    mean_size : float
        How many of these were chosen from a half, on average.
    names : sequence of str or None
        Names of the features.
    """

    frequencies: Floats
    index: float
    interval: tuple[float, float]
    n_pairs: int
    n_candidates: int
    mean_size: float
    names: Any = None

    def _caption(self) -> str:
        low, high = self.interval
        pairs = f"choices from {counted(self.n_pairs, 'pair')} of halves"
        return f"{pairs} agree by {self.index:.2f} ({low:.2f} to {high:.2f})"

    def _rows(self) -> list[tuple[str, str]]:
        best = best_first(self.frequencies, int(np.count_nonzero(self.frequencies)))
        rows = [(name_of(self.names, i), f"{self.frequencies[i]:.0%}") for i in best[:SHOWN]]
        more = [(f"and {len(best) - SHOWN} more", "")] if len(best) > SHOWN else []
        return [("feature", "chosen from"), *rows, *more]

    def _bars(self) -> dict[str, Any]:
        low, high = self.interval
        return {
            "names": [name_of(self.names, i) for i in range(len(self.frequencies))],
            "values": self.frequencies,
            "label": "share of the halves that it is chosen from",
            "title": f"stability {self.index:.2f} ({low:.2f} to {high:.2f})",
        }

    def features(self, threshold: float) -> Indices:
        """Features that were chosen from at least a share of the halves.

        Parameters
        ----------
        threshold : float
            The share.

        Returns
        -------
        ndarray of int
            Their column indices.
        """
        return np.flatnonzero(self.frequencies >= threshold)

    def false_bound(self, threshold: float, assumption: str = "unimodal") -> float:
        """Bound on the expected number of false ones among `features` (Shah & Samworth 2013).

        False are features, or groups, that half the rows lead to no more often than to one taken at
        random: with a probability of at most ``mean_size / n_candidates``.

        Parameters
        ----------
        threshold : float
            Share of the halves, above 1/2.
        assumption : {"unimodal", "none"}, default="unimodal"
            What the share of pairs that both lead to a false feature is assumed to be distributed
            like, over data sets. The bound is about half as large if that has one mode.

        Returns
        -------
        float
            The bound; that without assumptions where the other does not apply.
        """
        check_option("assumption", assumption, _ASSUMPTIONS)
        if not 0.5 < threshold <= 1:
            raise ValueError(
                f"threshold={threshold!r} cannot be used: give a share above 0.5, up to 1."
            )
        share = self.mean_size / self.n_candidates
        factor = 1 / (2 * threshold - 1)
        if assumption == "unimodal":
            factor = min(factor, _unimodal_factor(threshold, self.n_pairs, share))
        return factor * share * self.mean_size


def _unimodal_factor(threshold: float, n_pairs: int, share: float) -> float:
    """C(threshold, pairs) of Shah and Samworth's theorem 2; infinite where it does not apply."""
    least = min(0.5 + share**2, 0.5 + 1 / (2 * n_pairs) + 0.75 * share**2)
    if share > 1 / math.sqrt(3) or threshold <= least:
        return math.inf
    if threshold > 0.75:
        return 4 * (1 - threshold + 1 / (2 * n_pairs)) / (1 + 1 / n_pairs)
    margin = 2 * threshold - 1 - 1 / (2 * n_pairs)
    return 1 / (2 * margin) if margin > 0 else math.inf


def of_pairs(chosen: Flags, units: Units) -> Stability:
    """Stability of choices from halves, two and two of which are complementary."""
    free = ~units.kept
    by_unit = np.array([units.total(choice.astype(float)) > 0 for choice in chosen])
    index, interval = agreement(chosen)
    return Stability(
        chosen.mean(axis=0),
        index,
        interval,
        len(chosen) // 2,
        int(np.count_nonzero(free)),
        float(np.count_nonzero(by_unit[:, free]) / len(chosen)),
    )


def agreement(chosen: Flags) -> tuple[float, tuple[float, float]]:
    """Index and interval of choices, shape (choices, features) (Nogueira et al. 2018)."""
    n_choices, n_features = chosen.shape
    Z = chosen.astype(np.float64)
    frequencies = Z.mean(axis=0)
    sizes = Z.sum(axis=1)
    share = float(sizes.mean()) / n_features
    by_chance = share * (1 - share)
    if by_chance == 0:
        return 1.0, (1.0, 1.0)
    variance = frequencies * (1 - frequencies) * n_choices / (n_choices - 1)
    index = 1 - float(variance.mean()) / by_chance
    # What each choice contributes; their spread gives the interval.
    parts = (Z @ frequencies) / n_features - sizes * share / n_features
    parts += index / 2 * (2 * share * sizes / n_features - sizes / n_features - share + 1)
    parts /= by_chance
    error = 2 / n_choices * math.sqrt(float(np.sum((parts - parts.mean()) ** 2)))
    half = float(ndtri(0.975)) * error
    return index, (index - half, min(1.0, index + half))
