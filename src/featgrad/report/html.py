"""The report as one self-contained HTML file."""

import html
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from featgrad._support.wording import counted, percent
from featgrad.estimates.diagnosis import Concern
from featgrad.estimates.estimate import Estimate, Score
from featgrad.report.pages import filled_page, write_page
from featgrad.report.text import escape, score_text

_SCRIPTS = "draw.js", "table.js", "pictures.js"
# What gains mean depends on the rows that they come from.
_GAINS_OF_SAME_ROWS = "All rows chose the features: where rows are few, gains are too high."
_GAINS_OF_OTHER_ROWS = (
    "It comes from rows that had no part in choosing, and counts as far as the feature, or a "
    "near-copy of it, was found without them."
)


@dataclass(frozen=True)
class ReportFacts:
    """Contents of a report, as `gather_facts` returns them.

    Attributes
    ----------
    names : list of str
        Names of the candidates.
    path : tuple of PathPoint
        The selection at each size, in increasing order; without held-out rows, with estimates from
        the rows that chose. Features are positions in `names`.
    selection : PathPoint
        That of the chosen size.
    """

    target: str | None
    settings: dict[str, str]  # label and text, as in the next three
    search: dict[str, str]
    data: dict[str, str]
    provenance: dict[str, str]
    names: list[str]
    path: tuple[Any, ...]  # PathPoint, none without learnability
    chosen: int  # position in the path
    everything: Estimate  # of all candidates
    table: dict[str, Any]  # what the scripts of the page show, ready for JSON
    concerns: tuple[Concern, ...] = ()
    reason: str = ""  # why so many features are chosen
    is_in_time: bool = False  # else drift is a note and no warning

    @property
    def selection(self) -> Any:
        return self.path[self.chosen]

    def _repr_html_(self) -> str:
        """The report in a frame of its own, for notebooks."""
        page = html.escape(render(self))
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" width="100%" '
            'height="700"></iframe>'
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
    drift = [c for c in facts.concerns if c.kind == "drift" and not facts.is_in_time]
    serious = [concern for concern in facts.concerns if concern not in drift]
    shown = {
        "chosen": facts.chosen,
        "candidates": facts.everything.n_features,
        "everything": drawn_estimate(facts.everything),
        "estimates": [
            drawn_estimate(point.learnability) | _drawn_score(point.score) for point in facts.path
        ],
    }
    return filled_page(
        "page.html",
        f"{named}{facts.selection.size:,} of {of_all}",
        _SCRIPTS,
        date=escape(facts.provenance.get("Date", "")),
        tiles="\n".join(tile(*one) for one in _tiles(facts, serious)),
        summary=_summary(facts),
        gains=_GAINS_OF_SAME_ROWS if is_same else _GAINS_OF_OTHER_ROWS,
        concerns=_listed(serious, "concerns") or "<p>Nothing suspicious was found.</p>",
        hidden="" if drift else " hidden",
        notes=_listed(drift, "note"),
        settings=_lines(facts.settings),
        search=_lines(facts.search),
        data=_lines(facts.data),
        provenance=_lines(facts.provenance),
        series="; ".join(
            f"<span class='s{k}'>{escape(name)}</span>"
            for k, name in enumerate(facts.table["series"])
        ),
        last=len(facts.path) - 1,
        position=facts.chosen,
        names=escape(", ".join(facts.names[i] for i in facts.selection.features)),
        facts=facts.table | shown,
    )


def _tiles(facts: ReportFacts, serious: Sequence[Concern]) -> Iterator[tuple[str, ...]]:
    """What matters most, each with the section that says more: its name, title, value and text."""
    point, of_all = facts.selection, f"of {facts.everything.n_features:,}"
    here = point.learnability
    likely = "too few rows" if isnan(here.value) else " to ".join(map(percent, here.interval))
    likely = "too high: of the rows that chose" if here.is_optimistic else likely
    likely = likely if point.size else "by no features"
    yield "sizes", "Explained", percent(here.value), likely
    if point.score is not None and point.size:
        title = {"R2": "Predicted (R²)", "AUC": "Ranked right (AUC)"}[point.score.name]
        value, error = score_text(point.score).split(" ", 1)[1].split(" ± ")
        yield "held-out", title, value, f"± {error}, held-out rows"
    yield "table", "Features", f"{point.size:,} {of_all}", facts.reason
    titles = "; ".join(concern.title.lower() for concern in serious)
    yield "warnings", "Warnings", f"{len(serious)}" if serious else "none", titles


def tile(section: str, title: str, value: str, text: str) -> str:
    parts = {"title": title, "value": value, "text": text}
    kind = " class='serious'" if section == "warnings" and text else ""
    spans = "".join(f"<span class='{k}'>{escape(part)}</span>" for k, part in parts.items())
    return f"<a href='#{section}'{kind}>{spans}</a>"


def drawn_estimate(estimate: Estimate) -> dict[str, Any]:
    """For the script: null where nothing is known."""
    if isnan(estimate.value):
        return {"value": None, "text": "unknown"}
    low, high = estimate.interval
    return {"value": estimate.value, "low": low, "high": high, "text": str(estimate)}


def _drawn_score(score: Score | None) -> dict[str, Any]:
    """An R^2 is in the unit of what is explained, so that both have one picture."""
    text = None if score is None else score_text(score)
    return {"score": text, "r2": score.value if score is not None and score.name == "R2" else None}


def _summary(facts: ReportFacts) -> str:
    """What is explained, of what, and how this is known."""
    here, target = facts.selection.learnability, "the target"
    target = target if facts.target is None else f"“{escape(facts.target)}”"
    everything = f"all candidates together explain <b>{facts.everything}</b>"
    if isnan(facts.everything.value):
        everything = "how much all candidates together explain is unknown"
    scale = "In brackets is the 95% interval."
    if facts.selection.size == 0:
        return f"No features were chosen. Of the variance of {target}, {everything}. {scale}"
    if isnan(here.value):
        return (
            f"There are too few rows to say how much of the variance of {target} the chosen "
            f"features explain; {everything}. {scale}"
        )
    known = "estimated from rows that had no part in choosing"
    if here.is_optimistic:
        known = "too high, as it was estimated from the rows that chose the features"
    return (
        f"The chosen features explain <b>{here}</b> of the variance of {target}; "
        f"{everything}. {scale} The first figure is what the best linear model on them could "
        f"explain on new rows, {known}."
    )


def _lines(lines: Mapping[str, str]) -> str:
    return "\n".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in lines.items())


def _listed(concerns: Sequence[Concern], kind: str) -> str:
    items = (f"<li><b>{escape(c.title)}.</b> {escape(str(c))}</li>" for c in concerns)
    return f"<ul class='{kind}'>{''.join(items)}</ul>" if concerns else ""
