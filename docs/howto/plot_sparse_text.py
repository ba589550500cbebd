"""
Find the words that matter in sparse text
=========================================

Counts of words are sparse, and stay so: time and memory grow with the number of nonzero entries.
The texts are docstrings; the question is whether one comes from NumPy or from SciPy.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy
from sklearn.feature_extraction.text import TfidfVectorizer

from featgrad import FeatureGradientSelector, Learnability
from featgrad.report import FeaturesDisplay


def docstrings(*modules):
    members = (getattr(module, name) for module in modules for name in dir(module))
    texts = {getattr(member, "__doc__", None) or "" for member in members}
    return sorted(text for text in texts if len(text) > 500)


numpy_texts = docstrings(np, np.linalg, np.fft, np.random, np.ma)
scipy_texts = docstrings(
    scipy.linalg, scipy.fft, scipy.stats, scipy.signal, scipy.special, scipy.optimize
)
texts = [*numpy_texts, *scipy_texts]
y = np.repeat(["numpy", "scipy"], [len(numpy_texts), len(scipy_texts)])

# %%
# The package's own name would give the answer away: it is left out.
words = TfidfVectorizer(
    token_pattern=r"[a-z]{3,}", min_df=3, stop_words=["numpy", "scipy", "np"], sublinear_tf=True
)
X = words.fit_transform(texts)
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.1%} of entries not 0")
print("all words:   ", Learnability(X, y).estimate())

# %%
selector = FeatureGradientSelector(15, random_state=0).fit(X, y)
print("fifteen:     ", selector.learnability_)

# %%
# What held-out texts lose without each of them:
chosen = selector.get_support(indices=True)
names = words.get_feature_names_out()[chosen]
label = "share of the variance that is lost without the word"
FeaturesDisplay(names, *Learnability(X, y).gains(chosen), label=label).plot()
plt.show()
