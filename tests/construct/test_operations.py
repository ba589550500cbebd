"""What operations construct, and how it is called."""

import numpy as np
import pytest

from featgrad import FeatureGradientConstructor
from featgrad.construct.operations import OPERATIONS, Operation
from featgrad.plan import PARENTS

# Targets without noise look like leaks, and excluded columns leave something.
pytestmark = pytest.mark.filterwarnings("ignore::featgrad.DataWarning")


def found(operation: str, X: np.ndarray, y: np.ndarray, count: int = 1) -> list[str]:
    constructor = FeatureGradientConstructor(count, operations=operation, random_state=0)
    return constructor.fit(X, y).get_feature_names_out().tolist()


def positive(n_rows: int = 500) -> np.ndarray:
    return np.exp(0.5 * np.random.default_rng(0).standard_normal((n_rows, 5)))


@pytest.mark.parametrize(
    ("operation", "target", "name"),
    [
        ("products", lambda X: (X[:, 0] - 1.1) * (X[:, 1] - 1.1), "(x0 - "),
        ("hinges", lambda X: np.maximum(X[:, 0] - 1, 0), "max(x0 - "),
        ("logs", lambda X: np.log(X[:, 0]), "log(x0)"),
        ("roots", lambda X: np.sqrt(X[:, 0]), "sqrt(x0)"),
        ("ratios", lambda X: X[:, 0] / X[:, 1], "x0 / x1"),
        ("lags", lambda X: np.roll(X[:, 2], 7), "x2[t-7]"),
        ("rolling", lambda X: np.convolve(X[:, 2], np.ones(8))[:500], "mean(x2[t-7..t])"),
    ],
)
def test_what_the_target_is_made_of_is_found(operation: str, target, name: str):
    X = positive()
    names = found(operation, X, target(X) + 0.01 * np.random.default_rng(1).standard_normal(500))
    assert names[0].startswith(name)


@pytest.mark.parametrize("operation", ["lags", "rolling"])
def test_no_row_sees_those_after_it(operation: str):
    curve, X = OPERATIONS[operation].curve, positive()
    for numbers in curve.numbers(X)[::50]:
        before = curve.apply(X, numbers)
        for place in (0, 3, 250, 499):
            other = X.copy()
            other[place + 1 :] = 1000
            np.testing.assert_array_equal(
                curve.apply(other, numbers)[: place + 1], before[: place + 1]
            )


def test_rolling_means_are_of_as_many_rows_as_there_are():
    curve, x = OPERATIONS["rolling"].curve, np.arange(6.0)
    np.testing.assert_allclose(curve.apply(x, 2.0), [0, 0.5, 1, 2, 3, 4])


def test_curves_exist_where_their_columns_allow_it():
    X = np.array([[-1.0, 0, 1, 5, 0], [1, 2, 3, 5, 1], [0, 1, 2, 5, 1]])
    exist = {
        name: np.isfinite(operation.curve.numbers(X)).any(axis=0).tolist()
        for name, operation in OPERATIONS.items()
        if name in ("logs", "roots", "hinges")
    }
    assert exist["logs"] == [False, False, True, False, False]
    assert exist["roots"] == [False, True, True, False, True]
    assert exist["hinges"] == [True, True, True, False, False]


def test_new_values_below_those_seen_have_a_logarithm():
    assert np.isfinite(OPERATIONS["logs"].curve.apply(np.array([-1.0]), 0.5)).all()


def test_products_of_categories_are_of_0_and_1():
    X = np.random.default_rng(0).integers(2, size=(600, 8)).astype(float)
    y = X[:, 0] * X[:, 1] + 0.3 * np.random.default_rng(1).standard_normal(600)
    constructor = FeatureGradientConstructor(1, random_state=0).fit(X, y)
    assert constructor.get_feature_names_out().tolist() == ["x0 * x1"]
    assert set(constructor.transform(X).ravel()) == {0, 1}


def test_later_rounds_price_pairs_with_the_most_promising_columns():
    class Recording(Operation):
        def best(self, parts, residuals, kept):
            limits.append(parts.most_parents)
            return super().best(parts, residuals, kept)

    X, limits = positive(), []
    y = np.log(X[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(500)
    curved = Recording(OPERATIONS["logs"].curve)
    FeatureGradientConstructor(1, operations=curved, estimate=False, random_state=0).fit(X, y)
    assert limits == [np.inf, PARENTS]
