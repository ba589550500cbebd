"""Selection by paths of L1-penalised models: logistic for classes, the lasso for regression."""

import numpy as np
from sklearn.linear_model import LogisticRegression, lasso_path
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import l1_min_c

from benchmarks.helpers.applicable import for_classes, for_regression
from benchmarks.helpers.scaling import cut, padded, ranking, standardised

# Steps without a new column after which a path counts as saturated.
PATIENCE = 6


@for_classes
def by_l1_path(X, y, ks, seed):
    """L1-logistic path: the k largest weights of the first model with at least k columns.

    C grows by a quarter per step from the first value with any column; several classes are
    fitted one against the rest.
    """
    return first_large_enough(growing_models(standardised(X), y, seed), X, y, ks)


@for_classes
def by_l1_path_16(X, y, ks, seed):
    """The same rule on 16 models, all of them fitted, from the first column to a hundredfold C."""
    Z = standardised(X)
    grid = l1_min_c(Z, y, loss="log") * np.geomspace(1.05, 100, 16)
    return first_large_enough([l1_weights(Z, y, C, seed) for C in grid], X, y, ks)


@for_regression
def by_lasso(X, y, ks, seed):
    """The same rule on the lasso path, down to a thousandth of the first penalty."""
    return first_large_enough(lasso_models(standardised(X), y - y.mean()), X, y, ks)


def first_large_enough(models, X, y, ks):
    """For each k the k largest weights of the first model with at least k columns.

    Where no model has so many (k beyond the number of rows), the largest is continued by ANOVA F.
    """
    chosen, order, waiting = {}, np.empty(0, dtype=np.intp), sorted(ks)
    for weights in models:
        found = np.count_nonzero(weights)
        order = ranking(weights)[:found] if found > order.size else order
        while waiting and found >= waiting[0]:
            k = waiting.pop(0)
            chosen[k] = ranking(weights)[:k]
        if not waiting:
            return chosen
    return chosen | cut(padded(order, X, y), waiting)


def growing_models(Z, y, seed):
    """Yield weights of L1-logistic models for growing C until no more columns come in."""
    C, largest, steps = l1_min_c(Z, y, loss="log"), 0, 0
    while steps < PATIENCE:
        C *= 1.25
        weights = l1_weights(Z, y, C, seed)
        found = np.count_nonzero(weights)
        steps = steps + 1 if 0 < found <= largest else 0
        largest = max(largest, found)
        yield weights


def l1_weights(Z, y, C, seed):
    """Norm over classes of the weights of an L1-penalised logistic model."""
    model = LogisticRegression(
        C=C, l1_ratio=1.0, solver="liblinear", tol=1e-3, max_iter=200, random_state=seed
    )
    if y.max() == 1:
        return np.abs(model.fit(Z, y).coef_[0])
    models = OneVsRestClassifier(model).fit(Z, y).estimators_
    return np.linalg.norm([one.coef_[0] for one in models], axis=0)


def lasso_models(Z, y):
    """Yield absolute weights along the lasso path, each model started from the one before."""
    Z = np.asfortranarray(Z)
    products, weights = Z.T @ y, None
    penalties = np.abs(products).max() / len(y) * np.geomspace(1, 1e-3, 100)
    gram = Z.T @ Z if Z.shape[1] <= 2 * len(y) else False
    for penalty in penalties:
        _, path, _ = lasso_path(
            Z, y, alphas=[penalty], precompute=gram, Xy=products, coef_init=weights
        )
        weights = path[:, 0]
        yield np.abs(weights)
