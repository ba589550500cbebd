"""ReportFacts of a made-up selection, of any size, without any data."""

from dataclasses import replace

import numpy as np

from featgrad import Estimate
from featgrad.moments.least_squares import Gains
from featgrad.report.html import Redundancy, ReportFacts, SizeFacts
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
    correlation = np.zeros(count)
    correlation[-1] = 0.98
    points = [
        SizeFacts(
            np.arange(size),
            estimate(1 - 1 / (1 + size), size),
            gains=Gains(np.linspace(0.1, 0.2, size), np.full(size, 0.01)),
            effects=np.resize([0.5, -0.5], size),
            nearest=np.zeros(count, dtype=np.intp),
            correlation=correlation,
        )
        for size in sizes
    ]
    given = {
        "target": "price",
        "settings": {"Features": "2"},
        "search": {"Search": "working_set"},
        "data": {"Rows": "10"},
        "provenance": {"Seed": "0"},
        "names": names,
        "univariate": np.linspace(0.5, 0.0, count),
        "sizes": tuple(points),
        "chosen": chosen,
        "everything": estimate(0.9, count),
        "missing": np.linspace(0.5, 0.0, count),
        "series": ("mean of price",),
        "profiles": {0: profile([0.1, 0.4, np.nan]), 1: profile([0.3, 0.2, 0.1])},
        "redundancy": Redundancy(
            np.array([0, count - 1, 1]),
            np.array([-1, 0, -1]),
            np.array([[1, 0.98, -0.5], [0.98, 1, -0.4], [-0.5, -0.4, 1]]),
        ),
    }
    return ReportFacts(**(given | changes))


def many_facts(count: int) -> ReportFacts:
    """As `gather_facts` leaves them for many candidates: correlations at the chosen size only."""
    rng = np.random.default_rng(0)
    names = [f"feature_{i:06d}" for i in range(count)]
    sizes = [2**i for i in range(14)]
    made = facts(names, sizes, chosen=7, univariate=rng.random(count), stability=rng.random(count))
    chosen = replace(
        made.selection,
        nearest=rng.integers(made.selection.size, size=count),
        correlation=rng.uniform(-1, 1, size=count),
    )
    bare = [replace(point, gains=None, nearest=None, correlation=None) for point in made.sizes]
    bare[7] = chosen
    return replace(made, sizes=tuple(bare))
