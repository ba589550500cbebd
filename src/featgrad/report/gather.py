"""Facts of a report from a fitted selector and its data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from featgrad._support.types import Floats, Indices
from featgrad.checks import check_raw_weights
from featgrad.dataset.constraints import group_labels
from featgrad.explained_variance import Learnability
from featgrad.math.targets import encode
from featgrad.math.tasks import ordered_labels
from featgrad.path import PathPoint
from featgrad.report import concerns
from featgrad.report.columns import correlations, count_missing, effects, nearest_chosen
from featgrad.report.facts import Facts, Group, Redundancy, SizeFacts
from featgrad.report.summary import (
    fingerprint,
    search_in_words,
    settings_in_words,
    summarise_data,
    versions,
)
from featgrad.report.table import estimate_of_all
from featgrad.report.text import feature_names
from featgrad.report.values import Profile, Series, profiles, target_series

# Limits on rows times squared size for the gains at the chosen size and at each other size: some
# seconds and some tenths of a second.
_GAIN_WORK = 1e9
_OTHER_GAIN_WORK = 2e7
# Limit on candidates times sizes for correlations at every size.
_CORRELATIONS = 200_000
# Candidates that a page can show, other than the chosen ones.
_CANDIDATES = 100_000
# Candidates, other than the chosen ones, whose values are drawn.
_PROFILES = 300
# Correlation from which a chosen feature replaces a rejected one.
REDUNDANT = 0.7
# Chosen features of a heat map, and rejected ones for each.
_HEATMAP_CHOSEN = 15
_HEATMAP_REPLACED = 2


def gather_facts(
    selector: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    names: Sequence[str] | None = None,
    target: str | None = None,
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
    target : str, default=None
        Name of the target; None takes that of y, where it has one.
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
    options = {name: getattr(selector, name) for name in ("preprocess", "missing")}
    name, y = _name(y) if target is None else target, ordered_labels(y)
    data = Learnability(X, y, sample_weight=sample_weight, task=selector.task_, **options)
    matrix = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    about = about or {}
    path, everything, univariate = selector.path_, estimate_of_all(selector, data), data.alone()
    chosen = [point.size for point in path].index(selector.n_features_)
    shown = _shown(path, univariate)
    seen_names = getattr(selector, "feature_names_in_", None)
    labels = group_labels(selector.feature_groups, selector.n_features_in_, seen_names)
    weights = check_raw_weights(sample_weight, matrix.shape[0])
    series = target_series(y, data.task_, "the target" if name is None else name, weights)
    sizes = _sizes(data, matrix, series, path, chosen, shown, labels)
    every_name = feature_names(selector) if names is None else names
    names, univariate = [every_name[i] for i in shown], univariate[shown]
    groups = _groups(selector.feature_groups, labels, shown, every_name)
    missing = count_missing(matrix)[shown]
    drawn = _columns(matrix, shown)
    outputs, _ = encode(y, data.task_)
    found = [
        *concerns.of_rows(selector, matrix, every_name),
        *concerns.leakage(univariate, names),
        *concerns.group_leakage(data, path[chosen].features, selector.feature_groups),
        *concerns.weakness(sizes[chosen], everything, sizes, selector.discoveries_),
        *concerns.near_duplicates(sizes[chosen], names),
        *concerns.drift(drawn, outputs, sizes[chosen], names),
    ]
    stability = getattr(selector, "stability_", None)
    # Lines of the caller come first and override those of the summary.
    summary = {**about, **summarise_data(matrix, y, data.task_), **about}
    if len(shown) < matrix.shape[1]:
        summary["Shown here"] = f"{len(shown):,} candidates, those that explain most by themselves"
    return Facts(
        target=name,
        settings=settings_in_words(selector),
        search=search_in_words(selector),
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
        missing=missing / matrix.shape[0] if missing.any() else None,
        series=tuple(series.names),
        profiles=_profiles(drawn, series, sizes, univariate, groups, names),
        redundancy=_redundancy(drawn, sizes[chosen], univariate, labels[shown]),
        stability=None if stability is None else np.asarray(stability.frequencies)[shown],
        groups=groups,
        concerns=tuple(found),
    )


def _name(y: Any) -> str | None:
    """That of a series, where it is a word; a frame may have a column called so."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def _shown(path: Sequence[PathPoint], univariate: Floats) -> Indices:
    """All candidates, or the chosen and the best ones if a page cannot show all."""
    if len(univariate) <= _CANDIDATES:
        return np.arange(len(univariate))
    best = np.argsort(-univariate, kind="stable")[:_CANDIDATES]
    return np.unique(np.concatenate([best, *(point.features for point in path)]))


