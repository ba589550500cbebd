import numpy as np
import pytest

from featgrad.moments.folds import Folds
from featgrad.plan import COMPLETE_ROWS_PER_UNIT, FILL_ROWS_PER_UNIT, SWAP_ROWS_PER_UNIT
from featgrad.search.elimination import Candidates
from featgrad.search.swaps import Swapping, choose, refine, swap_ridge, swapped
from search_data import folds_of, regression, singles, units_of


def flags(chosen, count: int) -> np.ndarray:
    return np.isin(np.arange(count), chosen)


def refined(folds: Folds, start, **options) -> list[int]:
    units = singles(folds.n_columns, **options)
    return np.flatnonzero(
        refine(
            [Candidates(folds.totals(), units, np.arange(0), 0.0, 0.0)], [flags(start, units.count)]
        )[0]
    ).tolist()


def explained(folds: Folds, columns) -> float:
    """Explained variance by solving anew."""
    C, b = folds.totals().covariance[np.ix_(columns, columns)], folds.totals().cross[columns]
    penalised = C + swap_ridge(folds.totals()) * np.eye(len(columns))
    return float(np.sum(b * np.linalg.solve(penalised, b)))


def best_swap(folds: Folds, chosen: list[int]) -> list[int]:
    """The set after the one swap that explains most."""
    swaps = [
        sorted(set(chosen) - {out} | {into})
        for out in chosen
        for into in set(range(folds.n_columns)) - set(chosen)
    ]
    return max(swaps, key=lambda swap: explained(folds, swap))


def weak_everywhere(n_rows: int = 400, n_columns: int = 40) -> Folds:
    """Every column explains a little of the target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    return folds_of(X, X.sum(axis=1) + 12 * rng.standard_normal(n_rows))


@pytest.mark.parametrize("start", [[5, 6, 7], [0, 4, 5], [0, 1, 9]])
def test_wrong_columns_are_swapped_for_those_that_decide(start: list[int]):
    assert refined(folds_of(*regression(300, 10)), start) == [0, 1, 2]


def test_first_swap_is_the_one_that_explains_most():
    folds = folds_of(*regression(300, 10))
    assert refined(folds, [0, 1, 9]) == best_swap(folds, [0, 1, 9])


def test_swap_within_chance_is_made_where_it_completes_the_set():
    """A near copy of a column that decides: it explains almost as much."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30))
    X[:, 9] = X[:, 3] + 0.3 * rng.standard_normal(400)
    folds = folds_of(X, X[:, :4].sum(axis=1) + 2.0 * rng.standard_normal(400))
    assert refined(folds, [0, 1, 2, 9]) == [0, 1, 2, 3]


def test_swap_within_chance_is_not_made_where_others_explain_something_too():
    folds = weak_everywhere()
    ranked = np.argsort(-(folds.totals().cross[:, 0] ** 2))
    start = sorted(ranked[[0, 1, 2, 3, 5]].tolist())
    assert explained(folds, best_swap(folds, start)) > explained(folds, start)
    assert refined(folds, start) == start


def test_kept_units_stay():
    assert 9 in refined(folds_of(*regression(300, 10)), [0, 1, 9], kept=[9])


def test_columns_that_fit_noise_give_way_to_those_that_explain_most_by_themselves():
    """Three columns decide; the fourth place goes to the one that resembles them most."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    X[:, 7] += X[:, 0]
    folds = folds_of(X, X[:, :3].sum(axis=1) + rng.standard_normal(300))
    fitting_noise = max(range(8, 20), key=lambda column: explained(folds, [0, 1, 2, column]))
    assert refined(folds, [0, 1, 2, fitting_noise]) == [0, 1, 2, 7]


def test_chance_is_that_of_several_outputs():
    """A column that explains one of five outputs is not taken for noise."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2000, 30)), rng.standard_normal((2000, 5))
    Y[:, 0] += 2 * X[:, 0]
    Y[:, 1] += 0.13 * X[:, 1]
    X[:, 2] += X[:, 0]
    assert refined(folds_of(X, Y), [0, 1]) == [0, 1]


