"""Tables: named columns that can be read in chunks of rows, and their roles."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.tokens import Tokens


class UnknownColumnError(ValueError):
    """A named column does not exist, or a required one is not named."""


class Table(Protocol):
    """Named columns that can be read in chunks of rows."""

    name: str
    columns: Sequence[str]
    n_rows: int | None

    # What each column holds: "number", "percent", "boolean", "date", "time" or "text".
    kinds: Mapping[str, str]
    # What a reader should know of how the file was read.
    notes: Sequence[str]

    def chunks(
        self, numbers: Sequence[str], texts: Sequence[str], invalid: InvalidRows
    ) -> "Chunks":
        """Chunks of rows, some columns as numbers and some as text."""


class Chunk(NamedTuple):
    """Columns of some rows, in the order in which they were asked for."""

    numbers: Any  # an array per column; NaN is missing
    texts: dict[str, Tokens]
    reasons: dict[int, str]  # why rows are invalid


Chunks = Iterator[Chunk]


def check_names(owner: str, columns: Sequence[str]) -> None:
    """Raise an error for columns of the same name."""
    repeated = [name for name, times in Counter(columns).items() if times > 1]
    if repeated:
        raise ValueError(f"{owner} has two columns {repeated[0]!r}: rename one.")


def check_any(features: Sequence[str], owner: str) -> None:
    """Raise an error if there are no features."""
    if not features:
        raise ValueError(f"{owner} has only its target: there are no features.")


def check_column(argument: str, column: Any, owner: str, columns: Sequence[str]) -> None:
    """Raise an error that lists the columns if there is none of this name."""
    is_name = isinstance(column, str)
    if is_name and column in columns:
        return
    shown = ", ".join(repr(name) for name in columns[:20])
    more = f" and {len(columns) - 20} more" if len(columns) > 20 else ""
    existing = f"{owner}, which has {shown}{more}"
    if not is_name:
        kind = "None" if column is None else type(column).__name__
        raise UnknownColumnError(f"{argument} is {kind}: name a column of {existing}.")
    near = get_close_matches(column, columns, n=1, cutoff=0)
    nearest = f"; the nearest is {near[0]!r}" if near else ""
    raise UnknownColumnError(f"{argument}={column!r} is not a column of {existing}{nearest}.")


def numbers_of(name: str, tokens: Tokens, reasons: dict[int, str]) -> NDArray[Any]:
    """A column of text as numbers; adds the reasons why rows are invalid."""
    values, valid = tokens.numbers()
    for row in np.flatnonzero(~valid).tolist():
        reasons.setdefault(row, not_of_kind(name, tokens.token(row), "number"))
    return values


def as_days(times: NDArray[Any]) -> NDArray[Any]:
    """Dates, in days since 1970, or durations; NaN where there is none.

    In their own unit: nanoseconds reach from 1677 to 2262 only.
    """
    return np.asarray((times - times.dtype.type(0, "D")) / np.timedelta64(1, "D"))


def not_of_kind(name: str, field: bytes, kind: str) -> str:
    text = field[:40].decode("utf-8", "replace")
    advice = "name columns of text in categorical=, words for missing values in na_values="
    return f"column {name!r} holds {text!r}, which is not a {kind} ({advice})"
