"""Generated files with known values: each is read as its truth, or refused by one clear line."""

from __future__ import annotations

import csv
import faulthandler
import gzip
import io
import json
import tempfile
import warnings
import zipfile
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
from scipy import sparse

from benchmarks.helpers.faults import truths
from benchmarks.helpers.faults.truths import Column, Rng, Style
from featgrad.readers import lines, open_source

FORMATS = ("csv", "csv", "csv", "jsonl", "xlsx", "parquet")
_SECONDS_AT_MOST = 60
# Kinds that pandas reads without being told how.
_PANDAS_KINDS = ("integer", "decimal", "float", "exponent", "big", "text")
_CHUNK_BYTES = (1 << 20, 1 << 20, 4096, 512, 150)


@dataclass
class File:
    """A file, its truth, how to open it, and why it must be refused, if so."""

    path: Path
    columns: list[Column]
    options: dict[str, Any] = field(default_factory=dict)
    pandas: dict[str, Any] | None = None
    must_refuse: str = ""
    skipped: int = 0
    chunk_bytes: int = 1 << 20
    frame: Any = None  # read in place of the file


def generate(seed: int, k: int, folder: Path) -> File:
    """File number k of a seed, the same every time."""
    rng, kind = np.random.default_rng([seed, k]), FORMATS[k % len(FORMATS)]
    makers = {"csv": _csv, "jsonl": _jsonl, "xlsx": _xlsx, "parquet": _parquet}
    return makers[kind](rng, folder)


def _columns(rng: Rng, kinds: tuple[str, ...], style: Style, missing: tuple[str, ...]) -> Any:
    """Random columns, the first of them the target, which is never missing."""
    n_rows, n_columns = int(rng.integers(3, 120)), int(rng.integers(1, 7))
    names = [str(name) for name in rng.choice(truths.NAMES, n_columns, replace=False)]
    target = truths.column(rng, str(rng.choice(["decimal", "text"])), "y", n_rows, style)
    columns = [target]
    for name in names:
        found = truths.column(rng, str(rng.choice(kinds)), name, n_rows, style)
        found = truths.with_missing(rng, found, missing) if rng.random() < 0.4 else found
        # Words are no values of columns that have a type.
        is_written = found.kind in truths.DRAWS and len(kinds) > len(truths.DRAWS)
        columns.append(
            truths.with_strays(rng, found) if is_written and rng.random() < 0.1 else found
        )
    if style.thousands or (style != Style() and rng.random() < 0.5):
        # Shows which sign is the decimal one.
        columns.append(truths.column(rng, "decimal", "shows", n_rows, Style(style.decimal)))
    return columns


def _csv(rng: Rng, folder: Path) -> File:
    sep = str(rng.choice([",", ",", ";", ";", "\t", "|"]))
    comma = rng.random() < (0.5 if sep == ";" else 0.15)
    grouping = [".", " ", "\u00a0", "'"] if comma else [",", " ", "'"]
    style = Style("," if comma else ".", str(rng.choice(["", *grouping])))
    encoding = str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"]))
    kinds = (*truths.DRAWS, "text", "text", "boolean")
    words = ("gone", "-999") if rng.random() < 0.1 else truths.MISSING
    columns = _columns(rng, kinds, style, words)
    rng.shuffle(columns)
    names, n_rows = [column.name for column in columns], len(columns[0].values)
    file = File(folder / f"file.{rng.choice(['csv', 'csv', 'txt'])}", columns)
    options = file.options
    options |= {} if words is truths.MISSING else {"na_values": list(words)}
    rows = [list(row) for row in zip(*(column.written for column in columns), strict=True)]
    has_header = rng.random() < 0.9
    if rng.random() < 0.05 and len(names) > 2 and names[1] != "y" and has_header:
        # A name that comes again is numbered.
        names[1] = names[0]
        columns[1] = replace(columns[1], name=f"{names[0]}.1")
    if rng.random() < 0.08:
        ragged = sorted(rng.choice(n_rows, min(n_rows - 2, int(rng.integers(1, 3))), replace=False))
        for i in ragged:
            rows[i] = [*rows[i], "more"] if rng.random() < 0.5 else rows[i][:-1]
        if rng.random() < 0.6:
            options["on_bad_rows"] = "skip"
            file.skipped = len(ragged)
            file.columns = [c.rows(np.delete(np.arange(n_rows), ragged)) for c in columns]
        else:
            file.must_refuse = file.must_refuse or "ragged rows"
    has_header = has_header or bool(file.must_refuse)
    if not has_header:
        options["columns"] = names
    text = _separated(rng, sep, [names] * has_header + rows)
    hint = rng.random() < 0.04 and has_header
    if hint:
        text = f"sep={sep}\n{text}"
    returns, quoted_returns = (
        rng.random() < 0.07,
        any("\n" in s or "\r" in s for s in _all(rows, names)),
    )
    if returns and not quoted_returns:
        text = text.replace("\r\n", "\n").replace("\n", "\r")
    if rng.random() < 0.15:
        text = text.rstrip("\r\n")
    if rng.random() < 0.3:
        given = {"sep": sep, "decimal": style.decimal, "encoding": encoding}
        options |= {name: value for name, value in given.items() if rng.random() < 0.7}
    # The sign of a file whose fields are all quoted can be found; a comma that separates, not.
    if options.get("decimal") == sep:
        del options["decimal"]
    file.chunk_bytes = int(rng.choice(_CHUNK_BYTES))
    try:
        content = text.encode(encoding)
    except UnicodeEncodeError:
        encoding = "utf-8"
        options.pop("encoding", None)
        content = text.encode()
    if rng.random() < 0.1:
        file.path, content = file.path.with_suffix(".csv.gz"), gzip.compress(content, mtime=0)
    file.path.write_bytes(content)
    if has_header and not hint and not file.must_refuse and not file.skipped:
        file.pandas = {
            "sep": sep,
            "decimal": style.decimal,
            "encoding": encoding,
            "na_values": options.get("na_values"),
            "float_precision": "round_trip",
        }
    return file


