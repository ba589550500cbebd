"""Compare selectors, or states of this library, on the training rows of development sets.

    python -m benchmarks.development [--selectors featgrad,anova] [--repeats 3]
                                     [--save FILE] [--baseline FILE]

A constant or stage of the search is kept when the scores rise against a stored baseline. Of split 0
of each development set (`benchmarks/roles.py`) only the training rows are used, at most 3,000 per
repeat: two thirds to select and fit on, one third to score. Test rows are not read.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks.helpers.applicable import NotApplicableError
from benchmarks.helpers.datasets import REGISTRY
from benchmarks.helpers.peers import SELECTORS
from benchmarks.helpers.progress import Progress
from benchmarks.helpers.quality.evaluate import linear_score
from benchmarks.helpers.quality.summary import row
from benchmarks.helpers.quality.tables import METRICS, p_value
from benchmarks.helpers.roles import ROLES
from benchmarks.helpers.splitting import finished, random_rows

SIZES = (5, 10, 20, 50, 100, 200)
MOST_ROWS = 3_000


def parse():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.development",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--selectors", default="featgrad")
    parser.add_argument("--sets", help="comma-separated names; all development sets by default")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--save", type=Path, help="write the scores to this file")
    parser.add_argument("--baseline", type=Path, help="scores that an earlier run saved")
    return parser.parse_args()


def chosen_sets(names):
    """The development sets, or some of them, whose files are there; the others are named."""
    sets = [REGISTRY[name] for name in names.split(",")] if names else development_sets()
    for dataset in sets:
        if dataset.missing():
            print(f"{dataset.name}: missing {', '.join(dataset.missing())}")
    return [dataset for dataset in sets if not dataset.missing()]


def development_sets():
    return [REGISTRY[name] for name in ROLES["development"]]


def inner_splits(split, kind, repeats):
    """Yield random splits of training rows, at most MOST_ROWS of them each."""
    share = min(1.0, MOST_ROWS / len(split.y_train))
    groups = () if split.groups is None else (split.groups,)
    sizes = {"train_size": share * 2 / 3, "test_size": share / 3}
    X, y = split.X_train, split.y_train
    for fit, held in random_rows(y, kind, *groups, n_splits=repeats, random_state=0, **sizes):
        yield finished(kind, X[fit], y[fit], X[held], y[held])


def measure(selector, split, seed):
    """(mean score over sizes, processor seconds); None when the selector does not apply."""
    ks = [k for k in SIZES if k < split.X_train.shape[1]]
    start = time.process_time()
    try:
        chosen = SELECTORS[selector](split.X_train, split.y_train, ks, seed)
    except NotApplicableError:
        return None
    seconds = time.process_time() - start
    return np.mean([linear_score(split, chosen[k]) for k in ks]), seconds


def run(sets, selectors, repeats):
    """{selector: {set: {"score": mean over repeats, "seconds": mean}}}."""
    results = {selector: {} for selector in selectors}
    progress = Progress(len(sets) * len(selectors))
    for dataset in sets:
        _, whole = next(dataset.splits())
        splits = list(inner_splits(whole, dataset.kind, repeats))
        for selector in selectors:
            found = [measure(selector, split, seed) for seed, split in enumerate(splits)]
            if None in found:
                progress.step(f"{dataset.name} {selector}: not applicable")
                continue
            score, seconds = np.mean(found, axis=0).tolist()
            results[selector][dataset.name] = {"score": score, "seconds": seconds}
            progress.step(f"{dataset.name} {selector}: {score:.4f}, {seconds:.1f} s")
    return results


def score_lines(results):
    """Sets as rows, selectors as columns, with an average per metric."""
    lines = [row("set", *results), row(*["---"] * (len(results) + 1))]
    names = list(dict.fromkeys(name for found in results.values() for name in found))
    lines += [row(name, *[text([name], found) for found in results.values()]) for name in names]
    for metric in dict.fromkeys(METRICS.values()):
        some = [name for name in names if METRICS[REGISTRY[name].kind] == metric]
        if some:
            averages = [text(some, found) for found in results.values()]
            lines.append(row(f"**average {metric}**", *averages))
    return lines


def text(names, found):
    """Average over sets, or a dash where one is missing."""
    if any(name not in found for name in names):
        return "-"
    return f"{np.mean([found[name]['score'] for name in names]):.4f}"


def comparison_lines(results, baseline):
    """Differences to the baseline of each selector per set, and tests over sets."""
    lines = []
    for selector in [selector for selector in results if selector in baseline]:
        before, now = baseline[selector], results[selector]
        common = [name for name in now if name in before]
        differences = np.array([now[name]["score"] - before[name]["score"] for name in common])
        ratio = np.median([now[name]["seconds"] / before[name]["seconds"] for name in common])
        lines += ["", row(f"{selector} minus baseline", "difference"), row("---", "---")]
        lines += [
            row(*pair) for pair in zip(common, map("{:+.4f}".format, differences), strict=True)
        ]
        lines += [
            row("**mean**", f"{differences.mean():+.4f}"),
            row("t-test p over sets", f"{p_value(stats.ttest_1samp, differences, 0):.2g}"),
            row("Wilcoxon p over sets", f"{p_value(stats.wilcoxon, differences):.2g}"),
            row("median ratio of seconds", f"{ratio:.2f}"),
        ]
    return lines


def main():
    options = parse()
    warnings.simplefilter("ignore")
    results = run(chosen_sets(options.sets), options.selectors.split(","), options.repeats)
    lines = score_lines(results)
    if options.baseline:
        lines += comparison_lines(results, json.loads(options.baseline.read_text()))
    print("\n".join(lines))
    if options.save:
        options.save.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
