"""Remake the paper's figures.

    python -m benchmarks.paper [--quick] [--out FOLDER]

Scatter of AUC against ANOVA F and mutual information, AUC by order, maps of chosen pixels, and the
large sparse sets against MISSION. Sets whose files are absent are skipped and named.
"""

import argparse
import json
from pathlib import Path

from benchmarks.helpers.paper import figures
from benchmarks.helpers.paper.sets import LARGE, Subsampled, preferred
from benchmarks.helpers.paper.summary import markdown
from benchmarks.helpers.quality.isolated import select_isolated
from benchmarks.helpers.quality.run import Grid, run_grid

SIZES = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
MAP_SIZES = (10, 25, 50, 100, 200)
OURS = ("featgrad_paper", "featgrad")
PEERS = ("anova", "mutual_information")
ORDERS = [f"featgrad_order{n}" if n != 4 else "featgrad_paper" for n in range(1, 7)]
RESULTS = Path(__file__).resolve().parent / "results" / "paper"
TIME_LIMIT = 900


def parse():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one row sample, no large sets")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def grid(out, sets, selectors):
    """A run over the paper's sizes."""
    return Grid(
        path=out / "cells.jsonl",
        sets=sets,
        selectors=list(selectors),
        sizes={"binary": SIZES},
        seed=0,
        time_limit=TIME_LIMIT,
        first_split_only=False,
    )


def image_sets(*samples):
    """mnist35 and gisette, or its look-alike, each in so many row samples."""
    found = [preferred("mnist35_noisy"), preferred("gisette", "gisette_like")]
    return [Subsampled(base, count) for base, count in zip(found, samples, strict=True) if base]


def large_sets():
    """rcv1, or its sample, and the two large shapes."""
    rcv1 = preferred("rcv1", "rcv1_sample")
    return [dataset for dataset in [rcv1, *LARGE] if dataset and not dataset.missing()]


def draw_maps(out):
    """Pixels of mnist35 chosen by ANOVA F (above) and by this library (below)."""
    base = preferred("mnist35_noisy")
    (_, split), *_ = base.splits()
    chosen = {}
    for selector in ("anova", "featgrad"):
        result = select_isolated(selector, split.X_train, split.y_train, MAP_SIZES, 0, TIME_LIMIT)
        if "missing" in result:
            print(f"maps, {selector}: {result['missing']}")
        else:
            chosen[selector] = {int(k): columns for k, columns in result["chosen"].items()}
    figures.pixel_maps(chosen, out / "pixels_mnist35.svg")


def draw_images(out, quick, tests):
    """Scatter, maps and orders; the cells, and the names of the sets."""
    sets = image_sets(1, 1) if quick else image_sets(3, 3)
    if not sets:
        print("mnist is missing: no scatter, orders or maps (see --download of the quality run)")
        return [], []
    cells = run_grid(grid(out, sets, PEERS + OURS))
    names = [dataset.name for dataset in sets]
    for name in names:
        for ours in OURS:
            path = out / f"scatter_{name}_{ours}.svg"
            tests[f"{name} {ours}"] = figures.scatter(cells, name, ours, PEERS, path)
    draw_maps(out)
    # All six orders on one sample of gisette take the better part of an hour already.
    sets = image_sets(1, 1) if quick else image_sets(3, 1)
    cells = run_grid(grid(out, sets, ORDERS))
    tests["order 6 against 1"] = figures.orders(cells, names, ORDERS, out / "orders.svg")
    return cells, names


def draw_large(out):
    """Large sparse sets against MISSION; the cells, and the names of the sets."""
    sets = large_sets()
    cells = run_grid(grid(out, sets, ("mission", *OURS)))
    names = [dataset.name for dataset in sets]
    figures.large(cells, names, out / "large.svg")
    return cells, names


def main():
    options = parse()
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    tests = {}
    cells, images = draw_images(out, options.quick, tests)
    large = []
    if not options.quick:
        cells, large = draw_large(out)
    (out / "tests.json").write_text(json.dumps(tests, indent=1) + "\n")
    page = markdown(cells, images, large, PEERS + OURS, ORDERS, tests)
    (out / "summary.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