def _all(rows: list[list[str]], names: list[str]) -> list[str]:
    return [field for row in [names, *rows] for field in row]


def _separated(rng: Rng, sep: str, rows: list[list[str]]) -> str:
    """As other programs write it: quotes where needed, everywhere, or where there is no number."""
    end, out = str(rng.choice(["\n", "\n", "\r\n"])), io.StringIO(newline="")
    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL][rng.integers(3)]
    writer = csv.writer(out, delimiter=sep, lineterminator=end, quoting=quoting)
    blank = rng.random() < 0.05
    for row in rows:
        writer.writerow(row)
        if blank and rng.random() < 0.2:
            out.write(end)
    return out.getvalue()


_NATIVE = ("integer", "decimal", "float", "exponent", "date", "moment", "boolean", "text")


def _jsonl(rng: Rng, folder: Path) -> File:
    columns = _columns(rng, (*_NATIVE, "big64"), Style(), ("",))
    n_rows, absent = len(columns[0].values), rng.random() < 0.5
    columns = [c for c in columns if any(value is not None for value in c.values)]
    # Beyond the first block of a megabyte a key may appear, or an integer become a float.
    if rng.random() < 0.02:
        ends, texts = np.arange(n_rows) >= n_rows // 2, ["x" * (3_000_000 // n_rows)] * n_rows
        columns.append(Column("padding", "text", texts, texts))
        for name, values in (("late", [1.5 if end else None for end in ends]),
                             ("turns", [1.5 if end else 1 for end in ends])):  # fmt: skip
            columns.append(Column(name, "float", values, [str(value) for value in values]))
    out = []
    for i in range(n_rows):
        row = {column.name: _json(column.values[i]) for column in columns}
        out.append({k: v for k, v in row.items() if v is not None or not absent})
    escaped = bool(rng.random() < 0.5)
    path = folder / f"file.{rng.choice(['jsonl', 'ndjson'])}"
    text = "".join(json.dumps(row, ensure_ascii=escaped) + "\n" for row in out)
    path.write_text(text.rstrip("\n") if rng.random() < 0.2 else text, encoding="utf-8", newline="")
    return File(path, columns, pandas={"lines": True, "dtype": False, "convert_dates": False,
                                       "precise_float": True})  # fmt: skip


def _json(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date | time) else value


def _xlsx(rng: Rng, folder: Path) -> File:
    from openpyxl import Workbook

    kinds = (*_NATIVE, "clock", "duration", "comma", "thirds")
    columns, book = _columns(rng, kinds, Style(), ("",)), Workbook()
    columns = [
        replace(
            c,
            name=c.name.replace("\r", "\n"),
            values=[_cell(v) for v in c.values],
            written=c.written if c.kind == "comma" else [str(v) for v in c.values],
        )
        for c in columns
    ]
    sheet = book.active
    for i, column in enumerate(columns, start=1):
        sheet.cell(1, i, column.name).data_type = "s"
        for row, value in enumerate(column.values, start=2):
            value = (
                column.written[row - 2] if column.kind == "comma" and value is not None else value
            )
            cell = sheet.cell(row, i, float(value) if isinstance(value, Decimal) else value)
            if isinstance(value, str):
                cell.data_type = "s"  # also where it begins with =
    path = folder / "file.xlsx"
    book.save(path)
    if rng.random() < 0.1:
        _understate(path)
    # openpyxl writes sixteen digits, and XML has one end of a line.
    return File(path, columns, pandas={"dtype": object})


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\r\n", "\n")
    return float(f"{value:.15g}") if isinstance(value, float) else value


