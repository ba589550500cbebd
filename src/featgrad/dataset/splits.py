"""Which folds choose, and which of them are held out."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from featgrad.arrays import Indices
from featgrad.plan import HELD_OUT_GROUPS


class Split(NamedTuple):
    """Folds that choose, and folds that are held out from them."""

    training: tuple[int, ...]
    test: tuple[int, ...]


def random_splits(n_folds: int) -> list[Split]:
    """Groups of folds, each of which is held out in turn."""
    groups = np.array_split(np.arange(n_folds), min(HELD_OUT_GROUPS, n_folds))
    return [
        Split(tuple(np.setdiff1d(np.arange(n_folds), group).tolist()), tuple(group.tolist()))
        for group in groups
    ]


def parts_of(splits: Sequence[Split], n_folds: int) -> Indices:
    """The part of each fold: folds that no split separates are one part."""
    roles = np.zeros((n_folds, 2 * len(splits)), bool)
    for i, split in enumerate(splits):
        roles[list(split.training), 2 * i] = True
        roles[list(split.test), 2 * i + 1] = True
    return np.asarray(np.unique(roles, axis=0, return_inverse=True)[1].ravel(), np.intp)
