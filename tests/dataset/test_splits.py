"""Which folds are held out together."""

import numpy as np
import pytest

from featgrad.dataset.splits import Split, parts_of, random_splits
from featgrad.plan import HELD_OUT_GROUPS


@pytest.mark.parametrize("n_folds", [2, 4, 12, 14])
def test_each_fold_is_held_out_once_from_all_others(n_folds: int):
    splits = random_splits(n_folds)
    assert len(splits) == min(n_folds, HELD_OUT_GROUPS)
    assert sorted(fold for split in splits for fold in split.test) == list(range(n_folds))
    for split in splits:
        assert sorted(split.training + split.test) == list(range(n_folds))


@pytest.mark.parametrize("n_folds", [4, 12, 14])
def test_parts_of_random_splits_are_what_each_holds_out(n_folds: int):
    splits = random_splits(n_folds)
    found = parts_of(splits, n_folds)
    assert len(np.unique(found)) == HELD_OUT_GROUPS
    for split in splits:
        assert len(np.unique(found[list(split.test)])) == 1


def test_folds_in_order_are_parts_by_what_they_are_used_for():
    """The first two always choose; the last one belongs to no split."""
    found = parts_of([Split((0, 1), (2,)), Split((0, 1, 2), (3, 4))], 6)
    assert found.tolist() == [found[0], found[0], found[2], found[3], found[3], found[5]]
    assert len(np.unique(found)) == 4
