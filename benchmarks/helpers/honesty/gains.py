"""Whether gains rank features as new rows do."""

import numpy as np
from scipy.stats import spearmanr

from benchmarks.helpers.honesty.coverage import TEST_ROWS, New, real_sets
from benchmarks.helpers.record import Figure
from featgrad import FeatureGradientSelector
from featgrad.math.targets import encode


def figures(runs):
    """Rank correlation with what new rows lose, and gains that are clearly negative."""
    medians, negative = [], 0
    for _, X, y in real_sets():
        if X.shape[1] < 20:
            continue
        outputs, _ = encode(y, "auto")
        ranks = []
        for seed in range(runs):
            order = np.random.default_rng(seed).permutation(len(y))
            half = min(len(y) // 2, TEST_ROWS)
            here, there = order[:half], order[half : 2 * half]
            [point] = FeatureGradientSelector(15, random_state=seed).fit(X[here], y[here]).path_
            new = New(X[here], outputs[here], X[there], outputs[there], point.features)
            ranks.append(spearmanr(point.gains.values, new.gains()).statistic)
            negative += np.sum(point.gains.values < -2 * point.gains.standard_errors)
        medians.append(np.median(ranks))
    yield (
        "gains on real sets",
        TEST_ROWS,
        [
            Figure("rank correlation with what new rows lose", np.median(medians), "", ">= 0.6"),
            Figure("gains below 0 by two errors", negative, "", "<= 0"),
        ],
    )
