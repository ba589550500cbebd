import numpy as np
import pytest

from featgrad.math import filters
from featgrad.search import budget as search_within
from featgrad.search.progress import go_on
from featgrad.search.units import Units
from search_data import folds_of, regression, singles, units_of

UNITS = {
    "features": (singles(12), 4.0),
    "groups": (units_of([0, 0, 0, 1, 2, 2, 3, 4, 4, 5, 5, 5]), 5.0),
    "costs": (singles(12, costs=np.linspace(0.3, 4, 12)), 6.5),
    "kept": (singles(12, kept=[7, 9]), 3.0),
    "groups, costs, kept": (
        units_of([0, 0, 0, 1, 2, 2, 3, 4, 4, 5, 5, 5], costs=[2, 1, 0.5, 3, 1, 1], kept=[3]),
        5.0,
    ),
}


def run(units: Units, budget: float, **changes):
    options = {
        "coefficients": filters.coefficients("monotone", 4),
        "room": 1.2,
        "max_iter": 1000,
        "on_step": go_on,
    } | changes
    return search_within.search(folds_of(*regression(120, 12)), units, budget, **options)


@pytest.mark.parametrize("sharpness", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("case", UNITS)
def test_mask_spends_the_budget(case: str, sharpness: float):
    units, budget = UNITS[case]
    for seed in range(5):
        v = 3 * np.random.default_rng(seed).standard_normal(units.count)
        s, theta = search_within.budgeted(v, budget, sharpness, units)
        assert s @ units.costs == pytest.approx(budget, rel=1e-8)
        expected = 1 / (1 + np.exp(-sharpness * (v - theta)))
        np.testing.assert_allclose(s, np.where(units.kept, 1.0, expected), rtol=1e-9)


def test_a_budget_for_everything_opens_everything():
    s, _ = search_within.budgeted(np.array([-5.0, 0, 5]), 10.0, 2.0, singles(3))
    np.testing.assert_allclose(s, 1, rtol=1e-9)


@pytest.mark.parametrize("case", ["features", "groups", "kept"])
def test_every_step_tells_how_many_features_it_spends(case: str):
    units, budget = UNITS[case]
    found = run(units, budget)
    np.testing.assert_allclose([step.size for step in found.steps], budget, rtol=1e-8)


def test_size_of_a_step_is_told_in_features_where_they_cost_something_else():
    found = run(singles(12, costs=np.full(12, 5.0)), 20.0)
    np.testing.assert_allclose([step.size for step in found.steps], 4, rtol=1e-8)


@pytest.mark.parametrize(("max_iter", "expected"), [(1, 1), (7, 7), (1000, 40)])
def test_number_of_steps(max_iter: int, expected: int):
    assert len(run(singles(12), 3.0, max_iter=max_iter).steps) == expected


def test_stops_when_told_to():
    heard = []

    def on_step(step, scores):
        heard.append(step)
        return len(heard) == 3

    assert run(singles(12), 3.0, on_step=on_step).steps == heard
    assert len(heard) == 3


def test_objective_is_what_stays_unexplained_and_falls():
    steps = run(singles(12), 3.0).steps
    assert all(step.objective == 1 - step.explained for step in steps)
    assert steps[-1].objective < steps[0].objective


@pytest.mark.parametrize("room", [1.2, 3.6])
def test_planted_columns_are_found(room: float):
    found = run(singles(12), 3.0, room=room)
    assert set(np.argsort(-found.scores)[:3]) == {0, 1, 2}


def test_orders_beyond_the_number_of_folds_are_cut():
    X, y = regression(60, 5)
    coefficients = filters.coefficients("monotone", 4)
    options = {"room": 1.2, "max_iter": 5, "on_step": go_on}
    three = folds_of(X, y, n_folds=3)
    full, cut = (
        search_within.search(three, singles(5), 2.0, coefficients=c, **options)
        for c in (coefficients, coefficients[:2])
    )
    np.testing.assert_array_equal(full.scores, cut.scores)


def test_columns_that_do_not_vary_give_finite_scores():
    folds = folds_of(*regression(60, 4))
    nothing = folds.columns(np.arange(4))
    for fold in nothing.folds:
        fold.cross[:] = 0
        (fold.rows if fold.gram is None else fold.gram)[:] = 0
    found = search_within.search(
        nothing,
        singles(4),
        2.0,
        coefficients=filters.coefficients("monotone", 4),
        room=1.2,
        max_iter=5,
        on_step=go_on,
    )
    assert np.all(np.isfinite(found.scores))


@pytest.mark.parametrize("seed", range(3))
def test_twins_that_share_a_place_are_decided(seed: int):
    """Half of each twin does as well as one; no pair of twins gets both of its halves' places."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 8))
    y = X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(400)
    X[:, 5:] = X[:, :3] + 0.01 * rng.standard_normal((400, 3))
    found = search_within.search(
        folds_of(X, y),
        singles(8),
        3.0,
        coefficients=filters.coefficients("monotone", 4),
        room=1.2,
        max_iter=1000,
        on_step=go_on,
    )
    assert {column % 5 for column in np.argsort(-found.scores)[:3]} == {0, 1, 2}
