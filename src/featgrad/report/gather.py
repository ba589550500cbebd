"""Facts of a report from a fitted selector and its data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from reprlib import repr as shortened
from typing import Any

import numpy as np
from sklearn.utils import check_array

from featgrad.arrays import Floats, Indices
from featgrad.dataset.constraints import group_labels
from featgrad.estimate import Estimate
from featgrad.explained_variance import Learnability
from featgrad.held_out import Score
from featgrad.math.targets import encode
from featgrad.report import concerns
from featgrad.report.columns import nearest_chosen
from featgrad.report.facts import Facts, Group, SizeFacts
from featgrad.report.plots.axes import feature_names
from featgrad.report.summary import fingerprint, summarise_data, versions

# Limits on rows times squared size for the gains at the chosen size and at each other size: some
# seconds and some tenths of a second.
_GAIN_WORK = 1e9
_OTHER_GAIN_WORK = 2e7
# Limit on candidates times sizes for correlations at every size.
_CORRELATIONS = 200_000
# Candidates that a page can show, besides the chosen ones.
_CANDIDATES = 100_000

# Features, estimate and score at each size.
Points = list[tuple[Indices, Estimate, Score | None]]


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
    """Collect the contents of a report about a selection.

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
        Additional lines of the data's summary, such as the name of the file; they override lines
        of the same label.
    command : str, default=None
        The command that reproduces the selection; None takes the call of the selector.

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
    points, chosen = _points(selector, data)
    everything, univariate = data.estimate(), data.alone()
    shown = _shown(points, univariate)
    seen_names = getattr(selector, "feature_names_in_", None)
    labels = group_labels(selector.feature_groups, selector.n_features_in_, seen_names)
    sizes = _sizes(data, matrix, points, chosen, shown, labels)
    every_name = feature_names(selector) if names is None else names
    names, univariate = [every_name[i] for i in shown], univariate[shown]
    outputs, _ = encode(y, data.task_)
    found = [
        *concerns.leakage(univariate, names),
        *concerns.group_leakage(data, points[chosen][0], selector.feature_groups),
        *concerns.weakness(sizes[chosen], everything, sizes),
        *concerns.near_duplicates(sizes[chosen], names),
        *concerns.drift(_columns(matrix, shown), outputs, sizes[chosen], names),
    ]
    stability = getattr(selector, "stability_", None)
    # Lines of the caller come first and override those of the summary.
    summary = {**about, **summarise_data(matrix, y, data.task_), **about}
    if len(shown) < matrix.shape[1]:
        summary["Shown here"] = f"{len(shown):,} candidates, those that explain most by themselves"
    return Facts(
        settings=_settings(selector),
        data=summary,
        provenance={
            "Command": command or f"{' '.join(repr(selector).split())}.fit(X, y)",
            "Seed": str(selector.random_state),
            "Data fingerprint": fingerprint(matrix, y),
            "Versions": versions(),
        },
        names=names,
        univariate=univariate,
        sizes=sizes,
        chosen=chosen,
        everything=everything,
        stability=None if stability is None else np.asarray(stability.frequencies)[shown],
        groups=_groups(selector.feature_groups, labels, shown),
        concerns=tuple(found),
    )


def _points(selector: Any, data: Learnability) -> tuple[Points, int]:
    """What is known at each size of the path, and the index of the selected one."""
    points: Points = []
    for point in selector.path_:
        estimate = point.learnability
        if estimate is None:
            estimate = replace(data.estimate(point.features), is_optimistic=True)
        points.append((np.sort(point.features), estimate, point.score))
    sizes = [point.size for point in selector.path_]
    return points, sizes.index(selector.n_features_)


def _shown(points: Points, univariate: Floats) -> Indices:
    """All candidates, or the chosen and the best ones if a page cannot show all."""
    if len(univariate) <= _CANDIDATES:
        return np.arange(len(univariate))
    best = np.argsort(-univariate, kind="stable")[:_CANDIDATES]
    return np.unique(np.concatenate([best, *(features for features, *_ in points)]))


def _columns(X: Any, shown: Indices) -> Any:
    return X if len(shown) == X.shape[1] else X[:, shown]


def _sizes(
    data: Learnability, X: Any, points: Points, chosen: int, shown: Indices, labels: Indices
) -> tuple[SizeFacts, ...]:
    """Facts about each size; features are numbered as they are shown."""
    every = len(points) * len(shown) <= _CORRELATIONS
    compared = range(len(points)) if every else range(chosen, chosen + 1)
    positions = [np.searchsorted(shown, features) for features, *_ in points]
    found = nearest_chosen(_columns(X, shown), [positions[i] for i in compared])
    near = dict(zip(compared, found, strict=True))
    sizes = []
    for i, (features, learnability, score) in enumerate(points):
        limit = _GAIN_WORK if i == chosen else _OTHER_GAIN_WORK
        gains = None
        if X.shape[0] * len(features) ** 2 <= limit:
            gains = data.gains(features, labels[features])
        nearest, correlation = near.get(i, (None, None))
        sizes.append(SizeFacts(positions[i], learnability, score, gains, nearest, correlation))
    return tuple(sizes)


def _groups(feature_groups: Any, labels: Indices, shown: Indices) -> tuple[Group, ...]:
    """Groups of more than one feature, in the order of their columns."""
    if feature_groups is None:
        return ()
    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    groups = sorted((group for group in members if len(group) > 1), key=lambda group: group[0])
    given = list(feature_groups)
    # Labels per feature are names of groups; groups given as lists are numbered.
    named = len(given) == len(labels) and np.ndim(given) == 1
    return tuple(
        Group(str(given[group[0]]) if named else str(i + 1), np.searchsorted(shown, group))
        for i, group in enumerate(groups)
        if np.isin(group, shown).all()
    )


def _settings(selector: Any) -> dict[str, str]:
    wanted, penalised = selector.n_features_to_select, selector.plan_.search == "penalty"
    size = "as many as the penalty leaves" if penalised else str(wanted)
    if selector.fdr is not None:
        size = f"as many as keep the expected share of false ones below {selector.fdr:g}"
    lines = {
        "Features": size,
        "Task": f"{selector.task_} (detected)" if selector.task == "auto" else selector.task_,
    }
    defaults = type(selector)().get_params()
    shown = {"n_features_to_select", "fdr", "task", "random_state", "verbose"}
    changed = [
        f"{name}={shortened(value)}"
        for name, value in selector.get_params().items()
        if name not in shown and str(value) != str(defaults[name])
    ]
    return lines | ({"Settings": ", ".join(changed)} if changed else {}) | _search(selector)


def _search(selector: Any) -> dict[str, str]:
    """Which search ran and why, and its certificate."""
    lines = {
        decision.subject.capitalize(): f"{decision.choice} ({decision.reason})"
        for decision in selector.plan_.decisions
    }
    if selector.certificate_ is not None:
        lines["Certificate"] = str(selector.certificate_)
    return lines
