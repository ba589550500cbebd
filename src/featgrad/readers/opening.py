"""Open arrays, data frames and files as sources."""

import os
from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featgrad.checks import check_number, check_option
from featgrad.options import ON_BAD_ROWS, ON_MISSING
from featgrad.readers.block import BLOCK_ROWS
from featgrad.readers.formats import detect
from featgrad.readers.invalid_rows import InvalidRows
from featgrad.readers.source import Source

if TYPE_CHECKING:
    from featgrad.readers.columns import Table

# Formats of separated text, and arguments that say how it is written.
_TEXTS = ("csv", "tsv")
_DIALECT = ("sep", "decimal", "encoding", "header", "na_values")
# Entries of a block of a table, and its fewest rows.
_BLOCK_ENTRIES, _MIN_BLOCK_ROWS = 1 << 22, 64


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
    n_features: int | None = None,
    zero_based: bool | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    na_values: Sequence[str] | None = None,
    missing: str = "error",
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
        Rows that belong together: the column or columns of a table that say so, or for an array
        the labels of its rows.
    time : str, default=None
        Column of a table, of numbers or dates, that rows are in the order of.
    format : {"npy", "parquet", "arrow", "csv", "tsv", "xlsx", "jsonl", "svmlight"}, default=None
        Format of the file; None detects it from the suffix or the content.
    columns : sequence of str, default=None
        Column names of a CSV or TSV file without a header.
    exclude : sequence of str, default=None
        Columns of a table to ignore. Columns that are like identifiers are left out by themselves,
        see `left_out`: text that differs in most rows, and row numbers.
    include : sequence of str, default=None
        Columns to keep even if they are like identifiers.
    categorical : sequence of str, default=None
        Columns to encode as text; None detects them.
    hash_dim : int, default=None
        Number of features that text columns are hashed into, an equal share for each column. None
        uses one-hot encoding.
    n_features : int, default=None
        Number of features of svmlight text or of lists without metadata; None reads the file once
        to find it.
    zero_based : bool, default=None
        Whether svmlight indices start at 0; None reads the file once to see if a 0 occurs.
    sep : str, default=None
        What separates the fields of CSV text; None finds it among comma, semicolon, tab and bar.
    decimal : {".", ","}, default=None
        Decimal sign of CSV text; None finds it.
    encoding : str, default=None
        Encoding of CSV text; None takes UTF-8, UTF-16 by its mark, else Windows-1252.
    header : bool, default=None
        Whether the first line of CSV text names the columns; None finds out.
    na_values : sequence of str, default=None
        Words for a missing value in CSV text besides NA, N/A, null, None, NaN, ?, - and the like.
    missing : {"error", "nan", "zero"}, default="error"
        Whether a missing number makes its row invalid, is read as NaN, or as 0.
    on_bad_rows : {"error", "skip"}, default="error"
        Whether an invalid row raises an error, or is left out and counted in `skipped`.
    block_rows : int, default=None
        Rows per block; None takes 4096, or fewer of a table with many columns.
    dtype : {"float32", "float64"}, default="float32"
        Type of the values; columns that vary little compared with their mean need float64.

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
    check_option("missing", missing, ON_MISSING)
    check_option("on_bad_rows", on_bad_rows, ON_BAD_ROWS)
    if block_rows is not None:
        check_number("block_rows", block_rows, Integral, at_least=1)
    for name, size in (("hash_dim", hash_dim), ("n_features", n_features)):
        if size is not None:
            check_number(name, size, Integral, at_least=1)
            if size >= 1 << 31:
                raise ValueError(f"{name}={size} cannot be used: give less than 2**31.")
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype} cannot be used: give float32 or float64.")
    options = {
        "target": target, "weight": weight, "groups": groups, "time": time,
        "columns": columns, "exclude": exclude,
        "include": include, "categorical": categorical, "hash_dim": hash_dim,
        "n_features": n_features, "zero_based": zero_based,
        "sep": sep, "decimal": decimal, "encoding": encoding, "header": header,
        "na_values": na_values,
    }  # fmt: skip
    options = {argument: value for argument, value in options.items() if value is not None}
    kind, data, name = detect(data, format)
    invalid = InvalidRows(name, on_bad_rows, missing)
    paths = data if isinstance(data, list) else [data] if isinstance(data, Path) else []
    common = {"dtype": dtype, "invalid": invalid, "paths": paths}
    return _open(kind, data, options, block_rows and int(block_rows), **common)


