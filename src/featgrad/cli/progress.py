"""How far a search has come: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

_WIDTH = 30
# At most; a fit that needs fewer makes the bar jump.
_STEPS_PER_FIT = 120
_SECONDS_BETWEEN = 0.1


class Progress:
    """A callback of scikit-learn that counts the steps of one or several fits.

    Parameters
    ----------
    n_rows : int
        Rows that each step reads.
    n_fits : int
        How many fits there will be.
    quiet : bool
        Whether to say nothing.
    """

    def __init__(self, n_rows: int, n_fits: int, quiet: bool) -> None:
        self._n_rows, self._n_fits = n_rows, n_fits
        self._shows_bar = not quiet and sys.stderr.isatty()
        self._shows_lines = not quiet and not sys.stderr.isatty()
        self._begun = self._drawn = time.monotonic()
        self._fits_done = self._steps = self._steps_in_fit = 0

    def setup(self, estimator: Any, context: Any) -> None:
        self._steps_in_fit = 0

    def teardown(self, estimator: Any, context: Any) -> None:
        self._fits_done += 1

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        if context.parent is None:
            return
        self._steps += 1
        self._steps_in_fit += 1
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

    def fit_done(self, line: str) -> None:
        """A line in place of a bar."""
        if self._shows_lines:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._shows_bar:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _bar(self, elapsed: float) -> str:
        within = min(1.0, self._steps_in_fit / _STEPS_PER_FIT)
        done = min(1.0, (self._fits_done + within) / self._n_fits)
        full = int(done * _WIDTH)
        left = elapsed * (1 - done) / done
        speed = self._steps * self._n_rows / elapsed
        bar = "#" * full + "." * (_WIDTH - full)
        return f"[{bar}] {done:4.0%}  {speed:,.0f} rows/s  {left:.0f} s left"
