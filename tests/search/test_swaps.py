"""Swaps against least squares solved anew."""

import numpy as np
import pytest

from featgrad.moments.folds import Totals
from featgrad.search.elimination import Candidates
from featgrad.search.swaps import Swaps, choose, refine
from featgrad.search.units import Units

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


def test_units_of_several_columns_are_swapped_where_it_pays():
    """The best single unit is a copy of what three make up, which elimination by a ridge misses."""
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(400, 3))
    y = parts @ [1.0, 2.0, 1.0]
    X = np.column_stack([parts, y, rng.normal(size=(400, 2))])
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    totals = Totals(X.T @ X / 400, (X.T @ y / 400)[:, None], 1.0, 400.0)
    # The last two columns are one unit.
    units = Units(np.array([0, 1, 2, 3, 4, 4]), np.ones(5), np.zeros(5, bool))
    first = np.arange(5) == 1
    (found,) = refine([Candidates(totals, units, np.arange(5), 1.0, 0.1)], [first])
    np.testing.assert_array_equal(found, np.arange(5) == 3)


def test_a_wide_unit_of_noise_is_not_swapped_for_a_true_column():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 41)), rng.normal(size=2000)
    y += 0.1 * X[:, 0]
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    totals = Totals(X.T @ X / 2000, (X.T @ y / 2000)[:, None], 1.0, 2000.0)
    units = Units(np.minimum(np.arange(41), 1), np.ones(2), np.zeros(2, bool))
    explained = [np.linalg.lstsq(part, y)[0] @ part.T @ y for part in (X[:, :1], X[:, 1:])]
    assert explained[1] > explained[0]  # by chance
    candidates = Candidates(totals, units, np.arange(2), 1.0, 0.01)
    (chosen,) = choose([candidates])
    (found,) = refine([candidates], [chosen])
    np.testing.assert_array_equal(found, [True, False])
