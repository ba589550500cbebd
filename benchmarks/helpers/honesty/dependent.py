"""Rows that belong together, and rows in the order of time."""

import warnings
from itertools import product

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from benchmarks.helpers.honesty.coverage import Tally
from benchmarks.helpers.record import Figure
from featgrad import FeatureGradientSelector

NEW_CLUSTERS = 1000


def persons(seed):
    """Forty persons with ten rows each, and a target that is theirs and has no reason."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(40), 10)
    X = rng.standard_normal((40, 200))[groups] + 0.3 * rng.standard_normal((400, 200))
    return X, rng.integers(0, 2, 40)[groups], groups


def clustered(design, classes, n_clusters, seed):
    """Six of fifty columns matter; clusters share a part of the columns, of the noise, or both."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 19, n_clusters) if design == "unequal" else np.full(n_clusters, 10)
    groups = np.repeat(np.arange(n_clusters), sizes)
    in_columns, in_noise = {"noise": (0, 0.7), "columns": (0.7, 0)}.get(design, (0.5, 0.5))

    def shared(share, width):
        own = rng.standard_normal((len(groups), width))
        common = rng.standard_normal((n_clusters, width))[groups]
        return np.sqrt(share) * common + np.sqrt(1 - share) * own

    X = shared(in_columns, 50)
    y = X[:, :6] @ [1, 1, 0.8, 0.6, 0.4, 0.3] / 2 + shared(in_noise, 1)[:, 0]
    return X, (y > 0).astype(int) if classes else y, groups


def of_groups(runs):
    """Noise of persons, with and without groups; coverage in clustered designs."""
    contains, scores, warned = [], [], []
    for seed in range(runs):
        X, y, groups = persons(seed)
        [point] = FeatureGradientSelector(20, random_state=0).fit(X, y, groups=groups).path_
        low, high = point.learnability.interval
        contains.append(low <= 0 <= high)
        scores.append(point.score.value)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            FeatureGradientSelector(20, random_state=0).fit(X, y)
        warned.append(any("groups" in str(one.message) for one in caught))
    yield (
        "noise of 40 persons",
        400,
        [
            Figure("with groups the interval contains 0", 100 * np.mean(contains), "%", ">= 95"),
            Figure("with groups |AUC - 0.5|", abs(np.mean(scores) - 0.5), "", "<= 0.05"),
            Figure("without groups there is a warning", 100 * np.mean(warned), "%", ">= 95"),
        ],
    )
    for design, classes in product(("noise", "columns", "both", "unequal"), (False, True)):
        tally = Tally()
        for seed in range(runs):
            X, y, groups = clustered(design, classes, 60 + NEW_CLUSTERS, seed)
            known = groups < 60
            new = X[~known], y[~known]
            tally.add(X[known], y[known], *new, seed, sizes=[6], groups=groups[known])
        kind = "two classes" if classes else "numbers"
        yield f"60 clusters, {design}, {kind}", 600, tally.figures()


def of_time(runs):
    """Random walks that have nothing to do with each other."""
    contains = []
    for seed in range(runs):
        walks = np.random.default_rng(seed).standard_normal((500, 51)).cumsum(axis=0)
        selector = FeatureGradientSelector(5, cv=TimeSeriesSplit(4), random_state=0)
        low, high = selector.fit(walks[:, 1:], walks[:, 0]).learnability_.interval
        contains.append(low <= 0 <= high)
    share = 100 * np.mean(contains)
    yield "random walks in order", 500, [Figure("interval contains 0", share, "%", ">= 95")]
