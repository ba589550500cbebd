"""Command line: run the missing cells, then write the summary and the plots.

python -m benchmarks.quality [--sets a,b] [--roles development] [--selectors x,y] [--quick]
"""

import argparse
from pathlib import Path

from benchmarks.helpers.datasets import REGISTRY, default_sets, report_missing
from benchmarks.helpers.downloads import download_all
from benchmarks.helpers.peers import SELECTORS, TIMED
from benchmarks.helpers.quality.cells import forget, read_cells
from benchmarks.helpers.quality.plots import write_plots
from benchmarks.helpers.quality.run import Grid, run_grid
from benchmarks.helpers.quality.summary import write_summary
from benchmarks.helpers.roles import ROLES

CLASS_SIZES = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
SIZES = {"binary": CLASS_SIZES, "multiclass": CLASS_SIZES, "regression": (5, 10, 20, 30, 50, 100)}
# A forest at every size would cost more than all selections.
FOREST_SIZES = (10, 50, 200)
QUICK_SIZES = dict.fromkeys(SIZES, (5, 10, 50))
QUICK_SETS = (
    "madelon",
    "pcmac",
    "colon",
    "rcv1_sample",
    "lymphoma",
    "breast_cancer",
    "wine",
    "diabetes_products",
)
RESULTS = Path(__file__).resolve().parent / "results" / "quality"


def parse():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--sets", help=f"comma-separated names, or {' / '.join(SIZES)}")
    parser.add_argument("--roles", choices=ROLES, help="the sets of one role")
    parser.add_argument("--selectors", default=",".join(SELECTORS | TIMED))
    parser.add_argument("--quick", action="store_true", help="small sets, one split, three sizes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--time-limit", type=float, default=300, help="processor seconds per selection"
    )
    parser.add_argument("--summarise", action="store_true", help="run nothing, write the summary")
    parser.add_argument("--rerun", action="store_true", help="forget the chosen cells first")
    parser.add_argument("--download", action="store_true", help="fetch originals where possible")
    return parser.parse_args()


def chosen_sets(options):
    """Sets to run, in the order of the registry."""
    if options.sets and options.sets not in SIZES:
        return [REGISTRY[name] for name in options.sets.split(",")]
    sets = default_sets()
    if options.sets:
        sets = [dataset for dataset in sets if dataset.kind == options.sets]
    if options.roles:
        sets = [dataset for dataset in sets if dataset.name in ROLES[options.roles]]
    return [dataset for dataset in sets if dataset.name in QUICK_SETS] if options.quick else sets


def main():
    options = parse()
    if options.summarise:
        print(write_summary(list(read_cells(options.out / "cells.jsonl").values()), options.out))
        return
    if options.download:
        download_all()
    for line in report_missing():
        print(line)
    out = options.out / "quick" if options.quick else options.out
    grid = Grid(
        path=out / "cells.jsonl",
        sets=chosen_sets(options),
        selectors=options.selectors.split(","),
        sizes=QUICK_SIZES if options.quick else SIZES,
        seed=options.seed,
        time_limit=options.time_limit,
        first_split_only=options.quick,
        forest_sizes=FOREST_SIZES,
    )
    if options.rerun:
        forget(grid.path, {dataset.name for dataset in grid.sets}, set(grid.selectors))
    cells = run_grid(grid)
    print(write_summary(cells, out))
    write_plots(cells, out)


if __name__ == "__main__":
    main()
