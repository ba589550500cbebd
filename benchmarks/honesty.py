"""Are the numbers true? What is reported of chosen features beside what new rows say.

    python -m benchmarks.honesty [PART ...] [--runs N]

- noise: how often the interval of a given number of features excludes 0, where there is nothing;
- auto: how many features "auto" chooses there;
- sets, designs: optimism and coverage of the interval on subsamples of real sets, whose other rows
  give the truth (their adjusted R^2), and on simulated designs;
- collinear: whether `Learnability.estimate` covers the adjusted R^2 of many rows, in simulated
  pairs and blocks and in images;
- outliers: the same in noaa_weather, two rows of which are wrong by far, and without these values;
- recovery: which features "auto" finds in simulated designs, beside abess;
- gains: rank correlation of gains with what new rows lose without a feature;
- cost: time with estimates beside that without, and of "auto" beside a cross-validated lasso.
"""

import argparse
import time
import warnings
from itertools import count, islice, product

import numpy as np
from scipy import sparse
from scipy.signal import lfilter
from scipy.stats import spearmanr
from sklearn.linear_model import LassoCV, LogisticRegressionCV, Ridge

from benchmarks.datasets import REGISTRY
from benchmarks.sources import locate, read_staged
from featgrad import FeatureGradientSelector, Learnability
from featgrad.math.targets import encode

SETS = ("pcmac", "basehock", "madelon", "mnist35_noisy", "rcv1_sample", "covtype", "reuters")
STAGED = ("noaa_weather", "spam_stream")
ROWS = (100, 200, 1000)
SIZES = (5, 20)
TEST_ROWS = 4000


def noise(n_rows, n_columns, classes, seed):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(n_rows)
    return rng.standard_normal((n_rows, n_columns)), (y > 0).astype(int) if classes else y


def of_noise(runs):
    """Share of runs whose interval excludes 0."""
    shapes = [(100, 50), (100, 1000), (300, 5000), (1000, 50), (2000, 200), (100, 20_000)]
    excluded = []
    for (n_rows, n_columns), classes in product(shapes, (False, True)):
        sizes = [k for k in (5, 10, 50) if 2 * k <= min(n_rows, n_columns)]
        found = []
        for seed in range(runs):
            X, y = noise(n_rows, n_columns, classes, seed)
            path = FeatureGradientSelector(sizes[0], path_sizes=sizes, random_state=seed)
            ends = [point.learnability.interval for point in path.fit(X, y).path_]
            found.append([low > 0 or high < 0 for low, high in ends])
        excluded += found
        print(f"{n_rows} x {n_columns}, {'two classes' if classes else 'numbers'}: ", end="")
        print(
            ", ".join(f"k={k} {s:.0%}" for k, s in zip(sizes, np.mean(found, axis=0), strict=True))
        )
    share = np.mean(np.concatenate(excluded))
    print(f"noise: the interval excludes 0 in {share:.1%} (bar: at most 7 %)")


def of_auto(runs):
    """Features that are chosen where there is nothing."""
    every = []
    for (n_rows, n_columns), classes in product([(100, 50), (100, 1000), (500, 50)], (False, True)):
        chosen = []
        for seed in range(runs):
            data = noise(n_rows, n_columns, classes, 1000 + seed)
            chosen.append(FeatureGradientSelector(random_state=seed).fit(*data).n_features_)
        every += chosen
        print(
            f"{n_rows} x {n_columns}, {'two classes' if classes else 'numbers'}: {sorted(chosen)}"
        )
    at_most_one = np.mean(np.array(every) <= 1)
    print(f"auto: median {np.median(every):.0f} (bar 0), at most 1 in {at_most_one:.0%} (bar 90 %)")


