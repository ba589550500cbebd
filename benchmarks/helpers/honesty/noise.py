"""Columns that have nothing to do with the target."""

from itertools import product

import numpy as np

from benchmarks.helpers.record import Figure
from featgrad import FeatureGradientSelector

PREVALENCES = (0.01, 0.03, 0.1, 0.3, 0.5, None)  # None: numbers
ROWS = (100, 300, 1000)
COLUMNS = (200, 2000)
SIZE = 20


def drawn(n_rows, n_columns, prevalence, seed):
    rng = np.random.default_rng([seed, n_rows, n_columns])
    X = rng.standard_normal((n_rows, n_columns))
    if prevalence is None:
        return X, rng.standard_normal(n_rows)
    # Each class has to be there in more than one held-out part.
    y = np.arange(n_rows) < max(3, round(prevalence * n_rows))
    return X, rng.permutation(y).astype(int)


def figures(runs):
    """Cell by cell, then over all cells.

    Outer cross-validation gives an AUC of 0.5 on average: what is printed is compared with that.
    """
    cells = []
    for n_rows, n_columns, prevalence in product(ROWS, COLUMNS, PREVALENCES):
        found = np.array([one(*drawn(n_rows, n_columns, prevalence, run)) for run in range(runs)])
        excludes, chooses, score = found.mean(axis=0)
        error = found[:, 2].std() / np.sqrt(runs)
        cells.append((excludes, chooses, score - 2 * error if prevalence else 0.0))
        kind = f"{prevalence:.0%} positive" if prevalence else "numbers"
        figures = [Figure("interval excludes 0", 100 * excludes, "%")]
        figures.append(Figure('"auto" is not empty', 100 * chooses, "%"))
        if prevalence:
            figures.append(Figure("AUC above 0.5", score, ""))
            figures.append(Figure("AUC above 0.5, standard error", error, ""))
        yield f"noise, {n_columns} columns, {kind}", n_rows, figures
    excludes, chooses, above = np.array(cells).T
    yield (
        "noise, all",
        max(ROWS),
        [
            Figure("interval excludes 0", 100 * excludes.mean(), "%", "<= 5"),
            Figure('"auto" is not empty', 100 * chooses.mean(), "%", "<= 10"),
            Figure(
                "AUC above 0.5 by more than two errors, most of a cell", above.max(), "", "<= 0.02"
            ),
        ],
    )


def one(X, y):
    """Whether the interval excludes 0 and "auto" chooses something, and the score above chance."""
    [point] = FeatureGradientSelector(SIZE, random_state=0).fit(X, y).path_
    low, high = point.learnability.interval
    auto = FeatureGradientSelector(random_state=0, estimate=False).fit(X, y)
    return low > 0 or high < 0, auto.n_features_ > 0, point.score.value - 0.5
