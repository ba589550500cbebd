"""Measure this library by the protocols of two published tables.

    python -m benchmarks.published [--quick] [--out FOLDER]

Sets whose files are absent are named and left out.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

from benchmarks.helpers.peers import SELECTORS
from benchmarks.helpers.progress import Progress
from benchmarks.helpers.published.sets import SELECTOR_ROWS
from benchmarks.helpers.published.summary import markdown
from benchmarks.helpers.published.tables import TABLES

SIZE = 50
ALL_COLUMNS = "all columns"
CHOSEN = (ALL_COLUMNS, "anova", "l1_path", "lightgbm", "featgrad")
RESULTS = Path(__file__).resolve().parent / "results" / "published"


def parse():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one split, no set larger than mice")
    parser.add_argument("--selectors", default=",".join(CHOSEN))
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def select(selector, split, seed):
    """Columns chosen from training rows, the first of them where there are many."""
    if selector == ALL_COLUMNS:
        return np.arange(split.X_train.shape[1])
    X, y = split.X_train[:SELECTOR_ROWS], split.y_train[:SELECTOR_ROWS]
    return SELECTORS[selector](X, y, [SIZE], seed)[SIZE]


def accuracy(model, split, columns):
    model.fit(split.X_train[:, columns], split.y_train)
    return float(model.score(split.X_test[:, columns], split.y_test))


def run(jobs, selectors, repeats, out):
    """Accuracies of every selector on every set of the tables, written after each set."""
    results, progress = [], Progress(len(jobs) * len(selectors))
    for table, case in jobs:
        splits = [case.build(seed) for seed in range(min(case.repeats, repeats))]
        for selector in selectors:
            accuracies = [
                accuracy(table.judge(case, seed), split, select(selector, split, seed))
                for seed, split in enumerate(splits)
            ]
            named = {"table": table.name, "set": case.name, "selector": selector}
            results.append(named | {"accuracies": accuracies})
            progress.step(f"{table.name} {case.name} {selector}: {np.mean(accuracies):.3f}")
        (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    return results


def main():
    options = parse()
    warnings.simplefilter("ignore")
    out = options.out / "quick" if options.quick else options.out
    jobs = [(table, case) for table in TABLES for case in table.cases]
    for name in sorted({case.file for _, case in jobs if case.missing()}):
        print(f"{name} is missing")
    jobs = [(table, case) for table, case in jobs if not case.missing()]
    if options.quick:
        jobs = [(table, case) for table, case in jobs if case.file == "mice_protein.npz"]
    if not jobs:
        return
    out.mkdir(parents=True, exist_ok=True)
    selectors = options.selectors.split(",")
    results = run(jobs, selectors, 1 if options.quick else 5, out)
    page = markdown(TABLES, results, selectors)
    (out / "summary.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