def open_table(
    path: str | os.PathLike[str], *, format: str | None = None, **dialect: Any
) -> "Table | None":
    """Open the columns of a file, without a target; `dialect` is as for `open_source`.

    None if the file stores rows of features: svmlight, .npy, and files written by `convert`.
    """
    kind, data, _ = detect(path, format)
    if kind in ("npy", "svmlight"):
        return None
    takes = _DIALECT if kind in (*_TEXTS, "xlsx") else ()
    given = {name: dialect[name] for name in takes if dialect.get(name) is not None}
    return _open_columns(kind, data, None, given)[0]


def _open(
    kind: str, data: Any, options: dict[str, Any], block_rows: int | None, **common: Any
) -> Source:
    name = common["invalid"].name
    common["block_rows"] = block_rows or BLOCK_ROWS

    def accept(**defaults: Any) -> dict[str, Any]:
        """The options for this kind of data; any other one is an error."""
        for argument, value in options.items():
            if argument not in defaults:
                raise ValueError(f"{argument}={value!r} does not apply to {name}: leave it out.")
        return defaults | options

    if kind in ("array", "npy"):
        from featgrad.readers.arrays import ArraySource, load_npy

        columns = accept(target=None, weight=None, groups=None)
        if kind == "npy":
            data = load_npy(data)
            for argument, value in columns.items():
                if isinstance(value, str | os.PathLike):
                    columns[argument] = load_npy(Path(value))
        return ArraySource(data, **columns, **common)
    if kind == "svmlight":
        from featgrad.readers.svmlight import SvmlightSource

        return SvmlightSource(data, **accept(n_features=None, zero_based=None), **common)
    takes = ("columns", *_DIALECT) if kind in _TEXTS else _DIALECT if kind == "xlsx" else ()
    given = {name: options.pop(name) for name in takes if name in options}
    table, file = _open_columns(kind, data, block_rows, given)
    if table is None:
        from featgrad.readers.arrow_rows import ArrowRowsSource

        weight = "weight" if "weight" in file.schema.names else None
        return ArrowRowsSource(file, **accept(target="y", weight=weight, n_features=None), **common)
    from featgrad.readers.columns import Roles
    from featgrad.readers.tables import TableSource

    names = "target", "weight", "exclude", "include", "categorical", "groups", "time"
    roles = dict.fromkeys(names)
    accepted = accept(**roles, hash_dim=None)
    assigned = Roles.of(table, *(accepted.pop(role) for role in roles))
    common["block_rows"] = block_rows or _rows_per_block(len(table.columns))
    return TableSource(table, assigned, **accepted, **common)


def _rows_per_block(n_columns: int) -> int:
    return max(_MIN_BLOCK_ROWS, min(BLOCK_ROWS, _BLOCK_ENTRIES // max(1, n_columns)))


def _open_columns(
    kind: str, data: Any, block_rows: int | None, given: dict[str, Any]
) -> "tuple[Table | None, Any]":
    """The table, or None and the file of record batches that store rows."""
    if kind == "frame":
        from featgrad.readers.frames import FrameTable

        return FrameTable.of(data, block_rows or _rows_per_block(len(data.columns))), None
    if kind in (*_TEXTS, "xlsx"):
        from featgrad.readers.delimited import DelimitedTable
        from featgrad.readers.dialect import Given
        from featgrad.readers.excel import sheet_as_csv

        columns = given.pop("columns", None)
        if kind == "tsv":
            given = {"sep": "\t"} | given
        text = sheet_as_csv(data) if kind == "xlsx" else data
        return DelimitedTable(str(data), text, Given(**given), columns), None
    from featgrad.readers.arrow_rows import stores_rows
    from featgrad.readers.batches import BatchFiles
    from featgrad.readers.frames import ArrowTable

    file = BatchFiles(data, kind)
    if stores_rows(file.schema):
        return None, file
    return ArrowTable(file, block_rows or _rows_per_block(len(file.schema.names))), file
