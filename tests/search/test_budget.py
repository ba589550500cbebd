from dataclasses import replace

import numpy as np
import pytest

from engine_kinds import KINDS, example
from featgrad.search import budget

DENSE = KINDS["dense-float64"]


def search(problem, k: int, **options):
    options = {"max_iter": 30, "on_step": lambda step, scores: False} | options
    return budget.search(problem, [problem], k, **options)


@pytest.mark.parametrize("k", [1, 3, 5, 9])
@pytest.mark.parametrize("sharpness", [2.0, 20.0])
@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0])
def test_mask_adds_up_to_the_budget(k: int, sharpness: float, spread: float):
    v = spread * np.random.default_rng(0).standard_normal(12)
    usable = np.arange(12) < 10
    mask, _ = budget.budgeted(v, k, sharpness, usable)
    assert mask.sum() == pytest.approx(k, rel=1e-6)
    np.testing.assert_array_equal(mask[10:], 0)
    assert np.all(np.diff(mask[:10][np.argsort(v[:10])]) >= 0)


@pytest.mark.parametrize("k", [3, 5])
def test_every_step_spends_the_budget(k: int):
    problem, _, _ = example(80, 15).problem(DENSE, 4)
    found = search(problem, k)
    np.testing.assert_allclose([step.size for step in found.steps], k, rtol=1e-6)


@pytest.mark.parametrize("max_iter", [1, 7, 1000])
def test_number_of_steps(max_iter: int):
    problem, _, _ = example(40, 6).problem(DENSE, 2)
    assert len(search(problem, 2, max_iter=max_iter).steps) == min(max_iter, 120)


def test_steps_take_the_batches_in_turn():
    problem, _, _ = example(60, 6).problem(DENSE, 2)
    batches = problem.batches(20)
    noted = []

    class Noting(type(problem)):
        def value_and_gradient(self, mask):
            noted.append(float(self.outputs[0, 0]))
            return super().value_and_gradient(mask)

    watched = [Noting(**vars(batch)) for batch in batches]
    budget.search(problem, watched, 2, max_iter=5, on_step=lambda *_: False)
    assert noted == [float(batches[step % 3].outputs[0, 0]) for step in range(5)]


@pytest.mark.parametrize("k", [4, 5, 6])
def test_nothing_to_search_for_where_all_usable_columns_fit(k: int):
    data = example(40, 6)
    X = data.X.copy()
    X[:, [1, 3]] = 2.5
    problem, _, _ = replace(data, X=X).problem(DENSE, 2)
    found = search(problem, k)
    assert found.steps == []
    np.testing.assert_array_equal(found.scores > 0, [True, False, True, False, True, True])


def test_scale_is_that_of_few_features():
    problem, _, _ = example(300, 40, weighted=False).problem(DENSE, 4)
    scales = [budget.match(problem, k).scale for k in (2, 10, 40)]
    assert scales[0] < scales[1] < scales[2]
    assert scales[2] >= problem.scale
