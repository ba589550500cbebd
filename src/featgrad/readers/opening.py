"""Open arrays, data frames and files as sources."""

import os
import re
from collections.abc import Sequence
from glob import glob
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from featgrad.checks import check_number, check_option
from featgrad.options import ON_BAD_ROWS, ON_MISSING
from featgrad.readers.block import BLOCK_ROWS, InvalidRows, rows_per_block
from featgrad.readers.formats import (
    COMPRESSED,
    FORMATS,
    UNREADABLE,
    VAGUE,
    PathsBelow,
    is_named,
    suffix_of,
)
from featgrad.readers.lines import Pipe, read_head
from featgrad.readers.source import Source, StoredRows, open_array

if TYPE_CHECKING:
    from featgrad.readers.columns import Table


def open_source(
    data: Any,
    *,
    target: Any = None,
    weight: Any = None,
    groups: Any = None,
    time: str | None = None,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    include: Sequence[str] | None = None,
    categorical: Sequence[str] | None = None,
    hash_dim: int | None = None,
    names: Sequence[str] | str | os.PathLike[str] | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    na_values: Sequence[str] | None = None,
    skip_rows: int | None = None,
    sheet: str | int | None = None,
    transpose: bool | None = None,
    missing: str = "nan",
    on_bad_rows: str = "error",
    block_rows: int | None = None,
    dtype: Any = "float32",
) -> Source:
    """Open an array, a data frame or a file, to be read block by block as often as needed.

    Parameters
    ----------
    data : ndarray, CSR matrix, data frame, path of a file or list of paths
        The rows. Files: .csv, .tsv, .xlsx, .jsonl (an object per line), .parquet (also a folder of
        them, or a pattern like ``"2024-*.parquet"``), .arrow, .npy, .svm (svmlight, libsvm);
        text also compressed (.gz, .bz2, .xz). The format of others is detected from their content.
    target : str, array-like or path, default=None
        The target: the name of its column, or for an array or .npy file its values or its file.
        svmlight files contain it; in files written by `convert` it is "y".
    weight : str, array-like or path, default=None
        Sample weights, given like `target`.
    groups : str, sequence of str or array-like, default=None
        Rows that belong together: the column or columns of a table that define the groups, or for
        an array the labels of its rows.
    time : str, default=None
        Column of a table, of numbers or dates, by which rows are ordered.
    format : {"npy", "parquet", "arrow", "csv", "tsv", "xlsx", "jsonl", "svmlight"}, default=None
        Format of the file; None detects it from the suffix or the content.
    columns : sequence of str, default=None
        Column names of a CSV or TSV file without a header.
    exclude : sequence of str, default=None
        Columns of a table to ignore. Identifiers (text that differs in most rows, and row numbers)
        are left out automatically, see `left_out`.
    include : sequence of str, default=None
        Columns to keep even if they look like identifiers.
    categorical : sequence of str, default=None
        Columns to encode as text; None detects them.
    hash_dim : int, default=None
        Number of features that text columns are hashed into, an equal share for each column. None
        uses one-hot encoding.
    names : sequence of str or path, default=None
        Names of the features of an array, a .npy file or svmlight text, or the path of a file with
        a name in each line.
    n_features : int, default=None
        Number of features of svmlight text; None takes that of `names`, or reads the file once.
    zero_based : bool, default=None
        Whether svmlight indices start at 0; None reads the file once to see if a 0 occurs.
    sep : str, default=None
        Separator of the fields of CSV text; None detects comma, semicolon, tab or bar.
    decimal : {".", ","}, default=None
        Decimal sign of CSV text; None detects it.
    encoding : str, default=None
        Encoding of CSV text; None takes UTF-8, UTF-16 by its mark, else Windows-1252.
    header : bool, default=None
        Whether the first line of CSV text names the columns; None detects it.
    na_values : sequence of str, default=None
        More words for a missing value in CSV text than NA, N/A, null, None, NaN, ?, - and the like.
    skip_rows : int, default=None
        Lines of CSV text, or rows of a sheet, above the header; None detects titles.
    sheet : str or int, default=None
        Sheet of an Excel file, by its name or its number from 1; None takes the first one.
    transpose : bool, default=None
        Whether rows of CSV text or of a sheet are the variables, as where genes are in rows; the
        first column has their names. The table has to fit in memory.
    missing : {"nan", "error", "zero"}, default="nan"
        Whether a missing number is read as NaN, makes its row invalid, or is read as 0. In tables,
        if missingness predicts the target better than chance, a feature indicates it.
    on_bad_rows : {"error", "skip"}, default="error"
        Whether an invalid row raises an error, or is left out and counted in `skipped`.
    block_rows : int, default=None
        Rows per block; None takes 4096, or fewer of a table with many columns.
    dtype : {"float32", "float64"}, default="float32"
        Type of the values; columns that vary little compared with their mean, or whose values are
        all below 1e-45, need float64.

    Returns
    -------
    Source
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad import open_source
    >>> source = open_source(np.eye(3), target=[0, 1, 1], block_rows=2)
    >>> [block.y.tolist() for block in source]
    [[0, 1], [1]]
    """
    options = {name: value for name, value in locals().items() if value is not None}
    for name in ("data", "format", "missing", "on_bad_rows", "block_rows", "dtype"):
        options.pop(name, None)
    check_option("missing", missing, ON_MISSING)
    check_option("on_bad_rows", on_bad_rows, ON_BAD_ROWS)
    if block_rows is not None:
        check_number("block_rows", block_rows, Integral, at_least=1)
    if skip_rows is not None:
        check_number("skip_rows", skip_rows, Integral, at_least=0)
    for name, size in (("hash_dim", hash_dim), ("n_features", n_features)):
        if size is not None:
            check_number(name, size, Integral, at_least=1)
            if size >= 1 << 31:
                raise ValueError(f"{name}={size} cannot be used: give less than 2**31.")
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype} cannot be used: give float32 or float64.")
    from featgrad.readers.tables import TableSource

    format, data, name = _detect(data, format)
    block_rows = block_rows and int(block_rows)
    found = _open(data, format, block_rows, options)
    accepted = found.options if isinstance(found, StoredRows) else TableSource.OPTIONS
    for argument, value in options.items():
        if argument not in accepted:
            raise ValueError(f"{argument}={value!r} does not apply to {name}: leave it out.")
    options["paths"] = data if isinstance(data, list) else [data] if isinstance(data, Path) else []
    options |= {"dtype": dtype, "invalid": InvalidRows(name, on_bad_rows, missing)}
    if isinstance(found, StoredRows):
        options = {**found.options, "block_rows": block_rows or BLOCK_ROWS, **options}
        return found.source(found.data, **options)  # type: ignore[no-any-return]
    _check_table(found, target)
    block_rows = block_rows or rows_per_block(len(found.columns))
    return TableSource(found, block_rows=block_rows, **options)


