"""
Construct features
==================

Where a target depends on products of columns, or on a column only above some value, no selection of
columns helps a linear model. :class:`~featgrad.FeatureGradientConstructor` prices every
product, hinge and product of both without building it, and builds those that are worth it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from featgrad import FeatureGradientConstructor, FeatureGradientSelector

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.standard_normal((800, 30)), columns=[f"marker{i}" for i in range(30)])
X["age"] = rng.uniform(20, 80, 800).round(1)
X["dose"] = rng.uniform(0, 10, 800).round(2)
# Risk rises from 50 years on; the dose helps where the first marker is high, and harms where low.
y = 0.08 * np.maximum(X["age"] - 50, 0) - 0.3 * (X["dose"] - 5) * X["marker0"]
y = (y + 0.5 * rng.standard_normal(800)).rename("risk")

# %%
# From a warning to features
# --------------------------
# A selector warns where a linear model leaves something unexplained.
selector = FeatureGradientSelector(random_state=0).fit(X, y)
print("ridge model on columns as given:", selector.score_)
print(*selector.concerns_, sep="\n")

# %%
# The constructor is a transformer with the same parameters, and chooses among given and constructed
# columns together. Their names say what they are, in the units of the columns.
constructor = FeatureGradientConstructor(random_state=0).fit(X, y)
print("ridge model on what is constructed:", constructor.score_)
print(constructor.formula_)
print(constructor.constructed_)
print("explained:", constructor.learnability_)

# %%
# The price is an estimate of what a column would add, made before it is built; the gain is what
# held-out rows lose without it. All of it is repeated without each part of the rows that is held
# out. ``verdict_`` compares held-out rows with and without constructed columns: they are kept only
# where they predict these better. In new rows products stay between the least and the largest one
# of the rows that were seen: an extreme row cannot make a value that no row supports.
verdict = constructor.verdict_
print("correlation of predictions with held-out rows")
print(f"with constructed columns: {verdict.constructed:.3f}, without: {verdict.without:.3f}")

# %%
# Each one as a picture: the target over the column of a hinge, and over both columns of a product.


def shown(ax, feature):
    """Means of the target in bins of the columns that a constructed feature is made of."""
    first, *others = (pd.qcut(X[part], 10 - 4 * (len(feature.parts) > 1)) for part in feature.parts)
    if not others:
        means = y.groupby(first, observed=True).agg(["mean", "sem"])
        middles = [interval.mid for interval in means.index]
        ax.errorbar(middles, means["mean"], means["sem"], fmt="o-")
        ax.set(xlabel=feature.parts[0], ylabel=f"mean {y.name}")
    else:
        means = y.groupby([others[0], first], observed=True).mean().unstack()
        largest = np.abs(means - y.mean()).max().max()
        image = ax.imshow(
            means - y.mean(), origin="lower", cmap="RdBu_r", vmin=-largest, vmax=largest
        )
        ax.set_xticks([0, 5], ["low", "high"])
        ax.set_yticks([0, 5], ["low", "high"])
        ax.set(xlabel=feature.parts[0], ylabel=feature.parts[1])
        ax.figure.colorbar(image, label=f"{y.name} beyond its mean")
    ax.set_title(feature.name, fontsize="medium")


pictured = {tuple(feature.parts): feature for feature in reversed(constructor.constructed_)}
_, axes = plt.subplots(1, len(pictured), figsize=(5 * len(pictured), 4), layout="constrained")
for ax, feature in zip(np.atleast_1d(axes), pictured.values(), strict=True):
    shown(ax, feature)
plt.show()

# %%
# What it can find, and what not
# ------------------------------
# - **Pairs**: any product of two columns, whether or not each explains anything by itself. Of
#   texts these are crosses such as ``city=Rome * day=Sun``. Only levels that occur together take
#   time; texts of more than 1,000 levels are hashed first (``open_source(path, hash_dim=)``).
# - **Curves**: hinges, which add up to any curve; with ``operations`` also logarithms, roots and
#   ratios, and for rows in the order of time lags and rolling means.
# - **More than pairs** where a step on the way has a price: constructed columns are parts of those
#   of the next round.
# - **Not** what has no price on the way. The parity of five columns is a product of five; no
#   product of two, three or four of them explains anything of it.
signs = rng.choice([-1.0, 1.0], (2000, 10))
for count in (2, 5):
    parity = signs[:, :count].prod(axis=1)
    found = FeatureGradientConstructor(5, random_state=0).fit(signs, parity)
    print(f"parity of {count}:", [feature.name for feature in found.constructed_])

# %%
# - **Not noise**: a column enters only if it is worth more than the best of all candidates would
#   be by chance, so that nothing is constructed where nothing is to be found; and not what rows are
#   too few for: the more candidates, the higher that bar. It is lower for products of columns that
#   are promising by themselves.
found = FeatureGradientConstructor(5, random_state=0).fit(X, rng.permutation(y))
print("of shuffled targets:", found.constructed_)

# %%
# Other models than linear ones find curves and products themselves; boosted trees are hard to beat
# where hundreds of them matter. Constructed columns are few, can be read, and work in any model.
#
# Of a file
# ---------
# The command does the same for files of any kind, with texts and missing values:
#
# .. code-block:: bash
#
#    featgrad construct patients.csv --target risk -k 6 --formula --write small.csv
