"""The sets of the published tables, divided and filled as their authors did, and as is right."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.helpers.builders import mice_protein, pixels
from benchmarks.helpers.sources import locate
from benchmarks.helpers.splitting import finished, random_rows

# The loaders of both papers mark a missing value by this number.
PLACEHOLDER = -100_000
# Rows of MNIST's 60,000 that selectors get; the judge is fitted on all of them.
SELECTOR_ROWS = 10_000


@dataclass(frozen=True)
class Case:
    """One row of a table; `published` names the row of the paper, None where there is none."""

    name: str
    published: str | None
    file: str
    build: Callable
    repeats: int = 5

    def missing(self):
        return locate(self.file) is None


def at_random(X, y, test_size, seed):
    """Rows on either side at random."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=test_size, random_state=seed
    )
    return finished("multiclass", X_train, y_train, X_test, y_test)


def mnist_test_images(seed, test_size=0.6):
    """The 10,000 test images, 4,000 of them for training as in the authors' loader."""
    return at_random(*pixels("mnist_test"), test_size, seed)


def mnist_all(seed):
    """60,000 training and 10,000 test images."""
    return finished("multiclass", *pixels("mnist_train"), *pixels("mnist_test"))


def coil20(seed):
    return at_random(*pixels("coil20"), 0.2, seed)


def mice_as_published(seed):
    """Rows at random, missing values filled from all rows of the class before the split."""
    X, y, _ = mice_protein()
    return at_random(filled_by_class(X, y), y, 0.2, seed)


def mice_apart(seed):
    """Rows of a mouse on one side, missing values filled by means of training rows."""
    X, y, mouse = mice_protein()
    sizes = {"n_splits": 1, "train_size": 0.8, "test_size": 0.2, "random_state": seed}
    ((train, test),) = random_rows(y, "multiclass", mouse, **sizes)
    return finished("multiclass", X[train], y[train], X[test], y[test])


def filled_by_class(X, y):
    """What the loaders of both papers compute: one value after the other is replaced by the mean of
    its class, in which the placeholder of missing values counts as a number.
    """
    filled = np.where(np.isnan(X), PLACEHOLDER, X).astype(np.float64)
    for row, column in np.argwhere(np.isnan(X)):
        filled[row, column] = filled[y == y[row], column].mean()
    return filled


MICE = [
    Case("Mice Protein, as published", "Mice Protein", "mice_protein.npz", mice_as_published),
    Case("Mice Protein, mice apart", None, "mice_protein.npz", mice_apart),
]
COIL = Case("COIL-20", "COIL-20", "coil20.npz", coil20)
LASSONET_CASES = [
    Case("MNIST", "MNIST", "mnist_test.npz", mnist_test_images),
    Case(
        "MNIST, 80 % for training",
        None,
        "mnist_test.npz",
        partial(mnist_test_images, test_size=0.2),
    ),
    *MICE,
    COIL,
]
SEQUENTIAL_CASES = [Case("MNIST", "MNIST", "mnist_train.npz", mnist_all, repeats=1), *MICE, COIL]
