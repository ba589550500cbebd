import numpy as np
import pytest

from featgrad.math import formulas
from featgrad.plan import FIRST_SHARPNESS, MOMENTUM, STEP
from featgrad.search.base import Step, go_on
from featgrad.search.descent import Descent, budgeted, descend
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
COEFFICIENTS = formulas.coefficients("monotone", 4)
SEQUENCES = [[0, 1, 2, 3, 4, 5, 6, 7], [7, 5, 3, 1, 0, 2, 4, 6]]


def descended(units, budget, folds, start, scale, sharpness, steps, on_step=go_on) -> np.ndarray:
    """Logits after a descent."""
    how = units, budget, COEFFICIENTS, scale, SEQUENCES, sharpness
    one = Descent(folds, *how, start, steps, on_step)
    descend([one])
    return one.v


def run(units: Units, budget: float, sharpness=FIRST_SHARPNESS, on_step=go_on):
    """Logits and steps, from logits of zero."""
    steps: list[Step] = []
    folds, start = folds_of(*regression(200, 12)), np.zeros(units.count)
    return descended(units, budget, folds, start, 3.0, sharpness, steps, on_step), steps


@pytest.mark.parametrize("sharpness", [0.5, 2.0, 20.0])
@pytest.mark.parametrize("case", UNITS)
def test_mask_spends_the_budget(case: str, sharpness: float):
    units, budget = UNITS[case]
    for seed in range(5):
        v = 3 * np.random.default_rng(seed).standard_normal(units.count)
        s = budgeted(v, budget, sharpness, units)
        assert s @ units.costs == pytest.approx(budget, rel=1e-8)


@pytest.mark.parametrize("case", UNITS)
def test_mask_is_a_sigmoid_of_the_logits_and_1_for_kept_units(case: str):
    units, budget = UNITS[case]
    v = np.random.default_rng(0).standard_normal(units.count)
    s = budgeted(v, budget, 2.0, units)
    np.testing.assert_array_equal(s[units.kept], 1)
    free = ~units.kept
    theta = v[free] - np.log(s[free] / (1 - s[free])) / 2.0
    np.testing.assert_allclose(theta, theta[0], rtol=1e-6)


def test_a_budget_for_everything_opens_everything():
    s = budgeted(np.array([-5.0, 0, 5]), 10.0, 2.0, singles(3))
    np.testing.assert_allclose(s, 1, rtol=1e-9)


def test_a_budget_for_kept_units_only_closes_all_others():
    s = budgeted(np.array([-5.0, 0, 5]), 1.0, 2.0, singles(3, kept=[0]))
    np.testing.assert_allclose(s, [1, 0, 0], atol=1e-9)


@pytest.mark.parametrize("case", ["features", "groups", "kept"])
def test_every_step_tells_how_many_features_it_spends(case: str):
    units, budget = UNITS[case]
    _, steps = run(units, budget)
    np.testing.assert_allclose([step.size for step in steps], budget, rtol=1e-8)


def test_size_of_a_step_is_told_in_features_where_they_cost_something_else():
    _, steps = run(singles(12, costs=np.full(12, 5.0)), 20.0)
    np.testing.assert_allclose([step.size for step in steps], 4, rtol=1e-8)


def test_one_step_for_each_sharpness():
    assert len(run(singles(12), 3.0, np.array([2.0, 3, 4]))[1]) == 3


def test_stops_when_told_to():
    heard = []

    def on_step(step, scores):
        heard.append((step, scores))
        return len(heard) == 3

    v, steps = run(singles(12), 3.0, on_step=on_step)
    assert steps == [step for step, _ in heard]
    assert len(heard) == 3
    np.testing.assert_array_equal(v, heard[-1][1])


def test_objective_is_what_stays_unexplained_and_falls():
    _, steps = run(singles(12), 3.0)
    assert all(step.objective == 1 - step.explained for step in steps)
    assert steps[-1].objective < steps[0].objective


def test_logits_of_planted_columns_rise_above_the_others():
    v, _ = run(singles(12), 3.0)
    assert v[:3].min() > v[3:].max()


def test_group_of_a_planted_column_rises_above_the_others():
    v, _ = run(units_of([0, 1, 2, 0, 1, 2, 3, 3, 4, 4, 5, 5]), 6.0)
    assert v[:3].min() > v[3:].max()


