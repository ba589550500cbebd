"""Checks before a selection is trusted."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from featgrad._support.types import Flags, Floats, Indices
from featgrad.diagnosis import SHARED, shared_labels
from featgrad.estimate import Estimate
from featgrad.explained_variance import Learnability
from featgrad.report.columns import moments
from featgrad.report.facts import Concern, SizeFacts
from featgrad.search.base import Discoveries

# Share of the target's variance from which one feature is suspected to hold the target itself.
_LEAK = 0.9
# Correlation from which two features are redundant.
_DUPLICATE = 0.99
# Share of the first and of the last rows that are compared, smallest shift in standard deviations
# and in standard errors.
_END = 0.2
_SHIFT = 0.5
_STANDARD_ERRORS = 5.0
_MAX_NAMES = 5


def of_rows(selector: Any, X: Any, names: Sequence[str]) -> list[Concern]:
    """What the fit has warned of, and labels of rows by names that it may not have seen."""
    found = list(selector._findings)
    if all(finding.title != SHARED for finding in found):
        found += shared_labels(X, names, selector.plan_)
    return [Concern(finding.title, finding.named(names)) for finding in found]


def leakage(univariate: Floats, names: Sequence[str]) -> list[Concern]:
    suspects = np.flatnonzero(univariate >= _LEAK)
    if len(suspects) == 0:
        return []
    suspects = suspects[np.argsort(-univariate[suspects], kind="stable")]
    explained = f"{100 * univariate[suspects[0]]:.0f} % of the target's variance"
    listed = _listed(names, suspects)
    text = f"By itself, {listed} explains {explained}."
    if len(suspects) > 1:
        text = f"{listed} explain up to {explained}, each by itself."
    text += " A feature that is known only after the target must be excluded."
    return [
        Concern("Possible leak of the target", text, tuple(names[i] for i in suspects.tolist()))
    ]


def group_leakage(data: Learnability, features: Indices, groups: Any) -> list[Concern]:
    """Chosen groups, given by one label per feature, that explain the target by themselves."""
    if groups is None or np.ndim(next(iter(groups))) != 0:
        return []
    labels = [groups[i] for i in features]
    suspects = []
    for label in dict.fromkeys(labels):
        members = features[[other == label for other in labels]]
        if len(members) > 1 and data.estimate(members).interval[0] >= _LEAK:
            suspects.append(str(label))
    if not suspects:
        return []
    listed = _listed(suspects, np.arange(len(suspects)))
    text = f"By itself, {listed} explains the target almost completely."
    if len(suspects) > 1:
        text = f"{listed} explain the target almost completely, each by itself."
    text += " What is known only after the target must be excluded."
    return [Concern("Possible leak of the target", text, tuple(suspects))]


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
    """Drift of the chosen features and of the target between the first and the last rows."""
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
    selection: SizeFacts,
    everything: Estimate,
    sizes: Sequence[SizeFacts],
    discoveries: Discoveries | None,
) -> list[Concern]:
    """What limits the estimate, or a path that ends while it still rises."""
    here = selection.learnability
    found = limits(here, discoveries)
    last = len(sizes) > 1 and selection is sizes[-1]
    if not found and last and everything.interval[0] > here.interval[1]:
        text = (
            f"The chosen size is the largest tried, and all candidates together explain "
            f"{everything} against {here}: try more features."
        )
        return [Concern("More features would explain more", text)]
    return found


def limits(estimate: Estimate | None, discoveries: Discoveries | None) -> list[Concern]:
    """What a reader of an estimate should know."""
    if estimate is None:
        return []
    if estimate.n_features == 0 and discoveries is not None:
        return [Concern("Nothing found at this rate", str(discoveries))]
    if estimate.n_features == 0:
        text = (
            "No linear model predicts held-out rows better than noise would, so no features were "
            "chosen. More rows, other features, or curves and products of these are needed."
        )
        return [Concern("No linear relation found", text)]
    if math.isnan(estimate.value):
        text = (
            "There are too few rows to hold some out: what the chosen features explain is unknown."
        )
        return [Concern("Too few rows", text)]
    if estimate.is_optimistic:
        text = (
            "What the chosen features explain was estimated from the rows that chose them and is "
            "too high: check it on new rows."
        )
        return [Concern("Estimate too high", text)]
    if estimate.interval[0] <= 0:
        text = (
            f"The chosen features explain {estimate} of the target's variance: the interval "
            "reaches 0, so a linear model on them may fit noise only. More rows or other features "
            "are needed."
        )
        return [Concern("Perhaps no linear relation", text)]
    if estimate.is_lower_bound:
        text = (
            "There are fewer than two independent rows for each chosen feature, or the features "
            "are nearly collinear: they explain at least the estimate, perhaps much more."
        )
        return [Concern("A lower bound", text)]
    return []


def _shifts(X: Any) -> Flags:
    n_rows = max(2, int(_END * X.shape[0]))
    (first, first_variance), (last, last_variance) = moments(X[:n_rows]), moments(X[-n_rows:])
    gap = np.abs(last - first)
    variance = (first_variance + last_variance) / 2
    significant = gap > _STANDARD_ERRORS * np.sqrt(2 * variance / n_rows)
    return np.asarray(significant & (gap > _SHIFT * np.sqrt(moments(X)[1])))


def _listed(names: Sequence[str], features: Indices) -> str:
    named = ", ".join(f"“{names[i]}”" for i in features[:_MAX_NAMES])
    more = len(features) - _MAX_NAMES
    return f"{named} and {more} more" if more > 0 else named
