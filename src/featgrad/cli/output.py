"""Output of the commands: progress, text, JSON and files, which overwrite nothing that is read."""

import csv
import json
import math
import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from featgrad._support.array_api import dense
from featgrad._support.atomic import atomic_path
from featgrad._support.sklearn_compat import FitCallback
from featgrad._support.wording import visible
from featgrad.cli.arguments import UsageError
from featgrad.estimates.diagnosis import Concern
from featgrad.estimates.estimate import Estimate
from featgrad.math.targets import is_missing
from featgrad.readers import Block
from featgrad.readers.block import InvalidRows
from featgrad.readers.columns import Table
from featgrad.readers.formats import FORMATS, VAGUE, is_named, suffix_of
from featgrad.readers.frames import require_pyarrow

# Seconds between two counts.
_INTERVAL_S = 0.1


class Progress(FitCallback):  # type: ignore[misc]
    """Progress of a command on standard error: lines, and on a terminal one that counts.

    As a scikit-learn callback it counts the steps of a fit; rows may be read in between.
    """

    def __init__(self, quiet: bool) -> None:
        self._is_quiet, self._counts = quiet, not quiet and sys.stderr.isatty()
        self._task, self._total = "", 0
        self.done, self._begun, self._shown = 0, 0.0, 0.0

    @contextmanager
    def reading(self, expected_rows: int | None) -> Iterator[None]:
        """Context in which rows are read; `advance` counts them."""
        self._begin("reading", expected_rows or 0)
        try:
            yield
        finally:
            self.close()
        # Not reached if reading stops early.
        seconds = max(1e-9, time.monotonic() - self._begun)
        self.note(f"read {self.done:,} rows, {self.done / seconds:,.0f} rows/s")

    def on_fit_task_end(self, estimator: Any, context: Any, **more: Any) -> None:
        if context.parent is not None:
            if self._task != "searching":
                self._begin("searching", 0)
            self.advance(1)

    def _begin(self, task: str, total: int) -> None:
        self._task, self._total, self.done, self._begun = task, total, 0, time.monotonic()

    def advance(self, count: int) -> None:
        self.done += count
        if self._counts and time.monotonic() - self._shown >= _INTERVAL_S:
            self._shown = time.monotonic()
            share = f", {min(1, self.done / self._total):.0%}" if self._total else ""
            unit = "rows" if self._task == "reading" else "steps"
            self._write(f"{self._task}: {self.done:,} {unit}{share}")

    def note(self, line: str) -> None:
        """Print a line that stays."""
        if not self._is_quiet:
            self.close()
            print(visible(line), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Remove the line that counts."""
        if self._counts:
            self._write("")

    def _write(self, text: str) -> None:
        print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)


SELECTION_FORMATS = (".json", ".csv", ".txt")
REPORT_FORMATS = (".html", ".htm")
_WRITTEN = [FORMATS[name].suffixes for name in ("csv", "tsv", "parquet", "arrow")]
TABLE_FORMATS = [suffix for suffixes in _WRITTEN for suffix in suffixes if suffix not in VAGUE]


def write_selection(selection: dict[str, Any], path: Path) -> None:
    """Everything as JSON, features and gains as CSV, or one feature per line."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        if suffix_of(path) == ".json":
            json.dump(selection, file, indent=2, ensure_ascii=False)
            file.write("\n")
        elif suffix_of(path) == ".csv":
            writer = csv.writer(file)
            writer.writerow(["feature", "gain", "standard_error"])
            names = map(_as_cell, selection["features"])
            columns = (names, selection["gains"], selection["gain_errors"])
            writer.writerows(zip(*columns, strict=True))
        else:
            # Escaped, so that each name takes one line.
            file.writelines(f"{visible(name)}\n" for name in selection["features"])


def _as_cell(name: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def columns_of_blocks(
    blocks: Iterable[Block], features: Any, names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Some features and the target, whose name is last, of rows that have no columns."""
    for block in blocks:
        X = dense(block.X[:, features])
        yield dict(zip(names, [*X.T, block.y], strict=True))


def columns_of_table(
    table: Table, names: Sequence[str], invalid: InvalidRows
) -> Iterator[dict[str, Any]]:
    """Columns of a table as they are, the target last, of the rows that have one."""
    plain = {name for name in names if table.kinds[name] == "number"}
    numbers = [n for n in names if n in plain and not getattr(table.kinds[n], "unit", "")]
    texts = [name for name in names if name not in numbers]
    for chunk in table.chunks(numbers, texts, invalid):
        kept = np.ones(chunk.numbers.shape[1], bool)
        kept[list(chunk.reasons)] = False
        columns: dict[str, Any] = dict(zip(numbers, chunk.numbers, strict=True))
        for name, tokens in chunk.texts.items():
            present = tokens.trimmed().present
            found = [tokens.token(i).decode("utf-8", "replace") for i in range(len(tokens))]
            columns[name] = np.array(found, object)
            columns[name][~present] = None
        kept &= ~is_missing(columns[names[-1]])
        yield {name: columns[name][kept] for name in names}


def write_table(blocks: Iterable[dict[str, Any]], path: Path) -> None:
    """Write columns, block by block."""
    with atomic_path(path) as temporary, ExitStack() as stack:
        if is_named(path, "csv") or is_named(path, "tsv"):
            file = stack.enter_context(temporary.open("w", encoding="utf-8", newline=""))
            rows = csv.writer(file, delimiter="\t" if is_named(path, "tsv") else ",")
            for i, block in enumerate(blocks):
                rows.writerows([map(_as_cell, block)] * (i == 0))
                rows.writerows(zip(*map(_as_text, block.values()), strict=True))
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        writer = None
        for block in blocks:
            batch = pa.record_batch([*block.values()], names=[*block])
            open_writer = pq.ParquetWriter if is_named(path, "parquet") else pa.ipc.new_file
            writer = writer or stack.enter_context(open_writer(temporary, batch.schema))
            writer.write_batch(batch)


def _as_text(column: Any) -> list[Any]:
    """Numbers with as many digits as they need; missing values are empty."""
    if column.dtype.kind != "f":
        return list(column)
    return ["" if text == "nan" else text.removesuffix(".0") for text in column.astype(str)]


def as_json(estimate: Estimate | None) -> dict[str, Any]:
    assert estimate is not None  # every command estimates
    low, high = estimate.interval
    return {
        "explained": None if math.isnan(estimate.value) else estimate.value,
        "low": low,
        "high": high,
        "n_features": estimate.n_features,
        "is_lower_bound": estimate.is_lower_bound,
        "is_optimistic": estimate.is_optimistic,
    }


def show(answer: dict[str, Any], text: str, *, json_output: bool) -> None:
    """Print the answer or the text, without control characters that a terminal would obey."""
    if json_output:
        text = json.dumps(answer, ensure_ascii=False)
    print("\n".join(map(visible, text.split("\n"))))


def warned(concerns: Iterable[Concern]) -> list[str]:
    return [f"warning: {concern.title.lower()}. {concern}" for concern in concerns]


def check_outputs(arguments: Namespace, suffixes: dict[str, Sequence[str]]) -> None:
    """Check that files can be written, each with a suffix of its option if that has any.

    Neither FILE nor an output of another option is overwritten, by whatever link or spelling.
    """
    given = arguments.file if isinstance(arguments.file, list) else [arguments.file]
    files = [file for file in given if isinstance(file, Path)]
    used = {os.path.realpath(file): "FILE" for file in files}
    for name, allowed in suffixes.items():
        path, option = getattr(arguments, name), "OUT" if name == "out_file" else f"--{name}"
        if path is None:
            continue
        shown = f"{option} {str(path)!r}"
        if allowed and suffix_of(path) not in allowed:
            raise UsageError(f"{shown} has no known suffix: use {', '.join(allowed)}.")
        if is_named(path, "parquet") or is_named(path, "arrow"):
            require_pyarrow(f"Writing {str(path)!r}")
        if not path.parent.is_dir():
            raise UsageError(f"{shown} is in a folder that does not exist: create {path.parent}.")
        if path.is_dir():
            raise UsageError(f"{shown} is a folder: name a file.")
        same = path.exists() and any(file.exists() and path.samefile(file) for file in files)
        other = "FILE" if same else used.get(os.path.realpath(path))
        if other is not None:
            raise UsageError(f"{shown} is the same file as {other}: name another one.")
        used[os.path.realpath(path)] = option
