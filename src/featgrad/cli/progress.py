"""Progress of reading and searching: a bar on a terminal with rich, else plain lines."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from sklearn.callback import FitCallback

from featgrad.plan import HELD_OUT_GROUPS, MOST_STEPS


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
