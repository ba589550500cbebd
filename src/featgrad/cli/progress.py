"""Progress of reading and searching: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.callback import FitCallback

from featgrad.plan import HELD_OUT_GROUPS, MOST_STEPS

_WIDTH = 30
_SECONDS_BETWEEN = 0.1


class Progress:
    """Progress messages of a command on standard error."""

    def __init__(self, quiet: bool) -> None:
        self._shows_bar = not quiet and sys.stderr.isatty()
        self._shows_lines = not quiet and not sys.stderr.isatty()
        self.task, self.done = "", 0
        self._total: int | None = None
        self._begun = self._drawn = time.monotonic()

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
        self.task, self._total, self.done = task, total, 0
        self._begun = self._drawn = time.monotonic()

    def advance(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if self._shows_bar and now - self._drawn >= _SECONDS_BETWEEN:
            self._drawn = now
            sys.stderr.write(f"\r{self._bar(now - self._begun)}\x1b[K")
            sys.stderr.flush()

    def note(self, line: str) -> None:
        """Print a line, above the bar if there is one."""
        if self._shows_bar or self._shows_lines:
            self.close()
            print(line, file=sys.stderr, flush=True)

    def line(self, line: str) -> None:
        """Print a line if there is no bar."""
        if self._shows_lines:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._shows_bar:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _bar(self, elapsed: float) -> str:
        speed = f"{self.done / elapsed:,.0f} rows/s" if self.task == "reading" else ""
        if self._total is None:
            return f"{self.task} {self.done:,} rows  {speed}"
        share = min(1.0, self.done / self._total)
        full = int(share * _WIDTH)
        left = elapsed * (1 - share) / share
        bar = "#" * full + "." * (_WIDTH - full)
        return f"{self.task} [{bar}] {share:4.0%}  {speed}  {left:.0f} s left"


class Searching(FitCallback):  # type: ignore[misc]
    """Counts the steps of a fit; the bar restarts after rows were read in between."""

    def __init__(self, progress: Progress, n_steps: int) -> None:
        self._progress, self._n_steps, self._steps = progress, n_steps, 0

    def on_fit_task_end(self, estimator: Any, context: Any, **more: Any) -> None:
        if context.parent is None:
            return
        if self._progress.task != "searching":
            self._progress.begin("searching", self._n_steps)
        self._progress.advance(1)
