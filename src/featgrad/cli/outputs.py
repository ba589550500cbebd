"""What the commands write: for people, for machines, and to files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from featgrad.atomic import atomic_path
from featgrad.learnability import Estimate

SELECTION_FORMATS = (".json", ".csv", ".txt")


def write_selection(selection: dict[str, Any], path: Path) -> None:
    """Everything as JSON, features and gains as CSV, or features one per line."""
    with (
        atomic_path(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        if path.suffix == ".json":
            json.dump(selection, file, indent=2, ensure_ascii=False)
            file.write("\n")
        elif path.suffix == ".csv":
            writer = csv.writer(file)
            writer.writerow(["feature", "gain"])
            writer.writerows(zip(selection["features"], selection["gains"], strict=True))
        else:
            file.writelines(f"{name}\n" for name in selection["features"])


def as_json(estimate: Estimate) -> dict[str, Any]:
    low, high = estimate.interval
    return {
        "explained": estimate.value,
        "low": low,
        "high": high,
        "n_features": estimate.n_features,
        "error_rate": estimate.error_rate,
    }


def aligned(lines: dict[str, str]) -> str:
    """Labels and texts in two columns."""
    width = max(map(len, lines))
    return "\n".join(f"{label:<{width}}  {text}" for label, text in lines.items())


def show(answer: dict[str, Any], text: str, *, json_wanted: bool) -> None:
    print(json.dumps(answer, ensure_ascii=False) if json_wanted else text)
