"""Names, numbers and groups of features as they are shown, and what notebooks show of a fit."""

import html
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from featgrad._support import Indices
from featgrad._support.array_api import on_host
from featgrad._support.results import table
from featgrad._support.wording import counted, name_of, visible
from featgrad.dataset.constraints import features_in, group_labels
from featgrad.estimates.estimate import Score

# Longest list that a notebook shows unfolded.
_UNFOLDED = 20


def escape(text: str) -> str:
    """For HTML, with control characters made visible."""
    return html.escape(visible(text))


def label_text(label: Any) -> str:
    """Text files hold floats: class 1 is read as 1.0."""
    return f"{label:g}" if isinstance(label, np.floating) else str(label)


def number_text(value: float, span: float = 0.0, digits: int = 3) -> str:
    """With some digits; 0 where a value is about 0 within a span."""
    if abs(value) < span / 1000:
        return "0"
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.0f}"  # 1999 may be a year
    return f"{value:.{digits}g}"


def score_text(score: Score) -> str:
    return str(score).replace("R2", "R²").replace("+-", "±")


def feature_names(selector: Any) -> list[str]:
    """The names that a selector has seen, or x0, x1, ..."""
    default = [f"x{i}" for i in range(selector.n_features_in_)]
    return [str(name) for name in getattr(selector, "feature_names_in_", default)]


def are_labels(groups: Any) -> bool:
    """Whether groups are given by one label for each feature, not as lists of features."""
    return not (groups is None or isinstance(groups, Mapping)) and np.ndim(next(iter(groups))) == 0


def labels_of(selector: Any) -> Indices:
    """The group of each feature; a feature in none is one of its own."""
    names = getattr(selector, "feature_names_in_", None)
    return group_labels(selector.feature_groups, selector.n_features_in_, names)


def titles_of(selector: Any, names: Sequence[str]) -> Sequence[str]:
    """What groups are called, by their features; features in none have their own names."""
    given, titles = selector.feature_groups, list(names)
    if are_labels(given):
        return list(map(str, given))
    seen = getattr(selector, "feature_names_in_", None)
    for title, features in given.items() if isinstance(given, Mapping) else ():
        for i in features_in("feature_groups", features, len(names), seen):
            titles[i] = str(title)
    return titles


class Group(NamedTuple):
    """Features that are selected together."""

    name: str
    features: Indices


def named_groups(selector: Any, names: Sequence[str]) -> list[Group]:
    """Groups of more than one feature, in the order of their columns."""
    labels, titles, given = labels_of(selector), titles_of(selector, names), selector.feature_groups
    are_named = isinstance(given, Mapping) or are_labels(given)
    order = np.argsort(labels, kind="stable")
    order = order[np.bincount(labels)[labels[order]] > 1]
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []
    found = []
    for group in sorted(groups, key=lambda group: group[0]):
        more = "" if are_named else f" and {len(group) - 1} more"
        found.append(Group(titles[group[0]] + more, group))
    return found


def as_html(selector: Any) -> str:
    """The chosen features, the best first, with their gains, and what they explain."""
    seen = getattr(selector, "feature_names_in_", None)
    chosen = selector.get_support(indices=True)
    ranked = chosen[np.argsort(on_host(selector.ranking_)[chosen], kind="stable")]
    shown = table([("feature",), *((name_of(seen, i),) for i in ranked)])
    if selector.gains_ is not None:
        shown = selector.gains_._repr_html_()
    unfolded = " open" if len(chosen) <= _UNFOLDED else ""
    of_all = f"{len(chosen):,} of {counted(selector.n_features_in_, 'feature')} chosen"
    explained = selector.learnability_
    below = "" if explained is None else f"<div>explained: {explained._repr_html_()}</div>"
    return f"<details{unfolded}><summary>{of_all}</summary>{shown}</details>{below}"
