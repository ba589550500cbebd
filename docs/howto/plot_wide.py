"""
Select when features outnumber rows by far
==========================================

Gene expression and the like: some hundred rows, thousands of features. Least squares explains
everything there, and so does noise; the estimate stays honest.
"""

import matplotlib.pyplot as plt
import numpy as np

from featgrad import FeatureGradientSelector, Learnability

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 2000)).astype(np.float32)
X[:, 1::2] = 0.7 * X[:, ::2] + 0.7 * X[:, 1::2]  # neighbours are correlated
causes = [0, 400, 800, 1200, 1600]
y = X[:, causes].sum(axis=1) + rng.standard_normal(200)
print("truth:        5 of 2000 features explain", round(5 / 6, 2))
print("all features:", Learnability(X, y).estimate())

# %%
sizes = [1, 3, 5, 10, 20]
selector = FeatureGradientSelector(5, path_sizes=sizes, random_state=0).fit(X, y)
selector.path_.plot()
plt.show()
print("chosen at 5:", selector.get_support(indices=True))

# %%
# Nothing to find
# ---------------
# The best of very many sets looks better than it is, most of all where there is nothing to find.
# The interval is therefore from rows that had no part in choosing, and ``"auto"`` can choose
# nothing at all.
noise = rng.standard_normal(200)
selector = FeatureGradientSelector("auto", path_sizes=sizes, random_state=0).fit(X, noise)
print("chosen from pure noise:", selector.n_features_, "features")
print("five of them explain:  ", selector.at(5).learnability_)
print("on the same rows:      ", Learnability(X, noise).estimate(selector.at(5).get_support()))
