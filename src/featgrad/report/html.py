"""The report as one self-contained HTML file."""

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np

from featgrad._support.types import Floats, Indices
from featgrad.estimates.estimate import Estimate, Score
from featgrad.moments.least_squares import Gains
from featgrad.report.pages import (
    asset,
    breakable,
    draw_curve,
    draw_heatmap,
    filled_page,
    from_template,
    write_page,
)
from featgrad.report.profiles import REDUNDANT, Profile
from featgrad.report.text import Group, counted, escape, number_text, visible
from featgrad.report.warnings import Concern

# What gains mean depends on the rows that they come from.
_GAINS_OF_SAME_ROWS = "All rows chose the features: where rows are few, gains are too high."
_GAINS_OF_OTHER_ROWS = (
    "It comes from rows that had no part in choosing, and counts as far as the feature, or a "
    "near-copy of it, was found without them."
)
# Correlation from which the closest chosen feature is named.
_RELATED = 0.3


@dataclass(frozen=True)
class SizeFacts:
    """The selection at one size; what would take too long is None."""

    features: Indices  # the chosen columns, sorted
    learnability: Estimate
    score: Score | None = None  # of a ridge model on them
    gains: Gains | None = None  # explained fraction that is lost without each feature or its group
    effects: Floats | None = None  # of each feature in a ridge model, if the target is one number
    # Position in `features` of the chosen feature that each candidate correlates with most, -1 for
    # none, and that correlation.
    nearest: Indices | None = None
    correlation: Floats | None = None

    @property
    def size(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class Redundancy:
    """Correlations among chosen features and those that they replace."""

    features: Indices  # each chosen one is followed by those it replaces
    replaced_by: Indices  # position in `features` of the chosen one; -1 for chosen ones
    correlations: Floats


@dataclass(frozen=True)
class ReportFacts:
    """Contents of a report.

    Attributes
    ----------
    target : str or None
        Name of the target, where it has one.
    settings, search, data, provenance : dict of str to str
        Settings of the selector, how the search ran, summary of the data, how to reproduce the
        selection: label and text.
    names : list of str
        Names of the candidates.
    univariate : ndarray
        Fraction of the variance that each candidate explains by itself.
    sizes : tuple of SizeFacts
        The selection at each size, in increasing order.
    chosen : int
        Position in `sizes` of the selected size.
    everything : Estimate
        Fraction of the variance that all candidates together explain.
    missing : ndarray or None
        Share of the rows in which each candidate is missing; None where nothing is.
    series : tuple of str
        What profiles show of the target.
    profiles : dict of int to Profile
        Distribution of some candidates, and of the target over their values. A group is found by
        its first feature.
    redundancy : Redundancy or None
        Correlations among the chosen and what they replace; None where there is one feature.
    stability : ndarray or None
        Share of resamples in which each candidate was chosen.
    groups : tuple of Group
        Groups of features.
    concerns : tuple of Concern
        Warnings.
    """

    target: str | None
    settings: dict[str, str]
    search: dict[str, str]
    data: dict[str, str]
    provenance: dict[str, str]
    names: list[str]
    univariate: Floats
    sizes: tuple[SizeFacts, ...]
    chosen: int
    everything: Estimate
    missing: Floats | None = None
    series: tuple[str, ...] = ()
    profiles: dict[int, Profile] = field(default_factory=dict)
    redundancy: Redundancy | None = None
    stability: Floats | None = None
    groups: tuple[Group, ...] = ()
    concerns: tuple[Concern, ...] = ()

    @property
    def selection(self) -> SizeFacts:
        return self.sizes[self.chosen]

    def _repr_html_(self) -> str:
        """The report in a frame of its own, for notebooks."""
        page = html.escape(render(self))
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="700"></iframe>'
        )


def write_report(facts: ReportFacts, path: str | os.PathLike[str]) -> None:
    """Write a report that opens in any browser, from disk and without a network.

    Parameters
    ----------
    facts : ReportFacts
        From `gather_facts`.
    path : str or path-like
        The HTML file; an existing one is replaced once the new one is complete.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from featgrad import FeatureGradientSelector
    >>> from featgrad.report import gather_facts, write_report
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> selector = FeatureGradientSelector(3, random_state=0).fit(X, y)
    >>> write_report(gather_facts(selector, X, y), "report.html")  # doctest: +SKIP
    """
    write_page(render(facts), path)


def render(facts: ReportFacts) -> str:
    script, here = asset("page.js"), facts.selection.learnability
    named = "" if facts.target is None else f"{facts.target}: "
    of_all = counted(facts.everything.n_features, "feature")
    is_same = here.is_optimistic or isnan(here.value)
    return filled_page(
        "page.html",
        f"{named}{facts.selection.size:,} of {of_all}",
        script,
        summary=_summary(facts),
        gains=_GAINS_OF_SAME_ROWS if is_same else _GAINS_OF_OTHER_ROWS,
        concerns=_concerns(facts),
        settings=_lines(facts.settings),
        search=_lines(facts.search),
        data=_lines(facts.data),
        provenance=_lines(facts.provenance),
        curve=draw_curve(facts.sizes, facts.chosen, facts.everything),
        path="\n".join(map(_path_row, facts.sizes)),
        redundancy="" if facts.redundancy is None else _redundancy(facts, facts.redundancy),
        series="; ".join(
            f"<span class='s{k}'>{escape(name)}</span>" for k, name in enumerate(facts.series)
        ),
        last=len(facts.sizes) - 1,
        chosen=facts.chosen,
        names=escape(", ".join(facts.names[i] for i in facts.selection.features)),
        facts=_json(_compact(facts)),
    )


