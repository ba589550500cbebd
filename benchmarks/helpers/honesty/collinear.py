"""All columns where these are nearly dependent: `Learnability.estimate`."""

from itertools import product

import numpy as np

from benchmarks.helpers.honesty.coverage import real_sets
from benchmarks.helpers.record import Figure
from featgrad import Learnability


def figures(runs):
    """Differences of correlated columns, in pairs and blocks; then images."""
    for r, width, n_rows in product((0.8, 0.95, 0.99), (2, 10), (60, 5000)):
        covered = []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            common = np.repeat(rng.standard_normal((n_rows, 10)), width, axis=1)
            X = np.sqrt(r) * common + np.sqrt(1 - r) * rng.standard_normal(common.shape)
            y = (X[:, 0] - X[:, 1]) / np.sqrt(2 * (1 - r)) + rng.standard_normal(n_rows)
            covered.append(covers_or_is_unknown(Learnability(X, y).estimate(), 0.5))
        yield f"blocks of {width}, r = {r}", n_rows, [figure(covered)]
    for name, X, y in real_sets():
        for n_rows in (100, 1000) if name == "mnist35_noisy" else ():
            covered = []
            for seed in range(runs):
                order = np.random.default_rng(seed).permutation(len(y))
                here, there = order[:n_rows], order[n_rows:]
                truth = Learnability(X[there], y[there]).estimate()
                found = Learnability(X[here], y[here]).estimate()
                covered.append(covers_or_is_unknown(found, truth.value, truth.standard_error))
            yield name, n_rows, [figure(covered)]


def covers_or_is_unknown(found, expected, error=0.0):
    low, high = found.interval
    wider = 1.96 * error
    covers = low - wider <= expected <= high + wider
    return covers or found.is_lower_bound or np.isnan(found.value)


def figure(covered):
    name = "covers, is unknown or a lower bound"
    return Figure(name, 100 * np.mean(covered), "%", ">= 90")
