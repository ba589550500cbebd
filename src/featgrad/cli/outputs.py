"""Output of the commands: text, JSON and files."""

import csv
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scipy import sparse

from featgrad._support.atomic import atomic_path
from featgrad.estimate import Estimate
from featgrad.readers import Block
from featgrad.report.text import visible

SELECTION_FORMATS = (".json", ".csv", ".txt")
TABLE_FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".feather")


def write_selection(selection: dict[str, Any], path: Path) -> None:
    """Everything as JSON, features and gains as CSV, or one feature per line."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".json":
            json.dump(selection, file, indent=2, ensure_ascii=False)
            file.write("\n")
        elif path.suffix == ".csv":
            writer = csv.writer(file)
            writer.writerow(["feature", "gain", "standard_error"])
            names = map(_as_cell, selection["features"])
            columns = (names, selection["gains"], selection["gain_errors"])
            writer.writerows(zip(*columns, strict=True))
        else:
            file.writelines(f"{name}\n" for name in selection["features"])


def _as_cell(name: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name


def write_table(
    blocks: Iterable[Block], features: Any, names: Sequence[str], target: str, path: Path
) -> None:
    """Write the selected features and the target, block by block."""
    import pyarrow as pa

    with atomic_path(path) as temporary:
        writer = None
        try:
            for block in blocks:
                X = block.X[:, features]
                X = X.toarray() if sparse.issparse(X) else X
                batch = pa.record_batch([*X.T, block.y], names=[*names, target])
                writer = writer or _writer(temporary, batch.schema)
                writer.write_batch(batch)
        finally:
            if writer is not None:
                writer.close()


def _writer(path: Path, schema: Any) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        return pq.ParquetWriter(path, schema)
    if path.suffix in (".arrow", ".feather"):
        return pa.ipc.new_file(path, schema)
    delimiter = "\t" if path.suffix == ".tsv" else ","
    return pc.CSVWriter(path, schema, write_options=pc.WriteOptions(delimiter=delimiter))


def as_json(estimate: Estimate | None) -> dict[str, Any]:
    assert estimate is not None  # every command estimates
    low, high = estimate.interval
    return {
        "explained": None if math.isnan(estimate.value) else estimate.value,
        "low": low,
        "high": high,
        "n_features": estimate.n_features,
        "is_lower_bound": estimate.is_lower_bound,
        "is_optimistic": estimate.is_optimistic,
    }


def aligned(lines: dict[str, str]) -> str:
    """Labels and texts in two columns."""
    width = max(map(len, lines))
    return "\n".join(f"{label:<{width}}  {text}" for label, text in lines.items())


def show(answer: dict[str, Any], text: str, *, json_output: bool) -> None:
    """Print the answer or the text, without control characters that a terminal would obey."""
    if json_output:
        text = json.dumps(answer, ensure_ascii=False)
    print("\n".join(map(visible, text.split("\n"))))