def _columns(X: Any, shown: Indices) -> Any:
    return X if len(shown) == X.shape[1] else X[:, shown]


def _sizes(
    data: Learnability,
    X: Any,
    series: Series,
    path: Sequence[PathPoint],
    chosen: int,
    shown: Indices,
    labels: Indices,
) -> tuple[SizeFacts, ...]:
    """Facts about each size; features are numbered as they are shown."""
    every = len(path) * len(shown) <= _CORRELATIONS
    compared = range(len(path)) if every else range(chosen, chosen + 1)
    positions = [np.searchsorted(shown, point.features) for point in path]
    found = nearest_chosen(_columns(X, shown), [positions[i] for i in compared])
    near = dict(zip(compared, found, strict=True))
    sizes = []
    for i, (_, features, learnability, score, gains) in enumerate(path):
        if learnability is None:
            learnability = replace(data.estimate(features), is_optimistic=True)
        limit = _GAIN_WORK if i == chosen else _OTHER_GAIN_WORK
        effect = None
        if X.shape[0] * len(features) ** 2 <= limit:
            gains = data.gains(features, labels[features]) if gains is None else gains
            if len(series.names) == 1:
                effect = effects(X, series.values, series.weights, features)
        near_here = near.get(i, (None, None))
        sizes.append(SizeFacts(positions[i], learnability, score, gains, effect, *near_here))
    return tuple(sizes)


def _groups(
    feature_groups: Any, labels: Indices, shown: Indices, names: Sequence[str]
) -> tuple[Group, ...]:
    """Groups of more than one feature, in the order of their columns."""
    if feature_groups is None:
        return ()
    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    groups = sorted((group for group in members if len(group) > 1), key=lambda group: group[0])
    given = list(feature_groups)
    is_labelled = np.ndim(given[0]) == 0
    return tuple(
        Group(
            str(given[group[0]]) if is_labelled else f"{names[group[0]]} and {len(group) - 1} more",
            np.searchsorted(shown, group),
        )
        for group in groups
        if np.isin(group, shown).all()
    )


def _profiles(
    X: Any,
    series: Series,
    sizes: Sequence[SizeFacts],
    univariate: Floats,
    groups: Sequence[Group],
    names: Sequence[str],
) -> dict[int, Profile]:
    """Of the chosen features, the best others and the groups."""
    best = np.argsort(-univariate, kind="stable")[:_PROFILES]
    drawn = np.unique(np.concatenate([best, *(point.features for point in sizes)]))
    grouped = {int(i): group.features for group in groups for i in group.features}
    units = {int(grouped.get(i, [i])[0]): grouped.get(i, np.array([i])) for i in drawn}
    found = profiles(X, series, list(units.values()), names)
    return {
        first: profile for first, profile in zip(units, found, strict=True) if profile is not None
    }


def _redundancy(
    X: Any, selection: SizeFacts, univariate: Floats, labels: Indices
) -> Redundancy | None:
    """The chosen by gain, each before those that it replaces; of a group its strongest feature."""
    order = selection.features[np.argsort(-univariate[selection.features], kind="stable")]
    if selection.gains is not None:
        gain = dict(zip(selection.features, selection.gains.values, strict=True))
        order = np.array(sorted(order, key=lambda i: -gain[i]), dtype=np.intp)
    _, first = np.unique(labels[order], return_index=True)
    leading = order[np.sort(first)][:_HEATMAP_CHOSEN]
    features: list[int] = []
    replaced_by: list[int] = []
    for feature in leading:
        place = len(features)
        replaced = _replaced(selection, feature)[:_HEATMAP_REPLACED]
        features += [int(feature), *replaced]
        replaced_by += [-1, *[place] * len(replaced)]
    if len(features) < 2:
        return None
    columns = np.array(features)
    return Redundancy(columns, np.array(replaced_by), correlations(X, columns))


def _replaced(selection: SizeFacts, feature: int) -> list[int]:
    """Rejected candidates that a chosen feature replaces, the closest first."""
    if selection.nearest is None or selection.correlation is None:
        return []
    place = int(np.searchsorted(selection.features, feature))
    size = np.abs(selection.correlation)
    close = np.flatnonzero((selection.nearest == place) & (size >= REDUNDANT))
    rejected = np.setdiff1d(close, selection.features)
    return rejected[np.argsort(-size[rejected], kind="stable")].tolist()  # type: ignore[no-any-return]
