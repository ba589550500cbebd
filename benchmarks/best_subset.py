"""Run this library through the simulations of "Best subset, forward stepwise or lasso?".

    python -m benchmarks.best_subset [--repetitions 10] [--quick] [--out FOLDER]

Hastie, Tibshirani & Tibshirani (2020): 480 settings, whose published results stand beside ours
where `best_subset_hastie2020.csv` is among the data. Repetitions that are there already are not run
again.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

from benchmarks.helpers.best_subset.picture import curves
from benchmarks.helpers.best_subset.protocol import SETTINGS, Setting, draw, sizes_of, validated
from benchmarks.helpers.best_subset.summary import markdown
from benchmarks.helpers.peers import by_featgrad
from benchmarks.helpers.progress import Progress
from benchmarks.helpers.provenance import provenance

MEASURED = ("errors", "F", "sizes", "seconds")
RESULTS = Path(__file__).resolve().parent / "results" / "best_subset"


def parse():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.best_subset",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="one repetition of every 24th setting")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def measure(setting, repetition):
    """(error, F, size) of the validated candidate, and processor seconds for all candidates."""
    drawn = draw(setting, repetition)
    start = time.process_time()
    supports = by_featgrad(drawn.X, drawn.y, sizes_of(setting.family), repetition)
    seconds = time.process_time() - start
    return *drawn.measures(validated(drawn, supports.values())), seconds


def run(settings, repetitions, results):
    """Add repetitions, one of all settings after the other; yields after each."""
    progress = Progress(len(settings) * repetitions)
    for repetition in range(repetitions):
        for setting in settings:
            entry = results.setdefault(setting, setting._asdict() | {name: [] for name in MEASURED})
            if len(entry["errors"]) == repetition:
                for name, value in zip(MEASURED, measure(setting, repetition), strict=True):
                    entry[name].append(round(value, 5))
            progress.step(f"{repetition} {setting}: {entry['errors'][repetition]:.3f}")
        yield list(results.values())


def main():
    options = parse()
    warnings.simplefilter("ignore")
    settings = SETTINGS[::24] if options.quick else SETTINGS
    out = options.out / "quick" if options.quick else options.out
    out.mkdir(parents=True, exist_ok=True)
    path, results = out / "results.json", {}
    if path.exists():
        known = json.loads(path.read_text())["results"]
        results = {Setting(*(entry[name] for name in Setting._fields)): entry for entry in known}
    for entries in run(settings, 1 if options.quick else options.repetitions, results):
        measured = provenance("benchmarks.best_subset")
        kept = {"measured": measured, "drawn": curves(entries), "results": entries}
        path.write_text(json.dumps(kept).replace('{"family"', '\n{"family"') + "\n")
        (out / "summary.md").write_text(markdown(measured, entries))
    print((out / "summary.md").read_text())


if __name__ == "__main__":
    main()
