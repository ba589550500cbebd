"""Pieces of work that are shared between threads."""

import numpy as np
import pytest

from featgrad._support.compiled import shared


@pytest.mark.parametrize("n_pieces", [1, 2, 16])
def test_every_piece_is_done_once(n_pieces: int):
    done = np.zeros(n_pieces, int)

    def count(first: int, end: int, done: np.ndarray) -> None:
        done[first:end] += 1

    shared(count, n_pieces, done)
    np.testing.assert_array_equal(done, 1)


def test_an_error_in_any_piece_is_raised():
    def fail(first: int, end: int) -> None:
        if end == 16:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        shared(fail, 16)
