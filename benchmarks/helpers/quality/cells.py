"""The file of finished cells, one JSON line each, which makes a run resumable.

A cell is one selector on one split of one set, with all sizes: "score" by the linear judge and
"forest" by the forest, {size: score} each, and the commit that was run, which older cells lack.
"""

import json

from benchmarks.helpers.provenance import commit


def identity(cell):
    """What makes a cell the same cell."""
    return cell["set"], cell["split"], cell["selector"], cell["seed"], tuple(cell["ks"])


def read_cells(path):
    """Finished cells by identity; a half-written last line is skipped.

    Older files have the key "auc", from when there were no other scores.
    """
    cells = {}
    if path.is_file():
        for line in path.read_text().splitlines():
            try:
                cell = json.loads(line)
            except json.JSONDecodeError:
                continue
            if "auc" in cell:
                cell["score"] = cell.pop("auc")
            cells[identity(cell)] = cell
    return cells


def is_final(cell):
    """False for a selector that was not installed or failed: it deserves another try."""
    return not cell.get("missing", "").startswith(("not installed", "failed"))


def append_cell(path, cell):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lines:
        lines.write(json.dumps(cell | {"commit": commit()}) + "\n")


def forget(path, sets, selectors):
    """Drop the cells of these sets and selectors, so that they run again."""
    kept = [
        cell
        for cell in read_cells(path).values()
        if cell["set"] not in sets or cell["selector"] not in selectors
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(cell) + "\n" for cell in kept))
