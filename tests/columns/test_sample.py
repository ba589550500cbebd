"""Random rows that are kept of all."""

import numpy as np
import pytest
from scipy import sparse

from featgrad.columns.sample import KeyedSample, n_bytes
from featgrad.readers import Block


def sampled(n_blocks: int, max_bytes: int, container=np.asarray) -> KeyedSample:
    """Rows that hold their own number, four times, in blocks of 100."""
    sample = KeyedSample(max_bytes, n_bytes)
    for start in range(1, 100 * n_blocks, 100):
        rows = np.arange(start, start + 100, dtype=np.float64)
        sample.add(Block(container(np.repeat(rows[:, None], 4, axis=1)), rows, rows))
    return sample


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_few_rows_are_all_held(container):
    sample = sampled(3, 1 << 20, container)
    assert sample.is_complete
    np.testing.assert_array_equal(sample.rows().y, np.arange(1, 301))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_of_many_rows_random_ones_are_held_in_order(container):
    sample = sampled(100, 32_000, container)
    rows = sample.rows()
    assert not sample.is_complete
    assert sample.n_rows == 10_000
    assert 300 < len(rows) <= 1000
    assert np.all(np.diff(rows.y) > 0)
    assert 4000 < rows.y.mean() < 6000
    np.testing.assert_array_equal(rows.weight, rows.y)
    np.testing.assert_array_equal(rows.X.sum(axis=1), 4 * rows.y)


def test_some_rows_are_held_however_wide_they_are():
    assert len(sampled(3, 1).rows()) > 20


def test_rows_of_tables_lie_row_by_row():
    sample = sampled(3, 1 << 20, np.asfortranarray)
    assert sample.rows().X.flags.c_contiguous


def some_rows(keys, sizes=None) -> Block:
    """Rows whose keys are their targets."""
    X = np.ones((len(keys), 10))
    if sizes is not None:
        X = sparse.csr_array(np.arange(10) < np.asarray(sizes)[:, None]).astype(float)
    return Block(X, np.asarray(keys))


@pytest.mark.parametrize("sizes", [None, 100 * [1, 9]])
def test_smallest_keys_stay_however_rows_are_divided(sizes):
    keys = np.random.default_rng(0).random(200)
    whole, parts = KeyedSample(900), [KeyedSample(900), KeyedSample(900)]
    whole.add(some_rows(keys, sizes), keys)
    for start in range(0, 200, 20):
        rows = slice(start, start + 20)
        parts[start % 40 == 0].add(some_rows(keys[rows], sizes and sizes[rows]), keys[rows])
    parts[0].merge(parts[1])
    found, expected = (np.sort(sample.rows().y) for sample in (parts[0], whole))
    assert 64 < len(expected) < 200
    np.testing.assert_array_equal(found, expected)
    assert not parts[0].is_complete
    np.testing.assert_array_equal(np.sort(keys)[: len(expected)], expected)


def test_the_fewest_rows_stay_however_long_they_are():
    sample, keys = KeyedSample(1), np.linspace(0, 1, 100)
    sample.add(some_rows(keys), keys)
    assert len(sample.rows()) == 64
