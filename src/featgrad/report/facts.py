"""Facts of a report, gathered from a fitted selector and its data."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from featgrad._support import Floats, Indices
from featgrad._support.wording import visible
from featgrad.checks import check_raw_weights
from featgrad.estimates.estimate import PathPoint
from featgrad.math.tasks import ordered_labels
from featgrad.report import profiles
from featgrad.report.constructed import pictures
from featgrad.report.described import Described
from featgrad.report.html import ReportFacts
from featgrad.report.predictions import picture
from featgrad.report.profiles import REDUNDANT, Profile, Series
from featgrad.report.settings import reason_of_size, search_in_words, settings_in_words, versions
from featgrad.report.text import Group, named_groups, number_text

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
# Correlation from which the closest chosen feature is named.
_RELATED = 0.3


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
    constructed: Mapping[int, Sequence[int]] | None = None,
) -> ReportFacts:
    """Collect the contents of a report about a selection.

    Parameters
    ----------
    selector : FeatureGradientSelector
        Fitted on X and y.
    X, y, sample_weight
        What it was fitted on.
    names : sequence of str, default=None
        Names of the features; None takes those that the selector saw, or x0, x1, ...
    target : str, default=None
        Name of the target; None takes that of y, where it has one.
    about : mapping of str to str, default=None
        Additional lines of the data's summary, such as the name of the file; they override lines
        of the same label.
    command : str, default=None
        The command that reproduces the selection; None takes the call of the selector.
    constructed : mapping of int to sequence of int, default=None
        Columns of X that are functions of one or two others, and these: they are drawn so.

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
    X = selection.values
    names, labels, univariate = selection.names, selection.labels, selection.univariate
    task = selection.data.task_
    missing = _missing(selection)
    summary = profiles.summarise_data(X, y, task, missing)
    if selection.layout is not None:  # zeros are those of its encoding
        summary.pop("Entries other than 0", None)
    provenance = {
        "Date": date.today().isoformat(),
        "Command": command or f"{' '.join(repr(selector).split())}.fit(X, y)",
        "Seed": str(selector.random_state),
        "Data fingerprint": profiles.fingerprint(X, y),
        "Versions": versions(),
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
    built = pictures(selection.matrix, series, constructed or {}, selection.names)
    path, sizes, near = _sizes(selection, X, series, shown)
    compared = selector.sizes_ and selector.sizes_.best
    # 3. Integers in place of fractions keep the page small.
    best = np.argsort(-univariate, kind="stable")[:_PROFILES]
    units = _units(np.unique(np.concatenate([best, *(point.features for point in path)])), groups)
    drawn = profiles.profiles(
        X, series, units, names, lambda feature: selection.encoded(int(shown[feature]))
    )
    missing, stability = missing[shown], getattr(selector, "stability_", None)
    frequencies = None if stability is None else np.asarray(stability.frequencies)[shown]
    table = {
        "names": [visible(name) for name in names],
        "univariate": _scaled(univariate, 1000),
        "groups": [{"name": visible(name), "features": own.tolist()} for name, own in groups],
        "stability": _scaled(frequencies, 100),
        "missing": _scaled(missing / X.shape[0] if missing.any() else None, 1000),
        "series": series.names,
        **_drawn(drawn),
        "sizes": sizes,
        # What the chosen size is compared with.
        "best": compared and [point.size for point in path].index(compared.size),
        "redundancy": _redundancy(X, names, labels, univariate, path[selection.place], near),
        "constructed": built,
        "held_out": picture(selection.chosen, series, task),
        "redundant": round(100 * REDUNDANT),
        "related": round(100 * _RELATED),
    }
    # Lines of the caller come first and override those of the summary.
    about = about or {}
    return ReportFacts(
        target=target,
        settings=settings_in_words(selector),
        search=search_in_words(selector),
        data={**about, **summary, **about},
        provenance=provenance,
        names=list(names),
        path=path,
        chosen=selection.place,
        everything=selection.everything,
        table=table,
        concerns=tuple(selection.concerns),
        reason=reason_of_size(selector),
        is_in_time=selection.is_in_time,
    )


def _name(y: Any) -> str | None:
    """That of a series, where it is a word; a frame may have a column called so."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def _missing(selection: Described) -> Indices:
    """Rows without a value of each feature; where a text is missing, its columns are all 0."""
    found, n_rows = profiles.count_missing(selection.values), selection.matrix.shape[0]
    for name, (column, features) in selection.columns.items():
        if column.kind == "one-hot":
            present = int(selection.matrix[:, features].sum())
            found[selection.layout.variables.index(name)] = n_rows - present
    return found


def _shown(path: Sequence[PathPoint], univariate: Floats) -> Indices:
    """All candidates, or the chosen and the best ones if a page cannot show all."""
    if len(univariate) <= _CANDIDATES:
        return np.arange(len(univariate))
    best = np.argsort(-univariate, kind="stable")[:_CANDIDATES]
    return np.unique(np.concatenate([best, *(point.features for point in path)]))


def _sizes(
    selection: Described, X: Any, series: Series, shown: Indices
) -> tuple[tuple[PathPoint, ...], list[dict[str, Any]], tuple[Indices, Floats]]:
    """The path, what a page shows of each size, and what is nearest at the chosen one.

    Sets are stored by what they add to the previous one and drop from it; correlations at every
    size are for few candidates only.
    """
    given, chosen = selection.selector.path_, selection.place
    compared = range(len(given)) if len(given) * len(shown) <= _CORRELATIONS else [chosen]
    positions = [np.searchsorted(shown, point.features) for point in given]
    found = profiles.nearest_chosen(X, [positions[i] for i in compared])
    near = dict(zip(compared, found, strict=True))
    path, sizes = [], []
    previous = np.zeros(0, dtype=np.intp)
    for i, (point, own) in enumerate(zip(given, positions, strict=True)):
        gains, signs = point.gains, None
        if X.shape[0] * len(own) ** 2 <= (_GAIN_WORK if i == chosen else _OTHER_GAIN_WORK):
            gains = selection.gains(point)
            if len(series.names) == 1:
                effects = profiles.effects(X, series.values, series.weights, own)
                signs = np.sign(effects * list(map(selection.has_direction, point.features)))
                signs = signs.astype(int).tolist()
        known = {"learnability": selection.estimate(point), "gains": gains}
        path.append(point._replace(features=own, **known))
        values, errors = gains or (None, None)
        nearest, correlation = near.get(i, (None, None))
        sizes.append(
            {
                "added": np.setdiff1d(own, previous).tolist(),
                "dropped": np.setdiff1d(previous, own).tolist(),
                "gains": _scaled(values, 10_000),
                "errors": _scaled(errors, 10_000),
                "signs": signs,
                "nearest": None if nearest is None else nearest.tolist(),
                "correlation": _scaled(correlation, 100),
            }
        )
        previous = own
    return tuple(path), sizes, near[chosen]


def _units(features: Indices, groups: Sequence[Group]) -> list[Indices]:
    """The group that each is in, or each by itself."""
    grouped = {int(i): group.features for group in groups for i in group.features}
    units = (grouped.get(int(i), np.array([i])) for i in features)
    return list({int(unit[0]): unit for unit in units}.values())


def _drawn(found: Mapping[int, Profile]) -> dict[str, Any]:
    """Profiles with the means in ten-thousandths of their common range, and that range."""
    ends = [each.means + side * each.errors for each in found.values() for side in (-1, 1)]
    known = np.concatenate([np.zeros(0), *(end[~np.isnan(end)] for end in ends)])
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    span = (high - low) or 1.0
    drawn = {
        i: {
            "bins": [visible(name) for name in profile.bins],
            "labelled": profile.labelled,
            "counts": profile.counts.tolist(),
            "means": [_scaled((row - low) / span, 10_000) for row in profile.means],
            "errors": [_scaled(row / span, 10_000) for row in profile.errors],
        }
        for i, profile in found.items()
    }
    shown = [number_text(end, span) for end in (low, high)]
    return {"profiles": drawn, "range": shown, "low": low, "span": span}


def _scaled(values: Floats | None, factor: int) -> list[int] | None:
    """Whole numbers; None where something is unknown."""
    if values is None or np.isnan(values).any():
        return None
    return np.rint(values * factor).astype(int).tolist()  # type: ignore[no-any-return]


def _redundancy(
    X: Any,
    names: Sequence[str],
    labels: Indices,
    univariate: Floats,
    point: PathPoint,
    near: tuple[Indices, Floats],
) -> dict[str, Any] | None:
    """The chosen by gain, each before those that it replaces; of a group its strongest feature."""
    features, nearest, closeness = point.features, near[0], np.abs(near[1])
    closeness[features] = 0
    gains = np.zeros(len(features)) if point.gains is None else point.gains.values
    order = np.lexsort((-univariate[features], -gains))
    _, first = np.unique(labels[features[order]], return_index=True)
    columns: list[int] = []
    replaced_by: list[int] = []
    for place in order[np.sort(first)][:_HEATMAP_CHOSEN]:
        close = np.flatnonzero((nearest == place) & (closeness >= REDUNDANT))
        replaced = close[np.argsort(-closeness[close], kind="stable")][:_HEATMAP_REPLACED]
        replaced_by += [-1, *[len(columns)] * len(replaced)]
        columns += [int(features[place]), *replaced.tolist()]
    if len(columns) < 2:
        return None
    shown = {"names": [visible(names[i]) for i in columns], "replaced_by": replaced_by}
    correlations = 100 * profiles.correlations(X, np.array(columns))
    return shown | {"correlations": correlations.round().astype(int).tolist()}
