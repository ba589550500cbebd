"""Scaling and ranking of columns, alike for dense arrays and CSR matrices."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import f_classif, f_regression
from sklearn.preprocessing import StandardScaler

from benchmarks.helpers.applicable import is_regression


def standardised(X):
    """Columns of unit variance, centred when dense (centring would destroy sparsity)."""
    return StandardScaler(with_mean=not sp.issparse(X)).fit_transform(X.astype(np.float64))


def anova(X, y):
    """ANOVA F of every column, F of its correlation for regression; constant columns score 0."""
    test = f_regression if is_regression(y) else f_classif
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore")
        F, _ = test(X.astype(np.float64), y)
    # A column that separates the classes without any spread has an infinite F.
    return np.nan_to_num(F, nan=0.0, posinf=np.finfo(np.float64).max)


def ranking(scores):
    """Columns by falling score, ties by position."""
    return np.argsort(-scores, kind="stable")


def cut(order, ks):
    """The first k of a ranking, for every k."""
    return {k: order[:k] for k in ks}


def padded(order, X, y):
    """A ranking of some columns, continued with the others by ANOVA F."""
    order = np.asarray(order, dtype=np.intp)
    rest = ranking(anova(X, y))
    return np.concatenate([order, rest[~np.isin(rest, order)]])


def shortlist(X, y, max_entries):
    """Columns by falling ANOVA F, as many as keep rows x columns within `max_entries`.

    Constant columns, the only ones with F = 0, are left out.
    """
    F = anova(X, y)
    return ranking(F)[: min(np.count_nonzero(F), max_entries // X.shape[0])]


def dense_columns(X, columns):
    """Some columns as a dense double precision array."""
    X = X[:, columns]
    return (X.toarray() if sp.issparse(X) else X).astype(np.float64)