def _understate(path: Path) -> None:
    """The file says that it has two rows and two columns."""
    parts = {}
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    before, _, after = parts[sheet].partition(b'<dimension ref="')
    parts[sheet] = before + b'<dimension ref="A1:B2"' + after[after.index(b'"') + 1 :]
    with zipfile.ZipFile(path, "w") as book:
        for name, content in parts.items():
            book.writestr(name, content)


_ARROW: dict[str, tuple[Any, ...]] = {
    "integer": (pa.int32(), pa.int64(), pa.float64(), pa.decimal128(20, 2)),
    "big64": (pa.int64(), pa.float64(), pa.decimal128(38, 0)),
    "decimal": (pa.float64(), pa.decimal128(20, 5)),
    "float": (pa.float64(), pa.float32()),
    "exponent": (pa.float64(),),
    "date": (pa.date32(), pa.date64()),
    "moment": (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("s")),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ms", "UTC")),
    "clock": (pa.time32("s"), pa.time64("us")),
    "duration": (pa.duration("s"), pa.duration("us")),
    "boolean": (pa.bool_(),),
    "text": (pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())),
}


_FRAMES: dict[str, Any] = {
    "arrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(date_as_object=False),
    "pandas with types of Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
}


def _parquet(rng: Rng, folder: Path) -> File:
    columns = _columns(rng, tuple(_ARROW), Style(), ("",))
    arrays, found = [], []
    for column in columns:
        types = _ARROW[column.kind]
        kind = types[rng.integers(len(types))]
        values = list(column.values)
        if pa.types.is_floating(kind):
            values = [None if value is None else float(value) for value in values]
        if kind == pa.float32():
            values = [None if value is None else float(np.float32(value)) for value in values]
        if pa.types.is_decimal(kind):
            # Arrow rounds a decimal to a double by a division.
            values = [None if value is None else Decimal(value) for value in values]
            column = replace(column, tolerance=1e-15)
        arrays.append(pa.array(values, kind))
        found.append(replace(column, values=values))
    names, refuse = [column.name for column in columns], ""
    if rng.random() < 0.05 and len(names) > 2:
        names[2], refuse = names[1], "two columns of one name"
    frame = None if refuse or rng.random() < 0.5 else list(_FRAMES)[rng.integers(len(_FRAMES))]
    suffix = str(rng.choice(["parquet", "parquet", "pq", "arrow", "feather"]))
    path, table = folder / f"file.{suffix}", pa.Table.from_arrays(arrays, names)
    if suffix in ("parquet", "pq"):
        pa.parquet.write_table(table, path, row_group_size=int(rng.integers(5, 100)))
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=int(rng.integers(5, 100)))
    return File(
        path, found, must_refuse=refuse, pandas=None if refuse or suffix == "arrow" else {},
        frame=None if frame is None else _FRAMES[frame](table),
    )  # fmt: skip


def examine(file: File, block_rows: int = 16) -> str:
    """Read a file; what came of it, which begins with FAILED where that is wrong."""
    features = [column for column in file.columns if column.name != "y"]
    options = {"target": "y", "dtype": "float64", "missing": "nan", **file.options}
    options |= {"include": [column.name for column in features], "block_rows": block_rows}
    try:
        with mock.patch.object(lines, "_CHUNK_BYTES", file.chunk_bytes):
            data = file.path if file.frame is None else file.frame
            source = open_source(data, **options)
            blocks = list(source)
    except (ValueError, OSError) as error:
        name = file.path.name if file.frame is None else "the frame"
        if "\n" in str(error) or name not in str(error):
            return f"FAILED: an obscure error, {error!r}"
        return f"refused, as it must be: {file.must_refuse}" if file.must_refuse else (
            f"refused: {_reason(str(error))}"
        )  # fmt: skip
    if file.must_refuse:
        return f"FAILED: read in spite of {file.must_refuse}"
    if source.skipped != file.skipped:
        return f"FAILED: {source.skipped} rows skipped where {file.skipped} are ragged"
    layout, y = source.feature_names, np.concatenate([block.y for block in blocks])
    X = np.concatenate([b.X.toarray() if sparse.issparse(b.X) else b.X for b in blocks])
    if {*layout.encoded} != {column.name for column in features}:
        return f"FAILED: columns {[*layout.encoded]}"
    target = next(column for column in file.columns if column.name == "y")
    wrong = differs(target, list(y))
    if wrong:
        return f"FAILED: {wrong}"
    for column in features:
        encoded, places = layout.encoded[column.name]
        part = X[:, places]
        if encoded.kind in ("number", "date"):
            values = part[:, 0].tolist()
        elif encoded.kind == "two":
            values = [None if np.isnan(n) else encoded.values[int(n)] for n in part[:, 0]]
        else:
            values = [encoded.values[row.argmax()] if row.any() else None for row in part]
        known = {
            "is_whole": file.chunk_bytes == 1 << 20,
            "has_dates": "json" not in file.path.suffix,
        }
        wrong = differs(column, values, **known)
        if wrong:
            return f"FAILED: {wrong}"
    return "read as its truth"