def test_few_rows_for_each_unit_leave_the_set_as_it_is():
    folds = folds_of(*regression(3 * FILL_ROWS_PER_UNIT - 1, 10), n_folds=2)
    assert refined(folds, [5, 6, 7]) == [5, 6, 7]


def test_swaps_of_few_rows_are_made_where_they_complete_the_set():
    folds = folds_of(*regression(3 * SWAP_ROWS_PER_UNIT - 1, 10))
    assert refined(folds, [0, 6, 9]) == [0, 1, 2]


def test_swaps_of_few_rows_are_not_made_where_the_set_stays_incomplete():
    """Three of four columns that decide: the other one explains more than chance.

    The swap brings more than chance, too, but less than forward selection has to.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3 * SWAP_ROWS_PER_UNIT - 1, 10))
    X[:, 9] = X[:, 2] + 0.4 * rng.standard_normal(len(X))
    noise = 0.8 * rng.standard_normal(len(X))
    folds = folds_of(X, X[:, :3].sum(axis=1) + 0.7 * X[:, 3] + noise)
    assert explained(folds, best_swap(folds, [0, 1, 9])) > explained(folds, [0, 1, 9])
    assert refined(folds, [0, 1, 9]) == [0, 1, 9]


def test_swaps_of_few_rows_are_not_made_where_they_bring_no_more_than_chance():
    """A near copy explains almost as much as the column that decides."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 10))
    X[:, 9] = X[:, 0] + 0.1 * rng.standard_normal(40)
    folds = folds_of(X, X[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(40))
    assert best_swap(folds, [1, 2, 9]) == [0, 1, 2]
    assert refined(folds, [1, 2, 9]) == [1, 2, 9]


def test_swaps_need_some_rows_for_each_unit():
    folds = folds_of(*regression(3 * COMPLETE_ROWS_PER_UNIT - 1, 10), n_folds=4)
    assert refined(folds, [0, 1, 9]) == [0, 1, 9]


def with_a_copy(n_rows: int):
    """Column 0 counts most, 5 is nearly a copy of it, 1 counts less and 2 to 4 not at all."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 6))
    X[:, 5] = X[:, 0] + 0.1 * rng.standard_normal(n_rows)
    return folds_of(X, 2 * X[:, 0] + X[:, 1] + rng.standard_normal(n_rows)).totals()


def within(totals, units, budget: float) -> list[int]:
    every = np.arange(units.count)
    return np.flatnonzero(choose([Candidates(totals, units, every, budget, 1.0)])[0]).tolist()


def test_copy_of_a_column_does_not_take_the_place_of_a_group():
    # Units: 0, the group of 1 and 2, 3, 4 and 5.
    assert within(with_a_copy(300), units_of([0, 1, 1, 2, 3, 4]), 3.0) == [0, 1]


def test_copy_of_a_column_does_not_take_the_place_of_a_dearer_one():
    costs = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert within(with_a_copy(300), units_of(range(6), costs=costs), 3.0) == [0, 1]


def test_ridge_chooses_groups_where_rows_are_few():
    few = FILL_ROWS_PER_UNIT * 6 - 1
    units, totals = units_of([0, 1, 1, 2, 3, 4]), with_a_copy(300)._replace(n_effective=few)
    assert 1 not in within(totals, units, 3.0)


def test_many_sets_are_swapped_at_once_as_one_by_one():
    tasks = []
    for seed, (count, size) in enumerate([(20, 5), (30, 12), (25, 1)]):
        totals = folds_of(*regression(400, count, seed=seed)).totals()
        kept = flags([count - 1], count)
        tasks.append(Swapping(totals, flags(range(count - size, count), count), kept))
    for task, found in zip(tasks, swapped(tasks), strict=True):
        [expected] = swapped([task])
        np.testing.assert_array_equal(found, expected)
        assert found[0][-1]
