"""Figures of the speed benchmark, kept in a file from which the documentation is made."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).resolve().parents[1] / "results" / "speed" / "results.json"
_SENSES = {"<=": operator.le, ">=": operator.ge}


class Figure(NamedTuple):
    """One number about some data, and what is asked of it: a sense and a bound, or nothing."""

    data: str
    rows: int
    bar: str
    measured: float
    unit: str
    asked: str | None = None

    @property
    def met(self) -> bool | None:
        if self.asked is None:
            return None
        sense, bound = self.asked.split()
        return bool(_SENSES[sense](self.measured, float(bound)))

    def __str__(self) -> str:
        asked = "" if self.asked is None else f" (asked {self.asked})"
        return f"{self.data}: {self.bar} {self.measured:.3g} {self.unit}{asked}"


def write(figures: Sequence[Figure]) -> None:
    entries = [
        {
            **figure._asdict(),
            "measured": float(f"{figure.measured:.3g}"),
            "met": figure.met,
            "command": "python -m benchmarks.speed",
        }
        for figure in figures
    ]
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(entries, indent=1) + "\n")