def _check_table(table: "Table", target: Any) -> None:
    """Raise an error if this is no table yet, or one whose rows should be columns."""
    if problem := getattr(table, "problem", ""):
        raise ValueError(problem)
    rows = getattr(table, "row_names", None)
    if rows is None or not isinstance(target, str) or target in table.columns:
        return
    if target.encode() in {rows.token(i) for i in range(len(rows))}:
        from featgrad.readers.columns import UnknownColumnError

        raise UnknownColumnError(
            f"target={target!r} is a row of {table.name}, not a column: pass transpose=True."
        )


def open_table(
    path: str | os.PathLike[str], *, format: str | None = None, **dialect: Any
) -> "Table | None":
    """Open the columns of a file, without a target; `dialect` is as for `open_source`.

    None if the file stores rows of features: svmlight, .npy, and files written by `convert`.
    """
    format, data, _ = _detect(path, format)
    found = _open(data, format, None, {k: v for k, v in dialect.items() if v is not None})
    return None if isinstance(found, StoredRows) else found


def _open(
    data: Any, format: str | None, block_rows: int | None, options: dict[str, Any]
) -> "Table | StoredRows":
    """A table, or rows that are stored as such; takes the options of the format."""
    if format is not None:
        taken = FORMATS[format].options
        given = {option: options.pop(option) for option in taken if option in options}
        module, function = FORMATS[format].opener.split(":")
        opener = getattr(import_module(f"featgrad.readers.{module}"), function)
        return opener(data, format, block_rows, **given)  # type: ignore[no-any-return]
    if isinstance(data, nw.DataFrame):
        from featgrad.readers.frames import FrameTable

        return FrameTable(data, len(data), block_rows)
    return open_array(data)


