from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from featgrad.moments.folds import Folds, make_fold
from featgrad.search.progress import Found
from featgrad.search.swaps import CAREFUL, FREE, by_likelihood, refined, swapped
from featgrad.search.units import Units
from search_data import folds_of, singles


def noisy_copies(n_rows: int, noise: float, seed: int = 0) -> tuple[Folds, Units]:
    """Columns 0 and 1 decide y; columns 2 and 3 are noisy copies of them; six more are noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 10))
    X[:, 2:4] = (X[:, :2] + 0.5 * X[:, 2:4]) / np.sqrt(1.25)
    y = X[:, :1] + X[:, 1:2] + noise * rng.standard_normal((n_rows, 1))
    values = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    outputs = (y - y.mean()) / y.std()
    parts = np.array_split(np.arange(n_rows), 8)
    weights = np.full(n_rows, 1 / n_rows)
    folds = Folds([make_fold(values[part], outputs[part], weights[part]) for part in parts])
    return folds, Units(np.arange(10), np.ones(10), np.zeros(10, bool))


def only(*members: int) -> np.ndarray:
    return np.isin(np.arange(10), members)


def best_pair(folds: Folds) -> np.ndarray:
    """By trying all pairs."""
    C, b = folds.covariance() + 0.01 * np.eye(10), folds.cross()[:, 0]

    def explained(pair: tuple[int, int]) -> float:
        return float(b[list(pair)] @ np.linalg.solve(C[np.ix_(pair, pair)], b[list(pair)]))

    return only(*max(combinations(range(10), 2), key=explained))


@pytest.mark.parametrize("caution", [CAREFUL, FREE])
def test_copies_are_swapped_for_the_originals(caution: float):
    folds, units = noisy_copies(400, noise=0.2)
    np.testing.assert_array_equal(swapped(folds.moments(), units, only(2, 3), caution), only(0, 1))


@pytest.mark.parametrize("caution", [CAREFUL, FREE])
def test_the_best_set_stays(caution: float):
    folds, units = noisy_copies(400, noise=0.2)
    np.testing.assert_array_equal(swapped(folds.moments(), units, only(0, 1), caution), only(0, 1))


@pytest.mark.parametrize("caution", [CAREFUL, FREE])
def test_kept_units_stay(caution: float):
    folds, units = noisy_copies(400, noise=0.2)
    units = Units(units.of_column, units.costs, only(2))
    assert swapped(folds.moments(), units, only(2, 3), caution)[2]


def test_gains_within_chance_do_not_pay_a_careful_one():
    """Where noise drowns the target any set is as good as another."""
    for seed in range(5):
        folds, units = noisy_copies(400, noise=1e6, seed=seed)
        np.testing.assert_array_equal(
            swapped(folds.moments(), units, only(6, 7), CAREFUL), only(6, 7)
        )


def test_free_swaps_find_the_set_that_explains_most():
    for seed in range(5):
        folds, units = noisy_copies(400, noise=3.0, seed=seed)
        np.testing.assert_array_equal(
            swapped(folds.moments(), units, only(6, 7), FREE), best_pair(folds)
        )


def test_those_that_come_take_the_scores_of_those_that_go():
    folds, units = noisy_copies(400, noise=0.2)
    scores = np.array([0.1, 0.0, 9.0, 8.0, 0.5, 0.4, 0.3, 0.2, -1.0, -2.0])
    after = refined(folds, units, 2.0, Found(scores), CAREFUL).scores
    assert sorted(after[:2]) == [8.0, 9.0]
    np.testing.assert_array_equal(after[4:], scores[4:])
    np.testing.assert_array_equal(np.sort(after), np.sort(scores))


def test_few_rows_are_not_trusted():
    folds, units = noisy_copies(39, noise=0.2)
    found = Found(np.arange(10.0))
    assert refined(folds, units, 2.0, found, FREE) is found


def two_classes(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten groups of four like columns; one column of each of four groups decides the class."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 40)) + 2 * np.repeat(rng.standard_normal((100, 10)), 4, axis=1)
    return X, X[:, [0, 4, 8, 12]].sum(axis=1) + 0.7 * rng.standard_normal(100) > 0


def loss(X: np.ndarray, y: np.ndarray, chosen: np.ndarray) -> float:
    """Of the logistic model of some columns, with its penalty."""
    columns = (X / X.std(axis=0))[:, chosen]
    model = LogisticRegression(tol=1e-8, max_iter=1000).fit(columns, y)
    fit = log_loss(y, model.predict_proba(columns), normalize=False)
    return float(fit + np.sum(model.coef_**2) / 2)


def test_swaps_by_likelihood_go_on_where_those_by_squares_end():
    gains = []
    for seed in range(20):
        X, y = two_classes(seed)
        folds = folds_of(X, y.astype(float))
        start = swapped(folds.moments(), singles(40), np.arange(40) >= 36, FREE)
        after = by_likelihood(folds, singles(40), start)
        gains.append(loss(X, y, start) - loss(X, y, after))
    assert min(gains) >= -1e-6
    assert np.count_nonzero(np.array(gains) > 1e-3) >= 5


def test_free_swaps_end_with_those_by_likelihood():
    for seed in range(20):
        X, y = two_classes(seed)
        folds, start = folds_of(X, y.astype(float)), np.arange(40) >= 36
        after = refined(folds, singles(40), 4.0, Found(1.0 * start), FREE).scores > 0
        by_squares = swapped(folds.moments(), singles(40), start, FREE)
        np.testing.assert_array_equal(after, by_likelihood(folds, singles(40), by_squares))


def test_kept_units_stay_whatever_the_likelihood():
    X, y = two_classes(0)
    units = singles(40, kept=[39])
    assert by_likelihood(folds_of(X, y.astype(float)), units, np.arange(40) >= 36)[39]


def test_likelihood_has_nothing_to_say_of_a_target_with_more_values():
    folds, units = noisy_copies(400, noise=0.2)
    np.testing.assert_array_equal(by_likelihood(folds, units, only(2, 3)), only(2, 3))
