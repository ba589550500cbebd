"""The selectors under comparison, behind one interface.

`SELECTORS[name](X, y, ks, seed)` gets training rows only (dense array or CSR; y holds labels 0..C-1
as integers, or floats for regression) and returns {k: k column indices}. All sizes are given at
once so that a method with a path or a ranking pays once. A selector that cannot handle a set raises
NotApplicableError with the reason.

Packages that only one selector needs are imported inside it, so that a missing one costs that
selector alone.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import chi2, mutual_info_classif, mutual_info_regression
from sklearn.linear_model import LogisticRegression

from benchmarks.helpers import mission
from benchmarks.helpers.applicable import NotApplicableError, for_classes, is_regression
from benchmarks.helpers.l1_paths import by_l1_path, by_l1_path_16, by_lasso
from benchmarks.helpers.mrmr import mrmr
from benchmarks.helpers.scaling import (
    anova,
    cut,
    dense_columns,
    padded,
    ranking,
    shortlist,
    standardised,
)
from benchmarks.helpers.tuning import best_setting, class_auc

# fastcan and abess read dense double precision; wider sets are cut to their best columns by
# ANOVA F first, as both packages advise (screening).
DENSE_ENTRIES = 50_000_000
# Columns from which the paper's algorithm reads its rows once, in batches, as the paper did for
# its large sets.
READ_ONCE = 500_000


def by_anova(X, y, ks, seed):
    """Largest ANOVA F (scikit-learn's f_classif: "SKF"), F of the correlation for regression."""
    return cut(ranking(anova(X, y)), ks)


def by_mutual_information(X, y, ks, seed):
    """Largest mutual information with the target ("SKMI").

    Dense columns: nearest-neighbour estimate, or plain counts where a column has few values.
    Sparse columns: of the presence of a term, the usual form for text.
    """
    if sp.issparse(X):
        return cut(ranking(presence_information(X, y)), ks)
    discrete = np.array([np.unique(column).size <= 10 for column in X.T])
    estimate = mutual_info_regression if is_regression(y) else mutual_info_classif
    return cut(ranking(estimate(X, y, discrete_features=discrete, random_state=seed)), ks)


def presence_information(X, y):
    """Mutual information between x > 0 and the class, exactly from counts."""
    rows = X.shape[0]
    members = np.eye(y.max() + 1)[y]
    present = np.asarray((X != 0).T @ members)
    prior = members.sum(axis=0)
    information = np.zeros(X.shape[1])
    for counts in (present, prior - present):
        expected = counts.sum(axis=1, keepdims=True) * prior / rows
        ratio = np.divide(counts, expected, out=np.ones_like(counts), where=counts > 0)
        information += (counts / rows * np.log(ratio)).sum(axis=1)
    return information


@for_classes
def by_chi2(X, y, ks, seed):
    """Largest chi-squared statistic; for frequencies and other non-negative values only."""
    if X.min() < 0:
        raise NotApplicableError("chi2 needs non-negative values")
    statistic, _ = chi2(X, y)
    return cut(ranking(np.nan_to_num(statistic)), ks)


@for_classes
def by_l2_weights(X, y, ks, seed):
    """Largest weights of an L2-logistic model on standardised columns, C by held-out AUC."""
    Z = standardised(X)
    C = best_setting((1e-4, 1e-3, 1e-2, 1e-1, 1.0), held_out_l2, Z, y, seed)
    weights = LogisticRegression(C=C, max_iter=300, tol=1e-3).fit(Z, y).coef_
    return cut(ranking(np.linalg.norm(weights, axis=0)), ks)


def held_out_l2(C, Z_fit, y_fit, Z_held, y_held):
    model = LogisticRegression(C=C, max_iter=300, tol=1e-3).fit(Z_fit, y_fit)
    return class_auc(y_held, model.decision_function(Z_held))


def by_forward(X, y, ks, seed):
    """Forward selection by squared canonical correlation (fastcan)."""
    from fastcan import FastCan

    columns = shortlist(X, y, DENSE_ENTRIES)
    X_short = dense_columns(X, columns)
    outputs = 1 if is_regression(y) else y.max()
    target = np.eye(outputs + 1)[y] if outputs > 1 else y
    # Beyond the number of rows every column depends on those taken, and fastcan stops.
    size = min(max(ks), X_short.shape[1], X_short.shape[0] - outputs - 1)
    taken = FastCan(size, verbose=0).fit(X_short, target).indices_
    return cut(padded(columns[taken], X, y), ks)


def by_abess(X, y, ks, seed):
    """Best-subset selection by splicing (abess), a little ridge so that it stays finite."""
    columns = shortlist(X, y, DENSE_ENTRIES)
    Z = standardised(dense_columns(X, columns))
    chosen = {}
    for k in ks:
        weights = abess_weights(Z, y, min(k, Z.shape[1]))
        order = ranking(weights)[: np.count_nonzero(weights)]
        chosen[k] = padded(columns[order], X, y)[:k]
    return chosen


def abess_weights(Z, y, k):
    """Norm over classes of the weights of abess's model with k columns."""
    from abess import linear

    if is_regression(y):
        model = linear.LinearRegression
    else:
        model = linear.LogisticRegression if y.max() == 1 else linear.MultinomialRegression
    coefficients = model(support_size=k, alpha=1e-2).fit(Z, y).coef_
    return np.abs(coefficients) if coefficients.ndim == 1 else np.linalg.norm(coefficients, axis=1)


def by_mrmr(X, y, ks, seed):
    """Minimum redundancy, maximum relevance."""
    return cut(padded(mrmr(X, y, max(ks)), X, y), ks)


def by_lightgbm(X, y, ks, seed):
    """Largest total gain in boosted trees (LightGBM)."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    booster = LGBMRegressor if is_regression(y) else LGBMClassifier
    model = booster(
        n_estimators=200,
        learning_rate=0.05,
        num_leaves=15,
        min_child_samples=min(20, max(2, len(y) // 20)),
        colsample_bytree=0.5,
        importance_type="gain",
        random_state=seed,
        deterministic=True,
        n_jobs=1,
        verbose=-1,
    )
    gain = model.fit(X.astype(np.float64), y).feature_importances_
    return cut(padded(ranking(gain)[: np.count_nonzero(gain)], X, y), ks)


@for_classes
def by_mission(X, y, ks, seed):
    """MISSION with five passes, learning rate by held-out AUC."""
    Z = sp.csr_matrix(standardised(X))
    # Unit mean squared row norm makes one grid of rates fit every set.
    Z /= np.sqrt(Z.multiply(Z).sum() / Z.shape[0])
    size = min(2 * max(ks), X.shape[1])
    # The whole sketch has as many cells as a quarter of the columns, but room for the heap.
    width = max(2 * size, X.shape[1] // (4 * mission.DEPTH))
    fit = partial(mission.class_weights, size=size, width=width, epochs=5, seed=seed)
    rate = best_setting((0.1, 1.0, 10.0), partial(held_out_mission, fit), Z, y, seed)
    weights = np.linalg.norm(fit(Z, y, rate=rate), axis=0)
    return cut(padded(ranking(weights)[: np.count_nonzero(weights)], X, y), ks)


def held_out_mission(fit, rate, Z_fit, y_fit, Z_held, y_held):
    weights = fit(Z_fit, y_fit, rate=rate)
    return class_auc(y_held, np.squeeze(Z_held @ weights.T))


def by_featgrad_paper(X, y, ks, seed, order=4):
    """The algorithm as published: a path of penalties, the set of natural size.

    For each k the run whose natural size is nearest to k is cut or filled up by its own scores.
    """
    runs = [published_run(X, y, seed, order, penalty=1.0)]
    # Double or halve the penalty until the natural sizes enclose all k.
    for factor, enough in ((2.0, lambda n: n <= min(ks)), (0.5, lambda n: n >= max(ks))):
        penalty, size = 1.0, runs[0][0]
        while not enough(size) and 2.0**-10 < penalty < 2.0**12:
            penalty *= factor
            size, scores = published_run(X, y, seed, order, penalty)
            runs.append((size, scores))
    return {k: ranking(min(runs, key=lambda run: abs(run[0] - k))[1])[:k] for k in ks}


def published_run(X, y, seed, order, penalty):
    """Natural size and scores of Feature Gradients at one penalty."""
    from featgrad import FeatureGradientSelector, MiniBatch

    search = MiniBatch(
        penalty=penalty,
        order=order,
        filter="kong-valiant",
        batch_size=1000 if X.shape[1] >= READ_ONCE else None,
    )
    selector = FeatureGradientSelector(
        search=search,
        estimate=False,
        task="regression" if is_regression(y) else "auto",
        random_state=seed,
    ).fit(X, y)
    return np.count_nonzero(selector.get_support()), selector.scores_


def by_featgrad(X, y, ks, seed):
    """The library under test, defaults only; regression is named, numbers may be whole ones."""
    from featgrad import FeatureGradientSelector

    task = "regression" if is_regression(y) else "auto"
    selector = FeatureGradientSelector(
        max(ks), path_sizes=ks, estimate=False, task=task, random_state=seed
    )
    selector.fit(X, y)
    return {k: selector.at(k).get_support(indices=True) for k in ks}


SELECTORS = {
    "anova": by_anova,
    "mutual_information": by_mutual_information,
    "chi2": by_chi2,
    "l1_path": by_l1_path,
    "lasso": by_lasso,
    "l2_weights": by_l2_weights,
    "forward": by_forward,
    "abess": by_abess,
    "mrmr": by_mrmr,
    "lightgbm": by_lightgbm,
    "mission": by_mission,
    "featgrad_paper": by_featgrad_paper,
    "featgrad": by_featgrad,
}

# Measured for its time alone.
TIMED = {"l1_path_16": by_l1_path_16}

# The paper's figure of orders; those beside its usual 4 are not part of the comparison.
OTHER_ORDERS = {f"featgrad_order{n}": partial(by_featgrad_paper, order=n) for n in (1, 2, 3, 5, 6)}
