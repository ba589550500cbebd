"""Labels of rows that belong together, as numbers that are the same wherever a row is read."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from featgrad._support.types import Keys


def group_keys(groups: Any, n_rows: int) -> Keys:
    """A number for each row, the same for rows of one group, wherever these are."""
    labels = np.asarray(groups)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim not in (1, 2) or len(labels) != n_rows:
        raise ValueError(
            f"groups has shape {labels.shape} but X has {n_rows} rows: give one label per row."
        )
    if labels.ndim == 2:
        return joined_keys([group_keys(column, n_rows) for column in labels.T])
    values, of_row = np.unique(labels.astype(str), return_inverse=True)
    return np.array([_digest(value) for value in values], np.uint64)[of_row]


def _digest(label: Any) -> int:
    return int.from_bytes(blake2b(repr(label).encode(), digest_size=8).digest(), "little")


def joined_keys(columns: Sequence[Keys]) -> Keys:
    """Rows that agree in all columns share a key."""
    keys, of_row = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return np.array([_digest(key.tolist()) for key in keys], np.uint64)[of_row.ravel()]
