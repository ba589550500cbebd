"""Sets of the paper's figures: repeated row samples, and large sparse sets of the same shape."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer

from benchmarks.helpers.datasets import IMDB, REGISTRY, DataSet
from benchmarks.helpers.sources import read_texts
from benchmarks.helpers.splitting import Split


@dataclass(frozen=True)
class Subsampled:
    """Random halves of a set's training rows against all of its test rows.

    Repeats give the paired tests more than one training set to speak of.
    """

    base: DataSet
    n_splits: int
    kind: str = "binary"

    @property
    def name(self):
        return self.base.name

    def splits(self):
        (_, whole), *_ = self.base.splits()
        for index in range(self.n_splits):
            rng = np.random.default_rng(index)
            rows = np.sort(rng.permutation(len(whole.y_train))[: len(whole.y_train) // 2])
            yield index, Split(whole.X_train[rows], whole.y_train[rows], whole.X_test, whole.y_test)


def preferred(*names):
    """The first of some sets whose files are there; None when there is none."""
    return next((REGISTRY[name] for name in names if not REGISTRY[name].missing()), None)


def ngrams():
    """IMDb words, pairs and triples hashed to four million columns: the shape of webspam."""
    hashed = HashingVectorizer(
        n_features=2**22, ngram_range=(1, 3), alternate_sign=False, norm="l2", dtype=np.float32
    )
    parts = []
    for name in ("imdb_train_raw", "imdb_test_raw"):
        ratings, documents = read_texts(name)
        parts += [hashed.transform(documents), ratings.astype(int) >= 7]
    return tuple(parts)


def clicks(rows=120_000, n_train=100_000, fields=39, informative=20):
    """Simulated clicks: one category in each of 39 fields, some 900,000 columns in all.

    The shape of criteo: field sizes from ten to a few hundred thousand, categories by Zipf's law,
    the most frequent categories of each field carry the effects, a quarter of rows clicked.
    """
    rng = np.random.default_rng(39)
    sizes = np.geomspace(10, 200_000, fields).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    values = np.column_stack([zipf(rng, size, rows) for size in sizes])
    effects = np.zeros(starts[-1])
    for start, size in zip(starts, sizes, strict=False):
        top = start + np.arange(min(informative, size))
        effects[top] = rng.normal(0, 0.5, top.size) * (rng.random(top.size) < 0.3)
    columns = (values + starts[:-1]).ravel()
    X = sp.csr_matrix(
        (np.ones(columns.size, np.float32), columns, fields * np.arange(rows + 1)),
        shape=(rows, starts[-1]),
    )
    latent = X @ effects + rng.logistic(size=rows)
    y = latent > np.quantile(latent, 0.75)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def zipf(rng, size, rows):
    """Categories 0..size-1 with probability proportional to 1 / (rank + 1)."""
    cumulative = np.cumsum(1 / np.arange(1, size + 1))
    return np.searchsorted(cumulative, rng.random(rows) * cumulative[-1])


LARGE = [
    DataSet("webspam_shaped", "binary", ngrams, IMDB, cached=True),
    DataSet("criteo_shaped", "binary", clicks, cached=True),
]
