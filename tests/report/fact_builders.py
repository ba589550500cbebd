"""Facts of a made-up selection, of any size, without any data."""

from dataclasses import replace

import numpy as np

from featgrad import Estimate
from featgrad.moments.least_squares import Gains
from featgrad.report.facts import Facts, SizeFacts


def estimate(value: float, size: int) -> Estimate:
    return Estimate(value, 0.02, size, 4)


def facts(names: list[str], sizes=(1, 2, 4), chosen: int = 1, **changes) -> Facts:
    """Of size k the first k features are chosen; the last feature is like the first."""
    count = len(names)
    correlation = np.zeros(count)
    correlation[-1] = 0.98
    points = [
        SizeFacts(
            np.arange(size),
            estimate(1 - 1 / (1 + size), size),
            gains=Gains(np.linspace(0.1, 0.2, size), np.full(size, 0.01)),
            nearest=np.zeros(count, dtype=np.intp),
            correlation=correlation,
        )
        for size in sizes
    ]
    given = {
        "settings": {"Features": "2"},
        "data": {"Rows": "10"},
        "provenance": {"Seed": "0"},
        "names": names,
        "univariate": np.linspace(0.5, 0.0, count),
        "sizes": tuple(points),
        "chosen": chosen,
        "everything": estimate(0.9, count),
    }
    return Facts(**(given | changes))


def many_facts(count: int) -> Facts:
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
