"""How far a search has come: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

_WIDTH = 30
# At most; a size that needs fewer makes the bar jump.
_STEPS_PER_SIZE = 40
_SECONDS_BETWEEN = 0.1


class Progress:
    """A callback of scikit-learn that counts the steps of a fit.

    Parameters
    ----------
    n_rows : int
        Rows that each step reads.
    n_sizes : int
        How many sizes are searched for.
    quiet : bool
        Whether to say nothing.
    """

    def __init__(self, n_rows: int, n_sizes: int, quiet: bool) -> None:
        self._n_rows, self._n_steps = n_rows, n_sizes * _STEPS_PER_SIZE
        self._shows_bar = not quiet and sys.stderr.isatty()
        self._shows_lines = not quiet and not sys.stderr.isatty()
        self._begun = self._drawn = time.monotonic()
        self._steps = 0

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        if context.parent is None:
            return
        self._steps += 1
        now = time.monotonic()
        if self._shows_bar and now - self._drawn >= _SECONDS_BETWEEN:
            self._drawn = now
            sys.stderr.write(f"\r{self._bar(now - self._begun)}\x1b[K")
            sys.stderr.flush()

    def note(self, line: str) -> None:
        """A line above the bar, or where there is none."""
        if self._shows_bar or self._shows_lines:
            self.close()
            print(line, file=sys.stderr, flush=True)

    def line(self, line: str) -> None:
        """A line in place of a bar."""
        if self._shows_lines:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._shows_bar:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _bar(self, elapsed: float) -> str:
        done = min(1.0, self._steps / self._n_steps)
        full = int(done * _WIDTH)
        left = elapsed * (1 - done) / done
        speed = self._steps * self._n_rows / elapsed
        bar = "#" * full + "." * (_WIDTH - full)
        return f"[{bar}] {done:4.0%}  {speed:,.0f} rows/s  {left:.0f} s left"
