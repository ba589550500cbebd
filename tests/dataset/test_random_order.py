"""Places of rows that are drawn again in every pass."""

import numpy as np
import pytest

from featgrad.dataset import prepare as random_order
from featgrad.dataset.prepare import Places, RandomOrder


def drawn(n_rows: int) -> RandomOrder:
    return RandomOrder(np.random.RandomState(0), n_rows)


def test_places_of_few_rows_are_a_permutation():
    np.testing.assert_array_equal(np.sort(drawn(50).again()(50)), np.arange(50))


@pytest.mark.parametrize("most", [0, 1000])
def test_places_are_the_same_in_every_pass_whatever_the_blocks(most: int, monkeypatch):
    monkeypatch.setattr(random_order, "EXACT_ORDER_ROWS", most)
    one, other = drawn(50).again(), drawn(50).again()
    np.testing.assert_array_equal(np.append(one(10), one(40)), np.append(other(27), other(23)))


def test_places_of_many_rows_are_spread_evenly(monkeypatch):
    monkeypatch.setattr(random_order, "EXACT_ORDER_ROWS", 0)
    found = drawn(100_000).again()(100_000)
    assert found.min() >= 0
    assert found.max() < 100_000
    share = np.bincount(found * 20 // 100_000, minlength=20) / 100_000
    np.testing.assert_allclose(share, 0.05, atol=0.003)


@pytest.mark.parametrize("most", [0, 1000])
def test_runs_of_rows_have_the_places_of_the_whole(most: int, monkeypatch):
    monkeypatch.setattr(random_order, "EXACT_ORDER_ROWS", most)
    monkeypatch.setattr(random_order, "_DRAWN_AT_ONCE", 7)
    runs = drawn(50).runs([30, 0, 20])
    places = [run.drawn() if isinstance(run, Places) else run for run in runs]
    np.testing.assert_array_equal(np.concatenate(places), drawn(50).again()(50))


@pytest.mark.parametrize("most", [0, 1000])
def test_what_is_drawn_later_does_not_depend_on_how_the_order_is_drawn(most: int, monkeypatch):
    monkeypatch.setattr(random_order, "EXACT_ORDER_ROWS", most)
    rng, other = np.random.RandomState(0), np.random.RandomState(0)
    RandomOrder(rng, 50)
    other.random_sample(50)
    assert rng.random_sample() == other.random_sample()


def test_places_do_not_depend_on_where_rows_stand():
    """Sorted rows would otherwise fall into folds together."""
    places = drawn(1000).again()(1000)
    assert abs(np.corrcoef(places, np.arange(1000))[0, 1]) < 0.1
