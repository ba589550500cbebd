"""Forward selection against least squares solved anew, and where swaps begin from it."""

import numpy as np
import pandas as pd
import pytest

from featgrad import FeatureGradientSelector
from featgrad.moments.folds import Totals
from featgrad.search.elimination import forward
from search_data import singles, units_of

RIDGE = 0.01


def totals(n_columns: int = 12) -> Totals:
    """Of correlated columns and two outputs."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, n_columns)) @ rng.standard_normal((n_columns, n_columns))
    Y = X[:, :5] @ rng.standard_normal((5, 2)) + rng.standard_normal((80, 2))
    return Totals(X.T @ X / 80, X.T @ Y / 80, float(np.mean(Y**2, axis=0).sum()), 80.0)


def explained(given: Totals, members: list[int]) -> float:
    C = given.matrix[np.ix_(members, members)] + RIDGE * np.eye(len(members))
    return float(np.sum(given.cross[members] * np.linalg.solve(C, given.cross[members])))


def test_each_column_is_that_which_explains_most_beyond_those_before():
    given, members = totals(), []
    for size in range(1, 8):
        others = [j for j in range(12) if j not in members]
        members.append(max(others, key=lambda j: explained(given, [*members, j])))
        chosen, found = forward(given, singles(12), size, RIDGE)
        assert set(np.flatnonzero(chosen)) == set(members)
        assert found == pytest.approx(explained(given, members))


def test_units_of_several_columns_explain_less_twice_what_noise_would():
    given, members = totals(), [[0, 3], [1], [2, 9, 10], [4, 5], [6], [7], [8, 11]]
    units, chosen = units_of([0, 1, 2, 0, 3, 3, 4, 5, 6, 2, 2, 6], costs=np.ones(7)), []

    def worth(unit: int) -> float:
        before = [j for i in chosen for j in members[i]]
        noise = (given.variance - explained(given, before)) / (80 - len(before))
        more = explained(given, before + members[unit]) - explained(given, before)
        return more - 2 * noise * (len(members[unit]) - 1)

    for size in range(1, 6):
        chosen.append(max(set(range(7)) - set(chosen), key=worth))
        flags, found = forward(given, units, size, RIDGE)
        assert set(np.flatnonzero(flags)) == set(chosen)
        assert found == pytest.approx(explained(given, [j for i in chosen for j in members[i]]))


def test_rows_say_the_same_as_their_covariance():
    rng = np.random.default_rng(0)
    rows, cross = rng.standard_normal((8, 12)), rng.standard_normal((12, 1))
    both = Totals(rows, cross, 1.0, 8.0, is_gram=False), Totals(rows.T @ rows, cross, 1.0, 8.0)
    (chosen, found), (again, as_much) = (forward(one, singles(12), 4, RIDGE) for one in both)
    assert np.array_equal(chosen, again)
    assert found == pytest.approx(as_much)


def test_kept_columns_come_first():
    given, kept = totals(), np.isin(np.arange(12), [3, 8])
    others = [j for j in range(12) if not kept[j]]
    best = max(others, key=lambda j: explained(given, [3, 8, j]))
    chosen, _ = forward(given, singles(12, kept=[3, 8]), 3, RIDGE)
    assert set(np.flatnonzero(chosen)) == {3, 8, best}


@pytest.mark.parametrize("has_text", [False, True])
def test_columns_of_a_category_are_those_that_differ_from_the_rest(has_text):
    # One column of each of ten levels: six of them say nearly what the other four say.
    rng = np.random.default_rng(1)
    levels, numbers = rng.integers(0, 10, 1000), rng.standard_normal((1000, 4))
    X = pd.DataFrame(np.hstack([numbers, np.eye(10)[levels]])).rename(columns=str)
    effects = np.array([0, 0, 0, 1, 1, 0, 0, 2, 0, 1])[levels]
    y = effects + 0.5 * numbers[:, 0] + 0.2 * rng.standard_normal(1000)
    X = X.assign(text=rng.choice(list("abc"), 1000)) if has_text else X
    selector = FeatureGradientSelector(6, estimate=False, random_state=0).fit(X, y)
    assert {0, 7, 8, 11, 13} <= set(np.flatnonzero(selector.get_support()))


def test_a_text_of_noise_does_not_change_which_numbers_are_chosen():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 40)) + 1.5 * rng.standard_normal((100, 1))
    X = pd.DataFrame(X).rename(columns=str)
    y = X.iloc[:, :5].sum(axis=1) + 2 * rng.standard_normal(100)
    selector = FeatureGradientSelector(6, estimate=False, random_state=0)
    numbers = selector.fit(X, y).get_feature_names_out().tolist()
    X["text"] = rng.choice(list("abc"), 100)
    assert selector.fit(X, y).get_feature_names_out().tolist() == numbers
