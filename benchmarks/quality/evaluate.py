"""Test AUC of a logistic regression on chosen columns; the same for every selector."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.tuning import class_auc


def auc_on_test_rows(split, columns):
    """AUC on test rows (one-vs-rest macro for several classes) of a model of training rows.

    Columns are standardised (scaled only when sparse) and C = 1: one plain judge for everyone.
    """
    model = make_pipeline(
        StandardScaler(with_mean=not sp.issparse(split.X_train)),
        LogisticRegression(C=1.0, max_iter=1000),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(split.X_train[:, columns].astype(np.float64), split.y_train)
    scores = model.decision_function(split.X_test[:, columns].astype(np.float64))
    return class_auc(split.y_test, scores)
