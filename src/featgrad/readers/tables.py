"""Tables with named columns: numbers stay numbers, text is hashed or one-hot encoded.

A column of text is encoded as consecutive features: one per value (one-hot), or its share of
`hash_dim`. All of them are 0 for a missing text.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from featgrad.arrays import Flags, Indices
from featgrad.readers.block import Block, csr
from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.kernels.entries import gather
from featgrad.readers.layout import EncodedColumn, Layout
from featgrad.readers.tokens import Tokens, TokenSource, TopTokens

Chunk = dict[str, Any]
"""Columns by name: an array of numbers, or Tokens."""
Chunks = Iterator[Chunk]
Names = Sequence[str] | None

_MAX_VALUES = 1000
# Hashes from here on count as -1 if hashing is signed.
_FIRST_NEGATIVE = np.uint32(1 << 31)


class UnknownColumnError(ValueError):
    """A named column does not exist, or a required one is not named."""


class Table(Protocol):
    """Named columns that can be read in chunks of rows."""

    name: str
    columns: Sequence[str]
    n_rows: int | None

    def text_columns(self) -> Collection[str]:
        """Columns that hold text."""

    def chunks(self, columns: Sequence[str], text: Collection[str], invalid: InvalidRows) -> Chunks:
        """Chunks of rows; columns in `text` are Tokens, others Tokens or arrays of numbers."""


@dataclass(frozen=True)
class Roles:
    """Roles of the columns of a table."""

    target: str
    weight: str | None
    text: frozenset[str]
    features: tuple[str, ...]

    @property
    def columns(self) -> Sequence[str]:
        return [*self.features, self.target, *([] if self.weight is None else [self.weight])]

    @classmethod
    def of(cls, table: Table, target: Any, weight: Any, exclude: Names, categorical: Names) -> Self:
        named: dict[str, Sequence[Any]] = {
            "target": [target],
            "weight": [] if weight is None else [weight],
            "exclude": exclude or (),
            "categorical": categorical or (),
        }
        for argument, columns in named.items():
            for column in columns:
                check_column(argument, column, table.name, table.columns)
        repeated = [name for name, times in Counter(table.columns).items() if times > 1]
        if repeated:
            raise ValueError(f"{table.name} has two columns {repeated[0]!r}: rename one.")
        others = {target, weight, *(exclude or ())}
        text = frozenset(table.text_columns())
        features = tuple(name for name in table.columns if name not in others)
        if not features:
            raise ValueError(f"{table.name} has no column but its target: there are no features.")
        if categorical is not None:
            text = text & {target} | set(categorical)
        return cls(target, weight, text, features)


class TableSource(TokenSource):
    """Rows of a table with encoded text columns."""

    def __init__(
        self, table: Table, roles: Roles, *, hash_dim: int | None, signed: bool, **common: Any
    ) -> None:
        super().__init__(**common)
        self._table, self._roles, self._signed = table, roles, signed
        self.n_rows = None if self._invalid.skip else table.n_rows
        self._text = [name for name in roles.features if name in roles.text]
        encoded = self._one_hot() if hash_dim is None else self._hashed(hash_dim)
        self._layout = Layout([encoded.get(name, EncodedColumn(name)) for name in roles.features])
        self.feature_names, self.n_features = self._layout, len(self._layout)
        self._vocabularies = {
            name: _sorted_fingerprints(column.values)
            for name, column in encoded.items()
            if column.kind == "one-hot"
        }

    def _count_tokens(self, top: TopTokens) -> None:
        for chunk in self._read(self._text):
            for column, start in zip(self._layout.columns, self._layout.starts[:-1], strict=True):
                if column.kind == "number" or not top.wanted[start : start + column.width].any():
                    continue
                tokens = chunk[column.name]
                features = self._features(column, int(start), tokens)
                top.add(features, tokens, np.flatnonzero((features >= 0) & tokens.is_utf8()))

    def _read(self, columns: Sequence[str]) -> Iterator[Chunk]:
        self._invalid.skipped = 0
        return self._table.chunks(columns, self._roles.text, self._invalid)

    def _hashed(self, hash_dim: int) -> dict[str, EncodedColumn]:
        n_text = len(self._text)
        if hash_dim < 2 * n_text:
            few = f"hash_dim={hash_dim} is too small for {n_text} columns of text"
            raise ValueError(f"{few}: give at least {2 * n_text}.")
        return {name: EncodedColumn(name, "hash", hash_dim // n_text) for name in self._text}

    def _one_hot(self) -> dict[str, EncodedColumn]:
        """Read the whole table once for the values of its text columns."""
        values: dict[str, set[bytes]] = {name: set() for name in self._text}
        for chunk in self._read(self._text) if values else ():
            for name, seen in values.items():
                tokens = chunk[name]
                rows = np.flatnonzero(tokens.is_utf8() & tokens.present)
                seen.update(tokens.token(row) for row, _ in tokens.distinct(rows))
                if len(seen) > _MAX_VALUES:
                    raise ValueError(
                        f"{self._table.name}: column {name!r} has more than {_MAX_VALUES} "
                        "different texts: pass hash_dim=2**20, say, to hash text columns."
                    )
        encoded = {}
        for name, seen in values.items():
            # A column without any text keeps one feature, which is always 0.
            texts = tuple(sorted(token.decode() for token in seen)) or ("",)
            encoded[name] = EncodedColumn(name, "one-hot", len(texts), texts)
        return encoded

    def _chunks(self) -> Iterator[Block]:
        row = 0
        for chunk in self._read(self._roles.columns):
            reasons: dict[int, str] = {}
            block = self._encode(chunk, reasons)
            yield self._invalid.clean(self._invalid.drop(block, reasons, row), row)
            row += len(block)

    def _encode(self, chunk: Chunk, reasons: dict[int, str]) -> Block:
        """All rows of a chunk; adds the reasons why some of them are invalid."""
        roles, weight = self._roles, None
        X = self._sparse(chunk, reasons) if self._text else self._dense(chunk, reasons)
        encode = _texts if roles.target in roles.text else _numbers
        y = encode(roles.target, chunk[roles.target], reasons)
        if roles.weight is not None:
            weight = _numbers(roles.weight, chunk[roles.weight], reasons).astype(np.float64)
        return Block(X, y, weight)

    def _dense(self, chunk: Chunk, reasons: dict[int, str]) -> NDArray[Any]:
        columns = [_numbers(name, chunk[name], reasons) for name in self._roles.features]
        with np.errstate(over="ignore"):
            return np.stack(columns, dtype=self._dtype, casting="unsafe").T

    def _sparse(self, chunk: Chunk, reasons: dict[int, str]) -> Any:
        """One feature per row and original column; zeros are then dropped."""
        n_rows, n_columns = len(chunk[self._roles.target]), len(self._layout.columns)
        features = np.empty((n_columns, n_rows), np.int32)
        values = np.ones((n_columns, n_rows), self._dtype)
        for j, encoded in enumerate(self._layout.columns):
            start, column = int(self._layout.starts[j]), chunk[encoded.name]
            if encoded.kind == "number":
                with np.errstate(over="ignore"):
                    values[j] = _numbers(encoded.name, column, reasons)
                features[j] = np.where(values[j] == 0, -1, start)
                continue
            _mark(reasons, column.is_utf8(), f"column {encoded.name!r} is not UTF-8")
            features[j] = self._features(encoded, start, column)
            if self._signed and encoded.kind == "hash":
                values[j, column.hashes() >= _FIRST_NEGATIVE] = -1
        indptr, indices = np.empty(n_rows + 1, np.int32), np.empty(features.size, np.int32)
        data = np.empty(features.size, self._dtype)
        used = gather(features, values, indptr, indices, data)
        return csr(data[:used], indices[:used], indptr, self.n_features)

    def _features(self, column: EncodedColumn, start: int, tokens: Tokens) -> NDArray[Any]:
        """The feature of each token, -1 for a missing or unknown one."""
        if column.kind == "hash":
            found = (tokens.hashes() % np.uint32(column.width)).astype(np.int32)
            return np.where(tokens.present, found + np.int32(start), np.int32(-1))
        sorted_prints, order = self._vocabularies[column.name]
        prints = tokens.fingerprints()
        at = np.minimum(np.searchsorted(sorted_prints, prints), column.width - 1)
        known = tokens.present & (sorted_prints[at] == prints)
        return np.where(known, start + order[at], -1)


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
    raise UnknownColumnError(f"{argument}={column!r} is no column of {existing}{nearest}.")


def _sorted_fingerprints(values: Sequence[str]) -> tuple[NDArray[np.uint64], Indices]:
    prints = Tokens.from_bytes([value.encode() for value in values]).fingerprints()
    order = np.argsort(prints)
    return prints[order], order


def _mark(reasons: dict[int, str], valid: Flags, reason: str) -> None:
    for row in np.flatnonzero(~valid).tolist():
        reasons.setdefault(row, reason)


def _numbers(name: str, column: Any, reasons: dict[int, str]) -> NDArray[Any]:
    if not isinstance(column, Tokens):
        return np.asarray(column)
    values, valid = column.numbers()
    for row in np.flatnonzero(~valid).tolist():
        text = column.token(row)[:40].decode(errors="replace")
        reason = f"column {name!r} holds {text!r}, which is no number (name text columns in "
        reasons.setdefault(row, reason + "categorical=)")
    return values


def _texts(name: str, column: Tokens, reasons: dict[int, str]) -> NDArray[Any]:
    _mark(reasons, column.is_utf8(), f"column {name!r} is not UTF-8")
    _mark(reasons, column.present, f"column {name!r}, the target, is missing")
    texts = [column.token(row).decode(errors="replace") for row in range(len(column))]
    return np.array(texts, dtype=str)
