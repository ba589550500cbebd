"""Facts of a report, gathered from a fitted selector and its data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from featgrad._support.types import Floats, Indices
from featgrad.checks import check_raw_weights
from featgrad.estimates.estimate import PathPoint
from featgrad.math.tasks import ordered_labels
from featgrad.report import profiles, text
from featgrad.report.html import Redundancy, ReportFacts, SizeFacts
from featgrad.report.profiles import REDUNDANT, Profile, Series
from featgrad.report.text import Described, Group, named_groups
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
    selection = Described(selector, X, y, sample_weight, names)
    X = check_array(X, accept_sparse="csr", ensure_all_finite=False)
    names, labels, univariate = selection.names, selection.labels, selection.univariate
    concerns, task = concerns_of(selection, X, y), selection.data.task_
    summary = profiles.summarise_data(X, y, task)
    provenance = {
        "Command": command or f"{' '.join(repr(selector).split())}.fit(X, y)",
        "Seed": str(selector.random_state),
        "Data fingerprint": profiles.fingerprint(X, y),
        "Versions": text.versions(),
    }
    # 2. Candidates that a page can show; from here on features are positions among these.
    shown = _shown(selector.path_, univariate)
    groups = [
        Group(name, np.searchsorted(shown, features))
        for name, features in named_groups(selector, names)
        if np.isin(features, shown).all()
    ]
    if len(shown) < X.shape[1]:
        summary["Shown here"] = f"{len(shown):,} candidates, those that explain most by themselves"
        X, names, labels = X[:, shown], [names[i] for i in shown], labels[shown]
        univariate = univariate[shown]
    weights = check_raw_weights(sample_weight, X.shape[0])
    series = profiles.target_series(y, task, "the target" if target is None else target, weights)
    sizes = _sizes(selection, X, series, shown)
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
        univariate=univariate,
        everything=selection.everything,
        sizes=sizes,
        chosen=selection.place,
        missing=missing / X.shape[0] if missing.any() else None,
        series=tuple(series.names),
        stability=None if stability is None else np.asarray(stability.frequencies)[shown],
        groups=tuple(groups),
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


def _sizes(selection: Described, X: Any, series: Series, shown: Indices) -> tuple[SizeFacts, ...]:
    """Each set of the path, with correlations at every size where candidates are few."""
    path, chosen = selection.selector.path_, selection.place
    compared = range(len(path)) if len(path) * len(shown) <= _CORRELATIONS else [chosen]
    positions = [np.searchsorted(shown, point.features) for point in path]
    found = profiles.nearest_chosen(X, [positions[i] for i in compared])
    near = dict(zip(compared, found, strict=True))
    sizes = []
    for i, (point, own) in enumerate(zip(path, positions, strict=True)):
        gains, effect = point.gains, None
        if X.shape[0] * len(own) ** 2 <= (_GAIN_WORK if i == chosen else _OTHER_GAIN_WORK):
            gains = selection.gains(point)
            if len(series.names) == 1:
                effect = profiles.effects(X, series.values, series.weights, own)
        known = own, selection.estimate(point), point.score, gains, effect
        sizes.append(SizeFacts(*known, *near.get(i, (None, None))))
    return tuple(sizes)


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
