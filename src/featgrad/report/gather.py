"""From a fitted selector and its data to the facts of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from reprlib import repr as shortened
from typing import Any

import numpy as np
from sklearn.utils import check_array

from featgrad.arrays import Floats, Indices
from featgrad.dataset.constraints import group_labels
from featgrad.learnability import Estimate, Learnability
from featgrad.math.targets import encode
from featgrad.report import concerns
from featgrad.report.columns import nearest_chosen
from featgrad.report.facts import Facts, Group, SizeFacts
from featgrad.report.plots.axes import feature_names
from featgrad.report.provenance import fingerprint, versions
from featgrad.report.summary import summarise_data

# Rows times squared size up to which the gains of the chosen size, and of each other size, are
# measured: some seconds and some tenths of a second.
_GAIN_WORK = 1e9
_OTHER_GAIN_WORK = 2e7
# Candidates times sizes up to which correlations are kept for every size.
_CORRELATIONS = 200_000
# Candidates that a page can show: chosen ones, and those that explain most on their own.
_CANDIDATES = 100_000


def gather_facts(
    selector: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    names: Sequence[str] | None = None,
    about: Mapping[str, str] | None = None,
    command: str | None = None,
) -> Facts:
    """Collect what a report says about a selection.

    Parameters
    ----------
    selector : FeatureGradientSelector
        Fitted on X and y.
    X : {array-like, sparse matrix, dataframe} of shape (n_rows, n_features)
        The features.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        The target.
    sample_weight : array-like of shape (n_rows,), default=None
        The weights given to `fit`.
    names : sequence of str, default=None
        Names of the features; None takes those that the selector saw, or x0, x1, ...
    about : mapping of str to str, default=None
        More lines for the data's summary, such as where they come from, or better ones: of how
        many rows those given here are a sample, say.
    command : str, default=None
        The command that repeats the selection; None gives the selector's own call.

    Returns
    -------
    Facts
        Ready for `write_report`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from featgrad import FeatureGradientSelector
    >>> from featgrad.report import gather_facts
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> facts = gather_facts(FeatureGradientSelector(3, random_state=0).fit(X, y), X, y)
    >>> [facts.names[i] for i in facts.selection.features]
    ['bmi', 'bp', 's5']
    """
    options = {name: getattr(selector, name) for name in ("task", "preprocess", "missing")}
    data = Learnability(X, y, sample_weight=sample_weight, **options)
    matrix = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    about = about or {}
    points, chosen = _points(selector)
    everything, alone = data.estimate(), data.alone()
    shown = _shown(points, alone)
    labels = group_labels(
        selector.feature_groups,
        selector.n_features_in_,
        getattr(selector, "feature_names_in_", None),
    )
    sizes = _sizes(data, matrix, points, chosen, shown, labels)
    every_name = feature_names(selector) if names is None else names
    names, alone = [every_name[i] for i in shown], alone[shown]
    outputs, _ = encode(y, data.task_)
    found = [
        *concerns.leakage(alone, names),
        *concerns.weakness(sizes[chosen], everything, sizes),
        *concerns.near_duplicates(sizes[chosen], names),
        *concerns.drift(_columns(matrix, shown), outputs, sizes[chosen], names),
    ]
    stability = getattr(selector, "stability_", None)
    return Facts(
        asked=_asked(selector),
        # What the caller says comes first, and counts where the summary says otherwise.
        data={
            **about,
            **summarise_data(matrix, y, data.task_),
            **about,
            **_left_out(alone, matrix),
        },
        provenance={
            "Command": command or _call(selector),
            "Seed": str(selector.random_state),
            "Data fingerprint": fingerprint(matrix, y),
            "Versions": versions(),
        },
        names=names,
        alone=alone,
        sizes=sizes,
        chosen=chosen,
        everything=everything,
        stability=None if stability is None else np.asarray(stability.frequencies)[shown],
        groups=_groups(selector.feature_groups, labels, shown),
        concerns=tuple(found),
    )


def _points(selector: Any) -> tuple[list[tuple[Indices, Estimate]], int]:
    """Features and estimate at each size of the path, and which of them was taken."""
    support = selector.get_support(indices=True)
    path = getattr(selector, "path_", None) or ()
    points = {point.size: (np.sort(point.features), point.learnability) for point in path}
    points[len(support)] = (support, selector.learnability_)
    sizes = sorted(points)
    return [points[size] for size in sizes], sizes.index(len(support))


def _shown(points: list[tuple[Indices, Estimate]], alone: Floats) -> Indices:
    """All candidates, or as many as a page can show."""
    if len(alone) <= _CANDIDATES:
        return np.arange(len(alone))
    best = np.argsort(-alone, kind="stable")[:_CANDIDATES]
    return np.unique(np.concatenate([best, *(features for features, _ in points)]))


def _left_out(alone: Floats, X: Any) -> dict[str, str]:
    if len(alone) == X.shape[1]:
        return {}
    return {"Shown here": f"{len(alone):,} candidates, those that explain most on their own"}


def _columns(X: Any, shown: Indices) -> Any:
    return X if len(shown) == X.shape[1] else X[:, shown]


def _sizes(
    data: Learnability,
    X: Any,
    points: list[tuple[Indices, Estimate]],
    chosen: int,
    shown: Indices,
    labels: Indices,
) -> tuple[SizeFacts, ...]:
    """Facts about each size; features are numbered as they are shown."""
    every = len(points) * len(shown) <= _CORRELATIONS
    compared = range(len(points)) if every else range(chosen, chosen + 1)
    places = [np.searchsorted(shown, features) for features, _ in points]
    found = nearest_chosen(_columns(X, shown), [places[i] for i in compared])
    near = dict(zip(compared, found, strict=True))
    sizes = []
    for i, (features, learnability) in enumerate(points):
        bearable = _GAIN_WORK if i == chosen else _OTHER_GAIN_WORK
        gains = None
        if X.shape[0] * len(features) ** 2 <= bearable:
            gains = data.gains(features, labels[features])
        nearest, correlation = near.get(i, (None, None))
        sizes.append(SizeFacts(places[i], learnability, gains, nearest, correlation))
    return tuple(sizes)


def _groups(feature_groups: Any, labels: Indices, shown: Indices) -> tuple[Group, ...]:
    """Groups of more than one feature, in the order of their columns."""
    if feature_groups is None:
        return ()
    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    groups = sorted((group for group in members if len(group) > 1), key=lambda group: group[0])
    given = list(feature_groups)
    # One label per feature names the groups; lists of features leave them nameless.
    named = len(given) == len(labels) and np.ndim(given) == 1
    return tuple(
        Group(str(given[group[0]]) if named else str(i + 1), np.searchsorted(shown, group))
        for i, group in enumerate(groups)
        if np.isin(group, shown).all()
    )


def _asked(selector: Any) -> dict[str, str]:
    wanted = selector.n_features_to_select
    lines = {
        "Features": "as many as the penalty leaves" if wanted is None else str(wanted),
        "Task": f"{selector.task_} (found from the target)"
        if selector.task == "auto"
        else selector.task_,
    }
    defaults = type(selector)().get_params()
    shown = {"n_features_to_select", "task", "random_state", "verbose"}
    changed = {
        name: value
        for name, value in selector.get_params().items()
        if name not in shown and str(value) != str(defaults[name])
    }
    if changed:
        lines["Settings"] = ", ".join(f"{name}={shortened(v)}" for name, v in changed.items())
    return lines


def _call(selector: Any) -> str:
    return f"{' '.join(repr(selector).split())}.fit(X, y)"
