"""Rows of tables: numbers stay numbers, text is hashed or one-hot encoded.

A column of text is encoded as consecutive features: one per value (one-hot), or its share of
`hash_dim`. All of them are 0 for a missing text.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Self
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from featgrad._support import Flags, Indices
from featgrad.math.tasks import Level
from featgrad.plan import MOST_TEXTS
from featgrad.readers.block import Block, InvalidRows, csr, group_keys, joined_keys
from featgrad.readers.columns import (
    Chunk,
    DistinctTexts,
    EncodedColumn,
    Layout,
    Table,
    check_any,
    check_column,
    numbered,
)
from featgrad.readers.source import BaseSource
from featgrad.readers.tokens import KINDS, Tokens


class TableSource(BaseSource):
    """Rows of a table with encoded text columns.

    Columns in `include` and `categorical` stay even if they look like identifiers.
    """

    OPTIONS = (
        "target", "weight", "groups", "time", "exclude", "include", "categorical", "hash_dim",
    )  # fmt: skip

    def __init__(
        self, table: Table, *, target: Any = None, weight: Any = None, groups: Any = (),
        time: Any = None, exclude: Sequence[str] = (), include: Sequence[str] = (),
        categorical: Sequence[str] | None = None, hash_dim: int | None = None, **common: Any,
    ) -> None:  # fmt: skip
        super().__init__(**common)
        groups = (groups,) if isinstance(groups, str) else tuple(groups)
        named: dict[str, Sequence[Any]] = {
            "target": [target],
            "weight": [] if weight is None else [weight],
            "exclude": exclude,
            "include": include,
            "categorical": categorical or (),
            "groups": groups,
            "time": [] if time is None else [time],
        }
        for argument, columns in named.items():
            for column in columns:
                check_column(argument, column, table.name, table.columns)
        known = {*KINDS, "text"}
        for name, kind in table.kinds.items():
            if kind not in known and name not in exclude:
                raise ValueError(
                    f"{table.name}: column {name!r} holds {kind}: convert it to "
                    f"numbers or text, or exclude it (exclude=[{name!r}])."
                )
        self._table, self._target, self._weight, self._time = table, target, weight, time
        self._groups = groups
        self._is_text = frozenset(name for name, kind in table.kinds.items() if kind == "text")
        # Classes keep their names.
        self._is_text |= {target} if table.kinds[target] == "boolean" else set()
        if categorical is not None:
            self._is_text = self._is_text & {target, *groups} | set(categorical)
        self.n_rows = None if self._invalid.skip else table.n_rows
        others = {target, weight, time, *groups, *exclude}
        features = [name for name in table.columns if name not in others]
        check_any(features, table.name)
        self._encode_texts(features, {*include, *(categorical or ())}, hash_dim)

    def _encode_texts(self, features: list[str], stay: set[str], hash_dim: int | None) -> None:
        """Leave out what is like an identifier, and lay out the features of the other columns."""
        texts = [name for name in features if name in self._is_text]
        self.left_out: dict[str, str] = {}
        encoded = self._hashed(texts, hash_dim) if hash_dim else self._one_hot(texts, stay)
        names = [name for name in features if name not in self._is_text and name not in stay]
        chunks = self._table.chunks(names, (), InvalidRows(self._table.name, "skip", "nan"))
        self.left_out |= numbered(names, (chunk.numbers for chunk in chunks))
        features = [name for name in features if name not in self.left_out]
        check_any(features, self._table.name)
        self._text = [name for name in features if name in encoded]
        # Numbers are read in this order: features, then the target, weights, times and groups.
        self._plain = [name for name in features if name not in encoded]
        ends = [name for name in (self._weight, self._time) if name is not None]
        labels = (self._target, *self._groups)
        ends += [name for name in labels if name not in self._is_text]
        self._numbers = [*self._plain, *ends]
        self._texts = [*self._text, *(name for name in labels if name in self._is_text)]
        self._layout = Layout([encoded.get(n) or EncodedColumn(n) for n in features])
        self.feature_names, self.n_features = self._layout, len(self._layout)
        # Stored entries of a row take an index each.
        entry_bytes = self._dtype.itemsize + np.dtype(np.int32).itemsize
        self._is_dense = self.n_features * self._dtype.itemsize <= len(features) * entry_bytes
        self._vocabularies = {
            column.name: _sorted_fingerprints(column.values, int(start))
            for column, start in zip(self._layout.columns, self._layout.starts[:-1], strict=True)
            if column.kind == "one-hot"
        }
        # Rows that have not come yet may have other texts.
        self._grows = bool(self._vocabularies) and getattr(self._table, "is_live", False)
        self._is_dense = self._is_dense and not self._grows
        self._encoded_columns = self._layout.columns

    def parts(self) -> Sequence[Self]:
        if not hasattr(self._table, "parts"):
            return [self]
        return [self._part(table.path, _table=table) for table in self._table.parts()]

    def tokens_of(self, buckets: Any, *, most: int = 3) -> dict[int, list[str]]:
        """The most frequent texts in each of these features; reads the source again.

        Parameters
        ----------
        buckets : array-like of int
            Features of text columns.
        most : int, default=3
            Texts per feature.

        Returns
        -------
        dict
            For each feature its texts, the most frequent first.
        """
        wanted = np.asarray(buckets, np.int64)
        for feature in wanted[(wanted < 0) | (wanted >= self.n_features)].tolist():
            raise ValueError(f"buckets holds {feature}: give 0 to {self.n_features - 1}.")
        counts: dict[int, Counter[bytes]] = {feature: Counter() for feature in wanted.tolist()}
        for chunk in self._read((), self._text):
            for column, start in zip(self._encoded_columns, self._layout.starts, strict=False):
                if column.kind == "number":
                    continue
                tokens = chunk.texts[column.name]
                features = self._features(column, int(start), tokens)
                rows = np.flatnonzero(np.isin(features, wanted) & tokens.is_utf8())
                for row, count in tokens.distinct(rows):
                    counts[int(features[row])][tokens.token(row)] += count
        return {
            feature: [token.decode() for token, _ in counted.most_common(most)]
            for feature, counted in counts.items()
        }

    @property
    def notes(self) -> list[str]:
        """What a reader should know of how the table was read."""
        notes = list(self._table.notes)
        for kind, unit in (("date", "days"), ("time", "days"), ("percent", "fractions")):
            names = [name for name in self._numbers if self._table.kinds[name] == kind]
            if names:
                notes.append(f"read as numbers, in {unit}: {', '.join(names[:10])}")
        if self.left_out:
            listed = [f"{name} ({reason})" for name, reason in list(self.left_out.items())[:10]]
            belong = "; where rows of one belong together, give it as --group"
            some_repeat = any("different texts" in reason for reason in self.left_out.values())
            listed[-1] += belong if some_repeat else ""
            notes.append(f"left out as identifiers: {', '.join(listed)}")
        used, remarks = {*self._numbers, *self._texts}, self._table.remarks.items()
        notes += [f"{name}: {remark}" for name, remark in remarks if name in used]
        return notes + super().notes

    def _read(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Chunk]:
        self._invalid.restart()
        return self._table.chunks(numbers, texts, self._invalid)

    def _hashed(self, texts: Sequence[str], hash_dim: int) -> dict[str, EncodedColumn]:
        n_text = len(texts)
        if hash_dim < 2 * n_text:
            few = f"hash_dim={hash_dim} is too small for {n_text} columns of text"
            raise ValueError(f"{few}: give at least {2 * n_text}.")
        return {name: EncodedColumn(name, "hash", hash_dim // n_text) for name in texts}

    def _one_hot(self, texts: Sequence[str], stay: set[str]) -> dict[str, EncodedColumn]:
        """Read the whole table once for the values of its text columns."""
        values = {name: DistinctTexts() for name in texts}
        for chunk in self._read((), texts) if values else ():
            for name, seen in values.items():
                seen.add(chunk.texts[name])
        encoded = {}
        for name, seen in values.items():
            if name in stay and seen.are_too_many:
                raise ValueError(
                    f"{self._table.name}: column {name!r} has {seen.reason}: pass "
                    f"exclude=['{name}']."
                )
            if seen.reason is not None and name not in stay:
                self.left_out[name] = seen.reason
                continue
            # A column without any text keeps one feature, which is always 0.
            found = tuple(sorted(token.decode() for token in seen.texts)) or ("",)
            encoded[name] = EncodedColumn(name, "one-hot", len(found), found)
        return encoded

    def _chunks(self) -> Iterator[Block]:
        for chunk in self._read(self._numbers, self._texts):
            yield self._invalid.clean(self._encode(chunk), chunk.reasons)

    def _encode(self, chunk: Chunk) -> Block:
        """All rows of a chunk; adds the reasons why some of them are invalid."""
        n_features = len(self._plain)
        with np.errstate(over="ignore"):
            if self._text:
                X = self._encoded(chunk)
            else:
                X = np.ascontiguousarray(chunk.numbers[:n_features].T, self._dtype)
        others = dict(zip(self._numbers[n_features:], chunk.numbers[n_features:], strict=True))
        if self._target in self._is_text:
            y = _texts(self._target, chunk.texts[self._target], chunk.reasons)
            declared = getattr(self._table, "levels", {}).get(self._target)
            y = y if declared is None else Level.array(y.tolist(), declared)
        else:
            y = np.ascontiguousarray(others[self._target])
        weight, time = (
            None if name is None else others[name].astype(np.float64)
            for name in (self._weight, self._time)
        )
        keys = [
            chunk.texts[name].fingerprints() if name in self._is_text
            else group_keys(others[name], len(y))
            for name in self._groups
        ]  # fmt: skip
        groups = None if not keys else keys[0] if len(keys) == 1 else joined_keys(keys)
        return Block(X, y, weight, groups, time)

    def _encoded(self, chunk: Chunk) -> Any:
        """One feature per row and original column; zeros are then dropped, or all are stored."""
        n_rows, n_columns = len(next(iter(chunk.texts.values()))), len(self._encoded_columns)
        features = np.empty((n_columns, n_rows), np.int32)
        values = np.empty((n_columns, n_rows), self._dtype)
        numbers = iter(chunk.numbers)
        for j, encoded in enumerate(self._encoded_columns):
            if encoded.kind == "number":
                values[j] = next(numbers)
                features[j] = np.where(values[j] == 0, -1, self._layout.starts[j])
            else:
                tokens = chunk.texts[encoded.name]
                _mark(chunk.reasons, tokens.is_utf8(), f"column {encoded.name!r} is not UTF-8")
                features[j] = self._features(encoded, int(self._layout.starts[j]), tokens)
                values[j] = 1
        stored = features.T >= 0
        indptr = np.append(0, np.cumsum(stored.sum(axis=1))).astype(np.int32)
        X = csr(values.T[stored], features.T[stored], indptr, self.n_features)
        return X.toarray() if self._is_dense else X

    def _features(self, column: EncodedColumn, start: int, tokens: Tokens) -> NDArray[Any]:
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
            return self._features(column, start, tokens)
        return np.where(known, features[at], -1)

    def _takes(self, name: str, tokens: Tokens, rows: Indices) -> bool:
        """Append a feature for each text of these rows, while the column has not too many."""
        prints, features = self._vocabularies[name]
        texts = [tokens.token(row).decode() for row, _ in tokens.distinct(rows)]
        texts = texts[: MOST_TEXTS - len(features)]
        if not texts:
            return False
        more_prints, more_features = _sorted_fingerprints(texts, self.n_features)
        prints, features = np.append(prints, more_prints), np.append(features, more_features)
        order = np.argsort(prints)
        self._vocabularies[name] = prints[order], features[order]
        late = (EncodedColumn(name, "one-hot", 1, (text,)) for text in texts)
        self._layout = self.feature_names = Layout([*self._layout.columns, *late])
        self.n_features = len(self._layout)
        if len(features) == MOST_TEXTS:
            many = f"Column {name!r} has {MOST_TEXTS:,} different texts by now"
            warn(f"{many}: others count as missing, unless hash_dim is given.", stacklevel=2)
        return True


def _sorted_fingerprints(values: Sequence[str], start: int) -> tuple[NDArray[np.uint64], Indices]:
    """Of texts, and the feature of each, the first of which is `start`."""
    prints = Tokens.from_bytes([value.encode() for value in values]).fingerprints()
    order = np.argsort(prints)
    return prints[order], start + order


def _mark(reasons: dict[int, str], valid: Flags, reason: str) -> None:
    for row in np.flatnonzero(~valid).tolist():
        reasons.setdefault(row, reason)


def _texts(name: str, column: Tokens, reasons: dict[int, str]) -> NDArray[Any]:
    _mark(reasons, column.is_utf8(), f"column {name!r} is not UTF-8")
    texts = [column.token(row).decode(errors="replace") for row in range(len(column))]
    return np.array(texts, dtype=str)
