"""Swaps against least squares solved anew."""

import numpy as np
import pytest

from featgrad.search.swaps import Swaps

N_COLUMNS = 14
MEMBERS = np.array([[1, 4, 5, 11], [0, 2, 9, 13]])
NOTHING_KEPT = np.zeros((2, N_COLUMNS), bool)
BOTH = np.ones(2, bool)


@pytest.fixture(params=["numpy", "torch"])
def xp(request: pytest.FixtureRequest):
    return pytest.importorskip(request.param)


@pytest.fixture
def covariances():
    """Two of them, of correlated columns and two outputs."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2):
        X = rng.standard_normal((60, N_COLUMNS)) @ rng.standard_normal((N_COLUMNS, N_COLUMNS))
        X /= X.std(axis=0)
        Y = X[:, :5] @ rng.standard_normal((5, 2)) + rng.standard_normal((60, 2))
        found.append((X.T @ X / 60 + 0.01 * np.eye(N_COLUMNS), X.T @ Y / 60))
    return tuple(map(np.array, zip(*found, strict=True)))


def swaps_of(xp, covariances, kept=NOTHING_KEPT) -> Swaps:
    return Swaps(*(xp.asarray(part) for part in (*covariances, MEMBERS, kept)))


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


def test_best_swaps_are_those_of_solving_anew_after_every_swap(xp, covariances):
    swaps = swaps_of(xp, covariances)
    for into, out in [([0, 1], [2, 2]), ([7, 3], [0, 3]), ([5, 9], [2, 0]), ([13, 4], [3, 3])]:
        found = [np.asarray(part) for part in (*swaps.best(), swaps.explained)]
        for C, b, members, gain, *best, own in zip(
            *covariances, np.asarray(swaps.members), *found, strict=True
        ):
            expected = gains(C, b, members)
            assert tuple(best) == np.unravel_index(np.argmax(expected), expected.shape)
            assert gain == pytest.approx(expected.max())
            assert own == pytest.approx(explained(C, b, members))
        swaps.swap(*map(xp.asarray, (into, out, BOTH)))


def test_kept_members_stay(xp, covariances):
    kept = NOTHING_KEPT.copy()
    kept[0, MEMBERS[0, [0, 3]]] = True
    expected = gains(covariances[0][0], covariances[1][0], MEMBERS[0])
    expected[:, [0, 3]] = -np.inf
    gain, into, out = (np.asarray(part)[0] for part in swaps_of(xp, covariances, kept).best())
    assert (into, out) == np.unravel_index(np.argmax(expected), expected.shape)
    assert gain == pytest.approx(expected.max())


def test_sets_that_do_not_want_to_swap_stay_as_they_are(xp, covariances):
    swaps, untouched = swaps_of(xp, covariances), swaps_of(xp, covariances)
    swaps.swap(*map(xp.asarray, ([0, 3], [1, 1], [True, False])))
    assert np.asarray(swaps.members).tolist() == [[1, 0, 5, 11], [0, 2, 9, 13]]
    for found, expected in zip(swaps.best(), untouched.best(), strict=True):
        assert found[1] == expected[1]


def test_arrays_that_are_given_stay_as_they_are(xp, covariances):
    given = [xp.asarray(part.copy()) for part in (*covariances, MEMBERS, NOTHING_KEPT)]
    Swaps(*given).swap(*map(xp.asarray, ([0, 1], [1, 1], BOTH)))
    for found, expected in zip(given, (*covariances, MEMBERS, NOTHING_KEPT), strict=True):
        np.testing.assert_array_equal(np.asarray(found), expected)
