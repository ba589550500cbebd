"""The report as one self-contained HTML file."""

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple

from featgrad._support import Floats
from featgrad._support.wording import counted
from featgrad.estimates.diagnosis import Concern
from featgrad.estimates.estimate import Estimate, Score
from featgrad.report.pages import (
    asset,
    breakable,
    draw_curve,
    draw_heatmap,
    filled_page,
    from_template,
    write_page,
)
from featgrad.report.text import escape

# What gains mean depends on the rows that they come from.
_GAINS_OF_SAME_ROWS = "All rows chose the features: where rows are few, gains are too high."
_GAINS_OF_OTHER_ROWS = (
    "It comes from rows that had no part in choosing, and counts as far as the feature, or a "
    "near-copy of it, was found without them."
)


class Redundancy(NamedTuple):
    """Correlations among chosen features and those that they replace."""

    names: list[str]  # each chosen one is followed by those it replaces
    replaced_by: list[int]  # position in `names` of the chosen one; -1 for chosen ones
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
    path : tuple of PathPoint
        The selection at each size, in increasing order; without held-out rows, with estimates from
        the rows that chose. Features are positions in `names`.
    chosen : int
        Position in `path` of the selected size.
    everything : Estimate
        Fraction of the variance that all candidates together explain.
    table : dict
        What the script of the page shows, ready for JSON: of each candidate what it explains by
        itself, the share of missing values and of resamples that chose it, groups, distributions,
        and at each size gains, directions and the closest chosen feature.
    redundancy : Redundancy or None
        Correlations among the chosen and what they replace; None where there is one feature.
    concerns : tuple of Concern
        Warnings.
    """

    target: str | None
    settings: dict[str, str]
    search: dict[str, str]
    data: dict[str, str]
    provenance: dict[str, str]
    names: list[str]
    path: tuple[Any, ...]  # PathPoint, none without learnability
    chosen: int
    everything: Estimate
    table: dict[str, Any]
    redundancy: Redundancy | None = None
    concerns: tuple[Concern, ...] = ()

    @property
    def selection(self) -> Any:
        return self.path[self.chosen]

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
    here = facts.selection.learnability
    named = "" if facts.target is None else f"{facts.target}: "
    of_all = counted(facts.everything.n_features, "feature")
    is_same = here.is_optimistic or isnan(here.value)
    return filled_page(
        "page.html",
        f"{named}{facts.selection.size:,} of {of_all}",
        asset("page.js"),
        summary=_summary(facts),
        gains=_GAINS_OF_SAME_ROWS if is_same else _GAINS_OF_OTHER_ROWS,
        concerns=_concerns(facts),
        settings=_lines(facts.settings),
        search=_lines(facts.search),
        data=_lines(facts.data),
        provenance=_lines(facts.provenance),
        curve=draw_curve(facts.path, facts.chosen, facts.everything),
        path="\n".join(map(_path_row, facts.path)),
        redundancy="" if facts.redundancy is None else _redundancy(facts.redundancy),
        series="; ".join(
            f"<span class='s{k}'>{escape(name)}</span>"
            for k, name in enumerate(facts.table["series"])
        ),
        last=len(facts.path) - 1,
        chosen=facts.chosen,
        names=escape(", ".join(facts.names[i] for i in facts.selection.features)),
        facts=_json(facts.table),
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
    items = (f"<li><b>{escape(c.title)}.</b> {escape(str(c))}</li>" for c in facts.concerns)
    return f"<ul class='concerns'>{''.join(items)}</ul>"


def _path_row(point: Any) -> str:
    value, interval = point.learnability.value, point.learnability.interval
    known = (
        ("unknown", "") if isnan(value) else (f"{value:.1%}", "{:.1%} to {:.1%}".format(*interval))
    )
    cells = f"{point.size:,}", *known
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _redundancy(redundancy: Redundancy) -> str:
    items = []
    for i, (name, place) in enumerate(zip(*redundancy[:2], strict=True)):
        text = breakable(name)
        if place >= 0:
            correlation = redundancy.correlations[i, place]
            text += f" <span class='note'>replaced by {place + 1} ({correlation:.2f})</span>"
        items.append(f"<li class='{'replaced' if place >= 0 else 'in'}'>{text}</li>")
    heatmap = draw_heatmap(redundancy.correlations, redundancy.replaced_by)
    return from_template("redundancy.html", heatmap=heatmap, names="\n".join(items))


def _json(value: Any) -> str:
    """JSON that cannot close the script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
