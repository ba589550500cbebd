"""Selectors for streams, all with `learn(X, y)` for a block of rows and `columns`.

FIRES (Haug et al. 2020) and OFS (Wang et al. 2014, full inputs) are written from their papers.
"""

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression

from featgrad import OnlineFeatureSelector

WINDOW = 2_000
EVERY = 200
# Rows are as old on average as those of the window.
HALF_LIFE = WINDOW * np.log(2) / 2


class Featgrad:
    def __init__(self, n_columns, size):
        self._selector = OnlineFeatureSelector(size, half_life=HALF_LIFE, task="binary")
        self._is_first = True

    def learn(self, X, y):
        self._selector.partial_fit(X, y, classes=[0, 1] if self._is_first else None)
        self._is_first = False

    @property
    def columns(self):
        return self._selector.get_support(indices=True)


class Frozen(Featgrad):
    """What featgrad chose from the first rows, for ever."""

    _seen = 0

    def learn(self, X, y):
        if self._seen < WINDOW:
            super().learn(X, y)
        self._seen += len(y)


class AllColumns:
    def __init__(self, n_columns, size):
        self.columns = np.arange(n_columns)

    def learn(self, X, y):
        """Nothing to learn."""


class Window:
    """A batch method on the last rows, again and again."""

    def __init__(self, n_columns, size):
        self._size, self._blocks, self._seen = size, [], 0
        self.columns = np.arange(size)

    def learn(self, X, y):
        self._blocks.append((X, y))
        self._seen += len(y)
        self._blocks = self._blocks[-(WINDOW // len(self._blocks[0][1])) :]
        if self._seen % EVERY < len(y) or self._seen == len(y):
            Xs, ys = zip(*self._blocks, strict=True)
            X = sp.vstack(Xs).tocsr() if sp.issparse(Xs[0]) else np.concatenate(Xs)
            y = np.concatenate(ys)
            if len(np.unique(y)) == 2:
                scores = self.scores(X, y)
                self.columns = np.sort(np.argsort(-scores, kind="stable")[: self._size])


class WindowF(Window):
    """Largest ANOVA F."""

    def scores(self, X, y):
        with np.errstate(all="ignore"):
            return np.nan_to_num(f_classif(X, y)[0])


class WindowL1(Window):
    """Weights of the L1-logistic model that first has as many columns as wanted."""

    def scores(self, X, y):
        squares = X.multiply(X).mean(axis=0) if sp.issparse(X) else None
        if squares is None:
            deviation = X.std(axis=0)
            Z = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
        else:
            deviation = np.sqrt(
                np.asarray(squares).ravel() - np.asarray(X.mean(axis=0)).ravel() ** 2
            )
            Z = X @ sp.diags_array(1 / np.where(deviation > 0, deviation, 1))
        for C in np.geomspace(1e-3, 1, 10):
            model = LogisticRegression(C=C, l1_ratio=1.0, solver="liblinear", random_state=0)
            weights = np.abs(model.fit(sp.csr_matrix(Z) if sp.issparse(Z) else Z, y).coef_[0])
            if np.count_nonzero(weights) >= self._size:
                break
        return weights


class Standardised:
    """Columns about their running means, in units of their deviations; sparse ones not centred."""

    def __init__(self, n_columns):
        self._count, self._total, self._squares = 0, np.zeros(n_columns), np.zeros(n_columns)

    def __call__(self, X):
        self._count += X.shape[0]
        self._total += np.asarray(X.sum(axis=0)).ravel()
        squared = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
        self._squares += np.asarray(squared.sum(axis=0)).ravel()
        mean = self._total / self._count
        variance = self._squares / self._count - mean**2
        scale = np.where(variance > 1e-12, np.sqrt(np.maximum(variance, 1e-12)), np.inf)
        return X @ sp.diags_array(1 / scale) if sp.issparse(X) else (X - mean) / scale


class Fires:
    """A probit model whose weights are normal; columns of large mean and small deviation."""

    rate, penalty = 0.01, 0.01

    def __init__(self, n_columns, size):
        self._size, self._scaled = size, Standardised(n_columns)
        self._mean, self._deviation = np.zeros(n_columns), np.ones(n_columns)
        self.columns = np.arange(size)

    def learn(self, X, y):
        X, sign = self._scaled(X), 2.0 * y - 1
        squares = X.multiply(X) if sp.issparse(X) else X**2
        rho = np.sqrt(1 + squares @ self._deviation**2)
        along = X @ self._mean
        inner = sign / rho * along
        slope = norm.pdf(inner) / np.maximum(norm.cdf(inner), 1e-12) * sign / len(y)
        step = X.T @ (slope / rho)
        narrower = -(squares.T @ (slope * along / rho**3)) * self._deviation
        self._mean += self.rate * step
        self._deviation += self.rate * narrower
        weights = self._mean**2 - self.penalty * self._deviation**2
        self.columns = np.sort(np.argsort(-weights, kind="stable")[: self._size])


class Ofs:
    """A linear classifier that is cut to its largest weights after each mistake."""

    rate, penalty = 0.2, 0.01

    def __init__(self, n_columns, size):
        self._size, self._scaled = size, Standardised(n_columns)
        self._weights, self.columns = np.zeros(n_columns), np.arange(size)

    def learn(self, X, y):
        X, weights = sp.csr_array(self._scaled(X)), self._weights
        for start, stop, label in zip(X.indptr[:-1], X.indptr[1:], 2 * y - 1, strict=True):
            own, values = X.indices[start:stop], X.data[start:stop]
            if label * (weights[own] @ values) > 1:
                continue
            used = np.union1d(np.flatnonzero(weights), own)
            weights[used] *= 1 - self.penalty * self.rate
            weights[own] += self.rate * label * values
            length = np.linalg.norm(weights[used])
            weights[used] *= min(1.0, 1 / np.sqrt(self.penalty) / max(length, 1e-12))
            if len(used) > self._size:
                weights[used[np.argsort(-np.abs(weights[used]))[self._size :]]] = 0
        self.columns = np.sort(np.argsort(-np.abs(weights), kind="stable")[: self._size])


class River:
    """SelectKBest of river: correlations of each column since the start, row by row."""

    def __init__(self, n_columns, size):
        from river import feature_selection, stats

        self._size = size
        self._selector = feature_selection.SelectKBest(stats.PearsonCorr(), k=size, use_abs=True)
        self.columns = np.arange(size)

    def learn(self, X, y):
        for row, label in zip(_dicts(X), y.tolist(), strict=True):
            self._selector.learn_one(row, label)
        board = self._selector.leaderboard
        best = sorted(board, key=lambda column: -abs(board[column]))[: self._size]
        self.columns = np.sort(np.array(best, int))


def _dicts(X):
    if not sp.issparse(X):
        return [dict(enumerate(row)) for row in X.tolist()]
    edges = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)) for a, b in edges]


PEERS = {
    "featgrad": Featgrad,
    "window F": WindowF,
    "window L1": WindowL1,
    "FIRES": Fires,
    "OFS": Ofs,
    "river SelectKBest": River,
    "frozen": Frozen,
    "all columns": AllColumns,
}
