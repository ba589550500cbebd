"""Build the regression sets.

The simulated ones take a seed and return (X_train, y_train, X_test, y_test), drawn anew for every
split; `TEST_ROWS` rows are for test. Noise has half the variance of the signal.
"""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import PolynomialFeatures

from benchmarks.helpers.designs import signs
from benchmarks.helpers.sources import read_staged
from featgrad._support.array_api import dense

TEST_ROWS = 1000
ACTIVE = 10
NOISE_SHARE = 0.5
CENTRAL_PIXEL = 28 * 14 + 14


def diabetes_products():
    """Diabetes with all squares and pairwise products: (X, y), 65 columns."""
    X, y = load_diabetes(return_X_y=True)
    return PolynomialFeatures(2, include_bias=False).fit_transform(X), y


def covtype_elevation():
    """Elevation from the other columns of CoverType: (X, y)."""
    X, _ = read_staged("covtype")
    return X[:, 1:], X[:, 0]


def mnist_pixel():
    """The central pixel of a digit from all others, the first 5,000 training rows."""
    parts = []
    for name, rows in (("mnist_train", 5_000), ("mnist_test", None)):
        X = read_staged(name)[0][:rows] / 255
        parts += [np.delete(X, CENTRAL_PIXEL, axis=1), X[:, CENTRAL_PIXEL]]
    return tuple(parts)


def one_target(stem, target=None):
    """One of several targets of a staged set, where it is measured; that of most rows: (X, y)."""
    X, Y = read_staged(stem)
    X = dense(X)
    there = np.isfinite(Y)
    target = there.sum(axis=0).argmax() if target is None else target
    return X[there[:, target]], Y[there[:, target], target]


def chicago_ridership():
    """Passengers of a station from those of others two weeks before; the last third for test."""
    X, y = read_staged("chicago_ridership")
    cut = 2 * len(y) // 3
    return X[:cut], y[:cut], X[cut:], y[cut:]


def friedman1(seed, rows=1000, columns=200):
    """Friedman's first function of five uniform columns, one product and one square among them."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows + TEST_ROWS, columns))
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return divided(X, signal + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(len(X)))


def autoregressive(seed, rows=500, columns=1000, correlation=0.9):
    """Neighbouring columns correlated by 0.9."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows + TEST_ROWS, columns))
    for column in range(1, columns):
        X[:, column] *= np.sqrt(1 - correlation**2)
        X[:, column] += correlation * X[:, column - 1]
    return divided(X, sparse_target(rng, X))


def skewed(seed, rows=500, columns=300):
    """Lognormal columns; the target is linear in them as they are."""
    rng = np.random.default_rng(seed)
    X = rng.lognormal(size=(rows + TEST_ROWS, columns))
    return divided(X, sparse_target(rng, X))


def heavy_tails(seed, rows=500, columns=300):
    """Columns of Student's t with 2.5 degrees of freedom."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2.5, size=(rows + TEST_ROWS, columns))
    return divided(X, sparse_target(rng, X))


def outliers(seed, rows=1000, columns=300):
    """Gaussian columns; 5 % of training targets are off by five standard deviations.

    More would leave the judge, which is fitted on the same targets, nothing to find.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows + TEST_ROWS, columns))
    y = sparse_target(rng, X)
    wrong = rng.choice(rows, rows // 20, replace=False)
    y[wrong] += 5 * y.std() * signs(rng, wrong.size)
    return divided(X, y)


def sparse_target(rng, X):
    """A sum of a few random columns with random signs, and Gaussian noise."""
    active = rng.choice(X.shape[1], ACTIVE, replace=False)
    signal = X[:, active] @ signs(rng, ACTIVE)
    return signal + np.sqrt(NOISE_SHARE) * signal.std() * rng.standard_normal(len(X))


def divided(X, y):
    """Training rows first, then test rows."""
    return X[:-TEST_ROWS], y[:-TEST_ROWS], X[-TEST_ROWS:], y[-TEST_ROWS:]
