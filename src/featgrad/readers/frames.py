"""Tables of data frames: pandas, polars and all others that narwhals supports, and Arrow files."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from featgrad.readers.block import InvalidRows, Strays, raise_unreadable, rows_per_block
from featgrad.readers.columns import Chunk, Chunks, check_names
from featgrad.readers.dates import as_days
from featgrad.readers.dialect import decimal_of
from featgrad.readers.formats import PathsBelow
from featgrad.readers.tokens import Tokens, kinds_of

_TEXT = (nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Binary)
_OBJECTS = {
    "boolean": (bool, np.bool_), "number": (Real, Decimal), "date": (date,),
    "time": (time, timedelta),
}  # fmt: skip
_DAY_NS = 86_400_000_000_000
_FIRST_ROWS = 100  # of a frame, which show the decimal sign


def require_pyarrow(what: str) -> None:
    if find_spec("pyarrow") is None:
        raise ImportError(f"{what} needs pyarrow: pip install 'featgrad[files]'.")


class BatchFiles:
    """One file of record batches, or several with the same columns, one after the other.

    They are read and not mapped: a file cut short must not kill the process.
    """

    def __init__(self, paths: Path | PathsBelow, format: str) -> None:
        paths = PathsBelow([paths], paths.absolute().parent) if isinstance(paths, Path) else paths
        require_pyarrow(f"Reading {paths[0]}")
        from pyarrow import dataset
        from pyarrow.fs import LocalFileSystem

        formats = {
            "parquet": lambda: dataset.ParquetFileFormat(
                default_fragment_scan_options=dataset.ParquetFragmentScanOptions(
                    page_checksum_verification=True, pre_buffer=False
                )
            ),
            "arrow": dataset.IpcFileFormat,
        }
        self.path, self.name, self.n_rows = paths[0], str(paths[0]), 0
        self._fragments: list[Any] = []
        files, disk = formats[format](), LocalFileSystem()
        with self._reading(self.path):
            physical = files.make_fragment(str(self.path), filesystem=disk).physical_schema
            # Names are decoded here, where an error names the file.
            folders = _hive_folders(paths, files, physical.names)
            self.schema = readable(physical)
            for field in folders.schema:
                self.schema = self.schema.append(field)
        for path in paths:
            with self._reading(path):
                values = folders.parse(f"/{path.absolute().relative_to(paths.root)}")
                fragment = files.make_fragment(
                    str(path), filesystem=disk, partition_expression=values
                )
                if not fragment.physical_schema.equals(physical):
                    raise ValueError(f"{path} has other columns than {self.path}.")
                self.n_rows += fragment.count_rows()
            self._fragments.append(fragment)

    def batches(self, block_rows: int) -> Iterator[Any]:
        """Validated record batches of at most `block_rows` rows."""
        for fragment in self._fragments:
            with self._reading(fragment.path):
                ahead = {"batch_readahead": 1, "fragment_readahead": 1}
                for batch in fragment.to_batches(self.schema, batch_size=block_rows, **ahead):
                    batch.validate(full=True)
                    yield batch

    def parts(self) -> Iterator[Self]:
        """Parts that can be read apart, each from one file: row groups of Parquet files."""
        for fragment in self._fragments:
            for group in getattr(fragment, "split_by_row_group", lambda whole=fragment: [whole])():
                part = copy.copy(self)
                part.path, part.name, part._fragments = Path(group.path), group.path, [group]
                yield part

    @contextmanager
    def _reading(self, path: Any) -> Iterator[None]:
        """Name the file in the errors of pyarrow."""
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, MemoryError, KeyError, UnicodeDecodeError) as error:
            raise_unreadable(str(path), error)


def _hive_folders(paths: PathsBelow, files: Any, names: Sequence[str]) -> Any:
    """Columns that files do not have but names of folders do: ``year=2024/month=5``."""
    from pyarrow import dataset, schema
    from pyarrow.fs import LocalFileSystem

    options = dataset.FileSystemFactoryOptions(
        str(paths.root), dataset.HivePartitioning.discover(infer_dictionary=False)
    )
    texts = [str(path.absolute()) for path in paths]
    found = dataset.FileSystemDatasetFactory(LocalFileSystem(), texts, files, options)
    fields = [field for field in found.inspect_schemas()[-1] if field.name not in names]
    return dataset.HivePartitioning(schema(fields))


def readable(schema: Any) -> Any:
    """With types that are known here; what is always null is a number that is always missing."""
    import pyarrow as pa

    known = {pa.null(): pa.float64(), pa.date64(): pa.timestamp("ms")}
    fields = [field.with_type(known.get(field.type, field.type)) for field in schema]
    return pa.schema(fields, schema.metadata)


class FrameTable:
    """Columns of a data frame in memory."""

    name = "the frame"
    notes: Sequence[str] = ()

    def __init__(self, frame: Any, n_rows: int, block_rows: int | None) -> None:
        self.n_rows: int | None = n_rows
        self.columns: Sequence[str] = list(frame.columns)
        self._block_rows = block_rows or rows_per_block(len(self.columns))
        if frame.implementation.is_pyarrow():
            frame = _frame(frame.to_native().cast(readable(frame.to_native().schema)))
        self._frame = frame
        for column in self.columns:
            if not isinstance(column, str):
                raise ValueError(f"The column {column!r} is not named by a string: rename it.")
        check_names(self.name, self.columns)
        schema = frame.schema.items()
        self.kinds: Mapping[str, str] = {
            name: _kind_of_objects(frame[name]) if isinstance(kind, _TEXT) else _kind(frame[name])
            for name, kind in schema
        }
        objects = {n for n, kind in self.kinds.items() if kind in ("number", "boolean")}
        self._texts = {n for n, kind in schema if isinstance(kind, _TEXT)} - objects
        # Categories are declared to be such, whatever they look like.
        self._look_at([name for name, kind in schema if isinstance(kind, nw.String | nw.Object)])
        # NumPy has no integers of 128 bits.
        wide = (nw.Int128, nw.UInt128)
        self._plain = {n for n, kind in schema if kind.is_numeric() and not isinstance(kind, wide)}
        self.levels: Mapping[str, tuple[str, ...]] = {
            name: tuple(map(str, kind.categories))
            for name, kind in schema
            if isinstance(kind, nw.Enum)
        }

    def _look_at(self, texts: Sequence[str]) -> None:
        """Find what columns of text hold, by the first rows."""
        # Blocks of a file may be short.
        frames, n_rows = [self._frame[:0][list(texts)]], 0
        for frame in self._frames() if texts else ():
            frames.append(frame[list(texts)])
            n_rows += len(frame)
            if n_rows >= self._block_rows:
                break
        rows = nw.concat(frames)
        columns = {n: tokens_in(rows[n]).trimmed() for n in texts if self.kinds[n] == "text"}
        first = range(min(_FIRST_ROWS, len(rows)))
        shown = ([c.token(i).decode(errors="replace") for i in first] for c in columns.values())
        self._decimal = decimal_of(list(shown), "\t")
        found = {
            name: kinds_of(column, [name], self._decimal, is_text=True)[0]
            for name, column in columns.items()
        }
        self.kinds = {**self.kinds, **found}
        remarks = ((name, kind.remark) for name, kind in found.items())
        self.remarks: Mapping[str, str] = {name: remark for name, remark in remarks if remark}

    def _frames(self) -> Iterator[Any]:
        for start in range(0, len(self._frame), self._block_rows):
            yield self._frame[start : start + self._block_rows]

    def chunks(self, numbers: Sequence[str], texts: Sequence[str], invalid: InvalidRows) -> Chunks:
        plain = [name for name in numbers if name in self._plain]
        for rows in self._frames():
            strays, reasons = Strays(dict), dict[int, str]()
            together = rows[plain].to_numpy() if plain else np.empty((len(rows), 0))
            # Plain numbers are converted together; decimals and others column by column.
            columns = dict(zip(plain, together.T, strict=True)) if together.dtype != object else {}
            values = np.empty((len(numbers), len(rows)))
            for place, name in enumerate(numbers):
                found = columns.get(name)
                if name in self._texts:
                    kind = "number" if self.kinds[name] == "text" else self.kinds[name]
                    tokens = tokens_in(rows[name]).trimmed()
                    found, strays[name] = tokens.numbers_and_strays(kind, self._decimal)
                values[place] = numbers_in(rows[name]) if found is None else found
            invalid.take_strays(strays, self.kinds, len(rows), reasons)
            yield Chunk(values, {name: tokens_in(rows[name]) for name in texts}, reasons)


class ArrowTable(FrameTable):
    def __init__(self, file: Any, block_rows: int | None) -> None:
        self.name, self.path, self._file = file.name, file.path, file
        check_names(self.name, file.schema.names)
        super().__init__(_frame(file.schema.empty_table()), file.n_rows, block_rows)

    def _frames(self) -> Iterator[Any]:
        from pyarrow import Table

        for batch in self._file.batches(self._block_rows):
            yield _frame(Table.from_batches([batch]))

    def parts(self) -> Iterator["ArrowTable"]:
        for file in self._file.parts():
            part = copy.copy(self)
            part._file, part.name, part.path = file, file.name, file.path
            yield part


def _kind(column: Any) -> str:
    """What a column holds by its type; the type itself if it can only be left out."""
    kind = column.dtype
    if kind == nw.Unknown and 0 < column.null_count() == len(column):
        return "number"
    if kind == nw.Boolean:
        return "boolean"
    if kind.is_numeric():
        return "number"
    if isinstance(kind, nw.Datetime | nw.Date):
        return "date"
    if isinstance(kind, nw.Duration | nw.Time):
        return "time"
    return str(kind)


def _kind_of_objects(column: Any) -> str:
    """Of objects, the kind of all that are not missing; "text" if they differ."""
    # By their first values narwhals takes some for strings.
    if str(getattr(column.to_native(), "dtype", "")).lower() != "object":
        return "text"
    types = {*map(type, column.drop_nulls().to_list())}
    for kind, classes in _OBJECTS.items():
        if types and all(issubclass(each, classes) for each in types):
            return kind
    return "text" if types else "number"


def _frame(table: Any) -> Any:
    return nw.from_native(table, eager_only=True)


def numbers_in(column: Any) -> Any:
    """Numbers, NaN for missing ones; dates and times in days."""
    if isinstance(column.dtype, _TEXT):
        pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
        # Integers may be beyond the range of floats.
        return [
            np.nan if missing else float(Decimal(value) if isinstance(value, int) else value)
            for value, missing in pairs
        ]
    if isinstance(column.dtype, nw.Datetime | nw.Date | nw.Duration):
        # pandas gives dates of Arrow as objects.
        is_date = isinstance(column.dtype, nw.Date)
        return as_days((column.cast(nw.Datetime("us")) if is_date else column).to_numpy())
    if isinstance(column.dtype, nw.Time) and not column.implementation.is_polars():
        # Other units than nanoseconds, in Arrow and in pandas.
        days = column.to_arrow().cast("time64[ns]").cast("int64").to_numpy(zero_copy_only=False)
        return days / _DAY_NS
    if isinstance(column.dtype, nw.Time):
        return column.cast(nw.Int64).cast(nw.Float64).to_numpy() / _DAY_NS
    if column.implementation.is_pyarrow():
        # Integers beyond 2**53 are rounded, as those of other frames.
        return column.to_native().cast("float64", safe=False).to_numpy()
    if column.implementation.is_pandas_like():
        return column.to_native().to_numpy("float64", na_value=np.nan)
    return column.cast(nw.Float64).to_numpy()


def tokens_in(column: Any) -> Tokens:
    """The text of a column, which is converted if it holds something else."""
    if column.implementation.is_pyarrow():
        import pyarrow as pa

        rows = column.to_native().combine_chunks()
        rows = rows.dictionary_decode() if pa.types.is_dictionary(rows.type) else rows
        is_text = rows.type in (pa.string(), pa.large_string())
        if is_text or rows.type in (pa.binary(), pa.large_binary()):
            rows = rows.cast("large_string" if is_text else "large_binary").cast("large_binary")
            _, offsets, data = rows.fill_null(b"").buffers()
            if data is None:
                return Tokens.from_bytes([b""] * len(rows))
            edges = np.frombuffer(offsets, np.int64)[rows.offset : rows.offset + len(rows) + 1]
            return Tokens(np.frombuffer(data, np.uint8), edges[:-1], edges[1:], is_text)
    pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
    texts = ("" if missing else value for value, missing in pairs)
    return Tokens.from_bytes(
        [t if isinstance(t, bytes) else str(t).encode("utf-8", "surrogatepass") for t in texts]
    )
