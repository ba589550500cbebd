"""A plain table of the chosen features, and their list for notebooks."""

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from featgrad._support.array_api import on_host
from featgrad.dataset.constraints import group_labels
from featgrad.estimate import Estimate, unknown
from featgrad.explained_variance import Learnability
from featgrad.held_out import Score
from featgrad.report.text import counted, feature_names, visible

# Number of features that the row of a group names.
_MAX_NAMES = 3
# Longest list that a notebook shows unfolded.
_UNFOLDED = 20


class Row(NamedTuple):
    """A feature or a group of features, and the explained fraction that is lost without it."""

    name: str
    features: list[str]
    gain: float
    standard_error: float

    def __str__(self) -> str:
        if self.features == [self.name]:
            return visible(self.name)
        more = ", ..." if len(self.features) > _MAX_NAMES else ""
        return visible(f"{self.name} ({', '.join(self.features[:_MAX_NAMES])}{more})")


def summarise(
    selector: Any, X: Any, y: Any, *, sample_weight: Any = None, names: Sequence[str] | None = None
) -> str:
    """Describe a selection: the gain of each feature, and what all of them explain.

    Parameters
    ----------
    selector : FeatureGradientSelector
        Fitted on X and y.
    X, y, sample_weight
        What it was fitted on.
    names : sequence of str, default=None
        Names of all features; None takes those that the selector saw, or x0, x1, ...

    Returns
    -------
    str
        Lines of text; gains are in per cent of the target's variance. A group of features has one
        row, with the explained fraction that is lost without all of it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from featgrad import FeatureGradientSelector
    >>> from featgrad.report import summarise
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> print(summarise(FeatureGradientSelector(2, random_state=0).fit(X, y), X, y))
    feature  gain
    -------  -------------
    bmi      13.9% +- 4.3
    s5       11.2% +- 3.8
    <BLANKLINE>
    explained by these 2 features: 0.461 (0.380 to 0.542)
    ridge model on them:           R2 0.450 (+- 0.040)
    explained by all 10 features:  0.507 (0.442 to 0.571)
    """
    options = {name: getattr(selector, name) for name in ("preprocess", "missing")}
    data = Learnability(X, y, sample_weight=sample_weight, task=selector.task_, **options)
    names = feature_names(selector) if names is None else names
    rows = selection_rows(selector, data, names)
    return as_text(rows, selector.learnability_, selector.score_, estimate_of_all(selector, data))


def estimate_of_all(selector: Any, data: Learnability) -> Estimate:
    """What all features explain, which takes rows that are independent of each other."""
    is_known = selector.plan_.held_out_by == "rows"
    return data.estimate() if is_known else unknown(data.n_features_in_)


def selection_rows(selector: Any, data: Learnability, names: Sequence[str]) -> list[Row]:
    """One row for each chosen feature or group, the best first."""
    chosen = selector.get_support(indices=True)
    seen = getattr(selector, "feature_names_in_", None)
    groups = selector.feature_groups
    labels = group_labels(groups, selector.n_features_in_, seen)[chosen]
    titles = {}
    if groups is not None and np.ndim(next(iter(groups))) == 0:
        titles = {label: str(groups[i]) for i, label in zip(chosen, labels, strict=True)}
    point = next(point for point in selector.path_ if point.size == len(chosen))
    gains = data.gains(chosen, labels) if point.gains is None else point.gains
    rows: dict[int, Row] = {}
    for i, label, gain, error in zip(chosen, labels, *gains, strict=True):
        title = titles.get(label, names[i])
        row = rows.setdefault(label, Row(title, [], float(gain), float(error)))
        row.features.append(names[i])
    return sorted(rows.values(), key=lambda row: (row.gain, row.name), reverse=True)


def as_text(
    rows: Sequence[Row], chosen: Estimate | None, score: Score | None, everything: Estimate
) -> str:
    """The rows aligned, and estimates below."""
    width = max([len("feature"), *(len(str(row)) for row in rows)])
    lines = [f"{'feature':<{width}}  gain", f"{'-' * width}  -------------"]
    lines += [
        f"{row!s:<{width}}  {100 * row.gain:z4.1f}% +- {100 * row.standard_error:.1f}"
        for row in rows
    ]
    count = sum(len(row.features) for row in rows)
    these, them = ("this feature", "it") if count == 1 else (f"these {count} features", "them")
    total = everything.n_features
    every = "the only feature" if total == 1 else f"all {total} features"
    labels = {f"explained by {these}": chosen, f"ridge model on {them}": score}
    labels |= {f"explained by {every}": everything}
    known = {label: value for label, value in labels.items() if value is not None}
    longest = max(map(len, known))
    lines += ["", *(f"{label + ':':<{longest + 1}} {value}" for label, value in known.items())]
    return "\n".join(lines)


def as_html(selector: Any) -> str:
    """The chosen features, the best first, and what they explain."""
    seen = getattr(selector, "feature_names_in_", None)
    chosen = selector.get_support(indices=True)
    ranked = chosen[np.argsort(on_host(selector.ranking_)[chosen], kind="stable")]
    names = (f"x{i}" if seen is None else str(seen[i]) for i in ranked)
    items = "".join(f"<li>{escape(visible(name))}</li>" for name in names)
    unfolded = " open" if len(chosen) <= _UNFOLDED else ""
    of_all = f"{len(chosen):,} of {counted(selector.n_features_in_, 'feature')} chosen"
    explained = selector.learnability_
    below = "" if explained is None else f"<div>explained: {explained._repr_html_()}</div>"
    return f"<details{unfolded}><summary>{of_all}</summary><ol>{items}</ol></details>{below}"
