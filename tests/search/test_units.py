import numpy as np
import pytest

from search_data import singles, units_of


def chosen(units, scores, budget: float) -> list[int]:
    return np.flatnonzero(units.best_within(np.asarray(scores, float), budget)).tolist()


@pytest.mark.parametrize(
    ("of_column", "single"), [([0, 1, 2], True), ([1, 0, 2], False), ([0, 1, 1], False)]
)
def test_single_units_are_their_own_columns(of_column: list[int], single: bool):
    assert units_of(of_column).single == single


def test_totals_and_members():
    units = units_of([0, 1, 0, 2, 1])
    np.testing.assert_array_equal(units.total(np.array([1.0, 2, 3, 4, 5])), [4, 7, 4])
    np.testing.assert_array_equal(units.members(np.array([True, False, True])), [0, 2, 3])


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


def test_twice_stands_for_a_feature_by_two_columns():
    units = units_of([0, 1, 1, -1], costs=[2.0, 3.0], kept=[1]).twice()
    np.testing.assert_array_equal(units.of_column, [0, 1, 1, -1, 0, 1, 1, -1])
    inner, columns = units.only(np.array([1]))
    np.testing.assert_array_equal(columns, [1, 2, 5, 6])
    assert (inner.costs.tolist(), inner.kept.tolist(), inner.per_feature) == ([3.0], [True], 2)
