"""What is reported of chosen features beside what new rows say.

    python -m benchmarks.honesty [PART ...] [--runs RUNS]

Figures and their bars are added to `benchmarks/results/honesty`.
"""

import argparse
import warnings

from benchmarks.helpers.honesty import collinear, cost, counts, coverage, dependent, gains, noise
from benchmarks.helpers.record import RESULTS, record

# Each yields data, rows and figures; with the usual number of runs.
PARTS = {
    "noise": (noise.figures, 10),
    "groups": (dependent.of_groups, 20),
    "time": (dependent.of_time, 20),
    "counts": (counts.figures, 3),
    "coverage": (coverage.of_designs, 20),
    "sets": (coverage.of_sets, 4),
    "gains": (gains.figures, 5),
    "collinear": (collinear.figures, 20),
    "cost": (cost.figures, 3),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), choices=[*PARTS, []])
    parser.add_argument("--runs", type=int)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in arguments.parts:
        measure, usual = PARTS[part]
        runs = arguments.runs or usual
        command = f"python -m benchmarks.honesty {part} --runs {runs}"
        for data, rows, figures in measure(runs):
            for figure in figures:
                print(
                    f"{data}, {rows} rows: {figure.bar} {figure.measured:.4g} {figure.unit}", end=""
                )
                print(f" (asked {figure.asked})" if figure.asked else "", flush=True)
            title = "Are the numbers true?"
            record(data, rows, command, figures, RESULTS / "honesty", title)
