"""Which features each original column became."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

# Under which a file keeps its number of features and their layout as JSON.
METADATA_KEY = b"featgrad"
KINDS = ("number", "hash", "one-hot")


@dataclass(frozen=True)
class EncodedColumn:
    """One original column and the consecutive features it became."""

    name: str
    kind: str = "number"
    width: int = 1
    values: tuple[str, ...] = ()

    def feature(self, i: int) -> str:
        if self.kind == "number":
            return self.name
        return f"{self.name}#{i}" if self.kind == "hash" else f"{self.name}={self.values[i]}"


class Layout(Sequence[str]):
    """The parts in order, and as a sequence the names of all features, made when asked for.

    Examples
    --------
    >>> from featgrad.readers.layout import Layout, EncodedColumn
    >>> layout = Layout([EncodedColumn("age"), EncodedColumn("town", "hash", 1000)])
    >>> len(layout), layout[0], layout[1000]
    (1001, 'age', 'town#999')
    """

    def __init__(self, parts: Sequence[EncodedColumn]) -> None:
        self.parts = tuple(parts)
        self.starts = np.cumsum([0, *(part.width for part in parts)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        feature = range(len(self))[i]
        part = int(np.searchsorted(self.starts, feature, side="right")) - 1
        return self.parts[part].feature(feature - int(self.starts[part]))

    @property
    def groups(self) -> NDArray[np.int32] | None:
        """The part of each feature; None where each part is one feature."""
        if all(part.kind == "number" for part in self.parts):
            return None
        widths = [part.width for part in self.parts]
        return np.repeat(np.arange(len(widths), dtype=np.int32), widths)

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(part) for part in self.parts]

    @classmethod
    def from_json(cls, parts: Any) -> Layout:
        """Read what `to_json` wrote; a ValueError says what is wrong with anything else."""
        try:
            return cls([_part(**part) for part in parts])
        except (TypeError, AttributeError) as error:
            raise ValueError(f"its list of features is damaged ({error})") from error


def _part(name: str, kind: str, width: int, values: Sequence[str]) -> EncodedColumn:
    part = EncodedColumn(name, kind, width, tuple(values))
    valid = (
        isinstance(name, str)
        and kind in KINDS
        and type(width) is int
        and 0 < width < 1 << 31
        and all(isinstance(value, str) for value in part.values)
        and (kind != "number" or width == 1)
        and (kind != "one-hot" or len(part.values) == width)
    )
    if not valid:
        raise ValueError(f"its list of features is damaged ({json.dumps(name)[:80]})")
    return part
