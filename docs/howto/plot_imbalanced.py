"""
Choose for a rare class
=======================

With two classes both count the same in the search, however rare one of them is: no weights are
needed for that. What the chosen features explain is about the rows as they are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from featgrad import FeatureGradientSelector, Learnability

rng = np.random.default_rng(0)
y = rng.random(4000) < 0.03
X = rng.standard_normal((4000, 50))
X[y, :5] += 0.8  # the rare rows differ in the first five columns

# %%
# Weights of classes leave the choice as it is.
weights = compute_sample_weight("balanced", y)
for name, given in (("as they are", None), ("weighted", weights)):
    selector = FeatureGradientSelector(5, random_state=0).fit(X, y, sample_weight=given)
    print(f"{name}: {selector.get_support(indices=True)}")

# %%
# The explained fraction is about rows as they are weighted: among rows that are nearly all of one
# class there is little variance to explain.
plain, weighted = Learnability(X, y), Learnability(X, y, sample_weight=weights)
print("as they are:", plain.estimate())
print("weighted:   ", weighted.estimate())
_, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
ax.plot(weighted.alone(), "o", label="weighted")
ax.plot(plain.alone(), "o", label="as they are")
ax.set(xlabel="feature", ylabel="explained by itself")
ax.legend()
plt.show()
