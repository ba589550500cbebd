"""Progress of a long run: a bar on a terminal, plain lines elsewhere."""

import sys
import time

WIDTH = 30


class Progress:
    """Counts finished steps; `step` reports one with a short text."""

    def __init__(self, total):
        self.total = total
        self.done = 0
        self.start = time.monotonic()

    def step(self, text):
        self.done += 1
        print(f"\r\033[K{text}" if sys.stdout.isatty() else f"[{self.done}/{self.total}] {text}")
        if sys.stdout.isatty() and self.done < self.total:
            filled = WIDTH * self.done // self.total
            left = (time.monotonic() - self.start) / self.done * (self.total - self.done)
            bar = "#" * filled + "." * (WIDTH - filled)
            print(f"[{bar}] {self.done}/{self.total}, about {left:.0f} s left", end="")
        sys.stdout.flush()
