"""
How it works
============

For readers who know linear regression.
"""

# %%
# The trouble with R²
# -------------------
# Fit a linear model and ask how much of the target's variance it explains: on the rows that it was
# fitted to, every feature helps, also one of pure noise. Below, the target is explained to one half
# by a single feature, and noise is added; mean and spread over 20 draws of 150 rows. The estimate
# used here does not fall for it.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from featgrad import FeatureGradientSelector, Learnability
from featgrad.math.filters import up_to
from featgrad.report import PathDisplay

rng = np.random.default_rng(0)
counts = [1, 10, 30, 60, 100, 140]
fitted, estimated = [], []
for _ in range(20):
    X = rng.standard_normal((150, 140))
    y = X[:, 0] + rng.standard_normal(150)
    data = Learnability(X, y)
    fitted.append([LinearRegression().fit(X[:, :k], y).score(X[:, :k], y) for k in counts])
    estimated.append([data.estimate(np.arange(k)).value for k in counts])

_, ax = plt.subplots()
for name, draws in (("R² of the fitted model", fitted), ("estimate", estimated)):
    mean, spread = np.mean(draws, axis=0), np.std(draws, axis=0)
    ax.errorbar(counts, mean, spread, marker="o", capsize=3, label=name)
ax.axhline(0.5, color="gray", linestyle="--", label="truth")
ax.set(xlabel="features, all but one of them noise", ylabel="explained fraction")
ax.legend()
plt.show()

# %%
# Pairs of different rows
# -----------------------
# The reason why R² is too high: each row is compared with itself. Take two *different* rows i and j
# of standardised data. The product yᵢ yⱼ (xᵢ · xⱼ) is, on average, \|b\|² where b holds the
# covariances of the target with each feature: nothing was fitted, so nothing is overfitted. For
# uncorrelated features that is the explained variance already.
pairs = np.triu(np.outer(y, y) * (X[:, :10] @ X[:, :10].T), k=1)
print("mean over pairs / variance:", round(pairs.sum() / (150 * 149 / 2) / y.var(), 2))

# %%
# Chains of different rows
# ------------------------
# Correlated features need the covariance Σ between them: what they explain is bᵀ Σ⁻¹ b. There is no
# inverse without fitting, but there are powers: chains of three different rows give bᵀ Σ b, of four
# bᵀ Σ² b, and so on. A polynomial q is put together from them such that q(Σ) comes near the
# inverse. A direction of the data of variance x then counts by x q(x), which should be 1. The
# *order* is the degree of that product: higher orders count weaker directions, at the price of
# noise.
x = np.linspace(0, 1, 200)
_, ax = plt.subplots()
for coefficients in up_to("monotone", 8)[::-1]:
    if len(coefficients) in (1, 2, 4, 8):
        powers = x[:, None] ** np.arange(1, len(coefficients) + 1)
        ax.plot(x, powers @ coefficients, label=f"order {len(coefficients)}")
ax.set(xlabel="variance of a direction, beside the largest", ylabel="counts by")
ax.legend()
plt.show()

# %%
# All chains at once
# ------------------
# There are astronomically many chains, but rows can be put into a line and each chain be walked in
# its order: one pass over the rows adds up all of them, and a second one gives the gradient with
# respect to a *mask* that fades each feature in or out. Both cost time linear in rows and features.
#
# From thousands of features to k
# -------------------------------
# A search for k features takes four steps.
#
# 1. One pass over the rows: what each feature tells of the target on its own.
# 2. A shortlist of a few hundred features. Rows are dealt into twenty folds, and a second pass adds
#    up the covariances of the shortlist within each fold. From here on neither the number of rows
#    nor that of features matters: chains now run over different *folds*.
# 3. Two ways to find a set compete on folds that are held out. The *gradient*: a mask starts with
#    each feature half open, moves along the gradient under the condition that it adds up to k
#    features, and is made sharper until each one is in or out. It cannot overfit and wins where
#    rows are few. *Elimination*: least squares, held back by a ridge, drops one feature after
#    another. It is exact, and wins where rows are many. The winner chooses with all folds.
# 4. Swaps: as long as some feature outside could take the place of one inside and explain more, it
#    does, where there are rows enough to trust that. Held-out folds tell whether any gain counts or
#    only one beyond what chance would bring among so many features. Where any gain counts and few
#    rows tell two classes apart, swaps go on by the likelihood of a logistic model.
#
# Before the first step columns with heavy tails are drawn in by a signed root, so that a few far
# rows do not decide. Where features outnumber rows, each one is judged together with its *curve*,
# what its square tells beyond it: so few rows may hide a line, and a class is often marked by both
# ends of a feature. Curves are left out where columns look normal, where most entries are zero, and
# where all curves together tell no more than chance. Here, of 60 features three matter.
X = rng.standard_normal((400, 60))
y = X[:, 0] + X[:, 1] - X[:, 2] + rng.standard_normal(400)
selector = FeatureGradientSelector(3, path_sizes=[1, 2, 3, 5, 10], random_state=0).fit(X, y)
print("chosen:", selector.get_support(indices=True))
PathDisplay.from_estimator(selector)
plt.show()

# %%
# The paper's own search
# ----------------------
# ``n_features_to_select=None`` descends as the paper does: over all features, with a *penalty* on
# the size of the mask instead of a size. What remains above one half is chosen.
selector = FeatureGradientSelector(penalty=1.0, random_state=0).fit(X, y)
_, ax = plt.subplots()
ax.plot(selector.history_["explained"], label="explained fraction")
ax.plot(selector.history_["size"] / 60, label="size of the mask / 60")
ax.set(xlabel="step")
ax.legend()
plt.show()
print("chosen:", selector.get_support(indices=True))
