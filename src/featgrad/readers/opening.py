"""From an array, a frame or a file to the source that reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from featgrad.dataset.checks import check_number, check_option
from featgrad.readers.arrow_files import require_pyarrow
from featgrad.readers.block import Source
from featgrad.readers.invalid_rows import MISSING, ON_BAD_ROWS, InvalidRows
from featgrad.readers.lines import read_head

if TYPE_CHECKING:
    from featgrad.readers.tables import Table

Options = dict[str, Any]
_COLUMNS = ("target", "weight")

_SUFFIXES = {
    ".npy": "npy",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".csv": "csv", ".tsv": "tsv",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
    ".vw": "vw",
}  # fmt: skip
FORMATS = tuple(dict.fromkeys(_SUFFIXES.values()))
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_COMPRESSED = (".gz", ".bz2", ".xz")
_MAGIC = {b"\x93NUMPY": "npy", b"PAR1": "parquet", b"ARROW1": "arrow"}
_NUMBER = rb"[-+.\d][-+.\deE]*"
_FIRST_LINES = {
    "svmlight": re.compile(rb"\s*" + _NUMBER + rb"(\s+(qid|\d+):\S+)+\s*(#.*)?$"),
    "vw": re.compile(rb"\s*" + _NUMBER + rb"[^|\t,]*\|"),
    "tsv": re.compile(rb"[^\t]*\t"),
    "csv": re.compile(rb"[^,]*,"),
}
# As many as Vowpal Wabbit takes itself.
_VW_FEATURES = 1 << 18


def open_source(
    thing: Any,
    *,
    target: Any = None,
    weight: Any = None,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    categorical: Sequence[str] | None = None,
    hash_dim: int | None = None,
    signed: bool = False,
    n_features: int | None = None,
    zero_based: bool | None = None,
    missing: str = "error",
    on_bad_rows: str = "error",
    block_rows: int = 4096,
    dtype: Any = "float32",
) -> Source:
    """Open something that holds rows, to be read block by block as often as needed.

    Parameters
    ----------
    thing : ndarray, CSR matrix, frame, or path of a file
        Where the rows are. Files: .npy, .parquet, .arrow, .csv, .tsv, .svm (svmlight, libsvm), .vw;
        text also compressed (.gz, .bz2, .xz). Others are recognised by their content.
    target : str, array-like or path, default=None
        The target: the name of its column, or beside an array or .npy file its values or file.
        svmlight and VW files hold it; in files of whole rows it is "y".
    weight : str, array-like or path, default=None
        Weights of the rows, given like `target`.
    format : {"npy", "parquet", "arrow", "csv", "tsv", "svmlight", "vw"}, default=None
        Kind of the file where neither its name nor its content tells.
    columns : sequence of str, default=None
        Names of the columns of a CSV or TSV file without a first line of names.
    exclude : sequence of str, default=None
        Columns of a table to leave out.
    categorical : sequence of str, default=None
        Columns to encode as text; None takes those that hold text.
    hash_dim : int, default=None
        Features that columns of text are hashed into, each column into an equal share. None gives
        each text a feature of its own (one-hot), and VW files 2**18.
    signed : bool, default=False
        Whether half of the hashed texts count as -1 instead of 1.
    n_features : int, default=None
        Number of features of svmlight text or lists without metadata; None reads the file once
        more to find it.
    zero_based : bool, default=None
        Whether svmlight indices count from 0; None takes 0 if it occurs, else 1.
    missing : {"error", "nan", "zero"}, default="error"
        What becomes of a missing number: its row is a bad one, it is NaN, or 0.
    on_bad_rows : {"error", "skip"}, default="error"
        Whether a row that cannot be used stops the reading, or is left out and counted in
        `skipped`.
    block_rows : int, default=4096
        Rows per block.
    dtype : {"float32", "float64"}, default="float32"
        Type of the values; columns whose differences are tiny beside their size need the latter.

    Returns
    -------
    Source
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from featgrad.readers import open_source
    >>> source = open_source(np.eye(3), target=[0, 1, 1], block_rows=2)
    >>> [block.y.tolist() for block in source]
    [[0, 1], [1]]
    """
    check_option("missing", missing, MISSING)
    check_option("on_bad_rows", on_bad_rows, ON_BAD_ROWS)
    check_number("block_rows", block_rows, Integral, at_least=1)
    for name, size in (("hash_dim", hash_dim), ("n_features", n_features)):
        if size is not None:
            check_number(name, size, Integral, at_least=1)
            if size >= 1 << 31:
                raise ValueError(f"{name}={size} cannot be used: give less than 2**31.")
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype} cannot be used: give float32 or float64.")
    given = {
        "target": target, "weight": weight, "columns": columns, "exclude": exclude,
        "categorical": categorical, "hash_dim": hash_dim, "signed": signed or None,
        "n_features": n_features, "zero_based": zero_based,
    }  # fmt: skip
    options = {argument: value for argument, value in given.items() if value is not None}
    kind, thing, name = _recognise(thing, format)
    bad = InvalidRows(name, on_bad_rows, missing)
    return _OPENERS[kind](thing, options, block_rows=int(block_rows), dtype=dtype, bad=bad)


def open_table(
    path: str | os.PathLike[str], *, format: str | None = None, block_rows: int = 4096
) -> Table | None:
    """The columns of a file, before it is said which one is the target.

    Parameters
    ----------
    path : str or path
        The file.
    format : str, default=None
        As for `open_source`.
    block_rows : int, default=4096
        Rows that are read at a time.

    Returns
    -------
    Table or None
        None where the file holds rows of features and their target: svmlight, VW, .npy, and what
        `convert` writes.
    """
    kind, file, _ = _recognise(path, format)
    if kind in _DELIMITERS:
        return _delimited_table(kind, file, None)
    if kind in ("parquet", "arrow"):
        return _batch_table(_batch_file(kind, file), block_rows)
    return None


def _recognise(thing: Any, format: str | None) -> tuple[str, Any, str]:
    """The kind of a thing, the thing ready to be opened, and what to call it."""
    if isinstance(thing, str | os.PathLike):
        path = Path(thing)
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {path}.")
        if format is not None:
            check_option("format", format, FORMATS)
        return format or _format_of(path), path, str(path)
    if format is not None:
        raise ValueError(f"format={format!r} has no meaning for what is no file: leave it.")
    if isinstance(thing, np.ndarray) or sparse.issparse(thing):
        return "array", thing, "the array"
    frame = nw.from_native(thing, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return "frame", frame, "the frame"
    raise ValueError(
        f"Rows cannot be read from {type(thing).__name__}: give an array, a CSR matrix, a frame in "
        "memory, or the path of a file."
    )


def _format_of(path: Path) -> str:
    """By the name, or else by the content."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    if suffixes and suffixes[-1] in _SUFFIXES:
        return _SUFFIXES[suffixes[-1]]
    head = read_head(path)
    for magic, format in _MAGIC.items():
        if head.startswith(magic):
            return format
    lines = (line for line in head.splitlines() if line.strip() and not line.startswith(b"#"))
    first = next(lines, b"")
    for format, pattern in _FIRST_LINES.items():
        if pattern.match(first):
            return format
    raise ValueError(f"What {path} holds cannot be told: pass format, one of {list(FORMATS)}.")


