"""How columns of a table become features: one rule for data frames, files and streams.

Numbers stay numbers. A column of two texts is one number, other texts are one-hot encoded or
hashed, and all 0 where they are missing. A date has features for its day, the time of the year, the
weekday and the time of the day. Where it says something of the target that a value is missing, a
feature says so. Columns that are like identifiers are left out.
"""

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from featgrad._support import Flags, Floats, Indices
from featgrad.plan import ID_LIKE_ROWS, MOST_TEXTS
from featgrad.readers.block import InvalidRows, csr
from featgrad.readers.columns import (
    DATE_PARTS,
    Chunk,
    DistinctTexts,
    EncodedColumn,
    Layout,
    Table,
    numbered,
)
from featgrad.readers.missing import flags_that_explain
from featgrad.readers.tokens import Tokens

# Days of a year on average, and from a Monday to the first day of 1970; parts of a date without
# the time of the day, of which the weekday is one value in a row.
_YEAR, _FIRST_WEEKDAY, _DAY_PARTS = 365.2425, 3, len(DATE_PARTS) - 2


class TableEncoder:
    """The features of some columns of a table, of which `texts` are read as text.

    Columns in `stay` are features even if they look like identifiers; `variables` names more than
    the columns where others count as variables, too. Where `target`, a column or its values, is
    given, values may be missing: up to `first_entries` show whether that says something of it.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[str],
        texts: Set[str],
        *,
        target: Any = None,
        stay: Set[str] = frozenset(),
        hash_dim: int | None = None,
        dtype: Any = np.float64,
        variables: Sequence[str] | None = None,
        first_entries: float = np.inf,
    ) -> None:
        self._dtype, self._is_live = np.dtype(dtype), getattr(table, "is_live", False)
        # Of two texts, where there is none.
        self._neither = 0.5 if target is None else np.nan
        self.left_out: dict[str, str] = {}
        own = [name for name in columns if name in texts]
        encoded = _hashed(own, hash_dim) if hash_dim else self._one_hot(table, own, stay)
        # 1. The first rows show row numbers, times of the day, and what is missing.
        numbers = [name for name in columns if name not in texts]
        pairs = [name for name, column in encoded.items() if column.kind == "two"]
        first, missing, y = _first_rows(table, numbers, pairs, texts, target, first_entries)
        free = [place for place, name in enumerate(numbers) if name not in stay]
        self.left_out |= numbered([numbers[place] for place in free], [first[free]])
        columns = [name for name in columns if name not in self.left_out]
        if not columns:
            raise ValueError(f"{table.name} has only its target: there are no features.")
        # 2. Numbers and texts are read in this order.
        self.numbers = [name for name in columns if name not in texts]
        self.texts = [name for name in columns if name in encoded]
        for name, days in zip(numbers, first, strict=True):
            if table.kinds[name] == "date":
                has_times = np.any(days[np.isfinite(days)] % 1)
                width = len(DATE_PARTS) if has_times else _DAY_PARTS
                encoded[name] = EncodedColumn(name, "date", width)
        layout = [encoded.get(name) or EncodedColumn(name) for name in columns]
        said = {[*numbers, *pairs][place] for place in flags_that_explain(missing, y)}
        layout += [EncodedColumn(name, "missing") for name in columns if name in said]
        self.layout = Layout(layout, variables)
        self._columns = self.layout.columns
        self._vocabularies = {
            column.name: _sorted_fingerprints(column.values, int(start))
            for column, start in zip(self._columns, self.layout.starts[:-1], strict=True)
            if column.kind in ("two", "one-hot")
        }
        # Rows that have not come yet may have other texts.
        self._grows = bool(self._vocabularies) and self._is_live
        # Stored entries of a row take an index each.
        item, index = self._dtype.itemsize, np.dtype(np.int32).itemsize
        few = len(self.layout) * item <= len(columns) * (item + index)
        self._is_dense = few and not self._grows

    def _one_hot(
        self, table: Table, texts: Sequence[str], stay: Set[str]
    ) -> dict[str, EncodedColumn]:
        """Read the whole table once for the values of its text columns."""
        values = {name: DistinctTexts() for name in texts}
        skipping = InvalidRows(table.name, "skip", "nan")
        for chunk in table.chunks((), texts, skipping) if values else ():
            for name, seen in values.items():
                seen.add(chunk.texts[name])
        encoded = {}
        for name, seen in values.items():
            if name in stay and seen.are_too_many:
                raise ValueError(
                    f"{table.name}: column {name!r} has {seen.reason}: pass exclude=['{name}']."
                )
            if seen.reason is not None and name not in stay:
                self.left_out[name] = seen.reason
                continue
            # A column without any text keeps one feature, which is always 0.
            found = tuple(sorted(token.decode() for token in seen.texts)) or ("",)
            are_two = len(found) == 2 and not self._is_live
            width, kind = (1, "two") if are_two else (len(found), "one-hot")
            encoded[name] = EncodedColumn(name, kind, width, found)
        return encoded

    def encode(self, chunk: Chunk) -> Any:
        """Features of the rows of a chunk; adds the reasons why some of them are invalid."""
        n_features, n_rows = len(self.layout), chunk.numbers.shape[1]
        with np.errstate(over="ignore"):
            if n_features == len(self.numbers):
                return np.ascontiguousarray(chunk.numbers[:n_features].T, self._dtype)
            entries = list(self._entries(chunk))
            n_features = len(self.layout)  # which may have grown
            if self._is_dense:
                X = np.zeros((n_features, n_rows), self._dtype)
                for features, entry in entries:
                    if isinstance(features, int):
                        X[features] = entry
                    else:
                        rows = np.flatnonzero(features >= 0)
                        X[features[rows], rows] = entry
                return np.ascontiguousarray(X.T)
            places = np.empty((len(entries), n_rows), np.int32)
            values = np.empty((len(entries), n_rows), self._dtype)
            for slot, (features, entry) in enumerate(entries):
                places[slot], values[slot] = features, entry
        stored = (places.T >= 0) & (values.T != 0)
        indptr = np.append(0, np.cumsum(stored.sum(axis=1))).astype(np.int32)
        X = csr(values.T[stored], places.T[stored], indptr, n_features)
        if self._grows:  # features of later texts come after those of other columns
            X.has_sorted_indices = False
            X.sort_indices()
        return X

    def _entries(self, chunk: Chunk) -> Iterator[tuple[int | Indices, Any]]:
        """At most one entry of a row each: a feature, that of each row or -1, and its value."""
        numbers = dict(zip(self.numbers, chunk.numbers, strict=False))
        for column, start in zip(self._columns, self.layout.starts.tolist(), strict=False):
            name, values = column.name, numbers.get(column.name)
            if values is None:
                tokens = chunk.texts[name]
            if column.kind == "missing":
                yield start, ~tokens.present if values is None else np.isnan(values)
            elif column.kind == "date":
                yield from _date_parts(values, start, column.width)
            elif values is not None:
                yield start, values
            else:
                mark(chunk.reasons, tokens.is_utf8(), f"column {name!r} is not UTF-8")
                found = self.features(column, start, tokens)
                if column.kind == "two":
                    yield start, np.where(found < 0, self._neither, found - start)
                else:
                    yield found, 1

    def features(self, column: EncodedColumn, start: int, tokens: Tokens) -> NDArray[Any]:
        """The feature of each token, -1 for a missing or unknown one."""
        prints = tokens.fingerprints()
        if column.kind == "hash":
            found = (prints % np.uint64(column.width)).astype(np.int32)
            return np.where(tokens.present, found + np.int32(start), np.int32(-1))
        sorted_prints, features = self._vocabularies[column.name]
        at = np.minimum(np.searchsorted(sorted_prints, prints), len(features) - 1)
        known = tokens.present & (sorted_prints[at] == prints)
        late = tokens.present & ~known & tokens.is_utf8() if self._grows else np.zeros(0, bool)
        if late.any() and self._takes(column.name, tokens, np.flatnonzero(late)):
            return self.features(column, start, tokens)
        return np.where(known, features[at], -1)

    def _takes(self, name: str, tokens: Tokens, rows: Indices) -> bool:
        """Append a feature for each text of these rows, while the column has not too many."""
        prints, features = self._vocabularies[name]
        texts = [tokens.token(row).decode() for row, _ in tokens.distinct(rows)]
        texts = texts[: MOST_TEXTS - len(features)]
        if not texts:
            return False
        more_prints, more_features = _sorted_fingerprints(texts, len(self.layout))
        prints, features = np.append(prints, more_prints), np.append(features, more_features)
        order = np.argsort(prints)
        self._vocabularies[name] = prints[order], features[order]
        late = (EncodedColumn(name, "one-hot", 1, (text,)) for text in texts)
        self.layout = Layout([*self.layout.columns, *late])
        if len(features) == MOST_TEXTS:
            many = f"Column {name!r} has {MOST_TEXTS:,} different texts by now"
            warn(f"{many}: others count as missing, unless hash_dim is given.", stacklevel=2)
        return True


def mark(reasons: dict[int, str], valid: Flags, reason: str) -> None:
    """Add the reason why some rows are invalid."""
    for row in np.flatnonzero(~valid).tolist():
        reasons.setdefault(row, reason)


def texts_of(name: str, column: Tokens, reasons: dict[int, str]) -> NDArray[Any]:
    """A target of text."""
    mark(reasons, column.is_utf8(), f"column {name!r} is not UTF-8")
    texts = [column.token(row).decode(errors="replace") for row in range(len(column))]
    return np.array(texts, dtype=str)


def _hashed(texts: Sequence[str], hash_dim: int) -> dict[str, EncodedColumn]:
    n_text = len(texts)
    if hash_dim < 2 * n_text:
        few = f"hash_dim={hash_dim} is too small for {n_text} columns of text"
        raise ValueError(f"{few}: give at least {2 * n_text}.")
    return {name: EncodedColumn(name, "hash", hash_dim // n_text) for name in texts}


def _sorted_fingerprints(values: Sequence[str], start: int) -> tuple[NDArray[np.uint64], Indices]:
    """Of texts, and the feature of each, the first of which is `start`."""
    prints = Tokens.from_bytes([value.encode() for value in values]).fingerprints()
    order = np.argsort(prints)
    return prints[order], start + order


def _date_parts(days: Any, start: int, width: int) -> Iterator[tuple[int | Indices, Any]]:
    year, day = 2 * np.pi * days / _YEAR, 2 * np.pi * (days % 1)
    yield from ((start + i, part) for i, part in enumerate((days, np.sin(year), np.cos(year))))
    known = np.isfinite(days)
    weekday = (np.floor(np.where(known, days, 0)) + _FIRST_WEEKDAY) % 7
    yield np.where(known, start + 3 + weekday, -1).astype(np.int32), 1
    if width > _DAY_PARTS:
        yield start + _DAY_PARTS, np.sin(day)
        yield start + _DAY_PARTS + 1, np.cos(day)


def _first_rows(
    table: Table,
    numbers: Sequence[str],
    pairs: Sequence[str],
    texts: Set[str],
    target: Any,
    most: float,
) -> tuple[Floats, Flags, NDArray[Any] | None]:
    """Numbers of the first rows, what is missing of these and of texts, and targets."""
    named = [target] if isinstance(target, str) else []
    of_numbers = [*numbers, *(name for name in named if name not in texts)]
    of_texts = [*pairs, *(name for name in named if name in texts)]
    chunks: list[Chunk] = []
    n_rows, skipping = 0, InvalidRows(table.name, "skip", "nan")
    # Damage further down is reported when the rows are read.
    with suppress(ValueError):
        for chunk in table.chunks(of_numbers, of_texts, skipping) if of_numbers + of_texts else ():
            chunks.append(chunk)
            n_rows += chunk.numbers.shape[1]
            if n_rows >= ID_LIKE_ROWS and n_rows * len(of_numbers + of_texts) >= most:
                break
    found = np.concatenate(
        [np.empty((len(of_numbers), 0)), *(chunk.numbers for chunk in chunks)], axis=1
    )
    values = found[: len(numbers)]
    lost = [~np.concatenate([chunk.texts[name].present for chunk in chunks]) for name in pairs]
    missing = np.concatenate([np.isnan(values), np.reshape(lost, (len(pairs), n_rows))])
    if not named:
        return values, missing, None if target is None else np.asarray(target)[:n_rows]
    if target not in texts:
        return values, missing, found[-1]
    labels = [texts_of(target, chunk.texts[target], {}) for chunk in chunks]
    return values, missing, np.concatenate([np.zeros(0, str), *labels])
