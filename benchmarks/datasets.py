"""The benchmark sets: one registry, and train/test splits of each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import sklearn.datasets
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks import builders
from benchmarks.sources import CACHE, locate, read_npz, write_npz

SPLIT_SEED = 2019


@dataclass(frozen=True)
class Split:
    """Training and test rows of one split; labels are 0..C-1."""

    X_train: object
    y_train: np.ndarray
    X_test: object
    y_test: np.ndarray


@dataclass(frozen=True)
class DataSet:
    """How to get one set.

    `build` returns (X_train, y_train, X_test, y_test) when `n_splits` is 0 (a given split),
    otherwise (X, y), which is split at random, stratified by class.
    """

    name: str
    kind: str
    build: Callable
    files: tuple = ()
    n_splits: int = 0
    train_size: float | int = 2 / 3
    test_size: float | int = 1 / 3
    cached: bool = False

    def missing(self):
        """Files that are needed and not there."""
        return [file for file in self.files if locate(file) is None]

    def splits(self):
        """Yield (index, Split)."""
        if self.n_splits == 0:
            parts = cached_parts(self) if self.cached else self.build()
            yield 0, encoded(*parts)
            return
        X, y = self.build()
        shuffles = StratifiedShuffleSplit(
            self.n_splits,
            train_size=self.train_size,
            test_size=self.test_size,
            random_state=SPLIT_SEED,
        )
        for index, (train, test) in enumerate(shuffles.split(np.zeros(len(y)), y)):
            yield index, encoded(X[train], y[train], X[test], y[test])


def encoded(X_train, y_train, X_test, y_test):
    """Split with labels 0..C-1 in the order of the training labels."""
    classes, codes = np.unique(y_train, return_inverse=True)
    return Split(X_train, codes, X_test, np.searchsorted(classes, y_test))


def cached_parts(dataset):
    """Parts of a set that is slow to build, kept on disk after the first time."""
    paths = [CACHE / f"{dataset.name}_{part}.npz" for part in ("train", "test")]
    if not all(path.is_file() for path in paths):
        X_train, y_train, X_test, y_test = dataset.build()
        write_npz(paths[0], X_train, y_train)
        write_npz(paths[1], X_test, y_test)
    return (*read_npz(paths[0]), *read_npz(paths[1]))


def two_files(stem, test="valid"):
    """A set staged as one file of training and one of test rows."""
    files = (f"{stem}_train.npz", f"{stem}_{test}.npz")
    return DataSet(stem, "binary", partial(builders.given_split, stem, test=test), files)


def one_file(stem, kind, n_splits, min_class=0, **sizes):
    """A set staged as one file, split at random."""
    build = partial(builders.whole, stem, min_class)
    return DataSet(stem, kind, build, (f"{stem}.npz",), n_splits, **sizes)


def news_pair(name, first, second):
    """Two classes of 20 Newsgroups."""
    return DataSet(name, "binary", partial(builders.news20, (first, second), 2), NEWS)


def bundled(name, kind):
    """One of scikit-learn's own sets."""
    load = getattr(sklearn.datasets, f"load_{name}")
    return DataSet(name, kind, partial(load, return_X_y=True), n_splits=5)


MNIST = ("mnist_train.npz", "mnist_test.npz")
NEWS = ("20news_bydate_stripped_train.npz", "20news_bydate_stripped_test.npz")
IMDB = ("imdb_train_raw.tsv.xz", "imdb_test_raw.tsv.xz")

STAGED = [
    DataSet("mnist35_noisy", "binary", builders.mnist35_noisy, MNIST),
    DataSet("gisette_like", "binary", builders.gisette_like, MNIST, cached=True),
    two_files("dexter"),
    two_files("arcene"),
    two_files("madelon"),
    one_file("basehock", "binary", 3),
    one_file("pcmac", "binary", 3),
    one_file("allaml", "binary", 5),
    one_file("colon", "binary", 5),
    DataSet(
        "rcv1_sample",
        "binary",
        partial(builders.given_split, "rcv1_vw_sample", test="test"),
        ("rcv1_vw_sample_train.npz", "rcv1_vw_sample_test.npz"),
    ),
    DataSet("imdb_unigrams", "binary", builders.imdb_unigrams, IMDB, cached=True),
    news_pair("news_atheism_religion", 0, 19),
    news_pair("news_graphics_windows", 1, 5),
    news_pair("news_crypt_electronics", 11, 12),
    one_file("tox171", "multiclass", 5),
    # Three of its nine classes have four rows or fewer: too few for a split and an AUC.
    one_file("lymphoma", "multiclass", 5, min_class=6),
    DataSet("news20", "multiclass", builders.news20, NEWS),
    DataSet("mnist", "multiclass", builders.mnist_ten, MNIST),
    one_file("covtype", "multiclass", 2, train_size=20_000, test_size=40_000),
    DataSet("reuters", "multiclass", builders.reuters, ("reuters21578.npz",)),
]

# For users who have or download the originals; gisette_like and rcv1_sample stand in for them.
ORIGINALS = [two_files("gisette"), two_files("rcv1", test="test")]

BUNDLED = [
    bundled("breast_cancer", "binary"),
    bundled("digits", "multiclass"),
    bundled("wine", "multiclass"),
    bundled("iris", "multiclass"),
]

REGISTRY = {dataset.name: dataset for dataset in STAGED + ORIGINALS + BUNDLED}


def default_sets():
    """Sets that can be loaded here: the staged ones, or scikit-learn's own when there are none."""
    there = [dataset for dataset in STAGED + ORIGINALS if not dataset.missing()]
    return there or BUNDLED


def report_missing():
    """One line per set that cannot be loaded, saying what it needs."""
    return [
        f"{dataset.name}: missing {', '.join(dataset.missing())}"
        for dataset in STAGED + ORIGINALS
        if dataset.missing()
    ]
