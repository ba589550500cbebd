"""
From a table to a chosen set
============================

Ten minutes with measurements of 569 tumours: 30 features, benign or malignant.
"""

# %%
# How much is there to learn?
# ---------------------------
# Before any model is fitted: which part of the target's variance could a linear model on these
# features explain on new rows? The interval is the uncertainty of that.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from featgrad import FeatureGradientSelector, Learnability
from featgrad.report import gather_facts, summarise, write_report

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
data = Learnability(X, y)
print("all 30 features: ", data.estimate())
print("two of them:     ", data.estimate(["worst radius", "worst texture"]))

# %%
# How many features?
# ------------------
# One fit finds the best set of each size. The curve levels off early: a handful of features
# explains most of what all of them do. (``"auto"`` in place of 6 takes the smallest size that
# predicts held-out rows as well as any.)
sizes = [1, 2, 3, 4, 6, 8, 12, 20, 30]
selector = FeatureGradientSelector(6, path_sizes=sizes, random_state=0).fit(X, y)
selector.path_.plot()
plt.show()

# %%
# Which ones?
# -----------
# The gain is what held-out rows lose when one feature is left out. It is small for features that
# others can replace, however much they explain on their own. What all six explain together is
# estimated on rows that had no part in choosing them. ``selector.at(3)`` is the selector of
# another size, without fitting again.
print(summarise(selector, X, y))
selector.gains_.plot()
plt.show()

# %%
# Is it enough for a model?
# -------------------------
# The choice is made inside each fold, on its training rows only: a choice made on all rows would
# have seen the test rows.
classifier = make_pipeline(StandardScaler(), LogisticRegression())
with_six = make_pipeline(FeatureGradientSelector(6, random_state=0), classifier)
for name, model in (("all 30", classifier), ("six", with_six)):
    scores = cross_val_score(model, X, y, scoring="roc_auc")
    print(f"{name:>6} features: AUC {scores.mean():.3f}")

# %%
# Does the order matter?
# ----------------------
# The order is how far the estimate looks into weak directions of the data. Where the curve has
# levelled off, a higher one sees nothing more and only adds noise.
orders = range(1, 9)
at_each = [
    Learnability(X, y, order=order, filter="chebyshev").estimate(selector.get_support())
    for order in orders
]
_, ax = plt.subplots()
ax.plot(orders, [estimate.value for estimate in at_each], marker="o")
low, high = zip(*(estimate.interval for estimate in at_each), strict=True)
ax.fill_between(orders, low, high, alpha=0.2)
ax.set(xlabel="order", ylabel="explained fraction")
plt.show()

# %%
# Show it to others
# -----------------
# One HTML file with the curve, the features and their values, which features they replace,
# warnings, and how to reproduce it. The command does all of this at once: ``featgrad select
# patients.csv --target diagnosis --report report.html``.
write_report(gather_facts(selector, X, y), "tumours.html")
