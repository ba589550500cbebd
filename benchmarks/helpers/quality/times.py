"""Processor seconds of this library divided by those of peers, on each set."""

from collections import defaultdict

import numpy as np

from benchmarks.helpers.quality import tables

# Columns of the table; the first of several names that a set has is taken.
PEERS = {
    "16-point L1 path": ("l1_path_16",),
    "L1 path (lasso for regression)": ("l1_path", "lasso"),
    "forward": ("forward",),
}
# Seconds below which a peer's time is noise.
SHORTEST = 1e-3


def mean_seconds(cells):
    """{set: {selector: processor seconds, mean over splits}}."""
    collected = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if "seconds" in cell:
            collected[cell["set"]][cell["selector"]].append(cell["seconds"])
    return {
        name: {selector: float(np.mean(values)) for selector, values in selectors.items()}
        for name, selectors in collected.items()
    }


def ratios(cells):
    """{set: {column of the table: seconds of the reference / seconds of the peer}}."""
    result = {}
    for name, seconds in mean_seconds(cells).items():
        if tables.REFERENCE in seconds:
            result[name] = {
                column: seconds[tables.REFERENCE] / max(seconds[peer], SHORTEST)
                for column, names in PEERS.items()
                for peer in [next((each for each in names if each in seconds), None)]
                if peer
            }
    return result


def extremes(by_set):
    """Median and maximum over sets: {"median": {column: ratio}, "maximum": ...}."""
    columns = {
        column: [found[column] for found in by_set.values() if column in found] for column in PEERS
    }
    return {
        label: {column: float(of(values)) for column, values in columns.items() if values}
        for label, of in (("median", np.median), ("maximum", np.max))
    }
