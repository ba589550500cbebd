"""
Fit on a GPU
============

Tensors on a GPU are used where they are, and so are CuPy's arrays: no environment variable and no
setting of scikit-learn is needed. ``device="cuda"`` copies rows of the host there. Both need
torch: ``pip install -e ".[gpu]"``. This page runs on the CPU of torch where there is no GPU.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from featgrad import FeatureGradientSelector, Learnability

device = "cuda" if torch.cuda.is_available() else "cpu"
rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 200), dtype=np.float32)
y = X[:, 3] - X[:, 17] + rng.standard_normal(20_000)

# %%
# Rows on the host
# ----------------
# They are copied to the device: whole where they fit into half of its free memory, else in blocks,
# whenever the search asks for them. What comes back are a few numbers per feature, matrices of the
# chosen features, and predictions of 10,000 rows at most for the estimates. The same features are
# chosen as on the host.
selector = FeatureGradientSelector(2, device=device, random_state=0).fit(X, y)
print(selector.get_support(indices=True), selector.learnability_)
print(selector.plan_)

# %%
# On the command line: ``featgrad select rows.csv --target y --device cuda``.
#
# Rows on the device
# ------------------
# They stay there, and so does what is computed from them. The target and weights may be on any
# device. Up to 65,536 entries are copied to the host, where their fit is faster.
there = torch.asarray(X, device=device)
selector = FeatureGradientSelector(2, random_state=0).fit(there, y)
print(type(selector.transform(there)).__name__, selector.get_support(indices=True))

# %%
# Without a GPU, and for arrays of other libraries on the host, scikit-learn decides: NumPy arrays
# come back, unless dispatch is turned on. Put ``SCIPY_ARRAY_API=1`` into the environment before
# SciPy is imported, then add ``sklearn.set_config(array_api_dispatch=True)``. A pipeline with
# scikit-learn's own steps in front needs these two lines on a GPU as well.
#
# Value and gradient
# ------------------
# On a GPU they are taken over pairs, triples and so on of rows from distinct blocks, of which there
# are 32: as unbiased as over rows, and a few milliseconds for a gigabyte.
value, gradient = Learnability(there, y).value_and_gradient(np.full(200, 0.5))
print(f"{value:.3f}", gradient.shape)

# %%
# What each feature explains by itself, from the same rows on the device:
_, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
alone = Learnability(there, y).alone()
ax.bar(np.arange(200), alone.cpu() if device == "cuda" else alone)
ax.set(xlabel="feature", ylabel="explained by itself")
plt.show()

# %%
# What is better on the host
# --------------------------
# ``partial_fit``, ``fit_source`` and ``Knockoffs`` work on the host and take no ``device``. So does
# the search for more than 500 features, ``MiniBatch``: it takes batches of rows from the device or,
# with sparse X, from the host. On a large GPU ``search=WorkingSet()`` finds such sets in less time
# and misses fewer features. Sparse X has to fit into the memory of the GPU.
