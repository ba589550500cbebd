"""The registry of formats of files: a new one takes a line here and a module with its opener."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# Arguments that describe how separated text is written.
DIALECT = ("sep", "decimal", "encoding", "header", "na_values", "skip_rows", "transpose")
# Suffixes that say little: the content decides first.
VAGUE = (".txt", ".dat")
COMPRESSED = (".gz", ".bz2", ".xz")
_NUMBER = r"[-+.\d][-+.\deE]*"


class PathsBelow(list[Path]):
    """Files that are read together; names of folders below the root may hold columns of theirs."""

    def __init__(self, files: Sequence[Path], root: Path) -> None:
        super().__init__(files)
        self.root = root


class Format(NamedTuple):
    """A format of files, and how it is recognised: by suffix, first bytes or first line."""

    name: str
    suffixes: tuple[str, ...]
    # ``module:function``: from the data, the name of the format, the rows of a block (None for
    # the default) and the options below to a `Table`, or to `StoredRows`.
    opener: str
    options: tuple[str, ...] = ()
    magic: bytes | None = None
    first_line: str | None = None


_TEXT, _BATCHES = "delimited:open_delimited", "stored_rows:open_batches"
# The content is compared with the last of them first: any text may be CSV.
FORMATS = {
    format.name: format
    for format in (
        Format("csv", (".csv", *VAGUE), _TEXT, ("columns", *DIALECT), first_line=r".*[,;\t|]"),
        Format("tsv", (".tsv", ".tab"), _TEXT, ("columns", *DIALECT)),
        Format("xlsx", (".xlsx", ".xlsm"), _TEXT,
               ("decimal", "header", "na_values", "skip_rows", "transpose", "sheet"), b"PK\3\4"),
        Format("jsonl", (".jsonl", ".ndjson"), "json_lines:open_json", first_line=r"\s*\{"),
        Format("parquet", (".parquet", ".pq"), _BATCHES, magic=b"PAR1"),
        Format("arrow", (".arrow", ".feather", ".ipc"), _BATCHES, magic=b"ARROW1"),
        Format("npy", (".npy",), "source:open_npy", magic=b"\x93NUMPY"),
        Format("svmlight", (".svm", ".svmlight", ".libsvm"), "svmlight:open_svmlight",
               first_line=rf"\s*{_NUMBER}(\s+(qid|\d+):{_NUMBER})+\s*(#.*)?$"),
    )
}  # fmt: skip


def suffix_of(path: Path) -> str:
    """The suffix that names the format of a file, read or written, however it is spelled."""
    return path.suffix.lower()


def is_named(path: Path, name: str) -> bool:
    """Whether a file has a suffix of this format."""
    return suffix_of(path) in FORMATS[name].suffixes


# Formats that are refused by name.
UNREADABLE = {
    ".xls": "an old Excel file", ".ods": "an OpenDocument sheet", ".sav": "an SPSS file",
    ".dta": "a Stata file", ".rds": "an R file", ".rdata": "an R file", ".mat": "a MATLAB file",
    ".json": "JSON", ".pkl": "a pickle", ".npz": "an archive of arrays", ".zip": "an archive",
    ".h5": "an HDF5 file", ".orc": "an ORC file", ".avro": "an Avro file", ".db": "a database",
    ".sqlite": "a database", ".pdf": "a document", ".docx": "a document", ".html": "a web page",
}  # fmt: skip
