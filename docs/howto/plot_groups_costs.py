"""
Choose within a budget: groups, costs, features to keep
=======================================================

Features are not always free to be chosen one by one: some are measured together, some cost more
than others, and some have to be there whatever they bring.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from featgrad import FeatureGradientSelector

X, y = load_breast_cancer(return_X_y=True, as_frame=True)

# %%
# Groups
# ------
# Each of ten properties of the cells comes as a mean, an error and a worst value. Whoever measures
# one has all three: they are chosen together or not at all. A group counts as many features as it
# has.
properties = [name.removeprefix("mean ") for name in X if name.startswith("mean ")]
groups = [[f"mean {name}", f"{name} error", f"worst {name}"] for name in properties]
selector = FeatureGradientSelector(6, feature_groups=groups, random_state=0).fit(X, y)
print("by groups:", *selector.get_feature_names_out(), sep="\n  ")

# %%
# Costs
# -----
# ``max_cost`` takes the place of the number. Say that worst values need a second look at every
# cell and cost five times as much.
costs = {name: 5.0 for name in X if name.startswith("worst")}
for max_cost in (5, 10, 20):
    selector = FeatureGradientSelector(costs=costs, max_cost=max_cost, random_state=0).fit(X, y)
    spent = sum(costs.get(name, 1.0) for name in selector.get_feature_names_out())
    print(f"at most {max_cost:>2}: {selector.learnability_}, spent {spent:.0f}")

# %%
# Features to keep and to exclude
# -------------------------------
# The kept one counts towards the number; the others are chosen to go with it.
selector = FeatureGradientSelector(
    4, keep=["mean texture"], exclude=["worst radius"], n_resamples=20, random_state=0
).fit(X, y)
print("with texture, without the worst radius:", *selector.get_feature_names_out(), sep="\n  ")

# %%
# How sure is the choice?
# -----------------------
# ``n_resamples`` repeats the search on random halves of the rows. Features that can
# replace each other are each chosen less often.
selector.stability_.plot(max_features=10)
plt.show()
