"""
Use columns of words
====================

Categories become columns of 0 and 1, one per category; the selector then chooses among these. What
a feature was made of can be read from its name.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from featgrad import FeatureGradientSelector

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
# Rare categories share one column, so that none is too rare to tell anything.
encode = make_column_transformer(
    (OneHotEncoder(sparse_output=False, min_frequency=20), ["district", "heating"]),
    remainder="passthrough",
    verbose_feature_names_out=False,
)
selector = FeatureGradientSelector(2, random_state=0)
pipeline = make_pipeline(encode, selector).set_output(transform="pandas").fit(flats, rent)
print(pipeline.transform(flats).head(3))
print("explained:", selector.learnability_)
