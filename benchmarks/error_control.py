"""Realised false discovery rate and power of `fdr`, beside one knockoff and knockpy.

    python -m benchmarks.error_control [--runs N] [--shapes 300x200 ...] [--search] [--out FOLDER]

Gaussian columns, independent, autoregressive or in blocks of ten with correlation 0.7; thirty of
them have coefficients of one size and random signs, and noise of variance 1 is added; the sign of
all that is a binary target. False are columns without a coefficient. Scored are the mean share of
false ones among the chosen columns, with its standard error, and the mean share of the thirty that
is found. "one knockoff" is the usual filter with the same statistic for the first of the knockoffs.
"e-values" combine all of them so that the rate is kept exactly (Ren & Barber 2024). "search", with
`--search`, takes the scores of the search for thirty features in place of the lasso's coefficients.
knockpy takes the same kind of copies and its own lasso, logistic for a binary target, and is left
out where it is not installed.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.progress import Progress
from benchmarks.quality.summary import row
from featgrad import FeatureGradientSelector
from featgrad.knockoffs.filter import frequencies, threshold
from featgrad.knockoffs.gaussian import Knockoffs
from featgrad.knockoffs.statistic import differences
from featgrad.plan import KNOCKOFF_COPIES, KNOCKOFF_MAJORITY

RATES = (0.1, 0.2)
SIGNALS = 30
# Coefficients times the root of the number of rows.
SIZES = {"independent": 4.0, "AR(.5)": 5.0, "AR(.9)": 10.0, "blocks": 6.0}
SHAPES = ("300x200", "1000x500", "300x1000", "2000x2000")
METHODS = ("featgrad", "one knockoff", "e-values", "search", "knockpy")
TARGETS = ("regression", "binary")
RESULTS = Path(__file__).resolve().parent / "results" / "error_control"


def columns_of(design, n_rows, n_columns, rng):
    """Standardised columns."""
    X = rng.standard_normal((n_rows, n_columns))
    if design == "blocks":
        shared = np.repeat(rng.standard_normal((n_rows, -(-n_columns // 10))), 10, axis=1)
        X = np.sqrt(0.7) * shared[:, :n_columns] + np.sqrt(0.3) * X
    elif design != "independent":
        r = float(design[3:-1])
        for j in range(1, n_columns):
            X[:, j] = r * X[:, j - 1] + np.sqrt(1 - r**2) * X[:, j]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def draw(design, target, n_rows, n_columns, seed):
    """(X, y, which columns have a say)."""
    rng = np.random.default_rng(seed)
    X = columns_of(design, n_rows, n_columns, rng)
    beta = np.zeros(n_columns)
    beta[rng.permutation(n_columns)[:SIGNALS]] = rng.choice([-1.0, 1.0], SIGNALS)
    y = X @ beta * SIZES[design] / np.sqrt(n_rows) + rng.standard_normal(n_rows)
    return X, y if target == "regression" else np.sign(y), beta != 0


def by_e_values(statistics, rate):
    """Chosen columns: the mean over knockoffs of e-values at half the rate, and e-BH."""
    n_columns = statistics.shape[1]
    values = np.zeros(n_columns)
    for W in statistics:
        least = threshold(W, rate / 2)
        values += n_columns * (least <= W) / (1 + np.sum(-least >= W)) / len(statistics)
    ranked = np.sort(values)[::-1]
    enough = np.flatnonzero(ranked * np.arange(1, n_columns + 1) >= n_columns / rate)
    return values >= ranked[enough[-1]] if len(enough) else np.zeros(n_columns, bool)


def search_statistic(X, copies, y, rng):
    """Scores of columns less those of their knockoffs, which change places at random."""
    signs = rng.choice([-1.0, 1.0], X.shape[1])
    both = np.where(signs > 0, X, copies), np.where(signs > 0, copies, X)
    selector = FeatureGradientSelector(SIGNALS, estimate=False, random_state=0)
    first, second = np.split(selector.fit(np.hstack(both), y).scores_, 2)
    return signs * (first - second)


def choices(X, y, seed, with_search=False):
    """Chosen columns and seconds, by method and rate."""
    rng = np.random.RandomState(seed)
    weights, units = np.full(len(y), 1 / len(y)), np.arange(X.shape[1])
    outputs = ((y - y.mean()) / y.std())[:, None]
    start = time.process_time()
    knockoffs = Knockoffs(X, weights, units)
    statistics = np.array(
        [
            differences(X, copies, outputs, weights, units, rng)
            for copies in knockoffs.draw(KNOCKOFF_COPIES, rng)
        ]
    )
    seconds = time.process_time() - start
    for rate in RATES:
        yield "featgrad", rate, frequencies(statistics, rate) > KNOCKOFF_MAJORITY, seconds
        yield "one knockoff", rate, statistics[0] >= threshold(statistics[0], rate), None
        yield "e-values", rate, by_e_values(statistics, rate), None
    if with_search:
        scores = [
            search_statistic(X, copies, y, rng) for copies in knockoffs.draw(KNOCKOFF_COPIES, rng)
        ]
        for rate in RATES:
            yield "search", rate, frequencies(np.array(scores), rate) > KNOCKOFF_MAJORITY, None
    yield from _of_knockpy(X, y if len(np.unique(y)) == 2 else outputs[:, 0], seed)


def _of_knockpy(X, y, seed):
    try:
        from knockpy.knockoff_filter import KnockoffFilter
    except ImportError:
        return
    np.random.seed(seed)  # noqa: NPY002 - knockpy draws from it
    found = KnockoffFilter(ksampler="gaussian", fstat="lasso")
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.forward(X=X, y=y, fdr=RATES[0], shrinkage="ledoitwolf")
    seconds = time.process_time() - start
    for rate in RATES:
        yield "knockpy", rate, threshold(found.W, rate) <= found.W, seconds


def measure(design, target, shape, runs, report, with_search=False):
    """Figures of one design, by method and rate."""
    n_rows, n_columns = map(int, shape.split("x"))
    shares, found, seconds = {}, {}, {}
    for seed in range(runs):
        X, y, truth = draw(design, target, n_rows, n_columns, seed)
        for method, rate, chosen, taken in choices(X, y, seed, with_search):
            place = method, rate
            false = np.sum(chosen & ~truth) / max(1, np.sum(chosen))
            shares.setdefault(place, []).append(float(false))
            found.setdefault(place, []).append(float(np.sum(chosen & truth)) / SIGNALS)
            seconds.setdefault(place, []).append(taken)
        report(f"{design}, {target}, {shape}: run {seed}")
    return [
        {
            "design": design, "target": target, "rows": n_rows, "columns": n_columns, "runs": runs,
            "method": method, "fdr": rate,
            "realised": float(np.mean(shares[method, rate])),
            "standard_error": float(np.std(shares[method, rate]) / np.sqrt(runs)),
            "power": float(np.mean(found[method, rate])),
            "seconds": None if seconds[method, rate][0] is None
            else float(np.median(seconds[method, rate])),
        }
        for method, rate in shares
    ]  # fmt: skip


def summary(figures):
    """A table with one line for each design and rate."""
    known = {figure["method"] for figure in figures}
    methods = [method for method in METHODS if method in known]
    text = "# Error control\n\n"
    text += "Realised false discovery rate (standard error), power, median processor seconds.\n\n"
    for command in sorted({figure["command"] for figure in figures}):
        text += f"    {command}\n"
    head = ["design", "target", "rows", "columns", "runs", "fdr", *methods]
    text += "\n" + row(*head) + "\n" + row(*["---"] * len(head)) + "\n"
    lines = {}
    for figure in figures:
        place = tuple(figure[name] for name in head[:6])
        seconds = "" if figure["seconds"] is None else f", {figure['seconds']:.1f} s"
        lines.setdefault(place, {})[figure["method"]] = (
            f"{figure['realised']:.3f} ({figure['standard_error']:.3f}), "
            f"{figure['power']:.2f}{seconds}"
        )
    for place, cells in lines.items():
        text += row(*map(str, place), *(cells.get(method, "") for method in methods)) + "\n"
    return text


def record(figures, folder):
    """Add figures to the file, in the place of older ones of the same kind."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.json"
    known = json.loads(path.read_text()) if path.exists() else []
    names = ("rows", "columns", "target", "design", "fdr", "method")
    every = {tuple(figure[name] for name in names): figure for figure in [*known, *figures]}
    figures = [every[place] for place in sorted(every)]
    path.write_text(json.dumps(figures, indent=1) + "\n")
    text = summary(figures)
    (folder / "summary.md").write_text(text)
    print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--shapes", nargs="+", default=SHAPES, metavar="ROWSxCOLUMNS")
    parser.add_argument("--designs", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--targets", nargs="+", default=TARGETS[:1], choices=TARGETS)
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER")
    given = parser.parse_args()
    cases = [
        (design, target, shape)
        for shape in given.shapes for target in given.targets for design in given.designs
    ]  # fmt: skip
    command = f"python -m benchmarks.error_control --runs {given.runs} --shapes "
    progress = Progress(len(cases) * given.runs)
    for design, target, shape in cases:
        figures = measure(design, target, shape, given.runs, progress.step, given.search)
        extra = "" if target == TARGETS[0] else f" --targets {target}"
        extra += " --search" if given.search else ""
        record([{**figure, "command": command + shape + extra} for figure in figures], given.out)


if __name__ == "__main__":
    main()
