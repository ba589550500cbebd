"""
Compare two selections
======================

Selectors of scikit-learn have ``get_support``: which features two of them share, and which only one
of them has, takes a few lines.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest

from featgrad import FeatureGradientSelector, Learnability

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
selectors = {
    "featgrad": FeatureGradientSelector(8, random_state=0).fit(X, y),
    "F test": SelectKBest(k=8).fit(X, y),
}
masks = np.column_stack([selector.get_support() for selector in selectors.values()])
shared, either = masks.all(axis=1), masks.any(axis=1)
print(f"shared: {shared.sum()} of {either.sum()} features")

# %%
# Shared features first, then those of one selector only. The F test looks at features one by one
# and takes several that say the same.
order = np.flatnonzero(either)[np.lexsort((masks[either, 1], ~shared[either]))]
row, column = np.nonzero(masks[order])
_, ax = plt.subplots(layout="constrained")
ax.scatter(column, row, c=np.where(shared[order][row], "C0", "C1"))
ax.set_xticks(range(len(selectors)), selectors)
ax.set_yticks(range(len(order)), X.columns[order])
ax.set_xlim(-0.5, len(selectors) - 0.5)
ax.invert_yaxis()
plt.show()

# %%
# What do the features of each explain in combination? Both figures are optimistic, as they come
# from the rows that the features were chosen from.
data = Learnability(X, y)
for name, selector in selectors.items():
    print(f"{name:>8}: {data.estimate(selector.get_support())}")
