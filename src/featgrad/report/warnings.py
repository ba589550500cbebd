"""What to check before a selection is trusted: one list for the report and the command."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from featgrad._support import Flags, Floats
from featgrad._support.wording import listed
from featgrad.columns.sums import statistics
from featgrad.estimates.diagnosis import SHARED, shared_labels
from featgrad.estimates.estimate import NO_MODEL
from featgrad.math.targets import encode
from featgrad.report.profiles import nearest_chosen, scaled_down
from featgrad.report.text import Described, named_groups

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


class Concern(NamedTuple):
    """A warning about the selection, and the features to leave out if it is right."""

    title: str
    text: str
    suspects: tuple[str, ...] = ()


def concerns_of(selection: Described, X: Any, y: Any) -> list[Concern]:
    """What the fit has warned of, and what its rows and its choice show otherwise."""
    features, names = selection.chosen.features, selection.names
    chosen, columns = [names[i] for i in features], scaled_down(X[:, features])
    return [
        *_of_rows(selection.selector, X, names),
        *_leaks(selection.univariate, names),
        *_group_leaks(selection),
        *_weakness(selection),
        *_near_duplicates(columns, chosen),
        *_drift(columns, encode(y, selection.data.task_)[0], chosen),
    ]


def _of_rows(selector: Any, X: Any, names: Sequence[str]) -> list[Concern]:
    """Findings of the fit, and labels of rows by names that it may not have seen."""
    found = list(selector._findings)
    if all(finding.title != SHARED for finding in found):
        found += shared_labels(X, names, selector.plan_)
    return [Concern(finding.title, finding.named(names)) for finding in found]


def _leaks(univariate: Floats, names: Sequence[str]) -> list[Concern]:
    order = np.argsort(-univariate, kind="stable")
    suspects = [names[i] for i in order[: np.count_nonzero(univariate >= _LEAK)]]
    most = "up to " if len(suspects) > 1 else ""
    explained = f"{most}{100 * univariate[order[0]]:.0f} % of the target's variance"
    return _leak(suspects, explained, "A feature that")


def _group_leaks(selection: Described) -> list[Concern]:
    """Chosen groups that explain the target by themselves."""
    suspects = [
        group.name
        for group in named_groups(selection.selector, selection.names)
        if np.isin(group.features, selection.chosen.features).all()
        and selection.data.estimate(group.features).interval[0] >= _LEAK
    ]
    return _leak(suspects, "the target almost completely", "What")


def _leak(suspects: Sequence[str], explained: str, what: str) -> list[Concern]:
    if not suspects:
        return []
    text = f"By itself, {_quoted(suspects)} explains {explained}."
    if len(suspects) > 1:
        text = f"{_quoted(suspects)} explain {explained}, each by itself."
    text += f" {what} is known only after the target must be excluded."
    return [Concern("Possible leak of the target", text, tuple(suspects))]


def _near_duplicates(chosen: Any, names: Sequence[str]) -> list[Concern]:
    if len(names) < 2:
        return []
    ((_, correlation),) = nearest_chosen(chosen, [np.arange(len(names))])
    close = [names[i] for i in np.flatnonzero(np.abs(correlation) >= _DUPLICATE).tolist()]
    if not close:
        return []
    text = (
        f"{_quoted(close)}: each correlates by {_DUPLICATE} or more with another chosen feature. "
        "One of each pair would do."
    )
    return [Concern("Near-duplicates among the chosen", text)]


def _drift(chosen: Any, outputs: Floats, names: Sequence[str]) -> list[Concern]:
    """Drift of the chosen features and of the target between the first and the last rows."""
    differ = f"the first and the last fifth of the rows differ by more than {_SHIFT} standard"
    shifted = [names[i] for i in np.flatnonzero(_shifts(chosen)).tolist()] if names else []
    concerns = []
    if shifted:
        text = (
            f"{_quoted(shifted)}: {differ} deviations. If rows are in order of time, what was "
            "learned may not last."
        )
        concerns.append(Concern("Chosen features drift", text))
    if np.any(_shifts(outputs)):
        text = (
            f"{differ.capitalize()} deviations: the rows are sorted by the target, or it changes "
            "with time."
        )
        concerns.append(Concern("The target drifts", text))
    return concerns


def _shifts(X: Any) -> Flags:
    n_rows = max(2, int(_END * X.shape[0]))
    first, last = statistics(X[:n_rows]), statistics(X[-n_rows:])
    gap = np.abs(last.mean - first.mean)
    variance = (first.variance + last.variance) / 2
    significant = gap > _STANDARD_ERRORS * np.sqrt(2 * variance / n_rows)
    return np.asarray(significant & (gap > _SHIFT * np.sqrt(statistics(X).variance)))


def _weakness(selection: Described) -> list[Concern]:
    """The first of the things that a reader of the estimate should know."""
    here, everything = selection.estimate(selection.chosen), selection.everything
    discoveries, is_empty = selection.selector.discoveries_, here.n_features == 0
    is_last = 0 < selection.place == len(selection.selector.path_) - 1
    limits = {
        ("Nothing found at this rate", str(discoveries)): is_empty and discoveries is not None,
        (
            "No linear relation found",
            f"{NO_MODEL.capitalize()}, so no features were chosen. More rows, other features, or "
            "curves and products of these are needed.",
        ): is_empty,
        (
            "Too few rows",
            "There are too few rows to hold some out: what the chosen features explain is unknown.",
        ): math.isnan(here.value),
        (
            "Estimate too high",
            "What the chosen features explain was estimated from the rows that chose them and is "
            "too high: check it on new rows.",
        ): here.is_optimistic,
        (
            "Perhaps no linear relation",
            f"The chosen features explain {here} of the target's variance: the interval reaches "
            "0, so a linear model on them may fit noise only. More rows or other features are "
            "needed.",
        ): here.interval[0] <= 0,
        (
            "A lower bound",
            "There are fewer than two independent rows for each chosen feature, or the features "
            "are nearly collinear: they explain at least the estimate, perhaps much more.",
        ): here.is_lower_bound,
        (
            "More features would explain more",
            f"The chosen size is the largest tried, and all candidates together explain "
            f"{everything} against {here}: try more features.",
        ): is_last and everything.interval[0] > here.interval[1],
    }
    return [Concern(*limit) for limit, applies in limits.items() if applies][:1]


def _quoted(names: Sequence[str]) -> str:
    return listed([f"“{name}”" for name in names], _MAX_NAMES)
