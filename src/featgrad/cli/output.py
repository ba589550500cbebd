"""Output of the commands: progress, text, JSON and files, which overwrite nothing that is read."""

import csv
import json
import math
import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sklearn.callback import FitCallback

from featgrad._support.array_api import dense
from featgrad._support.atomic import atomic_path
from featgrad.cli.arguments import UsageError
from featgrad.estimates.estimate import Estimate
from featgrad.plan import HELD_OUT_GROUPS, MOST_STEPS
from featgrad.readers import Block
from featgrad.report.text import visible


class Progress:
    """Progress messages of a command on standard error."""

    def __init__(self, quiet: bool) -> None:
        has_bar = not quiet and sys.stderr.isatty() and find_spec("rich") is not None
        self._bar: Any = _bar() if has_bar else None
        self._shows_lines = not quiet and not has_bar
        self.task, self.done = "", 0
        self._begun = time.monotonic()

    @contextmanager
    def reading(self, expected_rows: int | None) -> Iterator[None]:
        """Context in which rows are read; `advance` counts them."""
        self.begin("reading", expected_rows)
        try:
            yield
        finally:
            self.close()
        # Not reached if reading stops early.
        seconds = max(1e-9, time.monotonic() - self._begun)
        self.line(f"read {self.done:,} rows, {self.done / seconds:,.0f} rows/s")

    def searching(self, n_sizes: int) -> "Searching":
        """A scikit-learn callback for a search over this many sizes."""
        return Searching(self, n_sizes * (1 + HELD_OUT_GROUPS) * MOST_STEPS)

    def begin(self, task: str, total: int | None) -> None:
        """Restart the count, up to a total if it is known."""
        self.close()
        self.task, self.done, self._begun = task, 0, time.monotonic()
        if self._bar is not None:
            self._bar.add_task(task, total=total, count="")
            self._bar.start()

    def advance(self, count: int) -> None:
        self.done += count
        if self._bar is not None:
            text = f"{self.done:,} rows" if self.task == "reading" else ""
            self._bar.update(self._bar.task_ids[0], completed=self.done, count=text)

    def note(self, line: str) -> None:
        """Print a line, above the bar if there is one."""
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        self.line(line)

    def line(self, line: str) -> None:
        """Print a line if there is no bar."""
        if self._shows_lines:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            for task in self._bar.task_ids:
                self._bar.remove_task(task)


def _bar() -> Any:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[count]}"),
        progress.TimeRemainingColumn(),
    )
    return progress.Progress(*columns, console=Console(stderr=True), transient=True)


class Searching(FitCallback):  # type: ignore[misc]
    """Counts the steps of a fit; the bar restarts after rows were read in between."""

    def __init__(self, progress: Progress, n_steps: int) -> None:
        self._progress, self._n_steps = progress, n_steps

    def on_fit_task_end(self, estimator: Any, context: Any, **more: Any) -> None:
        if context.parent is None:
            return
        if self._progress.task != "searching":
            self._progress.begin("searching", self._n_steps)
        self._progress.advance(1)


SELECTION_FORMATS = (".json", ".csv", ".txt")
REPORT_FORMATS = (".html", ".htm")
TABLE_FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")


def write_selection(selection: dict[str, Any], path: Path) -> None:
    """Everything as JSON, features and gains as CSV, or one feature per line."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".json":
            json.dump(selection, file, indent=2, ensure_ascii=False)
            file.write("\n")
        elif path.suffix == ".csv":
            writer = csv.writer(file)
            writer.writerow(["feature", "gain", "standard_error"])
            names = map(_as_cell, selection["features"])
            columns = (names, selection["gains"], selection["gain_errors"])
            writer.writerows(zip(*columns, strict=True))
        else:
            file.writelines(f"{name}\n" for name in selection["features"])


def _as_cell(name: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def write_table(
    blocks: Iterable[Block], features: Any, names: Sequence[str], target: str, path: Path
) -> None:
    """Write the selected features and the target, block by block."""
    import pyarrow as pa

    with atomic_path(path) as temporary:
        writer = None
        try:
            for block in blocks:
                X = dense(block.X[:, features])
                batch = pa.record_batch([*X.T, block.y], names=[*names, target])
                writer = writer or _writer(temporary, batch.schema)
                writer.write_batch(batch)
        finally:
            if writer is not None:
                writer.close()


def _writer(path: Path, schema: Any) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        return pq.ParquetWriter(path, schema)
    if path.suffix in (".arrow", ".feather"):
        return pa.ipc.new_file(path, schema)
    delimiter = "\t" if path.suffix == ".tsv" else ","
    return pc.CSVWriter(path, schema, write_options=pc.WriteOptions(delimiter=delimiter))


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
        if allowed and path.suffix.lower() not in allowed:
            raise UsageError(f"{shown} has no known suffix: use {', '.join(allowed)}.")
        if not path.parent.is_dir():
            raise UsageError(f"{shown} is in a folder that does not exist: create {path.parent}.")
        if path.is_dir():
            raise UsageError(f"{shown} is a folder: name a file.")
        same = path.exists() and any(file.exists() and path.samefile(file) for file in files)
        other = "FILE" if same else used.get(os.path.realpath(path))
        if other is not None:
            raise UsageError(f"{shown} is the same file as {other}: name another one.")
        used[os.path.realpath(path)] = option
