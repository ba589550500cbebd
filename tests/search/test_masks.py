import numpy as np
import pytest

import reference
from featgrad.math import formulas
from featgrad.search.base import Step, go_on
from featgrad.search.masks import PenaltyMask, over_groups
from matrix_kinds import KINDS, Kind, example, relative_error


def search(
    groups, link=formulas.residual, penalty=1.0, tol=0.0, n_epochs=1, max_iter=10, on_step=go_on
) -> PenaltyMask:
    mask = PenaltyMask(np.zeros(groups[0][0].n_features), link, penalty, 0.1, tol, on_step)
    over_groups(groups, mask, n_epochs, max_iter)
    return mask


def published(data, problem, steps: int, penalty: float) -> tuple[np.ndarray, list[float]]:
    """The paper's algorithm on the transcription of its objective."""
    Z = reference.standardise(data.X, data.weights, "zscore")
    w = penalty / (1 + penalty)
    v = np.zeros(Z.shape[1])
    first, second, objectives = 0.0, 0.0, []
    for t in range(1, steps + 1):
        s = 1 / (1 + np.exp(-2 * v))
        z, dz = reference.value_and_gradient(
            Z, data.outputs, s, data.weights, problem.coefficients, problem.scale
        )
        z, dz = z / problem.variance, dz / problem.variance
        objectives.append((1 - w) * (1 - np.sqrt(z)) / 2 + w * s.mean())
        d_link = -1 / (4 * np.sqrt(z))
        gradient = ((1 - w) * d_link * dz + w / len(v)) * 2 * s * (1 - s)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        v = v - 0.1 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    return v, objectives


@pytest.mark.parametrize("penalty", [0.3, 1.0])
def test_steps_are_those_of_the_paper(penalty: float):
    data = example(80, 15)
    problem, _, _ = data.problem(KINDS["dense-float64"], 4, filter="kong-valiant")
    found = search([[problem]], link=formulas.root, penalty=penalty)
    v, objectives = published(data, problem, 10, penalty)
    assert relative_error(found.v, v) <= 1e-8
    assert relative_error([step.objective for step in found.steps], objectives) <= 1e-8


def test_group_of_batches_gives_their_mean(kind: Kind):
    data = example(60, 8)
    problem, _, _ = data.problem(kind, 3)
    batches = problem.batches(20)
    parts = [batch.value_and_gradient(np.full(8, 0.5)) for batch in batches]
    found = search([batches], max_iter=1)
    explained = np.mean([value for value, _ in parts])
    assert found.steps[0].explained == pytest.approx(explained, rel=1e-6)
    gradient = 0.5 * (1 / 8 - np.mean([gradient for _, gradient in parts], axis=0))
    # Adam's first step is the gradient's sign.
    np.testing.assert_array_equal(np.sign(found.v), -np.sign(gradient))


@pytest.mark.parametrize(
    ("n_groups", "n_epochs", "max_iter", "expected"),
    [(1, 1, 6, 6), (3, 1, 100, 3), (3, 2, 100, 6), (3, 5, 4, 4)],
)
def test_number_of_steps(n_groups: int, n_epochs: int, max_iter: int, expected: int):
    data = example(60, 5)
    problem, _, _ = data.problem(KINDS["dense-float64"], 2)
    groups = [[batch] for batch in problem.batches(60 // n_groups)]
    found = search(groups, n_epochs=n_epochs, max_iter=max_iter)
    assert len(found.steps) == expected


def test_stops_at_a_small_relative_change():
    data = example(60, 5)
    problem, _, _ = data.problem(KINDS["dense-float64"], 2)
    found = search([[problem]], max_iter=1000, tol=1e-5)
    before = search([[problem]], max_iter=len(found.steps) - 1, tol=1e-5)
    assert 10 < len(found.steps) < 1000
    assert len(before.steps) == len(found.steps) - 1


def test_stops_when_told_to():
    data = example(60, 5)
    problem, _, _ = data.problem(KINDS["dense-float64"], 2)
    heard: list[Step] = []

    def on_step(step, scores):
        heard.append(step)
        return len(heard) == 3

    found = search([[problem]], on_step=on_step)
    assert found.steps == heard


def test_larger_penalty_keeps_fewer():
    data = example(200, 30)
    problem, _, _ = data.problem(KINDS["dense-float64"], 4)
    sizes = [
        int(np.sum(search([[problem]], penalty=p, max_iter=100).v > 0)) for p in (0.01, 0.5, 100.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2] == 0