def _reason(message: str) -> str:
    """What is wrong, without what differs from file to file."""
    for known in ("is not a number", "is not a percent", "is not a boolean", "is not a date",
                  "is not a time", "fields where", "only one column", "is not closed",
                  "cannot be read", "has no header", "two columns", "holds Unknown",
                  "is not a column"):  # fmt: skip
        if known in message:
            return known
    return "something else"


def differs(
    column: Column, found: list[Any], *, is_whole: bool = True, has_dates: bool = True
) -> str:
    """How values that were read differ from the truth; empty if they do not."""
    truth = column.truth
    if len(found) != len(truth):
        return f"{len(found)} rows of {len(truth)}"
    as_text = any(isinstance(value, str) for value in found)
    if as_text and column.kind != "text":
        # The lines that are looked at may hold only one of two words; JSON has no dates.
        words = {
            text for value, text in zip(truth, column.written, strict=True) if value is not None
        }
        is_one_word = column.kind == "boolean" and (len(words) < 2 or not is_whole)
        if not (
            column.kind == "comma"
            or is_one_word
            or (column.kind in ("date", "moment") and not has_dates)
        ):
            return f"{column.kind} {column.name!r} is read as text"
        truth = [None if value is None else column.written[i] for i, value in enumerate(truth)]
    for i, (value, wanted) in enumerate(zip(found, truth, strict=True)):
        if not _same(value, wanted, column.tolerance):
            return f"{column.kind} {column.name!r}, row {i}: {value!r} for {column.written[i]!r}"
    return ""


def _same(value: Any, wanted: Any, tolerance: float) -> bool:
    if wanted is None:
        return value is None or value != value
    if isinstance(wanted, str):
        return str(value) == wanted
    return not isinstance(value, str) and abs(value - wanted) <= tolerance * max(1, abs(wanted))


def pandas_differs(file: File) -> tuple[int, int]:
    """Columns that pandas can read, and those of them where it finds another value."""
    if file.pandas is None:
        return 0, 0
    readers = {
        ".csv": pd.read_csv, ".txt": pd.read_csv, ".gz": pd.read_csv, ".xlsx": pd.read_excel,
        ".jsonl": pd.read_json, ".ndjson": pd.read_json, ".feather": pd.read_feather,
    }  # fmt: skip
    read: Any = readers.get(file.path.suffix, pd.read_parquet)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            frame = read(file.path, **file.pandas)
        except Exception:
            return 0, 0
    compared = wrong = 0
    for column in file.columns:
        if column.kind in _PANDAS_KINDS and column.name in frame:
            values = [None if pd.isna(value) else value for value in frame[column.name]]
            compared += 1
            try:
                values = [v if v is None or column.kind == "text" else float(v) for v in values]
                wrong += bool(differs(column, values))
            except ValueError:
                wrong += 1
    return compared, wrong


def run(n_files: int, seed: int = 0) -> Counter[str]:
    """Generate, read and compare so many files."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        for k in range(n_files):
            kind = FORMATS[k % len(FORMATS)]
            file = generate(seed, k, Path(name))
            faulthandler.dump_traceback_later(_SECONDS_AT_MOST, exit=True)
            try:
                outcome = examine(file)
            except Exception as error:
                outcome = f"FAILED with {error!r}"
            finally:
                faulthandler.cancel_dump_traceback_later()
            if "FAILED" in outcome:
                print(f"generated file {k} of seed {seed}, {file.options}: {outcome}"[:1000])
                outcome = "FAILED: read differently in silence, or refused without a clear line"
            outcomes[f"generated {kind} {outcome}"] += 1
            compared, wrong = pandas_differs(file)
            outcomes["generated columns compared with pandas"] += compared
            outcomes["generated columns that pandas reads otherwise"] += wrong
            file.path.unlink()
    return outcomes
