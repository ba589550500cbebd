"""The selector inside river's pipelines."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("river")
from river import checks, linear_model, metrics, preprocessing

from featgrad.online.river import RiverFeatureSelector


@pytest.mark.parametrize(
    "check", list(checks.yield_checks(RiverFeatureSelector(k=2))), ids=lambda check: check.__name__
)
def test_estimator_checks_of_river(check):
    check(RiverFeatureSelector(k=2))


def rows(count: int):
    rng = np.random.default_rng(0)
    for values in rng.standard_normal((count, 6)):
        yield dict(zip("abcdef", values, strict=True)), bool(values[1] + values[4] > 0)


def test_chosen_features_reach_the_next_step():
    selector = RiverFeatureSelector(k=2, half_life=200)
    model = preprocessing.StandardScaler() | selector | linear_model.LogisticRegression()
    right = metrics.Accuracy()
    for x, y in rows(1500):
        right.update(y, model.predict_one(x))
        model.learn_one(x, y)
    assert set(selector.transform_one(x)) == {"b", "e"}
    assert right.get() > 0.9


def test_rows_at_once_are_the_same_as_one_by_one():
    X, y = zip(*rows(500), strict=True)
    one, many = RiverFeatureSelector(k=2), RiverFeatureSelector(k=2)
    for x, target in zip(X, y, strict=True):
        one.learn_one(x, target)
    frame = pd.DataFrame(X)
    many.learn_many(frame, pd.Series(y))
    assert many.transform_many(frame).columns.tolist() == sorted(one.transform_one(X[0]))


def test_classes_are_given_beforehand():
    selector = RiverFeatureSelector(k=1, classes=["high", "low"])
    for x, y in rows(300):
        selector.learn_one(x, "high" if y else "low")
    assert set(selector.transform_one(x)) <= {"b", "e"}


@pytest.mark.parametrize("value", [1e18, 2e19, 9.97e36, 1e300, np.inf])
@pytest.mark.parametrize("place", ["X", "y"])
def test_rows_of_huge_values_are_refused_and_leave_no_trace(value: float, place: str):
    good, selector = RiverFeatureSelector(k=2, half_life=200), RiverFeatureSelector(2, 200)
    for number, (x, y) in enumerate(rows(800)):
        good.learn_one(x, y)
        if number == 350:
            huge = (x | {"c": value}, y) if place == "X" else (x, value)
            with pytest.raises(ValueError, match=f"{place} (holds values of up to|contains)"):
                selector.learn_one(*huge)
        selector.learn_one(x, y)
    np.testing.assert_array_equal(selector.selector.scores_, good.selector.scores_)