def _detect(data: Any, format: str | None) -> tuple[str | None, Any, str]:
    """The format, None for rows in memory, the data, and a name for messages."""
    if isinstance(data, list | tuple) and data and isinstance(data[0], str | os.PathLike):
        name = f"{data[0]} and {len(data) - 1} more"
        files = [Path(file) for file in data]
        root = Path(os.path.commonpath([file.absolute().parent for file in files]))
        return "parquet", _parquet_files(name, files, root), name
    if isinstance(data, str | os.PathLike | Pipe):
        path = data if isinstance(data, Pipe) else Path(data)
        if format is not None:
            check_option("format", format, tuple(FORMATS))
        if isinstance(path, Path) and not path.is_file():
            name, is_folder = str(path), path.is_dir()
            inside = (file for file in path.rglob("*") if is_named(file, "parquet"))
            found = inside if is_folder else map(Path, glob(name, recursive=True))
            # Of a pattern, the folder above the first sign for any text.
            root = path if is_folder else Path(f"{re.split(r'[*?[]', name)[0]}_").parent
            return "parquet", _parquet_files(name, sorted(found), root.absolute()), name
        return format or format_of(path), path, str(path)
    if format is not None:
        raise ValueError(f"format={format!r} applies to files only: leave it out.")
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        return None, data, "the array"
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return None, frame, "the frame"
    raise ValueError(
        f"Rows cannot be read from {type(data).__name__}: give an array, a CSR matrix, a frame "
        "in memory, or the path of a file."
    )


def _parquet_files(name: str, files: list[Path], root: Path) -> PathsBelow:
    """Files that are read together, of a folder, a pattern or a list."""
    if not files and Path(name).is_dir():
        raise FileNotFoundError(f"The folder {name} holds no .parquet file: no others can be read.")
    for file in files or [Path(name)]:
        if not file.is_file() and file.exists():
            raise ValueError(
                f"{file} is not a regular file: give one, which is read several times, or a "
                "folder of .parquet files. The command reads standard input as -."
            )
        if not file.is_file():
            raise FileNotFoundError(f"There is no file {file}.")
        if not is_named(file, "parquet"):
            raise ValueError(
                f"{name} are {len(files)} files: only .parquet files can be read together, join "
                "others first."
            )
    return PathsBelow(files, root)


def format_of(path: Path | Pipe) -> str:
    """Detected from the suffix, or else from the content."""
    name = Path(str(path))
    suffix = suffix_of(name.with_suffix("") if suffix_of(name) in COMPRESSED else name)
    if suffix in UNREADABLE:
        raise ValueError(
            f"{path} is {UNREADABLE[suffix]}, which cannot be read: save it as CSV, Parquet, JSON "
            "lines (.jsonl) or .xlsx, or pass format if its name is wrong."
        )
    named = [format.name for format in FORMATS.values() if suffix in format.suffixes]
    if named and suffix not in VAGUE:
        return named[0]
    head = read_head(path)
    for format in FORMATS.values():
        if format.magic and head.startswith(format.magic):
            return format.name
    lines = (line for line in head.splitlines() if line.strip() and not line.startswith(b"#"))
    first = next(lines, b"").replace(b"\0", b"")
    for format in reversed(FORMATS.values()):
        if format.first_line and re.match(format.first_line.encode(), first):
            return format.name
    if named:
        return named[0]
    if not head:
        raise ValueError(f"{path} is empty: there are no rows.")
    raise ValueError(f"The format of {path} is unknown: pass format, one of {list(FORMATS)}.")
