"""
Tables as they are
==================

``fit(table, y)`` takes a data frame (pandas, polars, Arrow) with text, dates, booleans and missing
values. Its columns are chosen as a whole, however each of them is encoded.
"""

# %%
# A table of 600 deliveries. Whether one is late depends on the carrier, on the weekday and on the
# weight, which is missing where a parcel was not weighed.
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import featgrad
from featgrad import FeatureGradientSelector
from featgrad.report import summarise

rng = np.random.default_rng(0)
n_rows = 600
sent = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 500, n_rows), unit="D")
weight = rng.lognormal(1, 0.5, n_rows)
table = pd.DataFrame(
    {
        "parcel": [f"P{number:05}" for number in rng.permutation(n_rows)],
        "sent": sent,
        "carrier": rng.choice(["Ant", "Bee", "Cat", "Dog"], n_rows),
        "weight": np.where(rng.random(n_rows) < 0.2, np.nan, weight),
        "insured": rng.random(n_rows) < 0.3,
        "shelf": rng.integers(1, 40, n_rows),
        "colour": rng.choice(["brown", "white"], n_rows),
    }
)
risk = 2.0 * (table["carrier"] == "Cat") + 1.5 * (sent.day_of_week >= 5) + 0.5 * weight
late = (risk + rng.logistic(size=n_rows) > 3).rename("late")
print(table.head(3).to_string())

# %%
# What is in it?
# --------------
# ``featgrad.describe`` shows for each column its kind, how often it is missing, what it explains of
# the target by itself, and what to look at. ``featgrad info table.csv --target late`` prints the
# same of a file.
print(featgrad.describe(table, late))

# %%
# Choose
# ------
# A text becomes one column for each of its values, a date its day, season and weekday; they are in
# or out together. Identifiers are never chosen.
selector = FeatureGradientSelector(3, path_sizes=[1, 2, 3, 4, 5], random_state=0).fit(table, late)
print(selector.get_feature_names_out())
print(summarise(selector, table, late))

# %%
# What more variables would add:
selector.path_.plot()
plt.show()

# %%
# What to check
# -------------
# A leak, a near-copy, an outlier, rows that belong together: ``concerns_`` lists what was found, as
# the report and the command do, and the serious ones are raised as warnings. Here a column was
# written after the parcel had arrived.
leaky = table.assign(refund=np.where(late, 5.0, 0.0) + rng.normal(0, 0.1, n_rows))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", featgrad.DataWarning)
    suspicious = FeatureGradientSelector(3, random_state=0).fit(leaky, late)
for concern in suspicious.concerns_:
    print(concern)

# %%
# Go on with the columns
# ----------------------
# ``transform`` gives the chosen columns of the table, as they are, for whatever comes next.
print(selector.transform(table).head(3))
