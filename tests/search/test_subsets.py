import numpy as np
import pytest

from featgrad.dataset.compressed import CompressedColumns
from featgrad.dataset.dealt import DealtRows
from featgrad.math import filters
from featgrad.search.progress import go_on
from featgrad.search.strategies import elimination, with_swaps
from featgrad.search.subsets import SubsetSearch
from featgrad.search.swaps import CAREFUL, FREE
from search_data import regression, singles


def search(n_rows: int = 100, n_columns: int = 12, budgets=(3.0,), units=None) -> SubsetSearch:
    X, y = regression(n_rows, n_columns)
    weights = np.full(n_rows, 1 / n_rows)
    outputs = (y - y.mean())[:, None]
    columns = CompressedColumns(X, np.arange(n_rows), weights, outputs, "zscore")
    return SubsetSearch(
        DealtRows(columns),
        singles(n_columns) if units is None else units,
        budgets=budgets,
        coefficients=filters.coefficients("monotone", 4),
        max_iter=10,
    )


def test_scores_are_positive_for_chosen_features_and_lowest_off_the_shortlist(monkeypatch):
    monkeypatch.setattr("featgrad.search.subsets._SHORTLIST", 6)
    prepared = search(budgets=[2.0])
    (found,) = prepared.best(elimination(0.1), [2.0], go_on)
    assert np.flatnonzero(found.scores > 0).tolist() == found.features.tolist()
    by_score = np.argsort(-found.scores)
    alone = np.argsort(-prepared.alone)
    assert set(by_score[:6]) == set(alone[:6])
    assert by_score[6:].tolist() == alone[6:].tolist()


def test_all_features_can_be_chosen():
    (found,) = search(budgets=[12.0]).best(elimination(0.1), [12.0], go_on)
    assert found.features.tolist() == list(range(12))
    assert np.all(found.scores > 0)


def test_excluded_features_have_the_lowest_scores():
    units, _ = singles(12).only(np.arange(2, 12))
    units = type(units)(np.append([-1, -1], np.arange(10)), units.costs, units.kept)
    (found,) = search(units=units).best(elimination(0.1), [3.0], go_on)
    assert set(np.argsort(found.scores)[:2]) == {0, 1}
    assert not {0, 1} & set(found.features)


def test_some_folds_decide_alone():
    prepared = search()
    everything, half = (
        prepared.best(elimination(0.1), [3.0], go_on, only)[0] for only in (None, range(10))
    )
    assert everything.features.tolist() == half.features.tolist() == [0, 1, 2]
    assert not np.array_equal(everything.scores, half.scores)


def test_sets_from_halves_have_the_size_asked_for():
    chosen = search().from_halves(elimination(0.1), 3.0, 4, np.random.RandomState(0))
    assert chosen.shape == (4, 12)
    np.testing.assert_array_equal(chosen.sum(axis=1), 3)


@pytest.mark.parametrize(("n_rows", "held_out"), [(19, False), (20, True)])
def test_few_rows_are_not_held_out(n_rows: int, held_out: bool):
    prepared = search(n_rows, budgets=[1.0, 3.0])
    assert bool(prepared._divisions) == held_out
    if not held_out:
        assert prepared.choose_budget(prepared._strategies[0], [1.0, 3.0]) == 1


def test_swaps_are_free_at_sizes_where_held_out_rows_say_so(monkeypatch):
    prepared = search(budgets=[1.0, 3.0, 5.0])
    of = {CAREFUL: [0.5, 0.5, 0.5], FREE: [0.4, 0.5, 0.6]}

    def judged(found, budgets):
        return np.array([of[found] if np.isscalar(found) else of[CAREFUL]] * 4)

    monkeypatch.setattr(
        "featgrad.search.validation.tried_with_swaps",
        lambda found, divisions, budgets, free: FREE if free else CAREFUL,
    )
    monkeypatch.setattr(prepared, "_judged", judged)
    monkeypatch.setattr("featgrad.search.subsets.with_swaps", lambda strategy, free: free)
    assert prepared.choose_strategy([1.0, 3.0, 5.0]) == [5.0]


@pytest.mark.parametrize(("free", "caution"), [((3.0,), FREE), ((2.0,), CAREFUL)])
def test_swaps_follow_a_strategy(monkeypatch, free, caution: float):
    monkeypatch.setattr("featgrad.search.swaps.refined", lambda *told: told[-1])
    strategy = with_swaps(lambda folds, units, budgets, on_step: ["found"], free)
    assert strategy("folds", "units", [3.0], go_on) == [caution]


def test_strategies_are_compared_on_sets_that_are_not_too_large(monkeypatch):
    monkeypatch.setattr("featgrad.search.subsets._COMPARED_UNITS", 4)
    asked = []

    def listening(folds, units, budgets, on_step):
        asked.append(tuple(budgets))
        return elimination(0.1)(folds, units, budgets, on_step)

    prepared = search(budgets=[1.0, 2.0, 3.0, 4.0, 8.0])
    prepared._strategies = [listening]
    prepared.choose_strategy([1.0, 2.0, 3.0, 4.0, 8.0])
    assert set(asked) == {(1.0, 3.0, 4.0)}
