"""
How many features, and what do the numbers mean?
================================================

How to choose the number of features, what the reported numbers mean, which rows they come from, and
how far to trust them.
"""

import matplotlib.pyplot as plt
import numpy as np

from featgrad import FeatureGradientSelector, Learnability, permutation_test
from featgrad.report import summarise

rng = np.random.default_rng(0)


def draw(n_rows, strength):
    """Five of 100 features matter."""
    X = rng.standard_normal((n_rows, 100))
    return X, strength * X[:, :5].sum(axis=1) + rng.standard_normal(n_rows)


X, y = draw(200, 0.5)

# %%
# How many features?
# ------------------
# - **For the best prediction** give no number. ``"auto"``, the default, takes the smallest size
#   that predicts held-out rows about as well as the best one, and no features at all where no
#   linear model predicts them better than noise would. ``sizes_`` has both, with what they explain.
# - **For a given number or budget** say so: ``FeatureGradientSelector(5)`` searches for the best
#   five, and ``max_cost`` for the best within a total cost.
# - **To see for yourself** ask for several sizes with ``path_sizes``; one fit finds the best set of
#   each. Where the curve has levelled off, more features add nothing.
# - **To limit false discoveries** pass ``search=Knockoffs(0.1)`` in place of a number: see
#   :ref:`sphx_glr_auto_howto_plot_error_control.py`.
automatic = FeatureGradientSelector(random_state=0).fit(X, y)
print("chosen by held-out rows:", automatic.n_features_, "features")
print("the best size:", automatic.sizes_.best.size, "features")
automatic.path_.plot()
plt.show()

# %%
# What do the numbers mean?
# -------------------------
selector = FeatureGradientSelector(5, random_state=0).fit(X, y)
print(summarise(selector, X, y))

# %%
# **Explained** is the share of the target's variance that the best linear model on the features
# explains on new rows. It is estimated on rows that had no part in choosing the features: the
# search is repeated without each of four parts of the rows, and the set that was found is evaluated
# on the part left out. In brackets is the 95% interval. Its upper end is raised by what the set
# from all rows may explain beyond those from three quarters of them. "At least" means that there
# are fewer than two rows for each feature, or that features are nearly collinear where rows are
# few: the truth may be much higher. ``MiniBatch`` and ``Knockoffs`` are not repeated: their
# estimate is marked as too high, as it comes from the rows that the features were chosen from.
#
# The **ridge model** below it is what an actual model reaches: AUC or :math:`R^2`, on held-out
# rows, of a model that was fitted to the others. It is lower than what the best linear model could
# reach, since its coefficients are estimated, too.
#
# The **gain** of a feature is the explained fraction of held-out rows that is lost when it is left
# out of a ridge model on the chosen ones, with its standard error. It counts only where the
# feature, or a near-copy of it, was also found without these rows: a feature chosen by chance is
# not. Chosen features that can replace each other have small gains. Of a set that you name
# yourself, :meth:`~featgrad.Learnability.gains` takes features as given.
#
# Does the interval cover?
# ------------------------
# In simulated data the truth is known: each feature explains the square of its slope.
strengths, covered, plug_in = (0.0, 0.2, 0.5), [], []
for strength in strengths:
    hits, same_rows = 0, 0
    for _ in range(40):
        X, y = draw(150, strength)
        fitted = FeatureGradientSelector(5, random_state=0).fit(X, y)
        chosen = fitted.get_support(indices=True)
        truth = strength**2 * np.sum(chosen < 5) / (1 + 5 * strength**2)
        low, high = fitted.learnability_.interval
        hits += low <= truth <= high
        low, high = Learnability(X, y).estimate(chosen).interval
        same_rows += low <= truth <= high
    covered.append(hits / 40)
    plug_in.append(same_rows / 40)
_, ax = plt.subplots()
ax.plot(strengths, covered, "o-", label="learnability_")
ax.plot(strengths, plug_in, "o--", label="from the rows used to choose")
ax.axhline(0.95, color="grey", linewidth=1)
ax.set(xlabel="slope of each of five features", ylabel="share of intervals that cover", ylim=(0, 1))
ax.legend()
plt.show()

# %%
# No interval covers values that no row has. Two of the 18,159 rows of a set of weather records
# have a pressure five times too high, which lowers what eight features explain from 29.8% to 28.6%;
# the interval of 4,000 rows covers that in 87% of 200 samples, and in 94% with all values clipped
# at the 0.1% quantiles of their columns. Look at the extremes first.
#
# Is there anything to learn?
# ---------------------------
# ``n_features_to_select="auto"`` chooses nothing where no linear model predicts held-out rows
# better than noise would, with a warning. Curves and products may still matter: a fit warns where
# it finds any. A permutation test repeats the whole search for shuffled targets.
X, y = draw(100, 0.0)
print("features:", FeatureGradientSelector(random_state=0).fit(X, y).n_features_)
selector = FeatureGradientSelector(3, random_state=0)
print("p-value:", permutation_test(selector, X, y, n_permutations=19, random_state=0).p_value)

# %%
# **Stability** (``n_resamples``) is how often a feature is chosen from half of the rows, and
# ``Knockoffs(fdr)`` limits the expected share of false features: see
# :ref:`sphx_glr_auto_howto_plot_error_control.py`.
