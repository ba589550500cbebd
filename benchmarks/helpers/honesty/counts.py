"""Whole numbers as targets: what is explained by default, relative to that of a regression."""

import numpy as np

from benchmarks.helpers.record import Figure
from featgrad import FeatureGradientSelector

N_ROWS = 2000


def targets(signal, rng):
    """Whole numbers that rise with a signal of variance 1."""
    for mean in (3, 10, 30, 100, 300):
        yield f"counts of mean {mean}", rng.poisson(mean * np.exp(0.3 * signal - 0.045))
    noisy = signal + rng.standard_normal(len(signal))
    yield "ages", np.clip(np.round(45 + 12 * noisy), 18, 95).astype(int)
    yield "delays", np.round(20 * np.exp(noisy / 2) - 30).astype(int)
    yield "prices", 10 * np.round(20 * np.exp(noisy / 2)).astype(int)


def figures(runs):
    found = {}
    for run in range(runs):
        rng = np.random.default_rng(run)
        X = rng.standard_normal((N_ROWS, 30))
        signal = X[:, :5].sum(axis=1) / np.sqrt(5)
        for name, y in targets(signal, rng):
            default, numbers = (
                FeatureGradientSelector(5, task=task, random_state=0).fit(X, y).learnability_.value
                for task in ("auto", "regression")
            )
            found.setdefault(name, []).append(default / numbers)
    for name, ratios in found.items():
        figure = Figure(
            "explained, of what task='regression' gives", np.mean(ratios), "", ">= 0.95"
        )
        yield name, N_ROWS, [figure]
