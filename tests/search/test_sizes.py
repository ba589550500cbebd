import pytest

from featgrad import Knockoffs, MiniBatch
from featgrad.plan import AUTO_SIZES
from featgrad.search.units import read_budgets
from search_data import singles, units_of

PENALTY = MiniBatch(penalty=1.0)


def budgets_for(units=None, n_features: int = 10, **changes):
    options = {
        "n_features_to_select": "auto",
        "path_sizes": None,
        "max_cost": None,
        "costs": None,
        "keep": None,
        "search": None,
        "min_features_to_select": 0,
    } | changes
    return read_budgets(singles(n_features) if units is None else units, n_features, **options)


@pytest.mark.parametrize(
    ("options", "budgets", "chosen"),
    [
        ({"n_features_to_select": 3}, [3], 0),
        ({"n_features_to_select": 0.35}, [3], 0),
        ({"n_features_to_select": 0.01}, [1], 0),
        ({"n_features_to_select": 1.0}, [10], 0),
        ({"n_features_to_select": 3, "path_sizes": [7, 1]}, [1, 3, 7], 1),
        ({"n_features_to_select": 3, "path_sizes": (3, 3, 2)}, [2, 3], 1),
        ({}, list(range(1, 11)), None),
        ({"path_sizes": [4, 2]}, [2, 4], None),
        ({"min_features_to_select": 9}, [9, 10], None),
        ({"path_sizes": [2, 4], "min_features_to_select": 3}, [4], None),
        ({"path_sizes": [2], "min_features_to_select": 3}, [3], None),
        ({"max_cost": 2.5, "costs": [1.0]}, [2.5], 0),
    ],
)
def test_sizes_become_rising_budgets(options: dict, budgets: list[float], chosen: int | None):
    found = budgets_for(**options)
    assert found.values == budgets
    assert found.chosen == chosen


@pytest.mark.parametrize(
    ("units", "least", "expected"),
    [(None, 0, True), (None, 1, False), (units_of(range(10), kept=[2]), 0, False)],
)
def test_whether_no_features_may_be_chosen(units, least: int, expected: bool):
    assert budgets_for(units, min_features_to_select=least).may_be_none == expected


def test_the_penalty_decides_where_it_is_asked_to():
    assert budgets_for(search=PENALTY).values == []


def test_sizes_of_many_features_are_a_ladder():
    assert budgets_for(n_features=1000).values == list(AUTO_SIZES)


@pytest.mark.parametrize(("n_rows", "largest"), [(1, 1), (2, 1), (15, 7), (1000, 10)])
def test_so_few_rows_judge_no_larger_sets(n_rows: int, largest: int):
    assert budgets_for().for_rows(n_rows).values == list(range(1, largest + 1))
    assert budgets_for(path_sizes=[9]).for_rows(n_rows).values == [9]


def test_a_share_of_all_is_no_more_than_is_available():
    assert budgets_for(units_of([0, 1, 2, *[-1] * 7]), n_features_to_select=0.8).values == [3]


@pytest.mark.parametrize(
    ("units", "budgets"),
    [
        (singles(10, kept=[0, 1, 2]), [3, 4, 5, 6, 7, 8, 9, 10]),
        (units_of([0] * 5 + [1] * 5), [5, 6, 7, 8, 9, 10]),
        (units_of([0] * 5 + [1] * 5, kept=[0, 1]), [10]),
        (units_of([0] * 9 + [-1]), [9]),
    ],
)
def test_auto_starts_from_the_smallest_set_there_is(units, budgets: list[float]):
    assert budgets_for(units, n_features_to_select="auto").values == budgets


def test_units_come_along():
    units = units_of([0, 0, 1, -1], kept=[1])
    assert budgets_for(units, 4, n_features_to_select=3).units is units


@pytest.mark.parametrize(
    ("units", "options", "message"),
    [
        (None, {"costs": [1.0]}, "costs are given without max_cost"),
        (None, {"max_cost": 3, "n_features_to_select": 2}, "takes the place of"),
        (None, {"max_cost": 3, "path_sizes": [2]}, "takes the place of"),
        (None, {"n_features_to_select": 11}, "does not fit n_features=10"),
        (None, {"n_features_to_select": 0}, "does not fit"),
        (None, {"n_features_to_select": True}, "does not fit"),
        (None, {"n_features_to_select": 1.5}, "does not fit"),
        (None, {"n_features_to_select": "few"}, "does not fit"),
        (None, {"path_sizes": []}, "is not a list of whole numbers"),
        (None, {"path_sizes": [1.5]}, "is not a list of whole numbers"),
        (None, {"path_sizes": [0, 3]}, "goes beyond 1 to 10"),
        (units_of([0, 1, *[-1] * 8]), {"path_sizes": [3]}, "goes beyond 1 to 2"),
        (units_of([0, 1, *[-1] * 8]), {"n_features_to_select": 3}, "2 of them available"),
        (None, {"n_features_to_select": None}, "does not fit"),
        (None, {"min_features_to_select": 11}, "more than the 10 features that can be chosen"),
        (
            None,
            {"min_features_to_select": 1, "search": Knockoffs()},
            "leave out min_features_to_select",
        ),
        (None, {"search": PENALTY, "n_features_to_select": 3}, "leave out n_features_to_select"),
        (None, {"search": PENALTY, "path_sizes": [3]}, "leave out path_sizes"),
        (None, {"search": PENALTY, "max_cost": 3}, "leave out max_cost"),
        (None, {"search": PENALTY, "keep": [3]}, "leave out keep"),
        (singles(10, kept=[3, 4]), {"n_features_to_select": 1}, "keep asks for features"),
        (
            units_of([0] * 5 + [1] * 5),
            {"n_features_to_select": 4},
            "the smallest of which counts 5",
        ),
        (
            units_of([0] * 5 + [1] * 5),
            {"n_features_to_select": 6, "path_sizes": [2]},
            "path_sizes with 2",
        ),
        (singles(10, costs=[2.0] * 10), {"max_cost": 1, "costs": [1.0]}, "max_cost=1"),
    ],
)
def test_sizes_that_cannot_be_had_are_refused(units, options: dict, message: str):
    with pytest.raises(ValueError, match=message):
        budgets_for(units, **options)


def test_large_sizes_of_many_features_come_in_stages():
    stages = budgets_for(n_features=1000).stages()
    assert [stage[-1] for stage in stages] == [30, 100, 300]
    assert [size for stage in stages for size in stage] == list(AUTO_SIZES)


def test_sizes_that_were_asked_for_come_at_once():
    assert budgets_for(n_features=1000, path_sizes=[5, 200]).stages() == [[5, 200]]
