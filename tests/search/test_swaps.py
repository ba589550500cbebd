"""Swaps against least squares solved anew."""

import numpy as np
import pytest

from featgrad.search.swaps import Swaps

N_COLUMNS = 14
MEMBERS = np.array([1, 4, 5, 11])


@pytest.fixture(params=["numpy", "torch"])
def covariances(request: pytest.FixtureRequest):
    """Of correlated columns and two outputs; as arrays of a library, and of NumPy."""
    xp = pytest.importorskip(request.param)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, N_COLUMNS)) @ rng.standard_normal((N_COLUMNS, N_COLUMNS))
    X /= X.std(axis=0)
    Y = X[:, :5] @ rng.standard_normal((5, 2)) + rng.standard_normal((60, 2))
    C, b = X.T @ X / 60 + 0.01 * np.eye(N_COLUMNS), X.T @ Y / 60
    return (xp.asarray(C), xp.asarray(b)), (C, b)


def explained(C: np.ndarray, b: np.ndarray, members) -> float:
    return float(np.sum(b[members] * np.linalg.solve(C[np.ix_(members, members)], b[members])))


def gains(C: np.ndarray, b: np.ndarray, members: np.ndarray) -> np.ndarray:
    """What every swap brings, each by solving anew."""
    found = np.full((N_COLUMNS, len(members)), -np.inf)
    for into in np.setdiff1d(np.arange(N_COLUMNS), members):
        for out in range(len(members)):
            other = members.copy()
            other[out] = into
            found[into, out] = explained(C, b, other) - explained(C, b, members)
    return found


def test_best_swap_is_that_of_solving_anew_after_every_swap(covariances):
    arrays, (C, b) = covariances
    swaps = Swaps(*arrays, MEMBERS, np.zeros(N_COLUMNS, bool))
    for into, out in [(0, 2), (7, 0), (5, 2), (13, 3), (1, 1)]:
        expected = gains(C, b, swaps.members)
        gain, *best = swaps.best()
        assert tuple(best) == np.unravel_index(np.argmax(expected), expected.shape)
        assert gain == pytest.approx(expected.max())
        assert swaps.explained == pytest.approx(explained(C, b, swaps.members))
        swaps.swap(into, out)


def test_kept_members_stay(covariances):
    arrays, (C, b) = covariances
    kept = np.zeros(N_COLUMNS, bool)
    kept[MEMBERS[[0, 3]]] = True
    expected = gains(C, b, MEMBERS)
    expected[:, [0, 3]] = -np.inf
    gain, into, out = Swaps(*arrays, MEMBERS, kept).best()
    assert (into, out) == np.unravel_index(np.argmax(expected), expected.shape)
    assert gain == pytest.approx(expected.max())


def test_arrays_that_are_given_stay_as_they_are(covariances):
    arrays, (C, b) = covariances
    swaps = Swaps(*arrays, MEMBERS, np.zeros(N_COLUMNS, bool))
    swaps.swap(0, 1)
    np.testing.assert_array_equal(np.asarray(arrays[0]), C)
    np.testing.assert_array_equal(np.asarray(arrays[1]), b)
    assert MEMBERS.tolist() == [1, 4, 5, 11]
