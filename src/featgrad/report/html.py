"""The report as one self-contained HTML file.

Names of features are untrusted: text is escaped, the script of the page writes text nodes only, and
the content security policy blocks all other scripts.
"""

import html
import json
import os
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from featgrad.arrays import Floats, Indices
from featgrad.atomic import atomic_path
from featgrad.held_out import Score
from featgrad.report.curve import draw_curve
from featgrad.report.facts import Facts, SizeFacts
from featgrad.report.text import visible

# Correlation from which a chosen feature makes a rejected one redundant.
_REDUNDANT = 0.7


def write_report(facts: Facts, path: str | os.PathLike[str]) -> None:
    """Write a report that opens in any browser, from disk and without a network.

    Parameters
    ----------
    facts : Facts
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
    with atomic_path(path) as temporary:
        temporary.write_text(render(facts), encoding="utf-8")


def render(facts: Facts) -> str:
    script, style = _asset("page.js"), _asset("page.css")
    selection = facts.selection
    return Template(_asset("page.html")).substitute(
        script=script,
        style=style,
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'",
        headline=escape(f"{selection.size:,} of {len(facts.names):,} features"),
        explained=escape(str(selection.learnability)),
        score="" if selection.score is None else _score(selection.score),
        everything=escape(str(facts.everything)),
        concerns=_concerns(facts),
        settings=_lines(facts.settings),
        data=_lines(facts.data),
        provenance=_lines(facts.provenance),
        curve=draw_curve(facts),
        path=_path_rows(facts),
        groups=_asset("groups.html") if facts.groups else "",
        last=len(facts.sizes) - 1,
        chosen=facts.chosen,
        names=escape(", ".join(facts.names[i] for i in selection.features)),
        facts=_json(_compact(facts)),
    )


def escape(text: str) -> str:
    """For HTML, with control characters made visible."""
    return html.escape(visible(text))


def _score(score: Score) -> str:
    return escape(f"A ridge model on features so chosen predicts held-out rows with {score}.")


def _asset(name: str) -> str:
    return (files("featgrad.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _lines(lines: Mapping[str, str]) -> str:
    return "\n".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in lines.items())


def _concerns(facts: Facts) -> str:
    if not facts.concerns:
        return "<p>Nothing suspicious was found: no leak, no near-duplicates, no drift.</p>"
    items = (f"<li><b>{escape(c.title)}.</b> {escape(c.text)}</li>" for c in facts.concerns)
    return f"<ul class='concerns'>{''.join(items)}</ul>"


def _path_rows(facts: Facts) -> str:
    rows = []
    for point in facts.sizes:
        low, high = point.learnability.interval
        rows.append(
            f"<tr><td>{point.size:,}</td><td>{point.learnability.value:.1%}</td>"
            f"<td>{low:.1%} to {high:.1%}</td></tr>"
        )
    return "\n".join(rows)


def _compact(facts: Facts) -> dict[str, Any]:
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
        "stability": None if facts.stability is None else _scaled(facts.stability, 100),
        "sizes": sizes,
        "redundant": round(100 * _REDUNDANT),
    }


def _compact_size(point: SizeFacts, previous: Indices) -> dict[str, Any]:
    return {
        "added": np.setdiff1d(point.features, previous).tolist(),
        "dropped": np.setdiff1d(previous, point.features).tolist(),
        "explained": str(point.learnability),
        "gains": None if point.gains is None else _scaled(point.gains.values, 10_000),
        "errors": None if point.gains is None else _scaled(point.gains.standard_errors, 10_000),
        "nearest": None if point.nearest is None else point.nearest.tolist(),
        "correlation": None if point.correlation is None else _scaled(point.correlation, 100),
    }


def _scaled(values: Floats, factor: int) -> list[int]:
    return np.rint(values * factor).astype(int).tolist()  # type: ignore[no-any-return]


def _json(value: Any) -> str:
    """JSON that cannot close the script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
