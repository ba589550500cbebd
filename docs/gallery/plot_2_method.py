r"""
How it works
============

For readers who know linear regression.
"""

# %%
# The trouble with R²
# -------------------
# Fit a linear model and ask how much of the target's variance it explains: on the rows that it was
# fitted to, every feature helps, even one of pure noise. Below, a single feature explains one half
# of the target, and features of noise are added; mean and spread over 20 draws of 150 rows. The
# estimate that featgrad uses stays at the truth.
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from featgrad import FeatureGradientSelector, Learnability, MiniBatch
from featgrad.math.formulas import up_to

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
# The reason why R² is too high: each row is compared with itself. Take two *different* rows of
# standardised data, with features :math:`x_i` and :math:`x_j` and targets :math:`y_i` and
# :math:`y_j`. On average
#
# .. math:: \mathrm{E}\,[\, y_i \, x_i^\mathrm{T} x_j \, y_j \,] = b^\mathrm{T} b,
#           \qquad b = \mathrm{E}\,[\, x y \,],
#
# where :math:`b` holds the covariances of the target with each feature: nothing was fitted, so
# nothing is overfitted. For uncorrelated features that is the explained variance already.
pairs = np.triu(np.outer(y, y) * (X[:, :10] @ X[:, :10].T), k=1)
print("mean over pairs / variance:", round(pairs.sum() / (150 * 149 / 2) / y.var(), 2))

# %%
# Chains of different rows
# ------------------------
# Correlated features need the covariance :math:`\Sigma` between them: what they explain is
# :math:`b^\mathrm{T} \Sigma^{-1} b`. There is no inverse without fitting, but there are powers. A
# chain through three different rows has
#
# .. math:: \mathrm{E}\,[\, y_i \, (x_i^\mathrm{T} x_j) (x_j^\mathrm{T} x_k) \, y_k \,] =
#           b^\mathrm{T} \Sigma \, b,
#
# one of four :math:`b^\mathrm{T} \Sigma^2 b`, and so on. Weights :math:`a_0, a_1, \ldots` put them
# together such that
#
# .. math:: z = \sum_{i=0}^{k-1} a_i \, b^\mathrm{T} \Sigma^i b \approx b^\mathrm{T} \Sigma^{-1} b:
#
# a direction of the data of variance :math:`x` counts by :math:`\sum_i a_i x^{i+1}`, which should
# be 1. The *order* :math:`k` is the number of powers: higher orders count weaker directions,
# at the price of noise.
x = np.linspace(0, 1, 200)
_, ax = plt.subplots()
for coefficients in up_to("monotone", 8)[::-1]:
    if len(coefficients) in (1, 2, 4, 8):
        powers = x[:, None] ** np.arange(1, len(coefficients) + 1)
        ax.plot(x, powers @ coefficients, label=f"order {len(coefficients)}")
ax.set(xlabel="variance of a direction, relative to the largest", ylabel="counts by")
ax.legend()
plt.show()

# %%
# All chains at once
# ------------------
# There are astronomically many chains, but rows can be put in order and each chain walked in that
# order. Fade each feature in or out by a *mask* :math:`0 \le s_d \le 1`, with
# :math:`S = \mathrm{diag}(s)`, and keep of the products of all rows only those above the diagonal,
# where the second row comes after the first:
#
# .. math:: T = \mathrm{triu}\,(X S X^\mathrm{T}), \qquad
#           z(s) = \sum_{i=0}^{k-1} a_i \, \frac{y^\mathrm{T} T^{\,i+1} y}{\binom{n}{i+2}}.
#
# Powers of T are all chains of that length, and no row comes twice in one of them.
_, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
chain = [0, 2, 3, 6]
left.imshow(np.triu(np.ones((8, 8)), k=1), cmap="Blues", vmax=3)
left.plot(chain[1:], chain[:-1], "o", color="darkred")
left.set(title="T: a pair of rows in each cell", xlabel="second row", ylabel="first row")
right.plot(range(8), np.zeros(8), "o", color="lightgray", markersize=12)
right.plot(chain, np.zeros(4), "o", color="darkred", markersize=12)
for i, j in pairwise(chain):
    curve = np.linspace(0, np.pi, 30)
    right.plot((i + j) / 2 - (j - i) / 2 * np.cos(curve), np.sin(curve), color="darkred")
right.set(title="a chain of four rows: three of these cells", xlabel="row", ylim=(-1, 2), yticks=[])
plt.show()

# %%
# T is never formed. One pass over the rows, from the last to the first, keeps a sum over the rows
# it has seen for each power, and that is all that the next row has to be multiplied with:
#
# .. math:: R_{j+1}[n] = x_n^\mathrm{T} S \sum_{m > n} x_m R_j[m], \qquad R_0 = y.
#
# A second pass from the first row to the last gives the gradient
# :math:`\partial z / \partial s_d` of all features at once. Both take time linear in rows and
# features, and leave zeros out.
#
# From thousands of features to k
# -------------------------------
# A search for k features goes round by round.
#
# 1. The *working set*: one pass over the rows gives what each feature explains by itself; the best
#    few hundred form it. Rows belong to random folds, and a second pass adds up the covariances of
#    the working set within each fold. From here on the number of rows does not matter: chains now
#    run over different *folds*.
# 2. *Descent*: a mask starts with each feature half open, moves along the gradient under the
#    condition that it adds up to k features, and is made sharper until most are in or out. Then
#    *elimination* among the best: ridge regression drops the feature that it misses least, again
#    and again until k remain. Where rows are many, features are swapped while that brings more than
#    chance would. Forward selection is another start: where it explains clearly more, its features
#    take the place of the others. If more features are asked for than matter, the rest are those
#    that explain most by themselves, not those that happen to fit the noise.
# 3. *Prices*: every column outside the working set, however many there are, is priced by its
#    covariance with what the chosen features leave unexplained, on rows that the model has not
#    seen. That is the gradient of the explained fraction. Those worth more than noise of the same
#    rank enter, and the descent goes on with a scale that fits the set found.
#
# Two rounds at most follow the first. The last prices are the *certificate*: an estimate of what
# the best column outside would add, next to what the best of as many columns of noise would reach,
# and to what is lost without the worst inside. Here, of 60 features three matter.
X = rng.standard_normal((400, 60))
y = X[:, 0] + X[:, 1] - X[:, 2] + rng.standard_normal(400)
selector = FeatureGradientSelector(3, path_sizes=[1, 2, 3, 5, 10], random_state=0).fit(X, y)
print("chosen:", selector.get_support(indices=True))
print(selector.plan_)
print("certificate:", selector.certificate_)
selector.path_.plot()
plt.show()

# %%
# The paper's own search
# ----------------------
# ``MiniBatch`` descends as the paper does: over all features, with a *penalty* on the size
# of the mask instead of a size. What remains above one half is chosen.
selector = FeatureGradientSelector(search=MiniBatch(penalty=1.0), random_state=0).fit(X, y)
_, ax = plt.subplots()
ax.plot(selector.history_["explained"], label="explained fraction")
ax.plot(selector.history_["size"] / 60, label="size of the mask / 60")
ax.set(xlabel="step")
ax.legend()
plt.show()
print("chosen:", selector.get_support(indices=True))
