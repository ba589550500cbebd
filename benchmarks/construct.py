"""Features constructed as they are needed: recovery of known ones, honesty, real tables.

    python -m benchmarks.construct recovery     # products, functions and lags whose truth is known
    python -m benchmarks.construct honesty      # noise, linear truth, false products, intervals
    python -m benchmarks.construct scale        # 1,000,000 rows of a Parquet file
    python -m benchmarks.construct tables       # 20 columns for a linear judge of real tables

Figures are added to `results/construct`. Times are processor seconds of one core.
"""

import argparse
import json
import time
import warnings

import numpy as np
from scipy import sparse, stats
from sklearn import datasets

from benchmarks.helpers import construct_scale
from benchmarks.helpers.construct_sets import (
    CONFIRMATION,
    DEVELOPMENT,
    FOLDER,
    TITLE,
    boosted,
    is_number,
    is_there,
    judge,
    split,
    table,
)
from benchmarks.helpers.record import Figure, record
from featgrad import FeatureGradientConstructor, FeatureGradientSelector

TEST_ROWS, COLUMNS = 2000, 20
BARS = GIVEN, CONSTRUCTED, CEILING = "as given", "constructed", "LightGBM on all columns"


def pairs(rng, n_rows, n_columns, n_pairs=5, noise=1.0):
    """Products of distinct columns, and noise of so many times their variance."""
    X = rng.standard_normal((n_rows, n_columns))
    signal = sum(X[:, 2 * i] * X[:, 2 * i + 1] for i in range(n_pairs))
    return X, signal + np.sqrt(noise * n_pairs) * rng.standard_normal(n_rows)


def absolutes(rng, n_rows):
    X = rng.standard_normal((n_rows, 300))
    y = np.abs(X[:, :5]).sum(axis=1) + 0.5 * rng.standard_normal(n_rows) > 4
    return X, y.astype(int)


def friedman(rng, n_rows):
    return datasets.make_friedman1(n_rows, 100, noise=1.0, random_state=rng.integers(1 << 31))


def lagged(rng, n_rows=20_000, n_columns=200):
    X = rng.standard_normal((n_rows, n_columns))
    signal = sum(np.roll(X[:, i], lag) for i, lag in enumerate((1, 24, 168)))
    return X, signal + np.sqrt(3) * rng.standard_normal(n_rows)


def timed(estimator, X, y):
    """The fitted estimator, and processor seconds."""
    start = time.process_time()
    return estimator.fit(X, y), time.process_time() - start


def score(estimator, X, y, X_test, y_test):
    """Of a linear model on what the estimator gives: R^2, or area under the curve."""
    X, X_test = (each.toarray() if sparse.issparse(each) else each for each in (X, X_test))
    X, X_test = estimator.transform(X), estimator.transform(X_test)
    if X.shape[1] == 0:
        return 0.0 if str(estimator.task_) == "regression" else 0.5
    return judge(X, y, X_test, y_test)


def recovery(keep):
    """Known products, functions and lags."""
    for name, draw, number, asked in (
        ("Friedman 1, 100 columns", friedman, 10, 0.90),
        ("sums of absolute values, 300 columns", absolutes, 10, 0.94),
    ):
        X, y = draw(np.random.default_rng(0), 2000 + TEST_ROWS)
        parts = X[:2000], y[:2000], X[2000:], y[2000:]
        fitted, seconds = timed(FeatureGradientConstructor(number, random_state=0), *parts[:2])
        figures = [Figure("score", score(fitted, *parts), "", f">= {asked}")]
        keep(name, 2000, [*figures, Figure("time", seconds, "s")])
    X, y = lagged(np.random.default_rng(0))
    fitted, seconds = timed(FeatureGradientConstructor(3, operations="lags", random_state=0), X, y)
    found = {"x0[t-1]", "x1[t-24]", "x2[t-168]"} & set(fitted.get_feature_names_out())
    figures = [Figure("found", len(found), "", ">= 3"), Figure("time", seconds, "s")]
    keep("3 lags of 200 columns x 200 lags", 20_000, figures)
    truth = {f"x{2 * i} * x{2 * i + 1}" for i in range(5)}
    for n_rows, n_columns in ((2000, 1000), (5000, 10_000)):
        X, y = pairs(np.random.default_rng(0), n_rows, n_columns)
        for number in (5, 10):
            constructor = FeatureGradientConstructor(number, operations="products", random_state=0)
            fitted, seconds = timed(constructor, X, y)
            found = {one.name for one in fitted.constructed_}
            keep(f"5 products of {n_columns} columns, {number} features", n_rows, [
                Figure("found", len(found & truth), "", ">= 5"),
                Figure("false", len(found - truth), "", "<= 1"),
                Figure("time", seconds, "s", "<= 60"),
            ])  # fmt: skip


