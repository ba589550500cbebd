import numpy as np
import pytest

from featgrad.moments.folds import Folds
from featgrad.search.elimination import eliminate
from featgrad.search.units import Units
from search_data import folds_of, regression, singles, units_of


def explained(folds: Folds, columns: np.ndarray, ridge: float) -> float:
    """``b^T (C + ridge I)^-1 b`` of some columns."""
    C, b = folds.covariance()[np.ix_(columns, columns)], folds.cross()[columns]
    return float(np.sum(b * np.linalg.solve(C + ridge * np.eye(len(columns)), b)))


def by_refitting(folds: Folds, units: Units, ridge: float) -> list[int]:
    """One unit at a time: the one whose absence costs least per cost, by solving anew."""
    present, left_out = list(range(units.count)), []
    while any(not units.kept[unit] for unit in present):
        free = [unit for unit in present if not units.kept[unit]]
        here = explained(folds, np.flatnonzero(np.isin(units.of_column, present)), ridge)
        losses = []
        for unit in free:
            rest = np.flatnonzero(np.isin(units.of_column, [u for u in present if u != unit]))
            losses.append((here - explained(folds, rest, ridge)) / units.costs[unit])
        left_out.append(free[int(np.argmin(losses))])
        present.remove(left_out[-1])
    return left_out


UNITS = {
    "features": singles(10),
    "costs": singles(10, costs=np.linspace(0.5, 3, 10)),
    "groups": units_of([0, 1, 2, 3, 3, 4, 4, 4, 0, 1]),
    "kept": singles(10, kept=[2, 8]),
    "kept group": units_of([0, 1, 2, 3, 3, 4, 4, 4, 0, 1], costs=[1, 2, 3, 1, 2], kept=[4]),
    "all kept": singles(10, kept=range(10)),
}


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("ridge", [0.1, 1.0])
@pytest.mark.parametrize("case", UNITS)
def test_order_is_that_of_fitting_anew(case: str, ridge: float, n_outputs: int):
    X, y = regression(150, 10)
    Y = np.column_stack([y, *X[:, 3 : 2 + n_outputs].T])
    folds = folds_of(X, Y)
    found = eliminate(folds, UNITS[case], ridge)
    assert found == by_refitting(folds, UNITS[case], ridge)
    assert sorted(found) == np.flatnonzero(~UNITS[case].kept).tolist()


def test_many_units_go_a_few_at_once_and_each_goes_once():
    folds = folds_of(*regression(300, 150))
    units = singles(150, kept=[77])
    order = eliminate(folds, units, 1.0)
    assert sorted(order) == [unit for unit in range(150) if unit != 77]
    # 150 // 32 go in the first round: the four that one fit misses least.
    H = np.linalg.inv(folds.covariance() + np.eye(150))
    losses = (H @ folds.cross())[:, 0] ** 2 / np.diagonal(H)
    losses[77] = np.inf
    assert order[:4] == np.argsort(losses)[:4].tolist()
    assert set(order[-3:]) == {0, 1, 2}
