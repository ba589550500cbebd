"""
See which pixels matter
=======================

Features that are the pixels of an image can be looked at as one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from featgrad import FeatureGradientSelector

X, y = load_digits(return_X_y=True)
both = FeatureGradientSelector(20, path_sizes=[5, 20], random_state=0).fit(X, y)
figure, axes = plt.subplots(1, 2, figsize=(5, 2.8))
for k, ax in zip((5, 20), axes, strict=True):
    selector = both.at(k)
    ax.imshow(selector.get_support().reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"{k} pixels explain {selector.learnability_.value:.0%}", fontsize=9)
plt.show()
