"""Which fold each row belongs to, and which folds are held out from which.

Whatever holds rows out (estimates, the choice of a size, gains) does so by whole folds. Rows that
belong together are in folds that are held out together, and the parts that a cross-validation
splitter makes of the rows are whole folds, too.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from featgrad._support import Flags, Indices, Keys
from featgrad.plan import HELD_OUT_GROUPS, MOST_FOLDS
from featgrad.readers.block import group_keys


class Split(NamedTuple):
    """Folds that choose, and folds that are held out from them."""

    training: tuple[int, ...]
    test: tuple[int, ...]


class FoldLayout(NamedTuple):
    """Folds of rows, in the random order in which these are visited, and splits of the folds."""

    folds: Any  # of each row; None where they follow from its place
    n_folds: int
    splits: Sequence[Split]
    # Rows that share a label belong together; None where each row is independent of the others.
    clusters: Indices | None = None
    held_out_by: str = "rows"  # or "groups" or "cv"


class Belonging(NamedTuple):
    """What the caller says of how rows belong together."""

    cv: Any = None  # a splitter of scikit-learn, or what it makes one of
    groups: Any = None  # labels of the rows, or several columns of them

    def roles(self, y: Any, n_rows: int) -> "RowRoles":
        keys = None if self.groups is None else group_keys(self.groups, n_rows)
        return RowRoles(keys, None if self.cv is None else roles_of_rows(self.cv, y, keys, n_rows))


class RowRoles(NamedTuple):
    """Groups and parts of a splitter that rows belong to."""

    groups: Keys | None
    # Whether each row chooses and is held out, split by split: (rows, 2 splits).
    of_splits: Flags | None

    @property
    def labels(self) -> Indices | None:
        """Copies of a row that have the same label are one row; None where all are."""
        parts = [] if self.groups is None else [np.unique(self.groups, return_inverse=True)[1]]
        parts += [] if self.of_splits is None else [equal_rows(self.of_splits)[1]]
        if not parts:
            return None
        return equal_rows(np.stack(parts, axis=1))[1]

    def layout(self, rows: Indices, n_folds: int, order: int) -> FoldLayout:
        """Of the rows in use, in their random order."""
        keys = None if self.groups is None else self.groups[rows]
        if self.of_splits is not None:
            found = split_layout(self.of_splits[rows], rows, keys, n_folds, order)
            return found._replace(held_out_by="cv")
        if keys is not None:
            names, groups, counts = np.unique(keys, return_inverse=True, return_counts=True)
            parts = parts_of_groups(names, counts)[groups]
            is_test = parts[:, None] == np.arange(int(parts.max()) + 1)
            roles = np.stack([~is_test, is_test], axis=2).reshape(len(parts), -1)
            found = split_layout(roles, rows, keys, n_folds, order)
            return found._replace(held_out_by="groups")
        n_folds = min(n_folds, len(rows))
        folds = np.arange(len(rows)) * n_folds // len(rows)
        return FoldLayout(folds, n_folds, random_splits(n_folds))


def equal_rows(values: Any) -> tuple[Indices, Indices]:
    """The first one of equal rows, and the number of each row among different ones."""
    packed = np.packbits(values, axis=1) if values.dtype == bool else values
    _, first, number = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return first, number.ravel()


def random_splits(n_folds: int, n_parts: int = HELD_OUT_GROUPS) -> list[Split]:
    """Parts of the folds, each of which is held out in turn."""
    parts = np.array_split(np.arange(n_folds), min(n_parts, n_folds))
    return [
        Split(tuple(np.setdiff1d(np.arange(n_folds), part).tolist()), tuple(part.tolist()))
        for part in parts
    ]


def parts_of(splits: Sequence[Split], n_folds: int) -> Indices:
    """The part of each fold: folds that no split separates are one part."""
    roles = np.zeros((n_folds, 2 * len(splits)), bool)
    for i, split in enumerate(splits):
        roles[list(split.training), 2 * i] = True
        roles[list(split.test), 2 * i + 1] = True
    return np.asarray(np.unique(roles, axis=0, return_inverse=True)[1].ravel(), np.intp)


def folds_of_groups(keys: Keys, weights: Any, n_folds: int) -> Indices:
    """A fold for each group of so many rows: the largest first, each into the smallest fold."""
    sizes, folds = np.zeros(min(n_folds, len(keys))), np.zeros(len(keys), np.intp)
    # Keys are random, which decides between groups of one size.
    for group in np.lexsort((keys, -np.asarray(weights))):
        folds[group] = np.argmin(sizes)
        sizes[folds[group]] += weights[group]
    return folds


def parts_of_groups(keys: Keys, counts: Indices) -> Indices:
    """The part of each group of so many rows: parts are held out in turn."""
    if len(keys) < 2:
        raise ValueError(
            "groups has one value only: rows of other groups are needed to hold some out. Leave "
            "groups out, or give the labels of rows that belong together."
        )
    return folds_of_groups(keys, counts, HELD_OUT_GROUPS)


def roles_of_rows(cv: Any, y: Any, groups: Any, n_rows: int) -> Flags:
    """Whether each row chooses and is held out, split by split: (rows, 2 splits)."""
    try:
        splitter = check_cv(cv, y, classifier=False)
        splits = list(splitter.split(np.zeros((n_rows, 1)), y, groups))
    except (TypeError, ValueError) as error:
        raise ValueError(f"cv={cv!r} cannot split the rows: {error}") from error
    roles = np.zeros((n_rows, 2 * len(splits)), bool)
    for i, split in enumerate(splits):
        for side, rows in enumerate(split):
            roles[rows, 2 * i + side] = True
    if np.any(roles[:, ::2] & roles[:, 1::2]):
        raise ValueError(f"cv={cv!r} holds out rows that it also trains on: use another splitter.")
    return roles


def split_layout(
    roles: Flags, rows: Indices, keys: Keys | None, n_folds: int, order: int
) -> FoldLayout:
    """Folds within the parts that a splitter makes of rows, given by their roles."""
    first, parts = equal_rows(roles)
    names, places = roles[first], np.argsort(np.argsort(rows))
    # A filter needs one fold more than its order among those that choose.
    fewest = max(1, int(names[:, ::2].sum(axis=0).min()))
    per_part = max(-(-(order + 1) // fewest), n_folds // len(names))
    if len(names) * per_part > MOST_FOLDS:
        raise ValueError(
            f"cv divides the rows into {len(names)} parts, more than {MOST_FOLDS // per_part}: use "
            "fewer splits, or a splitter whose test sets do not overlap, such as KFold."
        )
    folds, are_runs = np.zeros(len(rows), np.intp), True
    roles_of_folds: list[Flags] = []
    for part in range(len(names)):
        own = np.flatnonzero(parts == part)
        is_run = np.ptp(places[own]) + 1 == len(own)
        are_runs &= bool(is_run)
        if keys is not None:
            within = _folds_within(keys[own], per_part)
        else:
            ranks = places[own] - places[own].min() if is_run else np.arange(len(own))
            within = ranks * min(per_part, len(own)) // len(own)
        folds[own] = len(roles_of_folds) + within
        roles_of_folds += [names[part]] * (int(within.max()) + 1)
    by_fold = np.array(roles_of_folds)
    splits = [
        Split(*(tuple(np.flatnonzero(by_fold[:, 2 * i + side]).tolist()) for side in (0, 1)))
        for i in range(by_fold.shape[1] // 2)
    ]
    if keys is not None:
        return FoldLayout(folds, len(by_fold), splits, np.unique(keys, return_inverse=True)[1])
    # Rows that are held out in runs of neighbours may depend on their neighbours.
    return FoldLayout(folds, len(by_fold), splits, parts if are_runs else None)


def _folds_within(keys: Keys, n_folds: int) -> Indices:
    """Whole groups in each fold, as far as there are enough: no split separates these folds."""
    names, groups, counts = np.unique(keys, return_inverse=True, return_counts=True)
    if len(names) < n_folds:
        return np.arange(len(keys)) * min(n_folds, len(keys)) // len(keys)
    return folds_of_groups(names, counts, n_folds)[groups]
