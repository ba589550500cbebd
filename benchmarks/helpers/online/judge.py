"""An online logistic regression on the columns of the day, tested on each block before learning."""

import time

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from benchmarks.helpers.online.peers import HALF_LIFE
from featgrad.search.stability import agreement

BLOCK = 100
# Rows before which nothing is counted.
WARM_UP = 1_000
CHOICES_EVERY = 500


class OnlineLogistic:
    """Steps of AdaGrad over ten rows each, on columns standardised by forgetful moments.

    Weights of columns that leave are kept for their return.
    """

    def __init__(self, n_columns):
        self._weights, self._steps = np.zeros(n_columns), np.full(n_columns, 1e-8)
        self._total, self._squares, self._weight = np.zeros(n_columns), np.zeros(n_columns), 0.0
        self._bias = 0.0

    def see(self, X):
        keep = 0.5 ** (X.shape[0] / HALF_LIFE)
        self._weight = keep * self._weight + X.shape[0]
        self._total = keep * self._total + np.asarray(X.sum(axis=0)).ravel()
        squared = X.multiply(X) if sp.issparse(X) else np.square(X, dtype=np.float64)
        self._squares = keep * self._squares + np.asarray(squared.sum(axis=0)).ravel()

    def columns(self, X, columns):
        values = X[:, columns].toarray() if sp.issparse(X) else X[:, columns]
        if self._weight == 0:
            return np.zeros_like(values, dtype=np.float64)
        mean = self._total[columns] / self._weight
        variance = self._squares[columns] / self._weight - mean**2
        return (values - mean) / np.sqrt(np.where(variance > 1e-9, variance, np.inf))

    def predict(self, Z, columns):
        return Z @ self._weights[columns] + self._bias

    def learn(self, Z, y, columns):
        for start in range(0, len(y), 10):
            own = slice(start, start + 10)
            error = y[own] - 1 / (1 + np.exp(-np.clip(self.predict(Z[own], columns), -30, 30)))
            gradient = Z[own].T @ error / 10
            self._steps[columns] += gradient**2
            self._weights[columns] += 0.1 * gradient / np.sqrt(self._steps[columns])
            self._bias += 0.02 * error.mean()


def judge(stream, peer, size):
    """Figures of one peer on one stream."""
    n_rows, n_columns = stream.X.shape
    selector, model = peer(n_columns, size), OnlineLogistic(n_columns)
    scores, choices, found, seconds = np.zeros(n_rows), [], [], 0.0
    columns = np.arange(size)
    for start in range(0, n_rows, BLOCK):
        rows = slice(start, min(start + BLOCK, n_rows))
        X, y = stream.X[rows], stream.y[rows]
        Z = model.columns(X, columns)
        scores[rows] = model.predict(Z, columns)
        model.learn(Z, y, columns)
        model.see(X)
        began = time.process_time()
        selector.learn(X, y)
        columns = selector.columns
        seconds += time.process_time() - began
        if start % CHOICES_EVERY == 0 and start >= WARM_UP:
            choices.append(np.isin(np.arange(n_columns), columns))
        truth = stream.active(start)
        if truth is not None and start >= WARM_UP:
            found.append(np.isin(truth, columns).mean())
    y, scores = stream.y[WARM_UP:], scores[WARM_UP:]
    right, same = np.mean((scores > 0) == y), no_change(stream)["accuracy"]
    return {
        "auc": float(roc_auc_score(y, scores)),
        "accuracy": float(right),
        "kappa_temporal": float((right - same) / (1 - same)),
        "stability": agreement(np.array(choices))[0],
        "found": float(np.mean(found)) if found else None,
        "microseconds_per_row": 1e6 * seconds / n_rows,
    }


def no_change(stream):
    """Figures of predicting the class of the row before."""
    y, before = stream.y[WARM_UP:], stream.y[WARM_UP - 1 : -1]
    auc, accuracy = float(roc_auc_score(y, before)), float(np.mean(y == before))
    return {"auc": auc, "accuracy": accuracy, "kappa_temporal": 0.0}
