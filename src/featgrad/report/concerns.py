"""What to look at before a selection is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from featgrad.arrays import Flags, Floats, Indices
from featgrad.learnability import Estimate
from featgrad.report.columns import moments
from featgrad.report.facts import Concern, SizeFacts

# Share of the target's variance from which one feature is suspected to hold the target itself.
_LEAK = 0.9
# Correlation from which two features say the same.
_DUPLICATE = 0.99
# Share of the rows at either end that are compared, the shift in standard deviations that
# matters, and how many standard errors it must exceed.
_END = 0.2
_SHIFT = 0.5
_SURE = 5.0
_NAMED = 5


def leakage(alone: Floats, names: Sequence[str]) -> list[Concern]:
    suspects = np.flatnonzero(alone >= _LEAK)
    if len(suspects) == 0:
        return []
    suspects = suspects[np.argsort(-alone[suspects], kind="stable")]
    text = (
        f"On its own, {_listed(names, suspects)} explains {100 * alone[suspects[0]]:.0f} % of the "
        "target's variance. A feature that is only known once the target is known must be left out."
    )
    return [Concern("Possible leak of the target", text)]


def near_duplicates(selection: SizeFacts, names: Sequence[str]) -> list[Concern]:
    if selection.nearest is None or selection.correlation is None:
        return []
    close = np.flatnonzero(np.abs(selection.correlation[selection.features]) >= _DUPLICATE)
    if len(close) == 0:
        return []
    text = (
        f"{_listed(names, selection.features[close])}: each correlates by {_DUPLICATE} or more "
        "with another chosen feature. One of each pair would do."
    )
    return [Concern("Near-duplicates among the chosen", text)]


def drift(X: Any, outputs: Floats, selection: SizeFacts, names: Sequence[str]) -> list[Concern]:
    """Between the first and the last rows, of the chosen features and of the target."""
    shifted = np.flatnonzero(_shifts(X[:, selection.features]))
    concerns = []
    if len(shifted):
        text = (
            f"{_listed(names, selection.features[shifted])}: the first and the last fifth of the "
            f"rows differ by more than {_SHIFT} standard deviations. If rows are in order of time, "
            "what was learned may not last."
        )
        concerns.append(Concern("Chosen features drift", text))
    if np.any(_shifts(outputs)):
        text = (
            f"The first and the last fifth of the rows differ by more than {_SHIFT} standard "
            "deviations: the rows are sorted by the target, or it changes with time."
        )
        concerns.append(Concern("The target drifts", text))
    return concerns


def weakness(
    selection: SizeFacts, everything: Estimate, sizes: Sequence[SizeFacts]
) -> list[Concern]:
    """Nothing learned, or a curve that was cut off while it rose."""
    here = selection.learnability
    if here.interval[0] <= 0:
        text = (
            f"The chosen features explain {here}: the interval reaches 0, so this may be noise. "
            "More rows or other features are needed."
        )
        return [Concern("Perhaps nothing to learn", text)]
    last = len(sizes) > 1 and selection is sizes[-1]
    if last and everything.interval[0] > here.interval[1]:
        text = (
            f"The chosen size is the largest tried, and all candidates together explain "
            f"{everything} against {here}: try more features."
        )
        return [Concern("More features would explain more", text)]
    return []


def _shifts(X: Any) -> Flags:
    n_rows = max(2, int(_END * X.shape[0]))
    (first, first_variance), (last, last_variance) = moments(X[:n_rows]), moments(X[-n_rows:])
    gap = np.abs(last - first)
    within = (first_variance + last_variance) / 2
    sure = gap > _SURE * np.sqrt(2 * within / n_rows)
    return np.asarray(sure & (gap > _SHIFT * np.sqrt(moments(X)[1])))


def _listed(names: Sequence[str], features: Indices) -> str:
    named = ", ".join(f"“{names[i]}”" for i in features[:_NAMED])
    more = len(features) - _NAMED
    return f"{named} and {more} more" if more > 0 else named
