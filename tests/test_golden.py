"""What known data give stays the same unless a change is meant.

After one that is meant, write the records anew, all of them or some files of tests/golden:
``python tests/test_golden.py [fits] [streams] ...``. The commit says why they changed.
"""

import json
import math
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from featgrad import Concern, Estimate, FeatureGradientSelector, OnlineFeatureSelector
from golden_cases import TABLES

FOLDER = Path(__file__).with_name("golden")
CASES = [(table, name) for table, cases in TABLES.items() for name in cases]
# Sums may be taken in another order; formulas may not change.
RELATIVE, ABSOLUTE = 3e-5, 1e-8
# Masks of mini-batches are of order 1, in single precision, and close to 0 where they cross it:
# what processors round differently adds up over the steps.
ABSOLUTE_OF_MASKS = 3e-6
# Of large sets, and of features that are not chosen, rounding decides the order: few are recorded.
N_BEST, N_NEXT = 12, 3
PARTS = {
    FeatureGradientSelector: (
        "task_", "n_features_", "learnability_", "score_", "path_", "sizes_", "certificate_",
        "stability_", "discoveries_", "concerns_",
    ),
    OnlineFeatureSelector: (
        "task_", "n_rows_seen_", "features_", "learnability_", "history_", "alarms_", "timeline_",
    ),
}  # fmt: skip


def record(value: Any) -> Any:
    """Whatever a case gives as JSON has it."""
    if parts := PARTS.get(type(value)):
        n_best = min(N_BEST, np.count_nonzero(value.get_support()) + N_NEXT)
        best = np.argsort(-value.scores_, kind="stable")[:n_best]
        made = {part: getattr(value, part) for part in parts}
        made |= {"best": best, "scores": value.scores_[best]}
        if plan := getattr(value, "plan_", None):
            made |= {
                "search": type(plan.search).__name__,
                "n_folds": plan.n_folds,
                "held_out": plan.held_out,
            }
        return record(made)
    if isinstance(value, Concern):
        return [value.kind, *value.features]
    if isinstance(value, Estimate):
        return {"interval": list(value.interval), **_fields(value)}
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, dict):
        return {key: record(part) for key, part in value.items()}
    if hasattr(value, "_asdict"):
        # Scores and estimates are those of the predictions.
        return record(
            {k: v for k, v in value._asdict().items() if k not in ("predictions", "names")}
        )
    if isinstance(value, list | tuple):
        return [record(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return record(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.8g}")
    return str(value) if isinstance(value, str) else value


def _fields(value: Any) -> dict[str, Any]:
    names = (field.name for field in fields(value) if field.name != "names")
    return {name: record(getattr(value, name)) for name in names}


def differences(
    found: Any, recorded: Any, where: str = "", absolute: float = ABSOLUTE
) -> list[str]:
    if isinstance(found, dict) and isinstance(recorded, dict) and {*found} == {*recorded}:
        pairs = [(found[key], recorded[key], f"{where}.{key}") for key in recorded]
    elif isinstance(found, list) and isinstance(recorded, list) and len(found) == len(recorded):
        pairs = [
            (*pair, f"{where}[{i}]") for i, pair in enumerate(zip(found, recorded, strict=True))
        ]
    elif found == recorded or (isinstance(recorded, float) and _close(found, recorded, absolute)):
        return []
    else:
        return [f"{where}: {found!r}, recorded {recorded!r}"]
    return [line for pair in pairs for line in differences(*pair, absolute)]


def _close(found: Any, recorded: float, absolute: float) -> bool:
    if math.isnan(recorded):
        return isinstance(found, float) and math.isnan(found)
    return isinstance(found, float | int) and math.isclose(
        found, recorded, rel_tol=RELATIVE, abs_tol=absolute
    )


def records(table: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{table}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("table", "name"), CASES)
def test_results_are_the_recorded_ones(table: str, name: str):
    absolute = ABSOLUTE_OF_MASKS if table == "mini_batches" else ABSOLUTE
    found = differences(record(TABLES[table][name]()), records(table)[name], absolute=absolute)
    assert not found, "\n".join(found[:30])


@pytest.mark.parametrize("table", TABLES)
def test_nothing_else_is_recorded(table: str):
    assert {*records(table)} == {*TABLES[table]}


if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        made = {name: record(case()) for name, case in TABLES[table].items()}
        lines = (
            f"{json.dumps(name)}: {json.dumps(made[name], ensure_ascii=False)}" for name in made
        )
        (FOLDER / f"{table}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
