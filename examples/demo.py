"""Choose six of the thirty measurements of the breast cancer data that ship with scikit-learn."""

from sklearn.datasets import load_breast_cancer

from featgrad import FeatureGradientSelector
from featgrad.report import summarise

data = load_breast_cancer()
X, y = data.data, data.target
print(f"Breast cancer data: {X.shape[0]} rows, {X.shape[1]} features, benign or malignant.\n")

selector = FeatureGradientSelector(n_features_to_select=6, random_state=0).fit(X, y)
print(summarise(selector, X, y, names=data.feature_names))

print(
    """
gain: what held-out rows lose when a feature is left out of the chosen ones.
explained: share of the target's variance that a linear model could explain on new rows,
with its 95 % interval. For the chosen features it comes from rows that had no part in
choosing them, and so does the score of a ridge model (AUC: area under the curve).

Next, with your own data (a table X of numbers, sparse or dense, and a target y):

    from featgrad import FeatureGradientSelector
    selector = FeatureGradientSelector(n_features_to_select=20).fit(X, y)
    X_small = selector.transform(X)
    print(selector.get_feature_names_out(), selector.learnability_)"""
)
