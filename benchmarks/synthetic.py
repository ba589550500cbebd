"""Recovery of a known set of columns on simulated data, by signal-to-noise ratio.

    python -m benchmarks.synthetic [--selectors x,y] [--repeats 20] [--quick] [--out FOLDER]

Every selector is asked for as many columns as are active. Scored: the share of repeats in which
the set is exactly right, and the share of active columns found (recall).
"""

import argparse
import json
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.helpers.applicable import NotApplicableError
from benchmarks.helpers.designs import DESIGNS, simulate
from benchmarks.helpers.drawing import plt, save
from benchmarks.helpers.peers import SELECTORS
from benchmarks.helpers.progress import Progress

RATIOS = (0.5, 1.0, 2.0, 5.0, 20.0)
RESULTS = Path(__file__).resolve().parent / "results" / "synthetic"


def parse():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic", description=__doc__)
    parser.add_argument("--selectors", default=",".join(SELECTORS))
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="two repeats")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--rerun", action="store_true", help="forget the chosen selectors first")
    return parser.parse_args()


def recovery(selector, design, ratio, repeat):
    """Recall of one run; None when the selector cannot run."""
    X, y, truth = simulate(design, ratio, (repeat, list(DESIGNS).index(design)))
    try:
        chosen = SELECTORS[selector](X, y, [truth.size], repeat)[truth.size]
    except (ImportError, NotApplicableError):
        return None
    return np.isin(truth, chosen).mean().item()


def run_cell(selector, design, ratio, repeats):
    """Recalls of all repeats of one selector on one design at one ratio."""
    recalls = [recovery(selector, design, ratio, repeat) for repeat in range(repeats)]
    return {"selector": selector, "design": design, "ratio": ratio, "recalls": recalls}


def identity(cell):
    return cell["selector"], cell["design"], cell["ratio"], len(cell["recalls"])


def read_cells(path):
    """Finished cells by identity; those of selectors that could not run are tried again."""
    lines = path.read_text().splitlines() if path.is_file() else []
    cells = [json.loads(line) for line in lines]
    return {identity(cell): cell for cell in cells if None not in cell["recalls"]}


def forget(path, selectors):
    """Drop the cells of these selectors, so that they run again."""
    kept = [cell for cell in read_cells(path).values() if cell["selector"] not in selectors]
    path.write_text("".join(json.dumps(cell) + "\n" for cell in kept))


def run(path, selectors, repeats):
    """Run the cells that are not in the file yet; returns all cells with this many repeats."""
    path.parent.mkdir(parents=True, exist_ok=True)
    finished = read_cells(path)
    progress = Progress(len(selectors) * len(DESIGNS) * len(RATIOS))
    for selector in selectors:
        for design in DESIGNS:
            for ratio in RATIOS:
                cell = finished.get((selector, design, ratio, repeats))
                if cell is None:
                    cell = run_cell(selector, design, ratio, repeats)
                    with path.open("a") as lines:
                        lines.write(json.dumps(cell) + "\n")
                progress.step(describe(cell))
    return [cell for cell in read_cells(path).values() if len(cell["recalls"]) == repeats]


def exact(cell):
    return float(np.mean(np.array(cell["recalls"]) == 1))


def describe(cell):
    head = f"{cell['design']} ratio {cell['ratio']:g} {cell['selector']}"
    if None in cell["recalls"]:
        return f"{head}: missing (not applicable or not installed)"
    return f"{head}: exact {exact(cell):.2f}, recall {np.mean(cell['recalls']):.3f}"


def markdown(cells):
    """One table per design: exact / recall by selector and ratio."""
    by_design = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        text = f"{exact(cell):.2f} / {np.mean(cell['recalls']):.2f}"
        by_design[cell["design"]][cell["selector"]][cell["ratio"]] = text
    lines = ["# Recovery of known columns", "", "Exact support / recall, by signal-to-noise ratio."]
    for design, selectors in by_design.items():
        lines += ["", f"## {design}", "", (DESIGNS[design].__doc__ or "").splitlines()[0], ""]
        lines.append("| selector | " + " | ".join(f"{ratio:g}" for ratio in RATIOS) + " |")
        lines.append("|" + " --- |" * (len(RATIOS) + 1))
        for selector, texts in selectors.items():
            row = [texts.get(ratio, "-") for ratio in RATIOS]
            lines.append(f"| {selector} | " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def plot(cells, path):
    """Exact recovery against the ratio, one panel per design."""
    figure, panels = plt.subplots(1, len(DESIGNS), figsize=(4 * len(DESIGNS), 3.5), sharey=True)
    for axes, design in zip(panels, DESIGNS, strict=True):
        lines = defaultdict(dict)
        for cell in cells:
            if cell["design"] == design:
                lines[cell["selector"]][cell["ratio"]] = exact(cell)
        for selector, shares in lines.items():
            axes.plot(*zip(*sorted(shares.items()), strict=True), marker=".", label=selector)
        axes.set(xscale="log", title=design, xlabel="signal-to-noise ratio")
    panels[0].set_ylabel("exact support")
    panels[-1].legend(fontsize=6)
    save(figure, path)


def main():
    options = parse()
    warnings.simplefilter("ignore")
    selectors = options.selectors.split(",")
    path = options.out / "cells.jsonl"
    if options.rerun and path.is_file():
        forget(path, selectors)
    cells = run(path, selectors, 2 if options.quick else options.repeats)
    (options.out / "summary.md").write_text(markdown(cells))
    summary = [cell | {"exact": exact(cell)} for cell in cells]
    (options.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    plot(cells, options.out / "exact_support.svg")
    print(markdown(cells))


if __name__ == "__main__":
    main()
