"""Columns of a file and names of features."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from featgrad._support.types import Indices
from featgrad.readers import Source
from featgrad.readers.columns import Table, check_column
from featgrad.readers.identifiers import DistinctTexts, numbered
from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.layout import Layout


def describe_columns(table: Table, invalid: InvalidRows) -> dict[str, Any]:
    """Columns by what they hold, from one pass over all rows; `rows` is their number."""
    texts = [name for name, kind in table.kinds.items() if kind == "text"]
    numbers = [name for name in table.columns if table.kinds[name] != "text"]
    distinct = {name: DistinctTexts() for name in texts}
    low, high = np.full(len(numbers), np.inf), np.full(len(numbers), -np.inf)
    n_rows, skipping = 0, InvalidRows(table.name, "skip", "nan")
    first = (chunk.numbers for chunk in table.chunks(numbers, (), skipping))
    id_like = dict(numbered(numbers, first))
    for chunk in table.chunks(numbers, texts, invalid):
        length = len(chunk.numbers[0] if numbers else chunk.texts[texts[0]])
        for row in sorted(chunk.reasons):
            invalid.report(n_rows + row, chunk.reasons[row])
        for i, column in enumerate(chunk.numbers):
            low[i], high[i] = (
                np.fmin(low[i], np.fmin.reduce(column)),
                np.fmax(high[i], np.fmax.reduce(column)),
            )
        for name, seen in distinct.items():
            seen.add(chunk.texts[name])
        n_rows += length
    id_like |= {name: seen.reason for name, seen in distinct.items() if seen.reason}
    constant = [
        name for name, lowest, highest in zip(numbers, low, high, strict=True) if lowest >= highest
    ]
    constant += [name for name, seen in distinct.items() if len(seen.texts) < 2]
    kinds = {"columns": ("number", "percent"), "date_columns": ("date", "time"),
             "boolean_columns": ("boolean",), "text_columns": ("text",)}  # fmt: skip
    found = {
        label: [name for name in table.columns if table.kinds[name] in holding]
        for label, holding in kinds.items()
    }
    return {**found, "constant_columns": constant, "id_columns": list(id_like), "rows": n_rows}


def name_of(source: Source, feature: int) -> str:
    names = source.feature_names
    return f"x{feature}" if names is None else str(names[feature])


def all_names(source: Source) -> list[str]:
    return [name_of(source, feature) for feature in range(source.n_features)]


def features_named(source: Source, argument: str, named: Sequence[str]) -> Indices:
    """Features by name; the name of a text column stands for all of its features."""
    found: dict[str, Any] = {name: [feature] for feature, name in enumerate(all_names(source))}
    layout = source.feature_names
    if isinstance(layout, Layout):
        for column, start in zip(layout.columns, layout.starts[:-1].tolist(), strict=True):
            found[column.name] = range(start, start + column.width)
    for name in named:
        check_column(argument, name, source.name, list(found))
    return np.unique([feature for name in named for feature in found[name]])


def columns_of(source: Source, features: Sequence[str]) -> list[str]:
    """The columns of a table that features or columns of these names come from."""
    layout = source.feature_names
    # Files of stored rows have names as well, but no columns to leave out.
    if not isinstance(layout, Layout) or not hasattr(source, "left_out"):
        return []
    wanted = set(features)
    return [
        column.name
        for column in layout.columns
        if column.name in wanted or any(column.feature(i) in wanted for i in range(column.width))
    ]


def groups_of(source: Source) -> list[str] | None:
    """The original column of each feature; None if no column is one-hot encoded.

    Hashed features stay single: those of one column are too many to be selected together.
    """
    layout = source.feature_names
    if not isinstance(layout, Layout) or all(column.kind != "one-hot" for column in layout.columns):
        return None
    labels: list[str] = []
    for column in layout.columns:
        hashed = column.kind == "hash"
        labels += [column.feature(i) if hashed else column.name for i in range(column.width)]
    return labels
