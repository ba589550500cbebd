"""
Choose the size inside a Pipeline
=================================

The selector is a scikit-learn transformer: the number of features can be searched for like any
other parameter, with the model that will use them. Here, 170 columns of noise are added to the 30
measurements.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from featgrad import FeatureGradientSelector

X, y = load_breast_cancer(return_X_y=True)
X = np.hstack([X, np.random.default_rng(0).standard_normal((len(X), 170))])
pipeline = Pipeline(
    [
        ("select", FeatureGradientSelector(random_state=0)),
        ("scale", StandardScaler()),
        ("classify", LogisticRegression()),
    ]
)
sizes = [2, 5, 20, 200]
search = GridSearchCV(pipeline, {"select__n_features_to_select": sizes}, scoring="roc_auc")
search.fit(X, y)
results = search.cv_results_
plt.errorbar(sizes, results["mean_test_score"], results["std_test_score"], marker="o", capsize=3)
plt.xscale("log")
plt.xticks(sizes, sizes)
plt.xlabel("number of features")
plt.ylabel("AUC, cross-validated")
plt.show()
chosen = search.best_estimator_[0].get_support(indices=True)
print("best size:", len(chosen), "of them noise:", np.count_nonzero(chosen >= 30))

# %%
# Where held-out rows say that nothing can be learned, ``"auto"`` chooses no features, and the next
# step would get no columns. ``min_features_to_select=1`` keeps the best one.
pipeline.set_params(
    select__n_features_to_select="auto", select__min_features_to_select=1, select__random_state=0
)
pipeline.fit(X, np.random.default_rng(1).permutation(y))
print("chosen for a shuffled target:", pipeline[0].n_features_)
