"""pandas, polars and all other data frames that narwhals supports."""

from collections.abc import Collection, Sequence
from typing import Any

import narwhals.stable.v2 as nw

from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.tables import Chunks
from featgrad.readers.tokens import Tokens

_TEXT = (nw.String, nw.Categorical, nw.Enum, nw.Object)


class FrameTable:
    """Columns of a data frame in memory."""

    name = "the frame"

    def __init__(self, frame: Any, block_rows: int) -> None:
        self._frame, self._block_rows = frame, block_rows
        self.columns: Sequence[str] = list(frame.columns)
        self.n_rows: int | None = len(frame)
        for column, kind in frame.schema.items():
            if not isinstance(column, str):
                raise ValueError(f"The column {column!r} is not named by a string: rename it.")
            if not (kind.is_numeric() or kind == nw.Boolean or isinstance(kind, _TEXT)):
                raise ValueError(
                    f"Column {column!r} of the frame holds {kind}: convert it to numbers or text, "
                    "or exclude it."
                )

    def text_columns(self) -> Collection[str]:
        return [name for name, kind in self._frame.schema.items() if isinstance(kind, _TEXT)]

    def chunks(self, columns: Sequence[str], text: Collection[str], invalid: InvalidRows) -> Chunks:
        for start in range(0, len(self._frame), self._block_rows):
            rows = self._frame[start : start + self._block_rows]
            yield {
                name: _tokens(rows[name]) if name in text else _numbers(rows[name])
                for name in columns
            }


def _numbers(column: Any) -> Any:
    if column.dtype in (nw.Float32, nw.Float64):
        return column.to_numpy()
    if isinstance(column.dtype, _TEXT):
        return _tokens(column)
    return column.cast(nw.Float64).to_numpy()


def _tokens(column: Any) -> Tokens:
    pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
    texts = ("" if missing else str(value) for value, missing in pairs)
    return Tokens.from_bytes([text.encode("utf-8", "surrogatepass") for text in texts])
