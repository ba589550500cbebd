"""Places of rows that are drawn again in every pass."""

import numpy as np
import pytest

from featgrad.dataset import random_order
from featgrad.dataset.random_order import RandomOrder


def drawn(*counts: int) -> RandomOrder:
    found = RandomOrder(np.random.RandomState(0))
    for count in counts:
        found.draw(count)
    found.settle()
    return found


def test_places_of_few_rows_are_a_permutation():
    np.testing.assert_array_equal(np.sort(drawn(30, 20).again()(50)), np.arange(50))


@pytest.mark.parametrize("most", [0, 1000])
def test_places_are_the_same_in_every_pass_whatever_the_blocks(most: int, monkeypatch):
    monkeypatch.setattr(random_order, "EXACT_ORDER_ROWS", most)
    one, other = drawn(30, 20).again(), drawn(5, 45).again()
    np.testing.assert_array_equal(np.append(one(10), one(40)), np.append(other(27), other(23)))


def test_places_of_many_rows_are_spread_evenly(monkeypatch):
    monkeypatch.setattr(random_order, "EXACT_ORDER_ROWS", 0)
    found = drawn(100_000).again()(100_000)
    assert found.min() >= 0
    assert found.max() < 100_000
    share = np.bincount(found * 20 // 100_000, minlength=20) / 100_000
    np.testing.assert_allclose(share, 0.05, atol=0.003)


def test_rows_seen_before_are_skipped_alike():
    rng, other = np.random.RandomState(0), np.random.RandomState(0)
    skipping, drawing = RandomOrder(rng), RandomOrder(other)
    skipping.skip(30)
    drawing.draw(30)
    np.testing.assert_array_equal(skipping.draw(5), drawing.draw(5))


@pytest.mark.parametrize("most", [0, 1000])
def test_order_that_was_skipped_has_the_places_of_the_whole(most: int, monkeypatch):
    monkeypatch.setattr(random_order, "EXACT_ORDER_ROWS", most)
    resumed = RandomOrder(np.random.RandomState(0))
    resumed.skip(30)
    resumed.draw(20)
    resumed.settle()
    assert resumed.n_rows == 50
    np.testing.assert_array_equal(resumed.again()(50), drawn(30, 20).again()(50))


def test_places_do_not_depend_on_where_rows_stand():
    """Sorted rows would otherwise fall into folds together."""
    places = drawn(1000).again()(1000)
    assert abs(np.corrcoef(places, np.arange(1000))[0, 1]) < 0.1
