"""Positions of rows that are drawn again in every pass."""

import numpy as np
import pytest
from featgrad.dataset.positions import Positions

from featgrad.dataset import positions


def drawn(*counts: int) -> Positions:
    found = Positions(np.random.RandomState(0))
    for count in counts:
        found.draw(count)
    found.settle()
    return found


def test_positions_of_few_rows_are_a_permutation():
    np.testing.assert_array_equal(np.sort(drawn(30, 20).again()(50)), np.arange(50))


@pytest.mark.parametrize("most", [0, 1000])
def test_positions_are_the_same_in_every_pass_whatever_the_blocks(most: int, monkeypatch):
    monkeypatch.setattr(positions, "MOST_EXACT", most)
    one, other = drawn(30, 20).again(), drawn(5, 45).again()
    np.testing.assert_array_equal(np.append(one(10), one(40)), np.append(other(27), other(23)))


def test_positions_of_many_rows_are_spread_evenly(monkeypatch):
    monkeypatch.setattr(positions, "MOST_EXACT", 0)
    found = drawn(100_000).again()(100_000)
    assert found.min() >= 0
    assert found.max() < 100_000
    share = np.bincount(found * 20 // 100_000, minlength=20) / 100_000
    np.testing.assert_allclose(share, 0.05, atol=0.003)


def test_rows_seen_before_are_skipped_alike():
    rng, other = np.random.RandomState(0), np.random.RandomState(0)
    skipping, drawing = Positions(rng), Positions(other)
    skipping.skip(30)
    drawing.draw(30)
    np.testing.assert_array_equal(skipping.draw(5), drawing.draw(5))
