"""Features by name, and the columns that they came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from featgrad.arrays import Indices
from featgrad.cli.errors import unknown_column
from featgrad.readers import Source
from featgrad.readers.layout import Layout


def name_of(source: Source, feature: int) -> str:
    names = source.feature_names
    return f"x{feature}" if names is None else str(names[feature])


def all_names(source: Source) -> list[str]:
    return [name_of(source, feature) for feature in range(source.n_features)]


def features_named(source: Source, option: str, named: Sequence[str]) -> Indices:
    """The features of these names; that of a column of text stands for all it became."""
    every = all_names(source)
    found: dict[str, Any] = {name: [feature] for feature, name in enumerate(every)}
    layout = source.feature_names
    if isinstance(layout, Layout):
        for column, start in zip(layout.columns, layout.starts[:-1].tolist(), strict=True):
            found[column.name] = range(start, start + column.width)
    for name in named:
        if name not in found:
            raise unknown_column(option, name, list(found))
    return np.unique([feature for name in named for feature in found[name]])


def groups_of(source: Source) -> list[str] | None:
    """For each feature the column it came from, where texts of a column became features.

    Hashed features stay single: the share of a column is too large to be chosen as one.
    """
    layout = source.feature_names
    if not isinstance(layout, Layout) or all(column.kind != "one-hot" for column in layout.columns):
        return None
    labels: list[str] = []
    for column in layout.columns:
        hashed = column.kind == "hash"
        labels += [column.feature(i) if hashed else column.name for i in range(column.width)]
    return labels
