"""
When not to use it
==================

featgrad estimates what a *linear* model could explain. Here is what that cannot see, measured.
"""

# %%
# Features that matter only together
# ----------------------------------
# The target is whether two features have the same sign. Each of them alone, and both in a linear
# model, explain nothing; the estimate shows it, and a choice is then a matter of chance. A fit
# warns of a product or square that it finds (:ref:`sphx_glr_auto_howto_plot_rows.py`). Trees see
# it.
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import SplineTransformer

from featgrad import FeatureGradientConstructor, FeatureGradientSelector, learnability

rng = np.random.default_rng(0)
X = rng.standard_normal((1000, 20))
y = X[:, 0] * X[:, 1] > 0
print("learnability:", learnability(X, y))
selector = FeatureGradientSelector(2, random_state=0).fit(X, y)
print("chosen:      ", selector.get_support(indices=True))
forest = RandomForestClassifier(200, random_state=0)
print("forest:      ", cross_val_score(forest, X, y, cv=3).mean().round(2), "of rows right")
print("its best two:", np.argsort(-forest.fit(X, y).feature_importances_)[:2])

# %%
# **Instead**: importances of boosted trees or a forest; or
# :class:`~featgrad.FeatureGradientConstructor`, which prices all products of columns, and builds
# those that are worth more than chance (:ref:`sphx_glr_auto_howto_plot_construct.py`).
constructor = FeatureGradientConstructor(2, operations="products", random_state=0).fit(X, y)
print("constructed:", [feature.name for feature in constructor.constructed_])
print("with it:    ", constructor.learnability_)

# %%
# A curve that goes up and down
# -----------------------------
# A feature of which only the square matters is just as invisible. Splines bring it back, and so do
# constructed squares and hinges.
y = X[:, 0] ** 2 + 0.5 * rng.standard_normal(1000)
print("as it is:   ", learnability(X[:, :3], y))
print("splines:    ", learnability(SplineTransformer(5).fit_transform(X[:, :3]), y))
constructor.set_params(operations=("products", "hinges")).fit(X[:, :3], y)
print("constructed:", constructor.learnability_, [one.name for one in constructor.constructed_])

# %%
# Few rows, thousands of features, no linear relation
# ---------------------------------------------------
# On arcene (100 training rows, 10,000 spectral intensities) mutual information finds better sets,
# by the test AUC of a logistic regression as well as of a random forest: see the
# `benchmark <../benchmarks.html>`_.
#
# **Instead**, or in addition: mutual information where rows are few and relations are not linear.
#
# A handful of features
# ---------------------
# With ten features all subsets can be tried with the very model that will be used, by
# cross-validation. Nothing needs to be estimated.
#
# Other cases
# -----------
# - The model is given, say trees, and time does not matter: permutation importance on held-out rows
#   is about that model, featgrad is not.
# - The question is which features *cause* the target. No selector answers that.
