"""Rows of tables: features, the target, and what else belongs to a row."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Any, Self

import numpy as np

from featgrad.math.tasks import Level
from featgrad.plan import FLAG_ENTRIES
from featgrad.readers.block import Block, InvalidRows, group_keys, joined_keys, stack_rows
from featgrad.readers.columns import Chunk, Layout, Table, check_column
from featgrad.readers.encoder import TableEncoder, texts_of
from featgrad.readers.frames import FrameTable
from featgrad.readers.source import BaseSource
from featgrad.readers.tokens import KINDS


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
        check_kinds(table, exclude)
        self.table, self._target, self._weight, self._time = table, target, weight, time
        self._groups = groups
        self._is_text = frozenset(name for name, kind in table.kinds.items() if kind == "text")
        # Classes keep their names.
        self._is_text |= {target} if table.kinds[target] == "boolean" else set()
        if categorical is not None:
            self._is_text = self._is_text & {target, *groups} | set(categorical)
        self.n_rows = None if self._invalid.skip else table.n_rows
        others = {target, weight, time, *groups, *exclude}
        features = [name for name in table.columns if name not in others]
        self.encoder = TableEncoder(
            table,
            features,
            self._is_text,
            target=target if self._invalid.missing == "nan" else None,
            stay={*include, *(categorical or ())},
            hash_dim=hash_dim,
            dtype=self._dtype,
            first_entries=FLAG_ENTRIES,
        )
        # Numbers are read in this order: features, then the target, weights, times and groups.
        labels, ends = (target, *groups), [name for name in (weight, time) if name is not None]
        ends += [name for name in labels if name not in self._is_text]
        self._numbers = [*self.encoder.numbers, *ends]
        self._texts = [*self.encoder.texts, *(name for name in labels if name in self._is_text)]
        self._lay_out()

    def _lay_out(self) -> None:
        """Take the features of the encoder, which may have grown."""
        self.feature_names, self.n_features = self.encoder.layout, len(self.encoder.layout)

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that are like identifiers, and why."""
        return self.encoder.left_out

    def parts(self) -> Sequence[Self]:
        if not hasattr(self.table, "parts"):
            return [self]
        return [self._part(table.path, table=table) for table in self.table.parts()]

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
        layout = self.encoder.layout
        for chunk in self._read((), self.encoder.texts):
            for column, start in zip(layout.columns, layout.starts.tolist(), strict=False):
                if column.kind not in ("one-hot", "hash"):
                    continue
                tokens = chunk.texts[column.name]
                features = self.encoder.features(column, start, tokens)
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
        notes = list(self.table.notes)
        for kind, unit in (("date", "days"), ("time", "days"), ("percent", "fractions")):
            names = [name for name in self._numbers if self.table.kinds[name] == kind]
            if names:
                notes.append(f"read as numbers, in {unit}: {', '.join(names[:10])}")
        if self.left_out:
            listed = [f"{name} ({reason})" for name, reason in list(self.left_out.items())[:10]]
            belong = "; where rows of one belong together, give it as --group"
            some_repeat = any("different texts" in reason for reason in self.left_out.values())
            listed[-1] += belong if some_repeat else ""
            notes.append(f"left out as identifiers: {', '.join(listed)}")
        used, remarks = {*self._numbers, *self._texts}, self.table.remarks.items()
        notes += [f"{name}: {remark}" for name, remark in remarks if name in used]
        return notes + super().notes

    def _read(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Chunk]:
        self._invalid.restart()
        return self.table.chunks(numbers, texts, self._invalid)

    def _chunks(self) -> Iterator[Block]:
        for chunk in self._read(self._numbers, self._texts):
            yield self._invalid.clean(self._encode(chunk), chunk.reasons)

    def _encode(self, chunk: Chunk) -> Block:
        """All rows of a chunk; adds the reasons why some of them are invalid."""
        n_features = len(self.encoder.numbers)
        X = self.encoder.encode(chunk)
        self._lay_out()
        others = dict(zip(self._numbers[n_features:], chunk.numbers[n_features:], strict=True))
        if self._target in self._is_text:
            y = texts_of(self._target, chunk.texts[self._target], chunk.reasons)
            declared = getattr(self.table, "levels", {}).get(self._target)
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


def check_kinds(table: Table, exclude: Sequence[str]) -> None:
    for name, kind in table.kinds.items():
        if kind not in (*KINDS, "text") and name not in exclude:
            raise ValueError(
                f"{table.name}: column {name!r} holds {kind}: convert it to "
                f"numbers or text, or exclude it (exclude=[{name!r}])."
            )


class FrameEncoder:
    """Encodes data frames with the columns of a first one.

    Columns in `stay` are features whatever they look like, those in `exclude` never.
    """

    def __init__(self, frame: Any, y: Any, stay: Set[str], exclude: Set[str]) -> None:
        table = FrameTable(frame, len(frame), None)
        check_kinds(table, [*exclude])
        columns = [name for name in table.columns if name not in exclude]
        texts = {name for name in columns if table.kinds[name] == "text"}
        self._encoder = TableEncoder(
            table, columns, texts, target=y, stay=stay, variables=table.columns
        )
        # What was made of single columns.
        left_out = {name: f"left out, {why}" for name, why in self._encoder.left_out.items()}
        self.remarks = {**table.remarks, **left_out}

    def encode(self, frame: Any) -> Any:
        table, encoder = FrameTable(frame, len(frame), None), self._encoder
        invalid = InvalidRows(table.name, "error", "nan")
        blocks = []
        for chunk in table.chunks(encoder.numbers, encoder.texts, invalid):
            blocks.append(encoder.encode(chunk))
            invalid.report(chunk.reasons, chunk.numbers.shape[1])
        return stack_rows(blocks)

    @property
    def layout(self) -> Layout:
        return self._encoder.layout
