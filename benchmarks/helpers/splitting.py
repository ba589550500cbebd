"""Training and test rows: how a set is divided and what is made of each side."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit


@dataclass(frozen=True)
class Split:
    """Training and test rows of one split; labels are 0..C-1, numbers for regression.

    `groups` says which training rows belong together, None where each stands alone.
    """

    X_train: object
    y_train: np.ndarray
    X_test: object
    y_test: np.ndarray
    groups: np.ndarray | None = None


def random_rows(y, kind, groups=None, **sizes):
    """Yield (training rows, test rows), stratified by class; rows of a group stay together.

    `sizes` are those of scikit-learn's splitters. Every group has one class.
    """
    shuffle = ShuffleSplit if kind == "regression" else StratifiedShuffleSplit
    splitter = shuffle(**sizes)
    if groups is None:
        yield from splitter.split(np.zeros(len(y)), y)
        return
    units, first = np.unique(groups, return_index=True)
    for sides in splitter.split(np.zeros(len(units)), y[first]):
        yield tuple(np.flatnonzero(np.isin(groups, units[side])) for side in sides)


def finished(kind, X_train, y_train, X_test, y_test, groups=None):
    """The split with missing values filled and labels encoded."""
    X_train, X_test = filled(X_train, X_test)
    if kind == "regression":
        return Split(X_train, y_train.astype(float), X_test, y_test.astype(float), groups)
    classes, codes = np.unique(y_train, return_inverse=True)
    return Split(X_train, codes, X_test, np.searchsorted(classes, y_test), groups)


def filled(X_train, X_test):
    """Missing values as the means of the training rows' columns."""
    if sp.issparse(X_train) or not (np.isnan(X_train).any() or np.isnan(X_test).any()):
        return X_train, X_test
    means = np.nanmean(X_train, axis=0)
    return tuple(np.where(np.isnan(X), means, X) for X in (X_train, X_test))
