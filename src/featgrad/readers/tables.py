"""Tables with named columns: numbers stay numbers, text is hashed or one-hot encoded.

A column of text becomes consecutive features of its own: as many as it has values (one-hot), or
its share of `hash_dim`. A missing text is none of them, which leaves all its features at 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from featgrad.arrays import Flags, Indices
from featgrad.readers.block import Block, csr, regroup
from featgrad.readers.invalid_rows import BaseSource, InvalidRows
from featgrad.readers.kernels.entries import gather
from featgrad.readers.layout import EncodedColumn, Layout
from featgrad.readers.tokens import Tokens, TopTokens

Chunk = dict[str, Any]
"""Columns by name: an array of numbers, or Tokens."""

_MAX_VALUES = 1000
# Hashes from here on count as -1 where signs are asked for.
_HALF = np.uint32(1 << 31)


class UnknownColumnError(ValueError):
    """A column was named that is not there, or none where one is needed."""


class Table(Protocol):
    """Where the columns come from."""

    name: str
    columns: Sequence[str]
    n_rows: int | None

    def text_columns(self) -> Collection[str]:
        """Columns that hold text."""

    def chunks(
        self, columns: Sequence[str], text: Collection[str], bad: InvalidRows
    ) -> Iterator[Chunk]:
        """Some rows of these columns at a time, those of `text` as Tokens; others as either."""


@dataclass(frozen=True)
class Roles:
    """What each column of a table is for."""

    target: str
    weight: str | None
    text: frozenset[str]
    features: tuple[str, ...]

    @property
    def columns(self) -> Sequence[str]:
        """All that are used."""
        return [*self.features, self.target, *([] if self.weight is None else [self.weight])]

    @classmethod
    def of(
        cls,
        table: Table,
        target: Any,
        weight: Any,
        exclude: Sequence[str] | None,
        categorical: Sequence[str] | None,
    ) -> Roles:
        named: dict[str, Sequence[Any]] = {
            "target": [target],
            "weight": [] if weight is None else [weight],
            "exclude": exclude or (),
            "categorical": categorical or (),
        }
        for argument, columns in named.items():
            for column in columns:
                _check_column(table, argument, column)
        repeated = [name for name, times in Counter(table.columns).items() if times > 1]
        if repeated:
            raise ValueError(f"{table.name} has two columns {repeated[0]!r}: rename one.")
        others = {target, weight, *(exclude or ())}
        text = frozenset(table.text_columns())
        features = tuple(name for name in table.columns if name not in others)
        if not features:
            raise ValueError(f"{table.name} has no column beside its target: nothing to choose.")
        if categorical is not None:
            text = text & {target} | set(categorical)
        return cls(target, weight, text, features)


class TableSource(BaseSource):
    """Rows of a table, encoded."""

    def __init__(
        self,
        table: Table,
        roles: Roles,
        *,
        hash_dim: int | None,
        signed: bool,
        block_rows: int,
        dtype: Any,
        bad: InvalidRows,
    ) -> None:
        self._table, self._roles, self._bad = table, roles, bad
        self._signed, self._dtype, self.block_rows = signed, np.dtype(dtype), block_rows
        self.n_rows: int | None = None if bad.skip else table.n_rows
        self._text = [name for name in roles.features if name in roles.text]
        parts = self._one_hot() if hash_dim is None else self._hashed(hash_dim)
        self._layout = Layout([parts.get(name, EncodedColumn(name)) for name in roles.features])
        self.n_features = len(self._layout)
        self._vocabularies = {
            name: _sorted_fingerprints(part.values)
            for name, part in parts.items()
            if part.kind == "one-hot"
        }

    @property
    def feature_names(self) -> Sequence[str]:
        return self._layout

    @property
    def groups(self) -> NDArray[np.int32] | None:
        return self._layout.groups

    def __iter__(self) -> Iterator[Block]:
        return regroup(self._blocks(), self.block_rows)

    def tokens_of(self, buckets: Any, *, most: int = 3) -> dict[int, list[str]]:
        """The texts that fall most often into each of these features, found by another pass.

        Parameters
        ----------
        buckets : array-like of int
            Features that came from text.
        most : int, default=3
            Texts per feature.

        Returns
        -------
        dict
            For each feature its texts, the most frequent first.
        """
        heaviest = TopTokens(buckets, self.n_features)
        for chunk in self._chunks(self._text):
            for part, start in zip(self._layout.parts, self._layout.starts[:-1], strict=True):
                if part.kind == "number" or not heaviest.asked[start : start + part.width].any():
                    continue
                tokens = chunk[part.name]
                features = self._features(part, int(start), tokens)
                rows = np.flatnonzero((features >= 0) & tokens.is_utf8())
                heaviest.add(features, tokens, rows)
        return heaviest.tokens(most)

    def _chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        self._bad.skipped = 0
        return self._table.chunks(columns, self._roles.text, self._bad)

    def _hashed(self, hash_dim: int) -> dict[str, EncodedColumn]:
        n_text = len(self._text)
        if hash_dim < 2 * n_text:
            raise ValueError(
                f"hash_dim={hash_dim} is too small for {n_text} columns of text: give at least "
                f"{2 * n_text}."
            )
        return {name: EncodedColumn(name, "hash", hash_dim // n_text) for name in self._text}

    def _one_hot(self) -> dict[str, EncodedColumn]:
        """Read the whole table once for the values of its text columns."""
        values: dict[str, set[bytes]] = {name: set() for name in self._text}
        for chunk in self._chunks(self._text) if values else ():
            for name, seen in values.items():
                tokens = chunk[name]
                rows = np.flatnonzero(tokens.is_utf8() & tokens.present)
                seen.update(tokens.token(row) for row, _ in tokens.distinct(rows))
                if len(seen) > _MAX_VALUES:
                    raise ValueError(
                        f"{self._table.name}: column {name!r} has more than {_MAX_VALUES} "
                        "different texts: pass hash_dim=2**20, say, to hash text columns."
                    )
        parts = {}
        for name, seen in values.items():
            # A column without any text keeps one feature, which is always 0.
            texts = tuple(sorted(token.decode() for token in seen)) or ("",)
            parts[name] = EncodedColumn(name, "one-hot", len(texts), texts)
        return parts

    def _blocks(self) -> Iterator[Block]:
        row = 0
        for chunk in self._chunks(self._roles.columns):
            block, faults = self._encode(chunk)
            n_rows = len(block)
            block = self._bad.drop(block, faults, row)
            yield self._bad.clean(block, row)
            row += n_rows

    def _encode(self, chunk: Chunk) -> tuple[Block, dict[int, str]]:
        """All rows of a chunk, and why some of them cannot be used."""
        faults: dict[int, str] = {}
        X = self._sparse(chunk, faults) if self._text else self._dense(chunk, faults)
        roles = self._roles
        target = chunk[roles.target]
        if roles.target in roles.text:
            y: NDArray[Any] = _texts(roles.target, target, faults)
        else:
            y = _numbers(roles.target, target, faults)
        weight = (
            None
            if roles.weight is None
            else _numbers(roles.weight, chunk[roles.weight], faults).astype(np.float64)
        )
        return Block(X, y, weight), faults

    def _dense(self, chunk: Chunk, faults: dict[int, str]) -> NDArray[Any]:
        columns = [_numbers(name, chunk[name], faults) for name in self._roles.features]
        with np.errstate(over="ignore"):
            return np.stack(columns, dtype=self._dtype, casting="unsafe").T

    def _sparse(self, chunk: Chunk, faults: dict[int, str]) -> Any:
        """One feature per row and original column, then only those that are not 0."""
        n_rows, n_parts = len(chunk[self._roles.target]), len(self._layout.parts)
        features = np.empty((n_parts, n_rows), np.int32)
        values = np.ones((n_parts, n_rows), self._dtype)
        for j, part in enumerate(self._layout.parts):
            start, column = int(self._layout.starts[j]), chunk[part.name]
            if part.kind == "number":
                with np.errstate(over="ignore"):
                    values[j] = _numbers(part.name, column, faults)
                features[j] = np.where(values[j] == 0, -1, start)
                continue
            _mark(faults, column.is_utf8(), f"column {part.name!r} is not UTF-8")
            features[j] = self._features(part, start, column)
            if self._signed and part.kind == "hash":
                values[j, column.hashes() >= _HALF] = -1
        indptr, indices = np.empty(n_rows + 1, np.int32), np.empty(features.size, np.int32)
        data = np.empty(features.size, self._dtype)
        used = gather(features, values, indptr, indices, data)
        return csr(data[:used], indices[:used], indptr, self.n_features)

    def _features(self, part: EncodedColumn, start: int, tokens: Tokens) -> NDArray[Any]:
        """The feature of each token, -1 for a missing or new one."""
        if part.kind == "hash":
            found = (tokens.hashes() % np.uint32(part.width)).astype(np.int32)
            return np.where(tokens.present, found + np.int32(start), np.int32(-1))
        sorted_prints, order = self._vocabularies[part.name]
        prints = tokens.fingerprints()
        at = np.minimum(np.searchsorted(sorted_prints, prints), part.width - 1)
        known = tokens.present & (sorted_prints[at] == prints)
        return np.where(known, start + order[at], -1)


def _check_column(table: Table, argument: str, column: Any) -> None:
    is_name = isinstance(column, str)
    if is_name and column in table.columns:
        return
    shown = ", ".join(repr(name) for name in table.columns[:20])
    more = f" and {len(table.columns) - 20} more" if len(table.columns) > 20 else ""
    columns = f"{table.name}, which has {shown}{more}"
    if not is_name:
        kind = "None" if column is None else type(column).__name__
        raise UnknownColumnError(f"{argument} is {kind}: name a column of {columns}.")
    near = get_close_matches(column, table.columns, n=1, cutoff=0)
    nearest = f"; the nearest is {near[0]!r}" if near else ""
    raise UnknownColumnError(f"{argument}={column!r} is no column of {columns}{nearest}.")


def _sorted_fingerprints(values: Sequence[str]) -> tuple[NDArray[np.uint64], Indices]:
    prints = Tokens.from_bytes([value.encode() for value in values]).fingerprints()
    order = np.argsort(prints)
    return prints[order], order


def _mark(faults: dict[int, str], valid: Flags, reason: str) -> None:
    if not valid.all():
        for row in np.flatnonzero(~valid).tolist():
            faults.setdefault(row, reason)


def _numbers(name: str, column: Any, faults: dict[int, str]) -> NDArray[Any]:
    if not isinstance(column, Tokens):
        return np.asarray(column)
    values, valid = column.numbers()
    if not valid.all():
        for row in np.flatnonzero(~valid).tolist():
            text = column.token(row)[:40].decode(errors="replace")
            faults.setdefault(
                row,
                f"column {name!r} holds {text!r}, which is no number (a column of text is named in "
                "categorical=)",
            )
    return values


def _texts(name: str, column: Tokens, faults: dict[int, str]) -> NDArray[Any]:
    _mark(faults, column.is_utf8(), f"column {name!r} is not UTF-8")
    _mark(faults, column.present, f"column {name!r}, the target, is missing")
    texts = [column.token(row).decode(errors="replace") for row in range(len(column))]
    return np.array(texts, dtype=str)