def _only(accepted: Sequence[str], options: Options, name: str) -> Options:
    """The options, unless one of them says nothing about this kind of thing."""
    for argument, value in options.items():
        if argument not in accepted:
            raise ValueError(f"{argument}={value!r} has no meaning for {name}: leave it out.")
    return options


def _open_array(X: Any, options: Options, *, bad: InvalidRows, **common: Any) -> Source:
    from featgrad.readers.arrays import from_arrays

    options = _only(_COLUMNS, options, bad.name)
    return from_arrays(X, options.get("target"), options.get("weight"), bad=bad, **common)


def _open_npy(path: Path, options: Options, **common: Any) -> Source:
    from featgrad.readers.arrays import load_npy

    loaded = {
        argument: load_npy(Path(value)) if isinstance(value, str | os.PathLike) else value
        for argument, value in options.items()
    }
    return _open_array(load_npy(path), loaded, **common)


def _open_table(table: Any, options: Options, **common: Any) -> Source:
    from featgrad.readers.tables import Roles, TableSource

    chosen = (*_COLUMNS, "exclude", "categorical")
    options = _only((*chosen, "hash_dim", "signed"), options, table.name)
    roles = Roles.of(table, *map(options.get, chosen))
    hash_dim, signed = options.get("hash_dim"), options.get("signed", False)
    return TableSource(table, roles, hash_dim=hash_dim, signed=signed, **common)


def _open_frame(frame: Any, options: Options, **common: Any) -> Source:
    from featgrad.readers.frames import FrameTable

    return _open_table(FrameTable(frame, common["block_rows"]), options, **common)


def _batch_file(kind: str, path: Path) -> Any:
    require_pyarrow(f"Reading {path}")
    from featgrad.readers import arrow_files

    return arrow_files.IpcFile(path) if kind == "arrow" else arrow_files.ParquetFile(path)


def _batch_table(file: Any, block_rows: int) -> Table | None:
    from featgrad.readers import arrow_rows, arrow_tables

    if arrow_rows.stores_rows(file.schema):
        return None
    return arrow_tables.ArrowTable(file, block_rows)


def _open_batches(kind: str, path: Path, options: Options, **common: Any) -> Source:
    from featgrad.readers import arrow_rows

    file = _batch_file(kind, path)
    table = _batch_table(file, common["block_rows"])
    if table is not None:
        return _open_table(table, options, **common)
    options = _only((*_COLUMNS, "n_features"), options, file.name)
    weight = "weight" if "weight" in file.schema.names else None
    defaults: Options = {"target": "y", "weight": weight, "n_features": None}
    return arrow_rows.ArrowRowsSource(file, **defaults | options, **common)


def _delimited_table(kind: str, path: Path, columns: Sequence[str] | None) -> Table:
    from featgrad.readers.delimited import DelimitedTable

    return DelimitedTable(path, _DELIMITERS[kind], columns)


def _open_delimited(kind: str, path: Path, options: Options, **common: Any) -> Source:
    options = dict(options)
    table = _delimited_table(kind, path, options.pop("columns", None))
    return _open_table(table, options, **common)


def _open_svmlight(path: Path, options: Options, **common: Any) -> Source:
    from featgrad.readers.svmlight import SvmlightSource

    options = _only(("n_features", "zero_based"), options, str(path))
    defaults: Options = {"n_features": None, "zero_based": None}
    return SvmlightSource(path, **defaults | options, **common)


def _open_vw(path: Path, options: Options, **common: Any) -> Source:
    from featgrad.readers.vw import VWSource

    options = _only(("hash_dim", "signed"), options, str(path))
    defaults: Options = {"hash_dim": _VW_FEATURES, "signed": False}
    return VWSource(path, **defaults | options, **common)


_OPENERS: dict[str, Callable[..., Source]] = {
    "array": _open_array,
    "frame": _open_frame,
    "npy": _open_npy,
    "parquet": partial(_open_batches, "parquet"),
    "arrow": partial(_open_batches, "arrow"),
    "csv": partial(_open_delimited, "csv"),
    "tsv": partial(_open_delimited, "tsv"),
    "svmlight": _open_svmlight,
    "vw": _open_vw,
}
