"""Places of rows that are drawn again in every pass."""

import numpy as np
import pytest

from featgrad.dataset import reread
from featgrad.dataset.reread import RandomOrder


def drawn(n_rows: int) -> RandomOrder:
    return RandomOrder(np.random.RandomState(0), n_rows)


def test_places_of_few_rows_are_a_permutation():
    np.testing.assert_array_equal(np.sort(drawn(50)(0, 50)), np.arange(50))


@pytest.mark.parametrize("most", [0, 1000])
def test_places_are_the_same_in_every_visit_whatever_the_blocks(most: int, monkeypatch):
    monkeypatch.setattr(reread, "EXACT_ORDER_ROWS", most)
    one, other = drawn(50), drawn(50)
    blocks = np.concatenate([one(0, 10), one(10, 0), one(10, 40)])
    np.testing.assert_array_equal(blocks, np.append(other(0, 27), other(27, 23)))
    np.testing.assert_array_equal(blocks, one(0, 50))


def test_places_of_many_rows_are_spread_evenly(monkeypatch):
    monkeypatch.setattr(reread, "EXACT_ORDER_ROWS", 0)
    found = drawn(100_000)(0, 100_000)
    assert found.min() >= 0
    assert found.max() < 100_000
    share = np.bincount(found * 20 // 100_000, minlength=20) / 100_000
    np.testing.assert_allclose(share, 0.05, atol=0.003)


def test_places_do_not_depend_on_where_rows_stand():
    """Sorted rows would otherwise fall into folds together."""
    places = drawn(1000)(0, 1000)
    assert abs(np.corrcoef(places, np.arange(1000))[0, 1]) < 0.1
