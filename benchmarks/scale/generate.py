"""Write data of the shape of webspam (Arrow) or Criteo (TSV text) with planted features.

    python -m benchmarks.scale.generate webspam FILE.arrow [--rows 280000] [--features 16609143]
    python -m benchmarks.scale.generate criteo FILE.tsv [--rows 10000000]

The planted columns or tokens are written beside it, to FILE.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.helpers.scale import criteo, webspam
from featgrad.readers import convert


def write_webspam(path: Path, **shape: int) -> list[int]:
    """Write rows as Arrow lists; returns the planted columns."""
    source = webspam.WebspamLike(**shape)
    convert(source, path)
    planted = sorted(source.planted.tolist())
    keep(path, {"planted": planted, **shape})
    return planted


def write_criteo(path: Path, n_rows: int, seed: int = 0) -> list[dict[str, str]]:
    """Write text; returns the planted tokens with their columns."""
    planted = criteo.write(path, n_rows, seed=seed)
    keep(path, {"planted": planted, "n_rows": n_rows, "seed": seed})
    return planted


def read_planted(path: Path) -> list:
    """What was planted in a written file."""
    return json.loads(path.with_suffix(".json").read_text())["planted"]


def keep(path: Path, facts: dict) -> None:
    """Write down beside a file what was planted in it."""
    path.with_suffix(".json").write_text(json.dumps(facts) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", choices=["webspam", "criteo"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--features", type=int, default=webspam.N_FEATURES)
    parser.add_argument("--per-row", type=int, default=webspam.PER_ROW)
    parser.add_argument("--planted", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.shape == "criteo":
        write_criteo(options.path, options.rows or 10_000_000, seed=options.seed)
        return
    write_webspam(
        options.path,
        n_rows=options.rows or webspam.N_ROWS,
        n_features=options.features,
        per_row=options.per_row,
        n_planted=options.planted,
        seed=options.seed,
    )


if __name__ == "__main__":
    main()
