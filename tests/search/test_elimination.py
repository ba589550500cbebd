import numpy as np
import pytest

from featgrad.moments.folds import Folds
from featgrad.plan import ELIMINATED_AT_ONCE
from featgrad.search.elimination import Candidates, Remaining, eliminate, remaining
from featgrad.search.units import Units
from search_data import folds_of, regression, singles, units_of


def eliminated(totals, units: Units, budget: float, ridge: float, advantage=None) -> np.ndarray:
    """Flags of the units that stay."""
    every = np.arange(units.count)
    return eliminate([Candidates(totals, units, every, budget, ridge, advantage)])[0]


def left(folds: Folds, units: Units, budget: float, ridge: float) -> Remaining:
    """What elimination leaves."""
    return remaining(folds.totals(), units, eliminated(folds.totals(), units, budget, ridge), ridge)


def explained(folds: Folds, columns: np.ndarray, ridge: float) -> float:
    """``b^T (C + ridge I)^-1 b`` of some columns."""
    C, b = folds.totals().covariance[np.ix_(columns, columns)], folds.totals().cross[columns]
    return float(np.sum(b * np.linalg.solve(C + ridge * np.eye(len(columns)), b)))


def loss(folds: Folds, units: Units, present: list[int], unit: int, ridge: float) -> float:
    """What the units that are present explain, less what they do without one of them."""
    columns, rest = (
        np.flatnonzero(np.isin(units.of_column, some))
        for some in (present, [other for other in present if other != unit])
    )
    return explained(folds, columns, ridge) - explained(folds, rest, ridge)


def by_refitting(folds: Folds, units: Units, budget: float, ridge: float) -> list[int]:
    """Drop one unit at a time, the one whose absence costs least per cost, by solving anew.

    What the budget then has room for comes back, the last to go first.
    """
    present, gone = list(range(units.count)), []
    while units.costs[present].sum() > budget + 1e-9:
        free = [unit for unit in present if not units.kept[unit]]
        if not free:
            break
        losses = [loss(folds, units, present, unit, ridge) / units.costs[unit] for unit in free]
        gone.append(free[int(np.argmin(losses))])
        present.remove(gone[-1])
    for unit in reversed(gone):
        if units.costs[present].sum() + units.costs[unit] <= budget + 1e-9:
            present.append(unit)
    return sorted(present)


UNITS = {
    "features": singles(10),
    "costs": singles(10, costs=np.linspace(0.5, 3, 10)),
    "groups": units_of([0, 1, 2, 3, 3, 4, 4, 4, 0, 1]),
    "kept": singles(10, kept=[2, 8]),
    "kept group": units_of([0, 1, 2, 3, 3, 4, 4, 4, 0, 1], costs=[1, 2, 3, 1, 2], kept=[4]),
    "all kept": singles(10, kept=range(10)),
}


def several_outputs(n_outputs: int) -> Folds:
    X, y = regression(150, 10)
    return folds_of(X, np.column_stack([y, *X[:, 3 : 2 + n_outputs].T]))


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("ridge", [0.1, 1.0])
@pytest.mark.parametrize("budget", [3.0, 6.0])
@pytest.mark.parametrize("case", UNITS)
def test_what_remains_is_what_fitting_anew_leaves(
    case: str, budget: float, ridge: float, n_outputs: int
):
    folds, units = several_outputs(n_outputs), UNITS[case]
    found = left(folds, units, budget, ridge)
    assert found.units.tolist() == by_refitting(folds, units, budget, ridge)
    columns = np.flatnonzero(np.isin(units.of_column, found.units))
    np.testing.assert_array_equal(found.columns, columns)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_columns_of_few_rows_go_as_fitting_anew_says(ridge: float, n_outputs: int):
    X, y = regression(14, 31)
    folds = folds_of(X, np.column_stack([y, *X[:, 3 : 2 + n_outputs].T]), n_folds=4)
    assert not folds.totals().is_gram
    units = singles(31, kept=[2, 8])
    assert left(folds, units, 6.0, ridge).units.tolist() == by_refitting(folds, units, 6.0, ridge)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("case", UNITS)
def test_losses_are_those_of_leaving_each_unit_out(case: str, n_outputs: int):
    folds, units = several_outputs(n_outputs), UNITS[case]
    found = left(folds, units, 6.0, 0.1)
    present = found.units.tolist()
    expected = [loss(folds, units, present, unit, 0.1) for unit in present]
    np.testing.assert_allclose(found.losses, expected, rtol=1e-4, atol=1e-6)


def test_nothing_goes_where_the_budget_has_room_for_all():
    found = left(several_outputs(1), singles(10, costs=np.full(10, 0.1)), 1.0, 0.1)
    np.testing.assert_array_equal(found.units, np.arange(10))


def test_of_many_units_the_cheapest_few_go_at_once():
    folds, units = folds_of(*regression(300, 150)), singles(150, kept=[77])
    H = np.linalg.inv(folds.totals().covariance + np.eye(150))
    losses = (H @ folds.totals().cross)[:, 0] ** 2 / np.diagonal(H)
    losses[77] = np.inf
    at_once = 150 // ELIMINATED_AT_ONCE
    found = left(folds, units, 150.0 - at_once, 1.0)
    gone = np.setdiff1d(np.arange(150), found.units)
    np.testing.assert_array_equal(gone, np.sort(np.argsort(losses)[:at_once]))


def test_no_more_units_go_at_once_than_the_budget_asks_for():
    found = left(folds_of(*regression(300, 150)), singles(150), 148.0, 1.0)
    assert len(found.units) == 148


def test_planted_columns_remain_of_many():
    found = left(folds_of(*regression(300, 150)), singles(150, kept=[77]), 4.0, 1.0)
    assert found.units.tolist() == [0, 1, 2, 77]


def test_an_accelerator_eliminates_many_at_once_as_one_by_one():
    """Of different sizes, budgets and kept columns, one after the other and all at once."""
    torch = pytest.importorskip("torch")
    cases = [
        (singles(40), 5.0),
        (singles(60, kept=[3, 50]), 20.0),
        (singles(30), 4.5),
        (singles(12), 12.0),
        (singles(10), 14.0),
    ]
    questions, expected = [], []
    for seed, (units, budget) in enumerate(cases):
        totals = folds_of(*regression(300, units.count, seed=seed)).totals()
        expected.append(eliminated(totals, units, budget, 0.3))
        there = totals._replace(matrix=torch.asarray(totals.covariance))
        questions.append(Candidates(there, units, np.arange(units.count), budget, 0.3))
    for found, flags in zip(eliminate(questions), expected, strict=True):
        np.testing.assert_array_equal(found, flags)


def test_units_with_an_advantage_stay_instead_of_slightly_better_ones():
    totals, advantage = folds_of(*regression(300, 20)).totals(), np.zeros(20)
    advantage[[7, 8, 9]] = 1e3
    found = eliminated(totals, singles(20), 3.0, 0.3, advantage)
    assert np.flatnonzero(found).tolist() == [7, 8, 9]
