"""Command line: run the missing cells, then write the summary and the plots.

python -m benchmarks.quality [--sets a,b] [--selectors x,y] [--quick] [--out FOLDER]
"""

import argparse
from pathlib import Path

from benchmarks.datasets import REGISTRY, default_sets, report_missing
from benchmarks.peers import SELECTORS
from benchmarks.progress import Progress
from benchmarks.quality.cells import append_cell, forget, identity, is_final, read_cells
from benchmarks.quality.evaluate import auc_on_test_rows
from benchmarks.quality.isolated import select_isolated
from benchmarks.quality.plots import write_plots
from benchmarks.quality.summary import write_summary

SIZES = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300)
QUICK_SIZES = (5, 20, 100)
QUICK_SETS = ("madelon", "pcmac", "colon", "rcv1_sample", "lymphoma", "breast_cancer", "wine")
RESULTS = Path(__file__).resolve().parents[1] / "results" / "quality"


def parse():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--sets", help="comma-separated names, or binary / multiclass")
    parser.add_argument("--selectors", default=",".join(SELECTORS))
    parser.add_argument("--quick", action="store_true", help="small sets, one split, three sizes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=300, help="seconds per selection")
    parser.add_argument("--rerun", action="store_true", help="forget the chosen cells first")
    parser.add_argument("--download", action="store_true", help="fetch originals where possible")
    return parser.parse_args()


def chosen_sets(options):
    """Sets to run, in the order of the registry."""
    if options.sets in ("binary", "multiclass"):
        return [dataset for dataset in default_sets() if dataset.kind == options.sets]
    if options.sets:
        return [REGISTRY[name] for name in options.sets.split(",")]
    sets = default_sets()
    return [dataset for dataset in sets if dataset.name in QUICK_SETS] if options.quick else sets


def empty_cell(dataset, index, split, selector, options):
    """The part of a cell that is known before it runs."""
    rows, columns = split.X_train.shape
    sizes = QUICK_SIZES if options.quick else SIZES
    return {
        "set": dataset.name,
        "kind": dataset.kind,
        "split": index,
        "rows": rows,
        "columns": columns,
        "selector": selector,
        "seed": options.seed,
        "ks": [k for k in sizes if k < columns],
    }


def run_cell(cell, split, time_limit):
    """The finished cell: AUC per size, seconds and bytes, or the reason why it is missing."""
    result = select_isolated(
        cell["selector"], split.X_train, split.y_train, cell["ks"], cell["seed"], time_limit
    )
    if "missing" in result:
        return cell | result
    auc = {
        k: round(auc_on_test_rows(split, columns), 5) for k, columns in result.pop("chosen").items()
    }
    return (
        cell
        | {"auc": auc, "seconds": round(result["seconds"], 3)}
        | {"peak_bytes": result["peak_bytes"]}
    )


def describe(cell):
    """One line about a finished cell."""
    head = f"{cell['set']} split {cell['split']} {cell['selector']}"
    if "missing" in cell:
        return f"{head}: {cell['missing']}"
    mean = sum(cell["auc"].values()) / len(cell["auc"])
    return f"{head}: mean AUC {mean:.4f}, {cell['seconds']:.1f} s, {cell['peak_bytes'] >> 20} MB"


def run(options, path):
    """Run every cell that is not in the file yet."""
    selectors = options.selectors.split(",")
    sets = chosen_sets(options)
    if options.rerun:
        forget(path, {dataset.name for dataset in sets}, set(selectors))
    finished = {key for key, cell in read_cells(path).items() if is_final(cell)}
    counts = [1 if options.quick else max(dataset.n_splits, 1) for dataset in sets]
    progress = Progress(sum(counts) * len(selectors))
    for dataset in sets:
        for index, split in dataset.splits():
            if options.quick and index > 0:
                break
            for selector in selectors:
                cell = empty_cell(dataset, index, split, selector, options)
                if identity(cell) in finished:
                    progress.step(f"{dataset.name} split {index} {selector}: done before")
                    continue
                cell = run_cell(cell, split, options.time_limit)
                append_cell(path, cell)
                progress.step(describe(cell))


def main():
    options = parse()
    if options.download:
        from benchmarks.downloads import download_all

        download_all()
    for line in report_missing():
        print(line)
    out = options.out / "quick" if options.quick else options.out
    run(options, out / "cells.jsonl")
    cells = list(read_cells(out / "cells.jsonl").values())
    print(write_summary(cells, out))
    write_plots(cells, out)


if __name__ == "__main__":
    main()
