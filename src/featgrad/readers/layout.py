"""Mapping from the columns of a table to the features they are encoded as."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Key of the schema metadata that holds the number of features and their layout as JSON.
METADATA_KEY = b"featgrad"
KINDS = ("number", "hash", "one-hot")


class EncodedColumn(NamedTuple):
    """One column of a table and the consecutive features it is encoded as."""

    name: str
    kind: str = "number"
    width: int = 1
    values: tuple[str, ...] = ()

    def feature(self, i: int) -> str:
        if self.kind == "number":
            return self.name
        return f"{self.name}#{i}" if self.kind == "hash" else f"{self.name}={self.values[i]}"


class Layout(Sequence[str]):
    """All columns in order; as a sequence, the feature names, which are built on access."""

    def __init__(self, columns: Sequence[EncodedColumn]) -> None:
        self.columns = tuple(columns)
        self.starts = np.cumsum([0, *(column.width for column in columns)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        feature = range(len(self))[i]
        column = int(np.searchsorted(self.starts, feature, side="right")) - 1
        return self.columns[column].feature(feature - int(self.starts[column]))

    @property
    def groups(self) -> NDArray[np.int32] | None:
        """Index of the column of each feature; None if each column is one feature."""
        if all(column.kind == "number" for column in self.columns):
            return None
        widths = [column.width for column in self.columns]
        return np.repeat(np.arange(len(widths), dtype=np.int32), widths)

    def to_json(self) -> list[dict[str, Any]]:
        return [column._asdict() for column in self.columns]

    @classmethod
    def from_json(cls, columns: Any) -> "Layout":
        """Inverse of `to_json`; raises ValueError for anything else."""
        try:
            return cls([_checked(**column) for column in columns])
        except (TypeError, AttributeError) as error:
            raise ValueError(f"its list of features is damaged ({error})") from error


def _checked(name: str, kind: str, width: int, values: Sequence[str]) -> EncodedColumn:
    column = EncodedColumn(name, kind, width, tuple(values))
    valid = (
        isinstance(name, str)
        and kind in KINDS
        and type(width) is int
        and 0 < width < 1 << 31
        and all(isinstance(value, str) for value in column.values)
        and (kind != "number" or width == 1)
        and (kind != "one-hot" or len(column.values) == width)
    )
    if not valid:
        raise ValueError(f"its list of features is damaged ({json.dumps(name)[:80]})")
    return column