def test_column_that_is_worth_its_cost_no_more_gives_way():
    """Column 0 explains most, but costs as much as all others together."""
    dear, _ = run(singles(12, costs=[11.0, *[1.0] * 11]), 4.0)
    cheap, _ = run(singles(12), 4.0)
    assert np.argmax(cheap) == 0
    assert dear[0] < dear[[1, 2]].min()


class Recorder:
    """Takes the place of folds, has one gradient for every mask, and remembers these."""

    def __init__(self, gradient: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gradient, self.calls = gradient, []
        monkeypatch.setattr("featgrad.search.descent.gradients", self._gradients)

    def _gradients(self, questions):
        self.calls += [question[1:] for question in questions]
        return [(0.25, self.gradient) for _ in questions]


def test_folds_are_asked_once_a_step_about_the_budgeted_mask(monkeypatch):
    units, sharpness = units_of([0, 1, 1, 2, 0]), np.array([2.0, 5.0])
    folds, steps = Recorder(np.array([1.0, 0.5, -1, 0, 2]), monkeypatch), []
    start = np.array([0.3, -0.2, 0.1])
    heard = [start]
    descended(
        units, 2.5, folds, start, 3.0, sharpness, steps, on_step=lambda _, v: heard.append(v.copy())
    )
    assert len(folds.calls) == len(steps) == 2
    for (mask, coefficients, scale, _), v, t in zip(folds.calls, heard, sharpness, strict=False):
        np.testing.assert_array_equal(mask, budgeted(v, 2.5, t, units)[units.of_column])
        assert coefficients is COEFFICIENTS
        assert scale == 3.0


def test_orders_of_folds_take_turns_over_all_steps(monkeypatch):
    folds = Recorder(np.ones(3), monkeypatch)
    before = [Step(1.0, 0.0, 1.0)]
    v = descended(singles(3), 1.0, folds, np.zeros(3), 1.0, np.full(3, 2.0), before)
    assert [sequence for *_, sequence in folds.calls] == [SEQUENCES[i] for i in (1, 0, 1)]
    assert len(before) == 4
    # All columns gain alike, so that none moves.
    np.testing.assert_allclose(v, 0, atol=1e-12)


def test_step_is_along_the_budget_and_of_one_length(monkeypatch):
    units = singles(4, costs=[1.0, 2, 1, 3])
    gradient = np.array([3.0, -1, 0, 2])
    folds = Recorder(gradient, monkeypatch)
    v = descended(units, 3.0, folds, np.zeros(4), 1.0, np.array([2.0]), [])
    moved = v / STEP / (1 - MOMENTUM)
    assert np.sqrt(np.mean(moved**2)) == pytest.approx(1)
    # The costs of a mask that moves along it stay the same, at first order.
    s = budgeted(np.zeros(4), 3.0, 2.0, units)
    assert moved @ (s * (1 - s) * units.costs) == pytest.approx(0, abs=1e-9)
    # What is taken off the gradient is a price times the cost.
    length = np.linalg.lstsq(np.stack([moved, units.costs], axis=1), gradient, rcond=None)
    assert length[1][0] == pytest.approx(0, abs=1e-12)


def test_momentum_starts_anew_in_every_run(monkeypatch):
    folds, one = Recorder(np.array([1.0, 0, 0]), monkeypatch), np.array([2.0])
    v = descended(singles(3), 1.0, folds, np.zeros(3), 1.0, one, [])
    again = descended(singles(3), 1.0, folds, np.zeros(3), 1.0, one, [])
    np.testing.assert_array_equal(v, again)


def test_steps_gather_momentum(monkeypatch):
    folds, v = Recorder(np.array([1.0, 0, 0]), monkeypatch), []
    how = 1.0, np.full(4, 2.0), [], lambda _, scores: v.append(scores[0])
    descended(singles(3), 1.5, folds, np.zeros(3), *how)
    assert np.all(np.diff(np.diff([0, *v])) > 0)


def test_columns_that_do_not_vary_leave_finite_logits():
    folds = folds_of(*regression(60, 4))
    folds.crosses[:], folds.matrix[:] = 0, 0
    v = descended(singles(4), 2.0, folds, np.zeros(4), 1.0, FIRST_SHARPNESS, [])
    np.testing.assert_array_equal(v, 0)
