"""Columns of a file and names of features."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from featgrad.arrays import Indices
from featgrad.readers import Source
from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.layout import Layout
from featgrad.readers.opening import open_table
from featgrad.readers.tables import check_column


def describe_columns(
    path: Path, format: str | None, target: str | None
) -> tuple[dict[str, list[str]] | None, dict[str, str]]:
    """Numeric and text columns other than the target, and a summary of them.

    The columns are None if the file stores rows of features.
    """
    table = open_table(path, format=format)
    if table is None:
        return None, {}
    text = set(table.text_columns())
    others = [name for name in table.columns if name != target]
    numbers = [name for name in others if name not in text]
    texts = [name for name in others if name in text]
    n_rows = table.n_rows
    if n_rows is None and target is None:
        invalid = InvalidRows(table.name, "skip", "nan")
        first = table.columns[0]
        n_rows = sum(len(chunk[first]) for chunk in table.chunks([first], {first}, invalid))
    lines = {
        "Rows": f"{n_rows:,}" if n_rows is not None else "",
        "Columns of numbers": f"{len(numbers):,}",
        "Columns of text": ", ".join(texts) or "none",
    }
    return {"columns": numbers, "text_columns": texts}, lines


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
