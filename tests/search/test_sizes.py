import pytest
from featgrad.search.asked import asked_for

from search_data import singles, units_of


def ask(units=None, n_features: int = 10, **changes):
    options = {
        "n_features_to_select": None,
        "path_sizes": None,
        "max_cost": None,
        "has_costs": False,
    } | changes
    return asked_for(singles(n_features) if units is None else units, n_features, **options)


@pytest.mark.parametrize(
    ("options", "budgets", "chosen"),
    [
        ({"n_features_to_select": 3}, [3], 0),
        ({"n_features_to_select": 0.35}, [3], 0),
        ({"n_features_to_select": 0.01}, [1], 0),
        ({"n_features_to_select": 1.0}, [10], 0),
        ({"n_features_to_select": 3, "path_sizes": [7, 1]}, [1, 3, 7], 1),
        ({"n_features_to_select": 3, "path_sizes": (3, 3, 2)}, [2, 3], 1),
        ({"n_features_to_select": "auto"}, [1, 2, 3, 4, 5, 6, 8, 10], None),
        ({"n_features_to_select": "auto", "path_sizes": [4, 2]}, [2, 4], None),
        ({"path_sizes": [4, 2]}, [2, 4], None),
        ({"max_cost": 2.5, "has_costs": True}, [2.5], 0),
    ],
)
def test_budgets(options: dict, budgets: list[float], chosen: int | None):
    asked = ask(**options)
    assert asked.budgets == budgets
    assert asked.chosen == chosen


def test_the_penalty_decides_where_nothing_is_asked():
    assert ask() is None


def test_a_share_of_all_is_no_more_than_is_available():
    assert ask(units_of([0, 1, 2, *[-1] * 7]), n_features_to_select=0.8).budgets == [3]


@pytest.mark.parametrize(
    ("units", "budgets"),
    [
        (singles(10, kept=[0, 1, 2]), [3, 4, 5, 6, 8, 10]),
        (units_of([0] * 5 + [1] * 5), [5, 6, 8, 10]),
        (units_of([0] * 5 + [1] * 5, kept=[0, 1]), [10]),
        (units_of([0] * 9 + [-1]), [9]),
    ],
)
def test_auto_starts_from_the_smallest_set_there_is(units, budgets: list[float]):
    assert ask(units, n_features_to_select="auto").budgets == budgets