def real_sets():
    """Name, features and target of all rows."""
    for name in SETS:
        if not REGISTRY[name].missing():
            X, y, *more = next(iter(REGISTRY[name].parts()))
            if len(more) >= 2:
                stack = sparse.vstack if sparse.issparse(X) else np.concatenate
                X, y = stack([X, more[0]]), np.concatenate([y, more[1]])
            yield name, sparse.csr_matrix(X) if sparse.issparse(X) else X, y
    for name in STAGED:
        if locate(f"{name}.npz") is not None:
            yield name, *read_staged(name)


def truth(X, y, features):
    """Adjusted R^2 of new rows, and its standard error."""
    chosen = X[:, features]
    chosen = chosen.toarray() if sparse.issparse(chosen) else chosen
    found = Learnability(chosen, y).estimate()
    return found.value, found.standard_error


def covers(found, expected, error=0.0):
    """Whether the interval does; new rows are few, too, and their error widens it."""
    low, high = found.interval
    own = 1.96 * found.standard_error
    wider = np.hypot(own, 1.96 * error) - own
    return low - wider <= expected <= high + wider


class Tally:
    """Optimism and coverage."""

    def __init__(self):
        self._errors, self._fits, self._covers, self._high, self._nearly = [], [], [], [], []

    def add(self, X, y, new_X, new_y, seed):
        """Fit a path to rows, and compare with new ones."""
        sizes = [k for k in SIZES if k < X.shape[1]]
        selector = FeatureGradientSelector(sizes[0], path_sizes=sizes, random_state=seed).fit(X, y)
        self._fits.append([])
        for point in selector.path_:
            expected, error = truth(new_X, new_y, point.features)
            found = point.learnability
            self._errors.append(found.value - expected)
            self._fits[-1].append(self._errors[-1])
            self._covers.append(covers(found, expected))
            self._high.append(found.interval[0] > expected)
            self._nearly.append(covers(found, expected, error))

    def __str__(self):
        errors = np.array(self._errors)
        # Sizes of one fit err together.
        of_fits = np.array([np.mean(fit) for fit in self._fits])
        error = of_fits.std() / np.sqrt(len(of_fits))
        return (
            f"optimism {errors.mean():+.3f} +- {error:.3f}, covered {np.mean(self._covers):.0%}, "
            f"too high {np.mean(self._high):.0%} of {len(errors)}; "
            f"with the error of new rows covered {np.mean(self._nearly):.0%}"
        )

    def merged(self, other):
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine += theirs
        return self


def of_sets(runs):
    """Subsamples of real sets."""
    every = {n_rows: Tally() for n_rows in ROWS}
    for name, X, y in real_sets():
        for n_rows in ROWS:
            tally = Tally()
            for seed in range(runs):
                order = np.random.default_rng(seed).permutation(len(y))
                here, there = order[:n_rows], order[n_rows : n_rows + TEST_ROWS]
                tally.add(X[here], y[here], X[there], y[there], seed)
            print(f"{name}, {n_rows} rows: {tally}", flush=True)
            every[n_rows].merged(tally)
    for n_rows, tally in every.items():
        print(f"sets, {n_rows} rows: {tally} (bars: below 0.01 + one error, 90 to 98 %)")


