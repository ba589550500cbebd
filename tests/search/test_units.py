import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from featgrad.search.units import best_first
from search_data import singles, units_of


def chosen(units, scores, budget: float) -> list[int]:
    return np.flatnonzero(units.best_within(np.asarray(scores, float), budget)).tolist()


@pytest.mark.parametrize(
    ("of_column", "costs", "expected"),
    [
        ([0, 1, 2], None, True),
        ([1, 0, 2], None, False),
        ([0, -1, 1, 2], None, True),
        ([0, 1, 1], None, False),
        ([0, 1, 2], [1, 1, 2], False),
        ([0, 1, 1], [1, 1], False),
    ],
)
def test_single_columns_of_cost_one(of_column: list[int], costs, expected: bool):
    assert units_of(of_column, costs=costs).are_single_columns == expected


@pytest.mark.parametrize(
    ("kept", "expected"), [([], 1.5), ([0], 4.0), ([0, 1], 6.0), ([0, 1, 2], 7.5)]
)
def test_smallest_budget_pays_for_kept_units_or_for_the_cheapest(kept, expected: float):
    assert units_of([0, 1, 2, 2], costs=[4, 2, 1.5], kept=kept).smallest_budget == expected


def test_totals_over_units_skip_excluded_columns():
    units = units_of([0, -1, 1, 0, 2, 1, -1])
    total = units.total(np.array([1.0, 99, 2, 3, 4, 5, 99]))
    np.testing.assert_array_equal(total, [4, 7, 4])


def test_units_without_columns_at_hand_have_a_total_of_zero():
    units = units_of([-1, 1, 0, 2])
    some, _ = units.only(np.array([0, 1]))
    np.testing.assert_array_equal(some.total(np.array([2.0, 3.0])), [3, 2])


def test_spread_gives_columns_the_value_of_their_unit():
    units = units_of([1, -1, 0, 2, 1])
    spread = units.spread(np.array([10.0, 20, 30]), -5.0)
    np.testing.assert_array_equal(spread, [20, -5, 10, 30, 20])


def test_columns_of_some_units_are_rising():
    units = units_of([0, 1, -1, 0, 2, 1])
    np.testing.assert_array_equal(units.columns_of(np.array([2, 0])), [0, 3, 4])


def test_only_some_units():
    units = units_of([0, 1, -1, 0, 2, 1], costs=[5, 6, 7], kept=[2])
    some, columns = units.only(np.array([1, 2]))
    np.testing.assert_array_equal(columns, [1, 4, 5])
    np.testing.assert_array_equal(some.of_column, [0, 1, 0])
    np.testing.assert_array_equal(some.costs, [6, 7])
    np.testing.assert_array_equal(some.kept, [False, True])


def test_best_scores_within_the_budget():
    assert chosen(singles(5), [3, 1, 5, 2, 4], 3) == [0, 2, 4]
    assert chosen(singles(5), [3, 1, 5, 2, 4], 9) == [0, 1, 2, 3, 4]
    assert chosen(singles(3), [1, 1, 1], 2) == [0, 1]


def test_kept_units_come_first():
    assert chosen(singles(5, kept=[1]), [3, 1, 5, 2, 4], 3) == [1, 2, 4]
    assert chosen(singles(5, kept=[1, 3]), [3, 1, 5, 2, 4], 2) == [1, 3]


def test_what_does_not_fit_is_passed_over():
    units = singles(4, costs=[3, 2, 1.5, 0.5], kept=[3])
    assert chosen(units, [9, 8, 7, 0], 3) == [1, 3]
    assert chosen(units, [9, 8, 7, 0], 3.5) == [0, 3]
    assert chosen(units, [9, 8, 7, 0], 4.0) == [0, 3]


def test_rounding_in_sums_of_costs_does_not_cost_a_unit():
    assert chosen(singles(4, costs=[0.1, 0.1, 0.1, 5]), [1, 1, 1, 0], 0.3) == [0, 1, 2]


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0]), max_size=12), st.integers(0, 14))
def test_best_first_is_the_beginning_of_a_stable_sort(scores: list[float], count: int):
    expected = np.argsort(-np.array(scores), kind="stable")[:count]
    np.testing.assert_array_equal(best_first(np.array(scores), count), expected)
