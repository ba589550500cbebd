import threading

import numpy as np
import pytest

from featgrad.readers import Block, open_source, prefetched
from source_rows import read


class Counted:
    """A source that counts the blocks it yielded, and may fail at one."""

    n_features, feature_names, groups, n_rows, block_rows, skipped = 1, None, None, None, 1, 0

    def __init__(self, fails_at: int = -1) -> None:
        self.fails_at, self.requested, self.closed = fails_at, 0, False

    def __iter__(self):
        try:
            for k in range(10):
                self.requested += 1
                if k == self.fails_at:
                    raise ValueError("no such block")
                yield Block(np.full((1, 1), k), np.zeros(1))
        finally:
            self.closed = True


def reading_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("featgrad-prefetch")]


def test_the_same_rows_again_and_again():
    source = open_source(np.arange(20.0).reshape(10, 2), target=np.arange(10), block_rows=3)
    for _ in range(2):
        np.testing.assert_array_equal(read(prefetched(source)).X, read(source).X)


def test_one_block_ahead_and_no_more():
    source = Counted()
    for used, _ in enumerate(prefetched(source), start=1):
        assert source.requested <= used + 1


def test_an_error_reaches_the_reader_in_its_place():
    seen = []
    with pytest.raises(ValueError, match="no such block"):
        seen.extend(block.X[0, 0] for block in prefetched(Counted(fails_at=3)))
    assert reading_threads() == []


def test_leaving_early_ends_the_thread_and_closes_the_source():
    source = Counted()
    blocks = iter(prefetched(source))
    next(blocks)
    blocks.close()
    assert reading_threads() == []
    assert source.closed
