"""Three of thirty measurements of tumours: chosen one by one, and chosen together."""

import sys
from os.path import relpath
from pathlib import Path
from shutil import which

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from featgrad import FeatureGradientSelector
from featgrad.report import gather_facts, write_report

REPORT = Path("demo_report.html")
BLOCK = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"

data = load_breast_cancer()
X, y, names = data.data, data.target, data.feature_names


def draw_bar(label, value, text, largest):
    print(f"  {label:<16}{BLOCK * round(40 * value / largest)} {text}")


def count_wrong(*selector):
    """Tumours misclassified, each by a model and with features that were chosen without it."""
    model = make_pipeline(*selector, StandardScaler(), LogisticRegression())
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    return int(np.sum(cross_val_predict(model, X, y, cv=folds) != y))


print(f"{len(X)} tumours, {len(names)} measurements of each: benign or malignant?\n")
selector = FeatureGradientSelector(3, path_sizes=[1, 2, 3, 5, 8, 30], random_state=0).fit(X, y)
one_by_one = SelectKBest(k=3).fit(X, y)
print("The best three, by SelectKBest:", ", ".join(names[one_by_one.get_support()]))
print("The best three, by featgrad:   ", ", ".join(names[selector.get_support()]))

print("\nTumours that a logistic regression on them misclassifies (ten-fold cross-validation):")
wrong = {}
for size in (3, 5, 8):
    wrong[f"{size:>2} SelectKBest"] = count_wrong(SelectKBest(k=size))
    chosen = FeatureGradientSelector(size, estimate=False, random_state=0)
    wrong[f"{size:>2} featgrad"] = count_wrong(chosen)
wrong["30 all"] = count_wrong()
for label, count in wrong.items():
    draw_bar(label, count, count, max(wrong.values()))
alike = abs(np.corrcoef(one_by_one.transform(X), rowvar=False)[np.triu_indices(3, 1)])
print(
    "SelectKBest looks at one measurement at a time, and its first three repeat each other\n"
    f"(correlations of {alike.min():.2f} to {alike.max():.2f}). featgrad looks at them together."
)

print("\nHow many are enough? Share of the variance that the best ones explain on new tumours:")
for point in selector.path_:
    value = point.learnability.value
    draw_bar(f"the best {point.size}", value, str(point.learnability), 1)

# The command may not be on the path where an environment is not activated.
command = "featgrad" if which("featgrad") else relpath(Path(sys.executable).with_name("featgrad"))
write_report(gather_facts(selector, X, y, names=names), REPORT)
print(f"""
What each one adds, what could replace it and what to check is in the report:
    {REPORT.resolve()}

Next, with a table of your own (text, dates and missing values as they are):

    {command} info patients.csv --target diagnosis
    {command} select patients.csv --target diagnosis --report report.html

or in Python, in any pipeline of scikit-learn:

    from featgrad import FeatureGradientSelector
    selector = FeatureGradientSelector().fit(X, y)    # as many features as it takes
    X_small = selector.transform(X)""")
