import numpy as np
import pytest
from scipy import sparse

from featgrad.readers import Block
from featgrad.readers.sample import Sample


def sampled(n_blocks: int, max_bytes: int, container=np.asarray) -> Sample:
    """Rows that hold their own number, four times, in blocks of 100."""
    sample = Sample(max_bytes, seed=0)
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
