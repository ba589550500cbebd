"""Tables: named columns that can be read in chunks of rows, their features, and identifiers."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from featgrad._support import Floats, Indices
from featgrad._support.wording import existing
from featgrad.plan import ID_LIKE_ROWS, ID_LIKE_SHARE, MOST_TEXTS
from featgrad.readers.block import InvalidRows

if TYPE_CHECKING:
    from featgrad.readers.tokens import Tokens

_NAMES = re.compile(r"(.*[^a-z])?(id|ids|uuid|guid|index|rowid|row)|.*[a-z]I[Dd]|unnamed.*", re.I)


class UnknownColumnError(ValueError):
    """A named column does not exist, or a required one is not named."""


class Table(Protocol):
    """Named columns that can be read in chunks of rows."""

    name: str
    columns: Sequence[str]
    n_rows: int | None

    # What each column holds: "number", "percent", "boolean", "date", "time" or "text"; else its
    # type, lists say, which can only be left out.
    kinds: Mapping[str, str]
    # What was made of columns where this is not plain: the order of dates, a unit.
    remarks: Mapping[str, str]
    # What a reader should know of how the file was read.
    notes: Sequence[str]

    def chunks(
        self, numbers: Sequence[str], texts: Sequence[str], invalid: InvalidRows
    ) -> "Chunks":
        """Chunks of rows, some columns as numbers and some as text."""


class Chunk(NamedTuple):
    """Columns of some rows, in the order in which they were asked for."""

    numbers: Floats  # a row per column; NaN is missing
    texts: "dict[str, Tokens]"
    reasons: dict[int, str]  # why rows are invalid


Chunks = Iterator[Chunk]


def repeated(names: Sequence[str]) -> list[str]:
    """Those that occur more than once."""
    if len({*names}) == len(names):  # which takes half of the time
        return []
    return [name for name, times in Counter(names).items() if times > 1]


def check_names(owner: str, columns: Sequence[str]) -> None:
    if twice := repeated(columns):
        raise ValueError(f"{owner} has two columns {twice[0]!r}: rename one.")


def check_column(argument: str, column: Any, owner: str, columns: Sequence[str]) -> None:
    """Raise an error that lists the columns if there is none of this name."""
    is_name = isinstance(column, str)
    if is_name and column in columns:
        return
    those = f"{owner}, which has {existing(columns, column)}"
    if not is_name:
        kind = "None" if column is None else type(column).__name__
        raise UnknownColumnError(f"{argument} is {kind}: name a column of {those}.")
    raise UnknownColumnError(f"{argument}={column!r} is not a column of {those}.")


# What a date is encoded as: its day, where it lies in the year, its weekday and, where there are
# times, where it lies in the day.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DATE_PARTS = ("days", "year, sine", "year, cosine", *_WEEKDAYS, "day, sine", "day, cosine")


_IN_WORDS = {
    "number": "of numbers",
    "date": "of dates",
    "two": "of two texts",
    "one-hot": "of texts",
    "hash": "of hashed texts",
    "missing": "with a flag for missing values",
}


class EncodedColumn(NamedTuple):
    """One column of a table and the consecutive features it is encoded as.

    A column of another one's name holds more of the same variable: whether its value is missing,
    or texts that came later.
    """

    name: str
    kind: str = "number"  # or "date", "two" texts, "one-hot", "hash", "missing"
    width: int = 1
    values: tuple[str, ...] = ()

    def feature(self, i: int) -> str:
        if self.kind == "number":
            return self.name
        if self.kind in ("date", "missing"):
            return f"{self.name} ({DATE_PARTS[i] if self.kind == 'date' else 'missing'})"
        if self.kind == "hash":
            return f"{self.name}#{i}"
        return f"{self.name}={self.values[-1 if self.kind == 'two' else i]}"


class Layout(Sequence[str]):
    """All columns in order; as a sequence, the feature names, which are built on access.

    Variables, which are chosen as one, are the columns of a table, by their names, and features of
    hashed texts, which are too many to be chosen together. `names` may have more of them.
    """

    def __init__(
        self, columns: Sequence[EncodedColumn], names: Sequence[str] | None = None
    ) -> None:
        self.columns = tuple(columns)
        self.starts = np.cumsum([0, *(column.width for column in columns)])
        self._names = names

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        feature = range(len(self))[i]
        column = int(np.searchsorted(self.starts, feature, side="right")) - 1
        return self.columns[column].feature(feature - int(self.starts[column]))

    @cached_property
    def variables(self) -> Sequence[str]:
        return self._names or list(dict.fromkeys(self._origins()))

    @cached_property
    def groups(self) -> Indices | None:
        """The variable of each feature; None if each feature is a variable, in their order."""
        if len(self.variables) == len(self) and self._names is None:
            return None
        places = {name: place for place, name in enumerate(self.variables)}
        return np.array([places[name] for name in self._origins()], np.intp)

    @cached_property
    def encoded(self) -> dict[str, tuple[EncodedColumn, Indices]]:
        """What variables are encoded as, other than flags and later texts, and its features."""
        ends = zip(reversed(self.columns), reversed(self.starts.tolist()), strict=False)
        return {
            name: (column, np.arange(end - column.width, end))
            for column, end in ends
            for name in ([] if column.kind == "hash" else [column.name])
        }

    def _origins(self) -> Iterator[str]:
        for column in self.columns:
            for i in range(column.width):
                yield column.feature(i) if column.kind == "hash" else column.name

    def __str__(self) -> str:
        """How many columns are of which kind, and what is encoded."""
        kinds = Counter(_IN_WORDS[column.kind] for column in self.columns)
        return ", ".join(f"{count} {kind}" for kind, count in kinds.items())

    def single(self) -> "Layout":
        return Layout([EncodedColumn(name) for name in self])

    def to_json(self) -> list[dict[str, Any]]:
        return [column._asdict() for column in self.columns]

    @classmethod
    def from_json(cls, columns: Any) -> "Layout":
        """Inverse of `to_json`; raises ValueError for anything else."""
        try:
            encoded = [
                EncodedColumn(**{**column, "values": (*column["values"],)}) for column in columns
            ]
        except (TypeError, KeyError) as error:
            raise ValueError(f"its list of features is damaged ({error})") from error
        for column in encoded:
            width = len(column.values) if column.kind == "one-hot" else column.width
            texts = map(type, (column.name, *column.values))
            if type(width) is not int or not 0 < width == column.width or {*texts} != {str}:
                raise ValueError(f"its list of features is damaged ({str(column.name)[:80]})")
        return cls(encoded)


class DistinctTexts:
    """Different texts of a column, up to a limit, and the number of its rows that have one."""

    def __init__(self) -> None:
        self.texts: set[bytes] = set()
        self.n_rows = 0

    def add(self, tokens: "Tokens") -> None:
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


def numbered(names: Sequence[str], chunks: Iterable[Floats]) -> Mapping[str, str]:
    """Columns of numbers, by their first rows, that number the rows, and why."""
    found: dict[str, str] = {}
    first: list[Floats] = []
    for chunk in chunks if names else ():
        first.append(chunk)
        if sum(columns.shape[1] for columns in first) >= ID_LIKE_ROWS:
            break
    else:
        return found
    columns = np.concatenate(first, axis=1)
    counts = np.isin(columns[:, 0], (0, 1)) & (columns[:, 1] - columns[:, 0] == 1)
    for name, column, is_count in zip(names, columns, counts.tolist(), strict=True):
        if is_count and np.all(np.diff(column) == 1):
            found[name] = "it numbers the rows"
        elif _NAMES.fullmatch(name):
            are_whole = np.all(column == np.round(column))
            if are_whole and len(np.unique(column)) == len(column):
                found[name] = "its name, and a different number in each row"
    return found
