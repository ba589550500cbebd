"""Figures of the benchmarks of speed and at scale, in files that every command adds to.

`results.json` in `benchmarks/results/scale` and `speed` is a flat list of figures, sorted by data
and bar:

    {"bar": "epoch beside a bare reading",   what is measured
     "data": "webspam shape",                on what
     "rows": 280000,                         how many rows of it
     "measured": 5.1, "unit": "x",
     "asked": "<= 6",                        null for a figure that is only told
     "met": true,                            null where nothing is asked
     "command": "python -m benchmarks.scale.epoch webspam.arrow --size 1000 --batch-rows 1000",
     "date": "2026-11-18", "commit": "ad5d458d676b"}     which older figures lack

A figure takes the place of the one with the same bar, data and rows. `summary.md` beside it is the
same as a table.
"""

from __future__ import annotations

import json
import operator
from pathlib import Path
from typing import NamedTuple

from benchmarks.helpers.provenance import commit, today

RESULTS = Path(__file__).resolve().parents[1] / "results"
_SENSES = {"<=": operator.le, ">=": operator.ge, ">": operator.gt}
_HEAD = """# {title}

| data | rows | figure | measured | asked | met |
|---|---|---|---|---|---|
"""


class Figure(NamedTuple):
    """One number, and what is asked of it: a sense and a bound, such as "<= 6"."""

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


def record(
    data: str,
    rows: int,
    command: str,
    figures: list[Figure],
    folder: Path = RESULTS / "scale",
    title: str = "Larger than memory",
) -> None:
    """Add figures to the file, or put them in the place of older ones."""
    path = folder / "results.json"
    known = json.loads(path.read_text()) if path.exists() else []
    new = [
        {
            "bar": figure.bar,
            "data": data,
            "rows": rows,
            "measured": float(f"{figure.measured:.4g}"),
            "unit": figure.unit,
            "asked": figure.asked,
            "met": figure.met,
            "command": command,
            "date": today(),
            "commit": commit(),
        }
        for figure in figures
    ]
    merged = {_key(entry): entry for entry in known + new}
    entries = [merged[key] for key in sorted(merged)]
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries, indent=1) + "\n")
    (folder / "summary.md").write_text(_HEAD.format(title=title) + "".join(map(_row, entries)))


def _key(entry: dict) -> tuple[str, int, str]:
    return entry["data"], entry["rows"], entry["bar"]


def _row(entry: dict) -> str:
    met = {True: "yes", False: "no", None: ""}[entry["met"]]
    measured, unit = f"{entry['measured']:,.10g}", entry["unit"]
    return (
        f"| {entry['data']} | {entry['rows']:,} | {entry['bar']} | {measured} {unit} "
        f"| {entry['asked'] or ''} | {met} |\n"
    )
