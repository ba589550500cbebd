"""Processor seconds of estimates."""

import time

import numpy as np
from sklearn.linear_model import LassoCV, LogisticRegressionCV

from benchmarks.helpers.datasets import REGISTRY
from benchmarks.helpers.honesty.coverage import drawn
from benchmarks.helpers.record import Figure
from featgrad import FeatureGradientSelector

SETS = ("pcmac", "dexter", "colon", "madelon", "news_graphics_windows", "mnist35_noisy")


def seconds(model, X, y):
    """Processor seconds of a fit."""
    begun = time.process_time()
    model.fit(X, y)
    return time.process_time() - begun


def figures(runs):
    """One size with an estimate beside the search alone; "auto" beside cross-validated peers."""
    ratios = []
    for name in SETS:
        if REGISTRY[name].missing():
            continue
        _, split = next(iter(REGISTRY[name].splits()))
        X, y = split.X_train, split.y_train
        bare, whole = (
            min(seconds(FeatureGradientSelector(20, estimate=each), X, y) for _ in range(runs))
            for each in (False, True)
        )
        ratios.append(whole / bare)
        yield name, X.shape[0], [Figure("time with an estimate", ratios[-1], "x the search")]
    yield (
        f"{len(ratios)} sets",
        0,
        [Figure("time with an estimate, median", np.median(ratios), "x the search", "<= 3")],
    )
    logistic = LogisticRegressionCV(
        l1_ratios=(1.0,), solver="liblinear", scoring="roc_auc", use_legacy_attributes=False
    )
    for n_rows, n_columns in ((70, 6000), (6000, 784)):
        X, y = drawn("independent", n_rows, n_columns, 0)
        for peer, target in ((LassoCV(), y), (logistic, (y > 0).astype(int))):
            auto, theirs = (seconds(each, X, target) for each in (FeatureGradientSelector(), peer))
            figure = Figure('time of "auto"', auto / theirs, f"x {type(peer).__name__}", "<= 3")
            yield f"{n_columns} columns", n_rows, [figure]
