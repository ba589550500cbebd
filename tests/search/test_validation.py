import numpy as np
import pytest

from featgrad.search import validation
from featgrad.search.progress import Found
from search_data import folds_of, regression, singles, standard, units_of

GROUPS = [[0, 1], [2, 3], [4, 5, 6, 7]]


def always(scores):
    """A strategy that has made up its mind."""

    def strategy(folds, units, budgets, on_step):
        return [Found(np.asarray(scores, float)) for _ in budgets]

    return strategy


def scores(strategy, divisions, budgets) -> np.ndarray:
    return validation.judged(validation.tried(strategy, divisions, budgets), divisions, budgets)


def by_rows(X: np.ndarray, Y: np.ndarray, columns: list[int], test: np.ndarray) -> float:
    """Mean correlation, about 0, of ridge regression's predictions with held-out targets."""
    X, Y = standard(X)[:, columns], standard(Y)
    train = ~test
    gram = X[train].T @ X[train] + 4 * np.eye(len(columns))
    predicted = X[test] @ np.linalg.solve(gram, X[train].T @ Y[train])
    norms = np.linalg.norm(predicted, axis=0) * np.linalg.norm(Y[test], axis=0)
    return float(np.mean(np.sum(predicted * Y[test], axis=0) / norms))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_held_out_correlation_is_that_of_the_rows(n_outputs: int):
    X, y = regression(160, 7)
    Y = np.column_stack([y, X[:, 3] + y, X[:, 5] - y])[:, :n_outputs]
    divisions = validation.divide(folds_of(X, Y), singles(7), GROUPS, [np.arange(7)] * 3)
    table = scores(always([1, 9, 3, 8, 2, 7, 0]), divisions, [2.0, 4.0])
    assert table.shape == (3, 2)
    of_fold = np.arange(160) // 20
    for i, group in enumerate(GROUPS):
        test = np.isin(of_fold, group)
        for j, columns in enumerate([[1, 3], [1, 2, 3, 5]]):
            assert table[i, j] == pytest.approx(by_rows(X, Y, columns, test), rel=1e-4)


def test_divisions_hold_what_their_training_rows_suggest():
    X, y = regression(160, 7)
    folds, units = folds_of(X, y), units_of([0, 1, 1, 2, 3, 3, 3], kept=[2])
    suggested = [np.array([0, 2]), np.array([1, 2]), np.array([2, 3])]
    first, second, third = validation.divide(folds, units, GROUPS, suggested)
    assert [division.test.n_rows for division in (first, second, third)] == [40, 40, 80]
    assert [division.training.n_rows for division in (first, second, third)] == [120, 120, 80]
    assert [division.training.n_columns for division in (first, second, third)] == [2, 3, 4]
    np.testing.assert_array_equal(third.units.of_column, [0, 1, 1, 1])
    np.testing.assert_array_equal(third.units.kept, [True, False])
    np.testing.assert_array_equal(second.test.cross(), folds.only([2, 3]).cross()[[1, 2, 3]])


def test_a_set_without_columns_predicts_nothing():
    X, y = regression(160, 4)
    divisions = validation.divide(
        folds_of(X, y), singles(4, costs=[5, 5, 5, 5]), GROUPS, [np.arange(4)] * 3
    )
    np.testing.assert_array_equal(scores(always([4, 3, 2, 1]), divisions, [1.0]), 0)


def test_columns_that_do_not_vary_predict_nothing():
    X, y = regression(160, 4)
    folds = folds_of(X, y)
    for fold in folds.folds:
        fold.cross[0] = 0
        fold.gram[0] = fold.gram[:, 0] = 0
    divisions = validation.divide(folds, singles(4), GROUPS, [np.arange(4)] * 3)
    np.testing.assert_array_equal(scores(always([4, 3, 2, 1]), divisions, [1.0]), 0)


def test_swaps_follow_what_was_found():
    X, y = regression(160, 7)
    divisions = validation.divide(folds_of(X, y), singles(7), GROUPS, [np.arange(7)] * 3)
    found = validation.tried(always([0, 0, 0, 0, 0, 0, 1]), divisions, [1.0])
    swapped = validation.tried_with_swaps(found, divisions, [1.0], free=[1.0])
    for division, (before,), (after,) in zip(divisions, found, swapped, strict=True):
        strongest = np.argmax(np.abs(division.training.cross()[:, 0]))
        assert np.argmax(before.scores) == 6
        assert np.argmax(after.scores) == strongest


FIRST = np.array([[0.5, 0.7], [0.6, 0.8], [0.4, 0.6], [0.5, 0.7], [0.5, 0.7]])
NOISE = np.array([[0.1], [-0.1], [0.1], [-0.1], [0.0]])


@pytest.mark.parametrize(
    ("others", "best"),
    [
        ([FIRST + 0.01, FIRST - 0.1], 1),
        ([FIRST + 0.01, FIRST + 0.02], 2),
        ([FIRST + 0.02, FIRST + 0.01], 1),
        ([FIRST - 0.01, FIRST - 0.02], 0),
        ([FIRST, FIRST], 0),
        # Ahead on average, but by less than three of its standard errors.
        ([FIRST + 0.1 + NOISE, FIRST], 0),
        ([FIRST + 0.2 + NOISE, FIRST + 0.01], 1),
        ([FIRST + 0.1 + NOISE, FIRST + 0.01], 2),
    ],
)
def test_the_first_strategy_unless_another_is_clearly_better(others, best: int):
    assert validation.clear_winner([FIRST, *others]) == best


@pytest.mark.parametrize(
    ("means", "spread", "expected"),
    [
        ([0.1, 0.5, 0.8, 0.8], 0.0, 2),
        ([0.1, 0.5, 0.79, 0.8], 0.0, 3),
        ([0.1, 0.5, 0.79, 0.8], 0.1, 2),
        ([0.1, 0.5, 0.7, 0.8], 0.1, 3),
        ([0.8, 0.5, 0.7, 0.8], 0.0, 0),
        ([0.1, 0.8, 0.7, 0.79], 0.1, 1),
    ],
)
def test_smallest_budget_within_a_standard_error(means, spread: float, expected: int):
    # Standard error of five values -1, -1, 0, 1, 1 times the spread: 0.447 of it.
    table = np.array(means) + spread * np.array([[-1], [-1], [0], [1], [1]])
    assert validation.smallest_good(table) == expected