def drawn(design, n_rows, n_columns, seed):
    """Features, target, which ones matter: ten or all; signal and noise have variance 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    if design.startswith("neighbours"):
        r = 0.9 if design.endswith("0.9") else 0.5
        X[:, 1:] *= np.sqrt(1 - r**2)
        X = lfilter([1], [1, -r], X, axis=1)
    elif design == "blocks":
        common = np.repeat(rng.standard_normal((n_rows, n_columns // 10)), 10, axis=1)
        X = np.sqrt(0.7) * common + np.sqrt(0.3) * X
    slopes = rng.standard_normal(n_columns) * np.isin(
        np.arange(n_columns), rng.choice(n_columns, n_columns if design == "all" else 10, False)
    )
    signal = X @ slopes
    return X, signal / signal.std() + rng.standard_normal(n_rows), slopes != 0


def of_designs(runs):
    """Simulated designs."""
    every = {n_rows: Tally() for n_rows in ROWS}
    # Each run has noise of its own: runs with the same would err together.
    seeds = count()
    for design in ("independent", "neighbours 0.5", "neighbours 0.9", "blocks", "all"):
        for n_rows, classes in product(ROWS, (False, True)):
            tally = Tally()
            for seed in islice(seeds, runs):
                X, y, _ = drawn(design, n_rows + TEST_ROWS, 500, seed)
                y = (y > 0).astype(int) if classes else y
                tally.add(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:], seed)
            print(f"{design}, {n_rows} rows, {'classes' if classes else 'numbers'}: {tally}")
            every[n_rows].merged(tally)
    for n_rows, tally in every.items():
        print(f"designs, {n_rows} rows: {tally} (bars: below 0.01 + one error, 90 to 98 %)")


def of_collinear(runs):
    """Differences of correlated features, in pairs and blocks, with many and few rows."""
    for r, width, n_rows in product((0.8, 0.95, 0.99), (2, 10), (60, 5000)):
        covered, bound = [], []
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            common = np.repeat(rng.standard_normal((n_rows, 10)), width, axis=1)
            X = np.sqrt(r) * common + np.sqrt(1 - r) * rng.standard_normal(common.shape)
            signal = X[:, 0] - X[:, 1]
            y = signal / np.sqrt(2 * (1 - r)) + rng.standard_normal(n_rows)
            found = Learnability(X, y).estimate()
            covered.append(covers(found, 0.5))
            bound.append(found.is_lower_bound or np.isnan(found.value))
        print(
            f"r = {r}, blocks of {width}, {n_rows} rows: covers {np.mean(covered):.0%}, "
            f"lower bound or unknown {np.mean(bound):.0%}"
        )
    for name, X, y in real_sets():
        if name == "mnist35_noisy":
            of_collinear_set(name, X, y, runs)


def of_outliers(runs):
    """A column with two values far beyond the others, and clipped at its 0.1 % quantiles."""
    for name, X, y in real_sets():
        if name == "noaa_weather":
            of_collinear_set(name, X, y, runs)
            ends = np.quantile(X, (0.001, 0.999), axis=0)
            of_collinear_set(f"{name} clipped", np.clip(X, *ends), y, runs)


def of_collinear_set(name, X, y, runs):
    """All features of some rows, beside the adjusted R^2 of the others."""
    for n_rows in (*ROWS, 4000):
        covered, bound = [], []
        for seed in range(runs):
            order = np.random.default_rng(seed).permutation(len(y))
            here, there = order[:n_rows], order[n_rows:]
            found = Learnability(X[here], y[here]).estimate()
            covered.append(covers(found, *truth(X[there], y[there], np.arange(X.shape[1]))))
            bound.append(found.is_lower_bound or np.isnan(found.value))
        either = np.mean(np.logical_or(covered, bound))
        print(
            f"{name}, {n_rows} rows: with the error of new rows covers {np.mean(covered):.0%}, "
            "lower bound or unknown "
            f"{np.mean(bound):.0%}, either {either:.0%}",
            flush=True,
        )


def of_recovery(runs):
    """Shares of the features that matter which are found, and of false ones, beside abess."""
    from abess import LinearRegression

    for design, n_rows in product(("independent", "neighbours 0.5", "blocks"), (200, 1000)):
        found = {"auto": [], "abess": []}
        for seed in range(runs):
            X, y, matters = drawn(design, n_rows, 500, seed)
            auto = FeatureGradientSelector(random_state=seed).fit(X, y).get_support()
            theirs = LinearRegression().fit(X, y).coef_ != 0
            for name, chosen in (("auto", auto), ("abess", theirs)):
                true = np.sum(chosen & matters)
                found[name].append((true / matters.sum(), 1 - true / max(1, chosen.sum())))
        figures = ", ".join(
            "{} {:.2f} / {:.2f}".format(name, *np.mean(shares, axis=0))
            for name, shares in found.items()
        )
        print(f"{design}, {n_rows} rows, found / false: {figures}", flush=True)


def lost(X, y, new_X, new_y, features):
    """What new rows lose in a ridge model of the others without each feature."""
    columns = [Z[:, features] for Z in (X, new_X)]
    Z, new_Z = (Z.toarray() if sparse.issparse(Z) else Z.astype(float) for Z in columns)
    mean, deviation = Z.mean(axis=0), Z.std(axis=0)
    Z, new_Z = ((each - mean) / np.where(deviation > 0, deviation, 1) for each in (Z, new_Z))

    def error(left):
        model = Ridge(alpha=4.0).fit(Z[:, left], y)
        return np.mean((new_y - model.predict(new_Z[:, left]).reshape(new_y.shape)) ** 2)

    every = np.arange(len(features))
    whole = error(every)
    return np.array([error(np.delete(every, i)) - whole for i in every]) / new_y.var()


def of_gains(runs):
    """Rank correlation with what new rows lose, and gains that are clearly negative."""
    medians = []
    for name, X, y in real_sets():
        if X.shape[1] < 20:
            continue
        outputs, _ = encode(y, "auto")
        ranks, negative = [], []
        for seed in range(runs):
            order = np.random.default_rng(seed).permutation(len(y))
            half = min(len(y) // 2, TEST_ROWS)
            here, there = order[:half], order[half : 2 * half]
            [point] = FeatureGradientSelector(15, random_state=seed).fit(X[here], y[here]).path_
            gains = point.gains
            expected = lost(X[here], outputs[here], X[there], outputs[there], point.features)
            ranks.append(spearmanr(gains.values, expected).statistic)
            negative.append(np.sum(gains.values < -2 * gains.standard_errors))
        medians.append(np.median(ranks))
        print(
            f"{name}: rank correlation {medians[-1]:.2f}, negative {np.sum(negative)}", flush=True
        )
    print(f"gains: median over sets {np.median(medians):.2f} (bar 0.6)")


def seconds(model, X, y):
    """Processor seconds of a fit."""
    begun = time.process_time()
    model.fit(X, y)
    return time.process_time() - begun


def of_cost(runs):
    """Processor seconds."""
    shapes = [(70, 6000), (1000, 500), (1000, 20_000), (6000, 784)]
    for n_rows, n_columns in shapes:
        X, y, _ = drawn("independent", n_rows, n_columns, 0)
        bare, whole = (
            min(seconds(FeatureGradientSelector(20, estimate=each), X, y) for _ in range(runs))
            for each in (False, True)
        )
        print(
            f"{n_rows} x {n_columns}, k = 20: {whole:.2f} s, {whole / bare:.1f}x without estimates"
        )
    logistic = LogisticRegressionCV(
        l1_ratios=(1.0,), solver="liblinear", scoring="roc_auc", use_legacy_attributes=False
    )
    for n_rows, n_columns in (shapes[0], shapes[-1]):
        X, y, _ = drawn("independent", n_rows, n_columns, 0)
        for peer, target in ((LassoCV(), y), (logistic, (y > 0).astype(int))):
            auto, theirs = (seconds(each, X, target) for each in (FeatureGradientSelector(), peer))
            name = type(peer).__name__
            print(f"{n_rows} x {n_columns}: auto {auto:.1f} s, {auto / theirs:.1f}x {name}")


PARTS = {
    "noise": (of_noise, 20),
    "auto": (of_auto, 20),
    "sets": (of_sets, 4),
    "designs": (of_designs, 10),
    "collinear": (of_collinear, 20),
    "outliers": (of_outliers, 200),
    "recovery": (of_recovery, 20),
    "gains": (of_gains, 5),
    "cost": (of_cost, 3),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), choices=[*PARTS, []])
    parser.add_argument("--runs", type=int)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in arguments.parts:
        run, usual = PARTS[part]
        run(arguments.runs or usual)
