"""A source put around another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from featgrad.readers.block import Block, Source


class SourceWrapper:
    """The same rows as another source's; what is done on the way is up to `__iter__`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def n_features(self) -> int:
        return self._source.n_features

    @property
    def feature_names(self) -> Sequence[str] | None:
        return self._source.feature_names

    @property
    def groups(self) -> NDArray[np.int32] | None:
        return self._source.groups

    @property
    def n_rows(self) -> int | None:
        return self._source.n_rows

    @property
    def block_rows(self) -> int:
        return self._source.block_rows

    @property
    def skipped(self) -> int:
        return self._source.skipped

    def __iter__(self) -> Iterator[Block]:
        return iter(self._source)