def honesty(keep, repeats):
    """What is constructed of nothing, and what is said of what is constructed."""
    for name in ("noise", "linear"):
        nothing = 0
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((500, 50))
            y = rng.standard_normal(500) + (X[:, :5].sum(axis=1) if name == "linear" else 0)
            nothing += not FeatureGradientConstructor(10, random_state=seed).fit(X, y).constructed_
        keep(name, 500, [Figure("nothing constructed", nothing / repeats, "", ">= 0.95")])
    truth = {f"x{2 * i} * x{2 * i + 1}" for i in range(3)}
    shares = []
    for n_rows in (100, 150, 200, 300, 600):
        false, covered = [], []
        for seed in range(-(-repeats // 3)):
            X, y = pairs(np.random.default_rng(seed), n_rows + TEST_ROWS, 30, 3)
            for number in (3, 8, "auto"):
                fitted = FeatureGradientConstructor(number, random_state=seed)
                fitted.fit(X[:n_rows], y[:n_rows])
                found = {one.name for one in fitted.constructed_ if one.operation == "product"}
                false.append(len(found - truth) / max(len(found), 1))
                low, high = fitted.learnability_.interval
                covered.append(low <= explained(fitted.transform(X[n_rows:]), X[n_rows:]) <= high)
        shares.append((np.mean(false), np.mean(covered)))
        keep("3 products of 30 columns", n_rows, [
            Figure("share of false products", shares[-1][0], "", "<= 0.1"),
            Figure("intervals that cover", shares[-1][1], ""),
        ])  # fmt: skip
    false, covered = np.mean(shares, axis=0)
    keep("3 products of 30 columns, any rows", 0, [
        Figure("share of false products", false, "", "<= 0.1"),
        Figure("intervals that cover", covered, "", ">= 0.9"),
        Figure("intervals that do not cover", 1 - covered, "", ">= 0.02"),
    ])  # fmt: skip


def explained(built, X):
    """Fraction that the best linear model of built columns explains of three products and noise."""
    signal = sum(X[:, 2 * i] * X[:, 2 * i + 1] for i in range(3))
    built = np.column_stack([np.ones(len(X)), built])
    left = signal - built @ np.linalg.lstsq(built, signal, rcond=None)[0]
    # Half of the variance is noise; nothing that is built is to explain 0, without rounding.
    return round((1 - np.mean(left**2) / signal.var()) / 2, 9)


def tables(keep, names, splits, operations, is_development):
    """Test scores with 20 columns: as given, constructed, and all columns of LightGBM."""
    for name in names:
        if not is_there(name):
            print(f"{name} is not there")
            continue
        X, y = table(name)
        if is_development:
            X, _, y, _ = split(X, y, 0)
        task, rows = "regression" if is_number(y) else "auto", []
        for seed in range(splits):
            X_train, X_test, y_train, y_test = parts = split(X, y, seed)
            known = {"task": task, "random_state": 0}
            plain = FeatureGradientSelector(min(COLUMNS, X.shape[1]), estimate=False, **known)
            more = FeatureGradientConstructor(COLUMNS, operations=operations, **known)
            rows.append([])
            for estimator in (plain, more):
                fitted, seconds = timed(estimator, X_train, y_train)
                rows[-1] += [score(fitted, X_train, y_train, X_test, y_test), seconds]
            rows[-1].append(boosted(*parts))
        given, _, constructed, seconds, best = np.mean(rows, axis=0)
        figures = [Figure(GIVEN, given, "")]
        figures.append(Figure(CONSTRUCTED, constructed, "", f">= {given - 0.005:.4f}"))
        figures += [Figure(CEILING, best, "")] if np.isfinite(best) else []
        keep(name, len(X_train), [*figures, Figure("time", seconds, "s")])


def over_tables(keep):
    """What all tables that are recorded say together."""
    known = {}
    for entry in json.loads((FOLDER / "results.json").read_text()):
        if entry["bar"] in BARS:
            known.setdefault(entry["data"], {})[entry["bar"]] = entry["measured"]
    scores = [[one[bar] for bar in BARS] for one in known.values() if len(one) == len(BARS)]
    given, constructed, best = np.array(scores).T
    gain, distance = constructed - given, best - given
    any_, clear = (gain[distance > least] / distance[distance > least] for least in (0, 0.005))
    keep(f"{len(gain)} tables", 0, [
        Figure("p of gains", stats.wilcoxon(gain, alternative="greater").pvalue, "", "<= 0.05"),
        Figure("mean gain", gain.mean(), ""),
        Figure("tables with a gain above 0.005", np.sum(gain > 0.005), ""),
        Figure("least gain", gain.min(), "", ">= -0.005"),
        Figure("median share of the distance to LightGBM", np.median(any_), "", ">= 0.25"),
        Figure("the same where that is above 0.005", np.median(clear), ""),
        Figure("tables above LightGBM", np.sum(distance < gain), "", ">= 3"),
        Figure("of these not as given", np.sum((distance < gain) & (distance > 0)), ""),
    ])  # fmt: skip


def parse():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.construct",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("part", choices=("recovery", "honesty", "scale", "tables"))
    parser.add_argument("--repeats", type=int, default=100, help="of honesty")
    parser.add_argument("--splits", type=int, default=3, help="of tables")
    parser.add_argument("--sets", help="tables, separated by commas")
    parser.add_argument(
        "--development",
        action="store_true",
        help="splits of training rows of development sets; nothing is recorded",
    )
    parser.add_argument("--operations", default="products,hinges,bent")
    return parser.parse_args()


def main():
    options = parse()
    warnings.simplefilter("ignore")

    def keep(data, rows, figures):
        command = f"python -m benchmarks.construct {options.part}"
        if options.part == "tables":
            command += f" --splits {options.splits}"
        print(data, rows, *(f"{f.bar} {f.measured:.4g}{f.unit}" for f in figures), flush=True)
        if not options.development:
            record(data, rows, command, figures, FOLDER, TITLE)

    if options.part == "scale":
        keep("1,000,000 rows x 50 of Parquet", 1_000_000, construct_scale.figures(1_000_000))
    elif options.part == "recovery":
        recovery(keep)
    elif options.part == "honesty":
        honesty(keep, options.repeats)
    else:
        every = DEVELOPMENT if options.development else DEVELOPMENT + CONFIRMATION
        names = options.sets.split(",") if options.sets else every
        operations = options.operations.split(",")
        tables(keep, names, options.splits, operations, options.development)
        if not options.development:
            over_tables(keep)


if __name__ == "__main__":
    main()
