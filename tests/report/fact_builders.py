"""ReportFacts of a made-up selection, of any size, without any data."""

from dataclasses import replace

import numpy as np

from featgrad import Estimate
from featgrad._support.wording import visible
from featgrad.estimates.estimate import PathPoint
from featgrad.moments.least_squares import Gains
from featgrad.report.facts import _drawn, _scaled
from featgrad.report.html import ReportFacts
from featgrad.report.profiles import Profile


def estimate(value: float, size: int) -> Estimate:
    return Estimate(value, 0.02, size, 4)


def profile(means: list[float]) -> Profile:
    """Of three bins."""
    column = np.array(means)[:, None]
    return Profile(["0 to 1", "1 to 2", "2 to 3"], np.array([6, 8, 2]), column, 0.01 + 0 * column)


def facts(names: list[str], sizes=(1, 2, 4), chosen: int = 1, **changes) -> ReportFacts:
    """Of size k the first k features are chosen; the last feature is like the first."""
    count = len(names)
    correlation = [0] * (count - 1) + [98]
    path = [
        PathPoint(
            size,
            np.arange(size),
            estimate(1 - 1 / (1 + size), size),
            gains=Gains(np.linspace(0.1, 0.2, size), np.full(size, 0.01)),
        )
        for size in sizes
    ]
    shown = [
        {
            "added": np.arange(before, size).tolist(),
            "dropped": [],
            "gains": _scaled(point.gains.values, 10_000),
            "errors": [100] * size,
            "signs": np.resize([1, -1], size).tolist(),
            "nearest": [0] * count,
            "correlation": correlation,
        }
        for before, size, point in zip((0, *sizes), sizes, path, strict=False)
    ]
    table = {
        "names": [visible(name) for name in names],
        "univariate": _scaled(np.linspace(0.5, 0.0, count), 1000),
        "groups": [],
        "stability": None,
        "missing": _scaled(np.linspace(0.5, 0.0, count), 1000),
        "series": ["mean of price"],
        **_drawn({0: profile([0.1, 0.4, np.nan]), 1: profile([0.3, 0.2, 0.1])}),
        "sizes": shown,
        "held_out": None,
        "best": None,
        "redundancy": {
            "names": [visible(names[i]) for i in ((0, -1, 1) if count > 1 else (0, 0, 0))],
            "replaced_by": [-1, 0, -1],
            "correlations": [[100, 98, -50], [98, 100, -40], [-50, -40, 100]],
        },
        "constructed": [],
        "redundant": 70,
        "related": 30,
    }
    given = {
        "target": "price",
        "settings": {"Features": "2"},
        "search": {"Search": "working_set"},
        "data": {"Rows": "10"},
        "provenance": {"Seed": "0", "Date": "2026-11-01"},
        "reason": "2 suffice, 4 is best",
        "names": names,
        "path": tuple(path),
        "chosen": chosen,
        "everything": estimate(0.9, count),
    }
    of_table = {name: changes.pop(name) for name in table.keys() & changes.keys() - {"names"}}
    return ReportFacts(**(given | {"table": table | of_table} | changes))


def many_facts(count: int) -> ReportFacts:
    """As `gather_facts` leaves them for many candidates: correlations at the chosen size only."""
    rng = np.random.default_rng(0)
    names = [f"feature_{i:06d}" for i in range(count)]
    sizes = [2**i for i in range(14)]
    shares = {"univariate": _scaled(rng.random(count), 1000)}
    shares["stability"] = _scaled(rng.random(count), 100)
    made = facts(names, sizes, chosen=7, **shares)
    bare = [
        size | {"gains": None, "errors": None, "nearest": None, "correlation": None}
        for size in made.table["sizes"]
    ]
    bare[7] = made.table["sizes"][7] | {
        "nearest": rng.integers(sizes[7], size=count).tolist(),
        "correlation": _scaled(rng.uniform(-1, 1, size=count), 100),
    }
    return replace(made, table=made.table | {"sizes": bare})
