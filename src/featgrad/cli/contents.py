"""What a table holds, before anything is asked of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.opening import open_table


def describe_columns(
    path: Path, format: str | None, target: str | None
) -> tuple[dict[str, list[str]] | None, dict[str, str]]:
    """Columns of numbers and of text but for the target, and lines about them.

    None for the columns where the file holds rows of features.
    """
    table = open_table(path, format=format)
    if table is None:
        return None, {}
    text = set(table.text_columns()) - {target}
    others = [name for name in table.columns if name != target]
    numbers = [name for name in others if name not in text]
    texts = [name for name in others if name in text]
    n_rows = table.n_rows
    if n_rows is None and target is None:
        n_rows = _count_rows(table)
    lines = {
        "Rows": f"{n_rows:,}" if n_rows is not None else "",
        "Columns of numbers": f"{len(numbers):,}",
        "Columns of text": ", ".join(texts) or "none",
    }
    return {"columns": numbers, "text_columns": texts}, lines


def _count_rows(table: Any) -> int:
    bad = InvalidRows(table.name, "skip", "nan")
    first = table.columns[0]
    return sum(len(chunk[first]) for chunk in table.chunks([first], {first}, bad))
