"""
Use columns of words
====================

A data frame can be given as it is, and its columns are then chosen as a whole
(:ref:`sphx_glr_auto_howto_plot_tables.py`). Encoded by yourself, categories are columns of 0 and 1,
and the selector chooses among these or takes variables as a whole; very many are hashed.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from featgrad import FeatureGradientSelector, Learnability, groups_by_origin, open_source
from featgrad.report import FeaturesDisplay

rng = np.random.default_rng(0)
flats = pd.DataFrame(
    {
        "district": rng.choice(["north", "south", "east", "west", "centre"], 1000),
        "heating": rng.choice(["gas", "oil", "heat pump"], 1000),
        "area": rng.normal(80, 20, 1000),
        "floor": rng.integers(0, 8, 1000),
    }
)
rent = 8 * flats["area"] + 300 * (flats["district"] == "centre") + rng.normal(0, 50, 1000)

# %%
# Single categories. Rare ones share one column, so that none is too rare to be of use.
encode = make_column_transformer(
    (OneHotEncoder(sparse_output=False, min_frequency=20), ["district", "heating"]),
    remainder="passthrough",
    verbose_feature_names_out=False,
)
selector = FeatureGradientSelector(2, random_state=0)
pipeline = make_pipeline(encode, selector).set_output(transform="pandas").fit(flats, rent)
print(pipeline.transform(flats).head(3))
print("explained:", selector.learnability_)

# %%
# Whole variables: groups are in or out as one, and each of their columns counts towards the number.
groups = groups_by_origin(encode)
whole = FeatureGradientSelector(6, feature_groups=groups, random_state=0)
whole.fit(encode.transform(flats), rent)
print(whole.get_feature_names_out())

# %%
# What held-out rows lose without each variable:
data = Learnability(encode.transform(flats), rent)
everything = np.arange(data.n_features_in_)
gains = data.gains(everything, groups)
_, first = np.unique(groups, return_index=True)
variables = [str(name).split("_")[0] for name in data.feature_names_in_[first]]
values, errors = (part[first] for part in gains)
label = "share of the variance that is lost without the variable"
FeaturesDisplay(variables, values, errors, label=label).plot()
plt.show()

# %%
# From a file
# -----------
# Columns of text are found and encoded while the file is read, ``source.feature_groups`` has the
# original column of each feature, and ``hash_dim`` hashes texts into so many features. What fell
# into a chosen one can be looked up. The command does the same:
# ``featgrad select flats.csv --target rent -k 6 --hash-dim 64``.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "flats.csv")
    flats.assign(rent=rent).to_csv(path, index=False)
    source = open_source(path, target="rent", hash_dim=64)
    hashed = FeatureGradientSelector(2, random_state=0).fit_source(source)
    chosen = hashed.get_support(indices=True)
    print(hashed.get_feature_names_out())
    texts = [i for i in chosen if "#" in source.feature_names[i]]
    print(source.tokens_of(texts))
