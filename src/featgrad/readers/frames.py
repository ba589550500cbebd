"""pandas, polars and all other data frames that narwhals supports."""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw

from featgrad.readers.columns import Chunk, Chunks, as_days, check_names, numbers_of
from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.tokens import Tokens

_TEXT = (nw.String, nw.Categorical, nw.Enum, nw.Object)
_DAY_NS = 86_400_000_000_000


class FrameTable:
    """Columns of a data frame in memory."""

    name = "the frame"
    notes: Sequence[str] = ()

    def __init__(self, frame: Any, block_rows: int) -> None:
        self._frame, self._block_rows = frame, block_rows
        self.columns: Sequence[str] = list(frame.columns)
        self.n_rows: int | None = len(frame)
        for column in self.columns:
            if not isinstance(column, str):
                raise ValueError(f"The column {column!r} is not named by a string: rename it.")
        check_names(self.name, self.columns)
        self.kinds: Mapping[str, str] = {
            column: _kind(column, kind) for column, kind in frame.schema.items()
        }
        self.levels: Mapping[str, tuple[str, ...]] = {
            column: tuple(map(str, kind.categories))
            for column, kind in frame.schema.items()
            if isinstance(kind, nw.Enum)
        }

    def chunks(self, numbers: Sequence[str], texts: Sequence[str], invalid: InvalidRows) -> Chunks:
        for start in range(0, len(self._frame), self._block_rows):
            rows = self._frame[start : start + self._block_rows]
            tokens = {name: _tokens(rows[name]) for name in texts}
            reasons: dict[int, str] = {}
            yield Chunk([_numbers(rows[name], reasons) for name in numbers], tokens, reasons)


def _kind(column: str, kind: Any) -> str:
    if kind == nw.Boolean:
        return "boolean"
    if kind.is_numeric():
        return "number"
    if isinstance(kind, nw.Datetime | nw.Date):
        return "date"
    if isinstance(kind, nw.Duration | nw.Time):
        return "time"
    if isinstance(kind, _TEXT):
        return "text"
    raise ValueError(
        f"Column {column!r} of the frame holds {kind}: convert it to numbers or text, or drop it."
    )


def _numbers(column: Any, reasons: dict[int, str]) -> Any:
    if isinstance(column.dtype, _TEXT):
        return numbers_of(column.name, _tokens(column), reasons)
    if column.dtype in (nw.Float32, nw.Float64):
        return column.to_numpy()
    if isinstance(column.dtype, nw.Datetime | nw.Date | nw.Duration):
        # pandas gives dates of Arrow as objects.
        is_date = isinstance(column.dtype, nw.Date)
        return as_days((column.cast(nw.Datetime("us")) if is_date else column).to_numpy())
    if isinstance(column.dtype, nw.Time):
        column = column.cast(nw.Int64) / _DAY_NS
    return column.cast(nw.Float64).to_numpy()


def _tokens(column: Any) -> Tokens:
    pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
    texts = ("" if missing else str(value) for value, missing in pairs)
    return Tokens.from_bytes([text.encode("utf-8", "surrogatepass") for text in texts])
