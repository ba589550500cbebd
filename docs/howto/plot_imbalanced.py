"""
Weigh rows of a rare class
==========================

Where one class is rare, weights make both count the same. Rows of weight 0 count as absent.
"""

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from featgrad import FeatureGradientSelector, learnability

rng = np.random.default_rng(0)
y = rng.random(4000) < 0.03
X = rng.standard_normal((4000, 50))
X[y, :5] += 0.8  # the rare rows differ in the first five columns
weights = compute_sample_weight("balanced", y)

# %%
# The explained fraction is about rows as they are weighted: among rows that are nearly all of one
# class there is little variance to explain.
print("as they are:", learnability(X, y))
print("weighted:   ", learnability(X, y, sample_weight=weights))

# %%
for name, given in (("as they are", None), ("weighted", weights)):
    selector = FeatureGradientSelector(5, random_state=0).fit(X, y, sample_weight=given)
    print(f"{name}: {selector.get_support(indices=True)}")
