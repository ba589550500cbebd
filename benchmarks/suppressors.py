"""Recovery of suppressor pairs through every route by which rows come in.

    python -m benchmarks.suppressors [--quick] [--out FOLDER]

One column of a pair is signal plus nuisance, the other the nuisance alone, without any relation to
the target by itself. The target is a sum of signals and noise, each of variance 1, or its sign. As
many columns are selected as are in pairs; scored is the share of them that is found.
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers.designs import suppressors
from benchmarks.helpers.progress import Progress
from benchmarks.helpers.quality.summary import row
from featgrad import FeatureGradientSelector, open_source

TARGETS = ("regression", "binary")
ROWS = (1_000, 2_000)
COLUMNS = (2_000, 10_000)
PAIRS = (3, 4, 5)
CHUNK = 100
RESULTS = Path(__file__).resolve().parent / "results" / "suppressors"


def fit_dense(selector, X, y):
    return selector.fit(X, y)


def fit_csr(selector, X, y):
    return selector.fit(sp.csr_matrix(X), y)


def fit_source(selector, X, y):
    return selector.fit_source(open_source(X, target=y))


def fit_chunks(selector, X, y):
    classes = None if selector.task == "regression" else [0, 1]
    for start in range(0, len(y), CHUNK):
        rows = slice(start, start + CHUNK)
        selector.partial_fit(X[rows], y[rows], classes=classes)
    return selector.finalize()


ROUTES = {
    "dense fit": fit_dense,
    "CSR fit": fit_csr,
    "fit_source": fit_source,
    "partial_fit": fit_chunks,
}


def draw(target, rows, columns, pairs, seed):
    """(X, y, columns in pairs) with noise of the variance of one signal; columns shuffled."""
    rng = np.random.default_rng(seed)
    X, signal, truth = suppressors(rng, rows, columns, pairs)
    y = signal + rng.standard_normal(rows)
    order = rng.permutation(columns)
    y = y if target == "regression" else (y > 0).astype(int)
    return X[:, order], y, np.argsort(order)[truth]


def measure(route, target, X, y, truth):
    """(share of the true columns found, processor seconds)."""
    selector = FeatureGradientSelector(truth.size, estimate=False, task=target, random_state=0)
    start = time.process_time()
    chosen = ROUTES[route](selector, X, y).get_support(indices=True)
    return float(np.isin(truth, chosen).mean()), time.process_time() - start


def warm_up():
    """Compile what every route needs, so that no measured time includes it."""
    for target, route in product(TARGETS, ROUTES):
        measure(route, target, *draw(target, 300, 400, 3, seed=0))


def run(designs, repeats, out):
    """Run every design through every route; results are written after each design."""
    results, progress = [], Progress(len(designs) * repeats * len(ROUTES))
    for design in designs:
        found = {route: [] for route in ROUTES}
        for repeat in range(repeats):
            X, y, truth = draw(*design, seed=repeat)
            for route in ROUTES:
                found[route].append(measure(route, design[0], X, y, truth))
                share, seconds = found[route][-1]
                progress.step(f"{design} {route}: {share:.2f} in {seconds:.1f} s")
        results += [entry(design, route, *zip(*runs, strict=True)) for route, runs in found.items()]
        (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    return results


def entry(design, route, shares, seconds):
    named = dict(zip(("target", "rows", "columns", "pairs"), design, strict=True))
    return named | {"route": route, "shares": shares, "seconds": round(float(np.mean(seconds)), 2)}


def markdown(results):
    """One row per design, one column per route."""
    by_design = {}
    for one in results:
        design = one["target"], one["rows"], one["columns"], one["pairs"]
        text = f"{np.mean(one['shares']):.2f} ({one['seconds']:.1f} s)"
        by_design.setdefault(design, {})[one["route"]] = text
    lines = ["# Suppressor pairs", "", "Share of the columns in pairs that is found, mean over "]
    lines[-1] += f"{len(results[0]['shares'])} repeats, and mean processor seconds."
    lines += ["", row("target", "rows", "columns", "pairs", *ROUTES)]
    lines.append(row(*["---"] * (4 + len(ROUTES))))
    for (target, rows, columns, pairs), texts in by_design.items():
        lines.append(row(target, f"{rows:,}", f"{columns:,}", str(pairs), *texts.values()))
    return "\n".join(lines) + "\n"


def parse():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.suppressors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one repeat, 1,000 x 2,000, 3 pairs")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def main():
    options = parse()
    warnings.simplefilter("ignore")
    options.out.mkdir(parents=True, exist_ok=True)
    designs = list(product(TARGETS, ROWS, COLUMNS, PAIRS))
    if options.quick:
        designs = list(product(TARGETS, ROWS[:1], COLUMNS[:1], PAIRS[:1]))
    warm_up()
    results = run(designs, 1 if options.quick else options.repeats, options.out)
    (options.out / "summary.md").write_text(markdown(results))
    print(markdown(results))


if __name__ == "__main__":
    main()
