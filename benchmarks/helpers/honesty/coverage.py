"""How often intervals, scores and gains cover what new rows say."""

from itertools import count, islice, product

import numpy as np
from scipy import sparse
from scipy.signal import lfilter
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from benchmarks.helpers.datasets import REGISTRY
from benchmarks.helpers.record import Figure
from benchmarks.helpers.sources import locate, read_staged
from featgrad import FeatureGradientSelector, Learnability

SETS = ("pcmac", "basehock", "madelon", "mnist35_noisy", "rcv1_sample", "covtype", "reuters")
STAGED = ("noaa_weather", "spam_stream")
DESIGNS = ("independent", "neighbours", "blocks", "all", "uneven noise")
ROWS = (80, 250, 1000)
TEST_ROWS = 4000


def real_sets():
    """Name, features and target of all rows."""
    for name in SETS:
        if not REGISTRY[name].missing():
            X, y, *more = next(iter(REGISTRY[name].parts()))
            if len(more) >= 2:
                stack = sparse.vstack if sparse.issparse(X) else np.concatenate
                X, y = stack([X, more[0]]), np.concatenate([y, more[1]])
            yield name, sparse.csr_matrix(X) if sparse.issparse(X) else X, y
    for name in STAGED:
        if locate(f"{name}.npz") is not None:
            yield name, *read_staged(name)


def drawn(design, n_rows, n_columns, seed):
    """Features, of which ten or all matter, and a target; signal and noise have variance 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    if design == "neighbours":
        X[:, 1:] *= np.sqrt(1 - 0.7**2)
        X = lfilter([1], [1, -0.7], X, axis=1)
    elif design == "blocks":
        common = np.repeat(rng.standard_normal((n_rows, n_columns // 10)), 10, axis=1)
        X = np.sqrt(0.7) * common + np.sqrt(0.3) * X
    matters = rng.choice(n_columns, n_columns if design == "all" else 10, False)
    signal = X[:, matters] @ rng.standard_normal(len(matters))
    noise = rng.standard_normal(n_rows)
    if design == "uneven noise":
        noise *= np.abs(X[:, matters[0]])
    return X, signal / signal.std() + noise


class New:
    """What new rows say of a set: of a ridge model of the others, and of the best linear model."""

    def __init__(self, X, y, new_X, new_y, features):
        chosen = [Z[:, features] for Z in (X, new_X)]
        Z, new_Z = (Z.toarray() if sparse.issparse(Z) else Z.astype(float) for Z in chosen)
        mean, deviation = Z.mean(axis=0), Z.std(axis=0)
        scale = np.where(deviation > 0, deviation, 1)
        self._Z, self._new_Z, self._y, self._new_y = (
            (Z - mean) / scale,
            (new_Z - mean) / scale,
            y,
            new_y,
        )
        best = Learnability(new_Z, new_y).estimate()
        self.explained, self.error = best.value, best.standard_error

    def predicted(self, columns):
        if len(columns) == 0:
            return np.broadcast_to(self._y.mean(axis=0), self._new_y.shape)
        model = Ridge(alpha=4.0).fit(self._Z[:, columns], self._y)
        return model.predict(self._new_Z[:, columns]).reshape(self._new_y.shape)

    def score(self, name):
        predicted = self.predicted(np.arange(self._Z.shape[1]))
        if name == "AUC":
            return roc_auc_score(self._new_y, predicted)
        return 1 - np.mean((self._new_y - predicted) ** 2) / self._new_y.var()

    def gains(self):
        """What is lost without each feature."""
        every = np.arange(self._Z.shape[1])
        sets = [every, *(np.delete(every, i) for i in every)]
        errors = [np.mean((self._new_y - self.predicted(columns)) ** 2) for columns in sets]
        return (np.array(errors[1:]) - errors[0]) / self._new_y.var()


class Tally:
    """Optimism and coverage over fits."""

    def __init__(self):
        self.optimism, self.intervals, self.scores, self.gains = [], [], [], []

    def add(self, X, y, new_X, new_y, seed, sizes=(5, "auto"), **fit):
        """Fit to rows, and compare with new ones; new rows are few, too: their error counts."""
        for size in sizes:
            selector = FeatureGradientSelector(size, random_state=seed).fit(X, y, **fit)
            point = next(p for p in selector.path_ if len(p.features) == selector.n_features_)
            found, features = point.learnability, point.features
            if len(features) == 0 or np.isnan(found.value):
                continue
            new = New(X, y, new_X, new_y, features)
            low, high = found.interval
            wider = 1.96 * (np.hypot(found.standard_error, new.error) - found.standard_error)
            self.optimism.append(found.value - new.explained)
            self.intervals.append(low - wider <= new.explained <= high + wider)
            if len(np.unique(y)) == 2 or point.score.name == "R2":
                off = new.score(point.score.name) - point.score.value
                self.scores.append(abs(off) <= 1.96 * point.score.standard_error)
                off = np.abs(new.gains() - point.gains.values)
                self.gains += list(off <= 1.96 * point.gains.standard_errors)

    def figures(self):
        error = np.std(self.optimism) / np.sqrt(len(self.optimism))
        bars = [Figure("optimism", np.mean(self.optimism), "", f"<= {0.01 + error:.3f}")]
        names = (
            ("interval", self.intervals, 90),
            ("score", self.scores, 90),
            ("gains", self.gains, 85),
        )
        for name, covered, least in names:
            if covered:
                share = 100 * np.mean(covered)
                bars.append(Figure(f"{name} covers", share, "%", f">= {least}"))
        return bars


def of_designs(runs):
    """Simulated designs, for each number of rows."""
    # Each run has noise of its own: runs with the same would err together.
    seeds = count()
    for n_rows, classes in product(ROWS, (False, True)):
        tally = Tally()
        for design in DESIGNS:
            for seed in islice(seeds, runs):
                X, y = drawn(design, n_rows + TEST_ROWS, 200, seed)
                y = (y > 0).astype(int) if classes else y
                tally.add(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], seed)
        yield (
            f"{len(DESIGNS)} designs, {'two classes' if classes else 'numbers'}",
            n_rows,
            tally.figures(),
        )


def of_sets(runs):
    """Subsamples of real sets, whose other rows give the truth."""
    for n_rows in ROWS:
        tally = Tally()
        for _, X, y in real_sets():
            for seed in range(runs):
                order = np.random.default_rng(seed).permutation(len(y))
                here, there = order[:n_rows], order[n_rows : n_rows + TEST_ROWS]
                tally.add(X[here], y[here], X[there], y[there], seed, sizes=[5])
        yield "real sets", n_rows, tally.figures()
