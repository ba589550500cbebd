import numpy as np
import pytest

from featgrad.math import filters
from featgrad.search import strategies
from featgrad.search.elimination import eliminate
from featgrad.search.progress import go_on
from search_data import folds_of, regression, singles, standard

COEFFICIENTS = filters.coefficients("monotone", 4)


def test_elimination_scores_by_who_stays_longest():
    folds, units = folds_of(*regression(150, 8)), singles(8, kept=[6])
    one, two = strategies.elimination(0.1)(folds, units, [2.0, 5.0], go_on)
    order = np.argsort(one.scores).tolist()
    assert order == [*eliminate(folds, units, 0.1), 6]
    np.testing.assert_array_equal(one.scores, two.scores)


def test_elimination_tells_what_ridge_regression_explains():
    X, y = regression(150, 8)
    (found,) = strategies.elimination(0.1)(folds_of(X, y), singles(8), [3.0], go_on)
    Z, target = standard(X)[:, :3], standard(y)
    cross = Z.T @ target / 150
    explained = cross @ np.linalg.solve(Z.T @ Z / 150 + 0.1 * np.eye(3), cross)
    assert found.steps == [pytest.approx((1 - explained, explained, 3), rel=1e-4)]


@pytest.mark.parametrize(
    "strategy", [strategies.elimination(0.1), strategies.gradient(COEFFICIENTS, 1.2, 10)]
)
def test_size_is_told_in_features(strategy):
    X, y = regression(150, 8)
    (found,) = strategy(folds_of(np.hstack([X, X**2]), y), singles(8).twice(), [3.0], go_on)
    assert found.steps[-1].size == pytest.approx(3, abs=1e-6)


def test_gradient_searches_for_each_budget():
    folds, units = folds_of(*regression(150, 8)), singles(8)
    found = strategies.gradient(COEFFICIENTS, 1.2, 10)(folds, units, [2.0, 5.0], go_on)
    assert [[round(step.size, 6) for step in each.steps] for each in found] == [[2] * 10, [5] * 10]


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("rows_per_column", [0.1, 1000.0])
def test_every_competitor_finds_planted_columns(n_outputs: int, rows_per_column: float):
    folds = folds_of(*regression(200, 20))
    for strategy in strategies.competitors(COEFFICIENTS, n_outputs, rows_per_column, 1000):
        (found,) = strategy(folds, singles(20), [3.0], go_on)
        assert set(np.argsort(-found.scores)[:3]) == {0, 1, 2}


@pytest.mark.parametrize(("rows_per_column", "n_steps"), [(0.1, 5), (1000.0, 1)])
def test_few_rows_start_from_the_gradient_and_many_from_elimination(
    rows_per_column: float, n_steps: int
):
    first, *_ = strategies.competitors(COEFFICIENTS, 1, rows_per_column, 5)
    (found,) = first(folds_of(*regression(100, 6)), singles(6), [2.0], go_on)
    assert len(found.steps) == n_steps
