"""Targets that arrive in chunks against the same targets at once."""

import pickle

import numpy as np
import pytest

from featgrad.math import targets
from featgrad.math.target_sums import Outputs, TargetSums
from featgrad.math.targets import centre, encode

RNG = np.random.default_rng(0)
N_ROWS = 90
TARGETS = {
    "regression": RNG.standard_normal(N_ROWS) + 5,
    "binary": RNG.integers(0, 2, N_ROWS),
    "multiclass": np.array(["a", "bcd", "ef"])[RNG.integers(0, 3, N_ROWS)],
    "ordinal": RNG.integers(0, 4, N_ROWS),
    "multilabel": RNG.integers(0, 2, (N_ROWS, 3)),
    "several numbers": RNG.standard_normal((N_ROWS, 2)),
}


def added(y: np.ndarray, weights: np.ndarray, task: str) -> Outputs:
    sums = TargetSums(task)
    for start in range(0, N_ROWS, 40):
        rows = slice(start, start + 40)
        sums = pickle.loads(pickle.dumps(sums))
        sums.add(y[rows], weights[rows])
    return sums.outputs()


@pytest.mark.parametrize("kind", TARGETS)
def test_parts_make_the_target_that_the_whole_makes(kind: str):
    y, task = TARGETS[kind], "ordinal" if kind == "ordinal" else "auto"
    weights = RNG.uniform(0.5, 2, N_ROWS)
    raw, inferred = encode(y, task)
    expected = centre(raw, inferred, weights / weights.sum())
    found = added(y, weights, task)
    assert found.encoding.task == inferred
    assert found.variance == pytest.approx(expected.variance)
    np.testing.assert_allclose(found(y) * found.deviations, expected.outputs, atol=1e-12)


def test_too_many_whole_numbers_are_no_classes(monkeypatch):
    monkeypatch.setattr(targets, "MAX_CLASSES", 5)
    y = np.arange(N_ROWS) % 6
    assert added(y, np.ones(N_ROWS), "auto").encoding.task == "regression"
    with pytest.raises(ValueError, match="more than 5 classes"):
        added(y, np.ones(N_ROWS), "multiclass")


def test_numbers_far_from_zero_keep_their_variance():
    y = 1e8 + RNG.standard_normal(N_ROWS)
    assert added(y, np.ones(N_ROWS), "auto").variance == pytest.approx(y.var(), rel=1e-6)
