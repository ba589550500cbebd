"""What kind of data somebody gave: an array, a data frame, or a file and its format."""

import os
import re
from glob import glob
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from featgrad.checks import check_option
from featgrad.options import FORMATS
from featgrad.readers.lines import Pipe, read_head

_SUFFIXES = {
    ".npy": "npy",
    ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".txt": "csv", ".dat": "csv",
    ".xlsx": "xlsx", ".xlsm": "xlsx",
    ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
}  # fmt: skip
# Formats that are refused by name.
_UNREADABLE = {
    ".xls": "an old Excel file", ".ods": "an OpenDocument sheet", ".sav": "an SPSS file",
    ".dta": "a Stata file", ".rds": "an R file", ".rdata": "an R file", ".mat": "a MATLAB file",
    ".json": "JSON", ".pkl": "a pickle", ".npz": "an archive of arrays", ".zip": "an archive",
    ".h5": "an HDF5 file", ".orc": "an ORC file", ".avro": "an Avro file", ".db": "a database",
    ".sqlite": "a database", ".pdf": "a document", ".docx": "a document", ".html": "a web page",
}  # fmt: skip
_COMPRESSED = (".gz", ".bz2", ".xz")
_MAGIC = {b"\x93NUMPY": "npy", b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\3\4": "xlsx"}
_NUMBER = rb"[-+.\d][-+.\deE]*"
_FIRST_LINES = {
    "svmlight": re.compile(rb"\s*" + _NUMBER + rb"(\s+(qid|\d+):\S+)+\s*(#.*)?$"),
    "jsonl": re.compile(rb"\s*\{"),
    "csv": re.compile(rb".*[,;\t|]"),
}


def detect(data: Any, format: str | None) -> tuple[str, Any, str]:
    """The kind of the data, the data ready to be opened, and a name for error messages."""
    if isinstance(data, list | tuple) and data and isinstance(data[0], str | os.PathLike):
        files = [Path(file) for file in data]
        for file in files:
            if not file.is_file():
                raise FileNotFoundError(f"There is no file {file}.")
        _check_parquet(f"{files[0]} and {len(files) - 1} more", files)
        return "parquet", files, f"{files[0]} and {len(files) - 1} more"
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        if format is not None:
            check_option("format", format, FORMATS)
        if not path.is_file():
            return "parquet", parquet_files(path), str(path)
        return format or format_of(path), path, str(path)
    if isinstance(data, Pipe):
        return format or format_of(data), data, str(data)
    if format is not None:
        raise ValueError(f"format={format!r} applies to files only: leave it out.")
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        return "array", data, "the array"
    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return "frame", frame, "the frame"
    raise ValueError(
        f"Rows cannot be read from {type(data).__name__}: give an array, a CSR matrix, a frame "
        "in memory, or the path of a file."
    )


def parquet_files(path: Path) -> list[Path]:
    """The Parquet files of a folder, or those that a pattern matches."""
    if path.is_dir():
        found = sorted(path.rglob("*.parquet"))
        what = f"The folder {path} holds no .parquet file: only such files can be read together."
    else:
        found = sorted(map(Path, glob(str(path), recursive=True)))
        what = f"There is no file {path}."
    if not found:
        raise FileNotFoundError(what)
    _check_parquet(str(path), found)
    return found


def _check_parquet(name: str, files: list[Path]) -> None:
    if any(file.suffix.lower() != ".parquet" for file in files):
        raise ValueError(
            f"{name} are {len(files)} files: only .parquet files can be read together, join others "
            "first."
        )


def format_of(path: Path | Pipe) -> str:
    """Detected from the suffix, or else from the content."""
    suffixes = [suffix.lower() for suffix in getattr(path, "suffixes", ())]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _UNREADABLE:
        raise ValueError(
            f"{path} is {_UNREADABLE[suffix]}, which cannot be read: save it as CSV, Parquet, JSON "
            "lines (.jsonl) or .xlsx, or pass format if its name is wrong."
        )
    if suffix in _SUFFIXES and suffix not in (".txt", ".dat"):
        return _SUFFIXES[suffix]
    head = read_head(path)
    for magic, format in _MAGIC.items():
        if head.startswith(magic):
            return format
    lines = (line for line in head.splitlines() if line.strip() and not line.startswith(b"#"))
    first = next(lines, b"").replace(b"\0", b"")
    for format, pattern in _FIRST_LINES.items():
        if pattern.match(first):
            return format
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    raise ValueError(f"The format of {path} is unknown: pass format, one of {list(FORMATS)}.")
