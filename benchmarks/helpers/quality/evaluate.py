"""The judges of chosen columns, the same for every selector.

A score is the test AUC for classes (one-vs-rest macro for several) and R^2 on test rows, at least
-1, for regression.
"""

import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.helpers.applicable import is_regression
from benchmarks.helpers.tuning import class_auc

# A forest of more rows costs more than the selection it judges.
FOREST_ROWS = 5_000


def linear_score(split, columns):
    """Score of a linear model on the chosen columns, standardised (scaled only when sparse).

    Logistic regression with C = 1 for classes, ridge regression with a penalty of 1 for numbers.
    """
    regression = is_regression(split.y_train)
    model = make_pipeline(
        StandardScaler(with_mean=not sp.issparse(split.X_train)),
        Ridge(alpha=1.0) if regression else LogisticRegression(C=1.0, max_iter=1000),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(split.X_train[:, columns].astype(np.float64), split.y_train)
    predict = model.predict if regression else model.decision_function
    return score(split.y_test, predict(split.X_test[:, columns].astype(np.float64)))


def forest_score(split, columns):
    """Score of a random forest of 200 trees on at most 5,000 random training rows."""
    regression = is_regression(split.y_train)
    settings = {"n_estimators": 200, "n_jobs": 1, "random_state": 0}
    if regression:
        model = RandomForestRegressor(max_features=1 / 3, **settings)
    else:
        model = RandomForestClassifier(**settings)
    rows = np.random.default_rng(0).permutation(len(split.y_train))[:FOREST_ROWS]
    model.fit(split.X_train[rows][:, columns], split.y_train[rows])
    predict = model.predict if regression else partial(class_shares, model)
    return score(split.y_test, predict(split.X_test[:, columns]))


def class_shares(model, X):
    """Shares of trees: of the second of two classes, or a column for each of several."""
    shares = model.predict_proba(X)
    return shares[:, 1] if shares.shape[1] == 2 else shares


def score(y, predicted):
    if is_regression(y):
        return max(r2_score(y, predicted), -1.0)
    return class_auc(y, predicted)
