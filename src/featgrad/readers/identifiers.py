"""Columns that number or name the rows: nothing can be learned from them about other rows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from featgrad._support.types import Floats
from featgrad.plan import ID_LIKE_ROWS, ID_LIKE_SHARE, MOST_TEXTS
from featgrad.readers.tokens import Tokens

_NAMES = re.compile(r"(.*[^a-z])?(id|ids|uuid|guid|index|rowid|row)|.*[a-z]I[Dd]|unnamed.*", re.I)


class DistinctTexts:
    """Different texts of a column, up to a limit, and the number of its rows that have one."""

    def __init__(self) -> None:
        self.texts: set[bytes] = set()
        self.n_rows = 0

    def add(self, tokens: Tokens) -> None:
        rows = np.flatnonzero(tokens.is_utf8() & tokens.present)
        self.n_rows += len(rows)
        if not self.are_too_many:
            self.texts.update(tokens.token(row) for row, _ in tokens.distinct(rows))

    @property
    def are_too_many(self) -> bool:
        return len(self.texts) > MOST_TEXTS

    @property
    def reason(self) -> str | None:
        """Why the column is like an identifier; None if it is not."""
        if self.are_too_many:
            return f"more than {MOST_TEXTS:,} different texts"
        if self.n_rows >= ID_LIKE_ROWS and len(self.texts) >= ID_LIKE_SHARE * self.n_rows:
            return f"{len(self.texts):,} different texts in {self.n_rows:,} rows"
        return None


def numbered(names: Sequence[str], chunks: Iterable[Sequence[Floats]]) -> Mapping[str, str]:
    """Columns of numbers, by their first rows, that number the rows, and why."""
    found: dict[str, str] = {}
    first: list[Sequence[Floats]] = []
    for chunk in chunks if names else ():
        first.append(chunk)
        if sum(len(columns[0]) for columns in first) >= ID_LIKE_ROWS:
            break
    else:
        return found
    columns = _joined(first)
    starts = np.array([column[:2] for column in columns])
    counts = np.isin(starts[:, 0], (0, 1)) & (starts[:, 1] - starts[:, 0] == 1)
    for name, column, is_count in zip(names, columns, counts.tolist(), strict=True):
        if is_count and np.all(np.diff(column) == 1):
            found[name] = "it numbers the rows"
        elif _NAMES.fullmatch(name) and _are_different_integers(column):
            found[name] = "its name, and a different number in each row"
    return found


def _are_different_integers(column: Floats) -> bool:
    return bool(np.all(column == np.round(column))) and len(np.unique(column)) == len(column)


def _joined(chunks: Sequence[Any]) -> Any:
    """Columns of one chunk after the other; one array of all columns where they are such."""
    if isinstance(chunks[0], np.ndarray):
        return np.concatenate(chunks, axis=1)
    return [np.concatenate(parts) for parts in zip(*chunks, strict=True)]
