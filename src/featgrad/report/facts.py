"""Facts of a report, gathered from a fitted selector and its data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from featgrad._support.types import Floats, Indices
from featgrad.checks import check_raw_weights
from featgrad.dataset.constraints import group_labels
from featgrad.estimates.estimate import PathPoint
from featgrad.estimates.learnability import Learnability
from featgrad.math.tasks import ordered_labels
from featgrad.report import profiles, text
from featgrad.report.html import Group, Redundancy, ReportFacts, SizeFacts
from featgrad.report.profiles import REDUNDANT, Profile, Series
from featgrad.report.warnings import concerns_of

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
) -> ReportFacts:
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
    ReportFacts
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
    # 1. Estimates and warnings, of all candidates.
    target, y = _name(y) if target is None else target, ordered_labels(y)
    data = text.data_of(selector, X, y, sample_weight)
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    names = text.feature_names(selector) if names is None else names
    known = {"everything": text.estimate_of_all(selector, data), "univariate": data.alone()}
    concerns = concerns_of(selector, data, X, y, names=names, **known)
    summary = profiles.summarise_data(X, y, data.task_)
    labels = group_labels(
        selector.feature_groups, X.shape[1], getattr(selector, "feature_names_in_", None)
    )
    provenance = {
        "Command": command or f"{' '.join(repr(selector).split())}.fit(X, y)",
        "Seed": str(selector.random_state),
        "Data fingerprint": profiles.fingerprint(X, y),
        "Versions": text.versions(),
    }
    # 2. Candidates that a page can show; from here on features are positions among these.
    shown = _shown(selector.path_, known["univariate"])
    groups = _groups(selector.feature_groups, labels, shown, names)
    if len(shown) < X.shape[1]:
        summary["Shown here"] = f"{len(shown):,} candidates, those that explain most by themselves"
        X, names, labels = X[:, shown], [names[i] for i in shown], labels[shown]
        known["univariate"] = known["univariate"][shown]
    weights = check_raw_weights(sample_weight, X.shape[0])
    series = profiles.target_series(
        y, data.task_, "the target" if target is None else target, weights
    )
    chosen = [point.size for point in selector.path_].index(selector.n_features_)
    sizes = _sizes(data, X, series, selector.path_, chosen, shown, labels)
    missing, stability = profiles.count_missing(X), getattr(selector, "stability_", None)
    # Lines of the caller come first and override those of the summary.
    about = about or {}
    facts = ReportFacts(
        target=target,
        settings=text.settings_in_words(selector),
        search=text.search_in_words(selector),
        data={**about, **summary, **about},
        provenance=provenance,
        names=list(names),
        **known,
        sizes=sizes,
        chosen=chosen,
        missing=missing / X.shape[0] if missing.any() else None,
        series=tuple(series.names),
        stability=None if stability is None else np.asarray(stability.frequencies)[shown],
        groups=groups,
        concerns=tuple(concerns),
    )
    own, redundancy = _profiles(X, series, facts), _redundancy(X, labels, facts)
    return replace(facts, profiles=own, redundancy=redundancy)


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


def _sizes(
    data: Learnability,
    X: Any,
    series: Series,
    path: Sequence[PathPoint],
    chosen: int,
    shown: Indices,
    labels: Indices,
) -> tuple[SizeFacts, ...]:
    """Each set of the path, with correlations at every size where candidates are few."""
    compared = range(len(path)) if len(path) * len(shown) <= _CORRELATIONS else [chosen]
    positions = [np.searchsorted(shown, point.features) for point in path]
    found = profiles.nearest_chosen(X, [positions[i] for i in compared])
    near = dict(zip(compared, found, strict=True))
    sizes = []
    for i, (_, features, learnability, score, gains) in enumerate(path):
        if learnability is None:
            learnability = replace(data.estimate(features), is_optimistic=True)
        own, effect = positions[i], None
        if X.shape[0] * len(own) ** 2 <= (_GAIN_WORK if i == chosen else _OTHER_GAIN_WORK):
            gains = data.gains(features, labels[own]) if gains is None else gains
            if len(series.names) == 1:
                effect = profiles.effects(X, series.values, series.weights, own)
        near_here = near.get(i, (None, None))
        sizes.append(SizeFacts(own, learnability, score, gains, effect, *near_here))
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
    titles = {i: f"{names[i]} and {len(group) - 1} more" for group in groups for i in group[:1]}
    if text.are_labels(feature_groups):
        titles = {i: str(feature_groups[i]) for i in titles}
    whole = (group for group in groups if np.isin(group, shown).all())
    return tuple(Group(titles[group[0]], np.searchsorted(shown, group)) for group in whole)


def _profiles(X: Any, series: Series, facts: ReportFacts) -> dict[int, Profile]:
    """Of the chosen features, the best others and the groups."""
    best = np.argsort(-facts.univariate, kind="stable")[:_PROFILES]
    drawn = np.unique(np.concatenate([best, *(point.features for point in facts.sizes)]))
    grouped = {int(i): group.features for group in facts.groups for i in group.features}
    units = {int(grouped.get(i, [i])[0]): grouped.get(i, np.array([i])) for i in drawn}
    found = profiles.profiles(X, series, list(units.values()), facts.names)
    return {first: one for first, one in zip(units, found, strict=True) if one is not None}


def _redundancy(X: Any, labels: Indices, facts: ReportFacts) -> Redundancy | None:
    """The chosen by gain, each before those that it replaces; of a group its strongest feature."""
    selection = facts.selection
    order = selection.features[np.argsort(-facts.univariate[selection.features], kind="stable")]
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
    return Redundancy(columns, np.array(replaced_by), profiles.correlations(X, columns))


def _replaced(selection: SizeFacts, feature: int) -> list[int]:
    """Rejected candidates that a chosen feature replaces, the closest first."""
    if selection.nearest is None or selection.correlation is None:
        return []
    place = int(np.searchsorted(selection.features, feature))
    size = np.abs(selection.correlation)
    close = np.flatnonzero((selection.nearest == place) & (size >= REDUNDANT))
    rejected = np.setdiff1d(close, selection.features)
    return rejected[np.argsort(-size[rejected], kind="stable")].tolist()  # type: ignore[no-any-return]
