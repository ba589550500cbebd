"""Time of a search beside an L1-logistic fit on the same data, measured in one run.

    python -m benchmarks.cost

Processor seconds with one thread: on a shared machine they say more than the clock.
"""

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import l1_min_c

from benchmarks.helpers.datasets import REGISTRY
from benchmarks.helpers.scaling import standardised
from benchmarks.helpers.speed.data import text_like
from featgrad import FeatureGradientSelector

SIZES = [5, 10, 20, 30, 50, 75, 100, 150, 200, 300]


def seconds(run):
    """Processor seconds of one call."""
    begun = time.process_time()
    run()
    return time.process_time() - begun


def l1_fit(X, y, C):
    LogisticRegression(C=C, l1_ratio=1.0, solver="liblinear", max_iter=1000).fit(X, y)


def dense_costs():
    """Choose 50 pixels of the noisy digits beside one L1 fit; ten sizes beside one."""
    _, split = next(iter(REGISTRY["mnist35_noisy"].splits()))
    X, y = split.X_train, split.y_train
    one = seconds(lambda: FeatureGradientSelector(50, random_state=0).fit(X, y))
    path = seconds(lambda: FeatureGradientSelector(50, path_sizes=SIZES, random_state=0).fit(X, y))
    l1 = seconds(lambda: l1_fit(standardised(X), y, 1.0))
    print(f"dense {X.shape}: k=50 {one:.2f} s, path of ten {path:.2f} s ({path / one:.1f}x one)")
    print(f"  L1-logistic at C=1 {l1:.2f} s: the search takes {one / l1:.2f}x")


def sparse_costs():
    """Choose 50 terms beside a path of ten L1 fits, from the first feature to a hundredfold C."""
    X = text_like(20_000, 50_000, 74)
    rng = np.random.default_rng(0)
    signal = X @ (rng.standard_normal(X.shape[1]) * (rng.random(X.shape[1]) < 0.002))
    noisy = signal + 0.1 * signal.std() * rng.standard_normal(len(signal))
    y = (noisy > np.median(noisy)).astype(int)
    one = seconds(lambda: FeatureGradientSelector(50, random_state=0).fit(X, y))
    least = l1_min_c(X, y, loss="log")
    l1 = seconds(lambda: [l1_fit(X, y, least * C) for C in np.geomspace(1.2, 100, 10)])
    print(f"CSR {X.shape}: k=50 {one:.2f} s; ten L1-logistic fits {l1:.2f} s ({one / l1:.2f}x)")


if __name__ == "__main__":
    dense_costs()
    sparse_costs()