def _summary(facts: ReportFacts) -> str:
    """What is explained, of what, and how this is known."""
    selection, here = facts.selection, facts.selection.learnability
    target = "the target" if facts.target is None else f"“{escape(facts.target)}”"
    everything = f"all candidates together explain <b>{escape(str(facts.everything))}</b>"
    scale = "1 would be all of it, and in brackets is the 95 % interval."
    if selection.size == 0:
        return f"No features were chosen. Of the variance of {target}, {everything}: {scale}"
    if isnan(here.value):
        return (
            f"There are too few rows to say how much of the variance of {target} the chosen "
            f"features explain; {everything}. {scale}"
        )
    known = "estimated from rows that had no part in choosing"
    if here.is_optimistic:
        known = "too high, as it was estimated from the rows that chose the features"
    return (
        f"The chosen features explain <b>{escape(str(here))}</b> of the variance of {target}; "
        f"{everything}. {scale} The first figure is what the best linear model on them could "
        f"explain on new rows, {known}. "
    ) + ("" if selection.score is None else _score(selection.score))


def _score(score: Score) -> str:
    name = {"R2": "an R² of", "AUC": "an area under the ROC curve (AUC) of"}[score.name]
    return (
        f"A ridge model on features chosen in this way predicts held-out rows with {name} "
        f"{score.value:.3f} ± {score.standard_error:.3f}."
    )


def _lines(lines: Mapping[str, str]) -> str:
    return "\n".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in lines.items())


def _concerns(facts: ReportFacts) -> str:
    if not facts.concerns:
        return "<p>Nothing suspicious was found: no leak, no near-duplicates, no drift.</p>"
    items = (f"<li><b>{escape(c.title)}.</b> {escape(c.text)}</li>" for c in facts.concerns)
    return f"<ul class='concerns'>{''.join(items)}</ul>"


def _path_row(point: SizeFacts) -> str:
    interval = "{:.1%} to {:.1%}".format(*point.learnability.interval)
    cells = f"{point.size:,}", f"{point.learnability.value:.1%}", interval
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _redundancy(facts: ReportFacts, redundancy: Redundancy) -> str:
    items = []
    for i, place in enumerate(redundancy.replaced_by):
        text = breakable(facts.names[redundancy.features[i]])
        if place >= 0:
            correlation = redundancy.correlations[i, place]
            text += f" <span class='note'>replaced by {place + 1} ({correlation:.2f})</span>"
        items.append(f"<li class='{'replaced' if place >= 0 else 'in'}'>{text}</li>")
    heatmap = draw_heatmap(redundancy.correlations, redundancy.replaced_by)
    return from_template("redundancy.html", heatmap=heatmap, names="\n".join(items))


def _compact(facts: ReportFacts) -> dict[str, Any]:
    """Integers in place of fractions, and each set as its difference from the previous one."""
    sizes = []
    previous: Indices = np.zeros(0, dtype=np.intp)
    for point in facts.sizes:
        sizes.append(_compact_size(point, previous))
        previous = point.features
    return {
        "names": [visible(name) for name in facts.names],
        "univariate": _scaled(facts.univariate, 1000),
        "groups": [
            {"name": visible(g.name), "features": g.features.tolist()} for g in facts.groups
        ],
        "stability": _scaled(facts.stability, 100),
        "missing": _scaled(facts.missing, 1000),
        "series": [visible(name) for name in facts.series],
        **_drawn(facts.profiles),
        "sizes": sizes,
        "redundant": round(100 * REDUNDANT),
        "related": round(100 * _RELATED),
    }


def _drawn(profiles: Mapping[int, Profile]) -> dict[str, Any]:
    """Profiles with the means in ten-thousandths of their common range, and that range."""
    ends = [each.means + side * each.errors for each in profiles.values() for side in (-1, 1)]
    known = np.concatenate([np.zeros(0), *(end[~np.isnan(end)] for end in ends)])
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    span = (high - low) or 1.0
    drawn = {
        i: {
            "bins": [visible(name) for name in profile.bins],
            "counts": profile.counts.tolist(),
            "means": [_scaled((row - low) / span, 10_000) for row in profile.means],
            "errors": [_scaled(row / span, 10_000) for row in profile.errors],
        }
        for i, profile in profiles.items()
    }
    shown = [number_text(low), number_text(high)]
    return {"profiles": drawn, "range": shown, "low": low, "span": span}


def _compact_size(point: SizeFacts, previous: Indices) -> dict[str, Any]:
    gains, errors = (None, None) if point.gains is None else point.gains
    return {
        "added": np.setdiff1d(point.features, previous).tolist(),
        "dropped": np.setdiff1d(previous, point.features).tolist(),
        "explained": str(point.learnability),
        "gains": _scaled(gains, 10_000),
        "errors": _scaled(errors, 10_000),
        "signs": None if point.effects is None else np.sign(point.effects).astype(int).tolist(),
        "nearest": None if point.nearest is None else point.nearest.tolist(),
        "correlation": _scaled(point.correlation, 100),
    }


def _scaled(values: Floats | None, factor: int) -> list[int] | None:
    """Whole numbers; None where something is unknown."""
    if values is None or np.isnan(values).any():
        return None
    return np.rint(values * factor).astype(int).tolist()  # type: ignore[no-any-return]


def _json(value: Any) -> str:
    """JSON that cannot close the script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
