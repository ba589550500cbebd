"""Simulated binary classification with a known best set of columns.

Each design draws (X, signal, truth); `simulate` adds noise for a signal-to-noise ratio and cuts at
the median. All columns have unit variance, so no method profits from scale.
"""

import numpy as np


def correlated_blocks(rng, rows=500, columns=200, block=10, active=8, correlation=0.7):
    """Blocks of equally correlated columns; one column in each of the first blocks is active."""
    common = np.repeat(rng.standard_normal((rows, columns // block)), block, axis=1)
    own = rng.standard_normal((rows, columns))
    X = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    truth = block * np.arange(active) + rng.integers(block, size=active)
    return X, X[:, truth] @ signs(rng, active), truth


def suppressors(rng, rows=500, columns=100, pairs=4):
    """Pairs of a mixed column and a suppressor that has no relation to the target by itself.

    The mixed column holds signal and nuisance, the suppressor the nuisance only: it removes the
    nuisance from its partner, and only together do they tell the signal.
    """
    X = rng.standard_normal((rows, columns))
    mixed, cleaner = np.arange(pairs), pairs + np.arange(pairs)
    useful = X[:, mixed].copy()
    X[:, mixed] = (useful + X[:, cleaner]) / np.sqrt(2)
    return X, useful @ signs(rng, pairs), np.concatenate([mixed, cleaner])


def wide(rng, rows=200, columns=2000, active=5):
    """Far more columns than rows, neighbours correlated (autoregressive, 0.5)."""
    X = rng.standard_normal((rows, columns))
    for column in range(1, columns):
        X[:, column] = 0.5 * X[:, column - 1] + np.sqrt(0.75) * X[:, column]
    truth = rng.choice(columns, active, replace=False)
    return X, X[:, truth] @ signs(rng, active), truth


def groups(rng, rows=800, columns=200, group=4, active=3, correlation=0.3):
    """Whole groups of neighbouring columns are active, with unequal weights inside a group."""
    common = np.repeat(rng.standard_normal((rows, columns // group)), group, axis=1)
    own = rng.standard_normal((rows, columns))
    X = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    first = group * rng.choice(columns // group, active, replace=False)
    truth = (first[:, None] + np.arange(group)).ravel()
    weights = signs(rng, truth.size) * rng.uniform(0.7, 1.3, truth.size)
    return X, X[:, truth] @ weights, truth


def signs(rng, size):
    return rng.choice([-1.0, 1.0], size)


DESIGNS = {design.__name__: design for design in (correlated_blocks, suppressors, wide, groups)}


def simulate(name, ratio, seed):
    """(X, y, truth) of a design with signal-to-noise ratio `ratio`; columns shuffled."""
    rng = np.random.default_rng(seed)
    X, signal, truth = DESIGNS[name](rng)
    latent = signal + rng.standard_normal(signal.size) * np.sqrt(signal.var() / ratio)
    order = rng.permutation(X.shape[1])
    return X[:, order], (latent > np.median(latent)).astype(int), np.argsort(order)[truth]
