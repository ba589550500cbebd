"""Which columns of the working set are chosen."""

import numpy as np
import pytest

from featgrad.moments.folds import Totals
from featgrad.online.moments import improved

N_ROWS = 400


def totals(*effects: float) -> Totals:
    """Of independent columns with these covariances with the target, which has variance 1."""
    return Totals(np.eye(len(effects)), np.array(effects)[:, None], 1.0, N_ROWS)


def flags(*columns: int, of: int) -> np.ndarray:
    return np.isin(np.arange(of), columns)


@pytest.mark.parametrize(("errors", "expected"), [(1.5, 0), (4.0, 1)])
def test_newcomers_must_be_worth_more_by_their_advantage(errors: float, expected: int):
    error = 1 / np.sqrt(N_ROWS)
    columns = totals(2 * error, (2 + errors) * error)
    found = improved(columns, flags(0, of=2), 1, advantage=2.5, is_quick=False)
    np.testing.assert_array_equal(np.flatnonzero(found), [expected])


def test_places_that_are_free_are_filled_whatever_the_advantage():
    found = improved(totals(0.3, 0.0, 0.01), flags(0, of=3), 3, advantage=9.0, is_quick=False)
    assert found.all()


def test_the_set_stays_where_nothing_adds_as_much_as_the_advantage():
    chosen = flags(0, of=3)
    found = improved(totals(0.0, 0.01, 0.01), chosen, 1, advantage=3.5, is_quick=True)
    np.testing.assert_array_equal(found, chosen)
