"""Realised false discovery rate and power of `fdr`, compared with knockpy and hidimstat.

    python -m benchmarks.error_control [--runs N] [--shapes 300x200 ...] [--methods ...] [--hiv]

Twelve designs: Gaussian columns, independent, autoregressive or in blocks of ten with correlation
0.7; the same with other distributions; few true columns, and none. Thirty columns are true in most:
they have coefficients of one size and random signs, and noise of variance 1 is added; the sign of
all that is a target of two classes. Scored are the mean share of false ones among the chosen
columns, with its standard error, and the mean share of the true ones that is found. "exact" are the
e-values of `discoveries_`. Peers have their defaults: knockpy Gaussian copies and its lasso,
logistic for two classes; hidimstat conditional randomisation (D0CRT) and one knockoff. They are
left out where they are not installed.

`--hiv` chooses mutations of HIV that explain resistance to drugs, where the data are at hand. A
stand-in for the truth is a list of mutations that treatment is known to select.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.helpers.progress import Progress
from benchmarks.helpers.quality.summary import row
from benchmarks.helpers.sources import locate
from featgrad import FeatureGradientSelector, Knockoffs
from featgrad.search.knockoffs import knockoff_threshold

RATES = (0.1, 0.2)
# Correlation of columns, their distribution, how many are true, and coefficients times the root of
# the number of rows.
DESIGNS = {
    "independent": ("independent", None, 30, 4.0),
    "AR(.5)": ("AR(.5)", None, 30, 5.0),
    "AR(.9)": ("AR(.9)", None, 30, 10.0),
    "blocks": ("blocks", None, 30, 6.0),
    "log-normal": ("AR(.5)", "log-normal", 30, 5.0),
    "cubes": ("blocks", "cubes", 30, 6.0),
    "dummies": ("AR(.5)", "dummies", 30, 5.0),
    "counts": ("blocks", "counts", 30, 4.0),
    "heavy tails": ("AR(.5)", "heavy tails", 30, 5.0),
    "two kinds": ("AR(.5)", "two kinds", 30, 5.0),
    "five true": ("AR(.5)", None, 5, 5.0),
    "none true": ("AR(.5)", None, 0, 0.0),
}
SHAPES = ("300x200", "1000x200")
METHODS = ("featgrad", "exact", "knockpy", "D0CRT", "ModelXKnockoff")
TARGETS = ("regression", "binary")
HIV = ("hiv_pi", "hiv_nrti")
RESULTS = Path(__file__).resolve().parent / "results" / "error_control"


def columns_of(correlation, kind, n_rows, n_columns, rng):
    """Standardised columns."""
    X = rng.standard_normal((n_rows, n_columns))
    if correlation == "blocks":
        shared = np.repeat(rng.standard_normal((n_rows, -(-n_columns // 10))), 10, axis=1)
        X = np.sqrt(0.7) * shared[:, :n_columns] + np.sqrt(0.3) * X
    elif correlation != "independent":
        r = float(correlation[3:-1])
        for j in range(1, n_columns):
            X[:, j] = r * X[:, j - 1] + np.sqrt(1 - r**2) * X[:, j]
    if kind == "log-normal":
        X = np.exp(0.7 * X)
    elif kind == "cubes":
        X = X**3
    elif kind == "dummies":
        X = (X > 0.8).astype(float)
    elif kind == "counts":
        X = rng.poisson(np.exp(X)).astype(float)
    elif kind == "heavy tails":
        X /= np.sqrt(rng.chisquare(4, size=(n_rows, 1)))
    elif kind == "two kinds":
        X += 2 * (rng.random((n_rows, 1)) < 0.3) * rng.standard_normal(n_columns)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def draw(design, target, n_rows, n_columns, seed):
    """(X, y, which columns are true)."""
    rng = np.random.default_rng(seed)
    correlation, kind, n_true, size = DESIGNS[design]
    X = columns_of(correlation, kind, n_rows, n_columns, rng)
    beta = np.zeros(n_columns)
    beta[rng.permutation(n_columns)[:n_true]] = rng.choice([-1.0, 1.0], n_true)
    y = X @ beta * size / np.sqrt(n_rows) + rng.standard_normal(n_rows)
    return X, y if target == "regression" else np.sign(y), beta != 0


def choices(X, y, seed, methods):
    """Chosen columns and seconds, by method and rate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "featgrad" in methods:
            yield from _of_featgrad(X, y, seed)
        if "knockpy" in methods:
            yield from _of_knockpy(X, y, seed)
        for name in ("D0CRT", "ModelXKnockoff"):
            if name in methods:
                yield from _of_hidimstat(name, X, y, seed)


def _of_featgrad(X, y, seed):
    for rate in RATES:
        start = time.process_time()
        selector = FeatureGradientSelector(
            search=Knockoffs(rate), estimate=False, random_state=seed
        )
        found = selector.fit(X, y).discoveries_
        yield "featgrad", rate, found.chosen, time.process_time() - start
        yield "exact", rate, found.exact, None


def _of_knockpy(X, y, seed):
    try:
        from knockpy.knockoff_filter import KnockoffFilter
    except ImportError:
        return
    np.random.seed(seed)  # noqa: NPY002 - knockpy draws from it
    found = KnockoffFilter(ksampler="gaussian", fstat="lasso")
    start = time.process_time()
    found.forward(X=X, y=y, fdr=RATES[0], shrinkage="ledoitwolf")
    seconds = time.process_time() - start
    for rate in RATES:
        yield "knockpy", rate, knockoff_threshold(found.W, rate) <= found.W, seconds


def _of_hidimstat(name, X, y, seed):
    try:
        import hidimstat
    except ImportError:
        return
    from sklearn.linear_model import LassoCV

    model = [LassoCV(random_state=seed)] if name == "D0CRT" else []
    peer = getattr(hidimstat, name)(*model, random_state=seed)
    start = time.process_time()
    peer.fit_importance(X, y)
    seconds = time.process_time() - start
    for rate in RATES:
        yield name, rate, np.asarray(peer.fdr_selection(rate)).ravel() > 0, seconds


def measure(design, target, shape, runs, report, methods=METHODS):
    """Figures of one design, by method and rate."""
    n_rows, n_columns = map(int, shape.split("x"))
    shares, found, seconds = {}, {}, {}
    for seed in range(runs):
        X, y, truth = draw(design, target, n_rows, n_columns, seed)
        for method, rate, chosen, taken in choices(X, y, seed, methods):
            place = method, rate
            false = np.sum(chosen & ~truth) / max(1, np.sum(chosen))
            shares.setdefault(place, []).append(float(false))
            found.setdefault(place, []).append(np.sum(chosen & truth) / max(1, np.sum(truth)))
            seconds.setdefault(place, []).append(taken)
        report(f"{design}, {target}, {shape}: run {seed}")
    return [
        {
            "design": design, "target": target, "rows": n_rows, "columns": n_columns, "runs": runs,
            "method": method, "fdr": rate,
            "realised": float(np.mean(shares[method, rate])),
            "standard_error": float(np.std(shares[method, rate]) / np.sqrt(runs)),
            "power": float(np.mean(found[method, rate])) if truth.any() else None,
            "seconds": None if seconds[method, rate][0] is None
            else float(np.median(seconds[method, rate])),
        }
        for method, rate in shares
    ]  # fmt: skip


def of_hiv(name, report, methods):
    """Mutations found for each drug, and how many of them treatment is known to select."""
    from scipy import sparse

    with np.load(locate(f"{name}.npz")) as file:
        parts = tuple(file[part].astype(int) for part in ("data", "indices", "indptr"))
        X, drugs = sparse.csr_array(parts, shape=file["shape"]).toarray(), file["drugs"]
        Y, known, position = file["y"], file["in_tsm"], file["position_in_tsm"]
    figures = []
    for drug, y in zip(np.char.replace(drugs, "foldLog10_", ""), Y.T, strict=True):
        measured = np.isfinite(y)
        # Mutations seen less often can hardly be told from noise.
        often = X[measured].sum(axis=0) >= 3
        tried = X[np.ix_(measured, often)].astype(float)
        for method, rate, chosen, seconds in choices(tried, y[measured], 0, methods):
            figures.append({
                "set": name, "drug": str(drug), "rows": int(measured.sum()),
                "columns": int(often.sum()), "method": method, "fdr": rate,
                "chosen": int(chosen.sum()), "known": int(np.sum(chosen & known[often])),
                "at_known_position": int(np.sum(chosen & position[often])), "seconds": seconds,
            })  # fmt: skip
        report(f"{name}, {drug}")
    return figures


def table(figures, head, cell):
    """Lines of a table with one column for each method."""
    methods = [name for name in METHODS if name in {figure["method"] for figure in figures}]
    names = [*head, *methods]
    lines = {}
    for figure in figures:
        lines.setdefault(tuple(figure[name] for name in head), {})[figure["method"]] = cell(figure)
    text = row(*names) + "\n" + row(*["---"] * len(names)) + "\n"
    for place, cells in lines.items():
        text += row(*map(str, place), *(cells.get(method, "") for method in methods)) + "\n"
    return text


def _simulated_cell(figure):
    power = "" if figure["power"] is None else f", {figure['power']:.2f}"
    seconds = "" if figure["seconds"] is None else f", {figure['seconds']:.1f} s"
    realised = f"{figure['realised']:.3f} ({figure['standard_error']:.3f}) of {figure['runs']}"
    return realised + power + seconds


def _hiv_cell(figure):
    return f"{figure['chosen']}: {figure['known']}, {figure['at_known_position']}"


def summary(figures):
    """A table with one line for each design and rate, and one for each drug and rate."""
    simulated = [figure for figure in figures if "design" in figure]
    real = [figure for figure in figures if "drug" in figure]
    text = "# Error control\n\n"
    for command in sorted({figure["command"] for figure in figures}):
        text += f"    {command}\n"
    text += "\nRealised false discovery rate (standard error) of so many runs, power, median "
    text += "processor seconds.\n\n"
    head = ("design", "target", "rows", "columns", "fdr")
    text += table(simulated, head, _simulated_cell)
    if real:
        text += "\nMutations of HIV chosen for resistance to a drug: all, those that treatment is "
        text += "known to select, those at a position of such a mutation.\n\n"
        text += table(real, ("set", "drug", "rows", "columns", "fdr"), _hiv_cell)
    return text


def record(figures, folder):
    """Add figures to the file, in the place of older ones of the same kind."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.json"
    known = json.loads(path.read_text()) if path.exists() else []
    names = ("rows", "columns", "target", "design", "set", "drug", "fdr", "method")
    every = {tuple(figure.get(name) for name in names): figure for figure in [*known, *figures]}
    figures = list(every.values())
    path.write_text(json.dumps(figures, indent=1) + "\n")
    (folder / "summary.md").write_text(summary(figures))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--shapes", nargs="+", default=SHAPES, metavar="ROWSxCOLUMNS")
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=DESIGNS)
    parser.add_argument("--targets", nargs="+", default=TARGETS, choices=TARGETS)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--hiv", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER")
    given = parser.parse_args()
    command = "python -m benchmarks.error_control"
    if given.hiv:
        sets = [name for name in HIV if locate(f"{name}.npz") is not None]
        for name in sets:
            figures = of_hiv(name, print, given.methods)
            record([{**figure, "command": f"{command} --hiv"} for figure in figures], given.out)
        return
    cases = [
        (design, target, shape)
        for shape in given.shapes for target in given.targets for design in given.designs
    ]  # fmt: skip
    progress = Progress(len(cases) * given.runs)
    for design, target, shape in cases:
        figures = measure(design, target, shape, given.runs, progress.step, given.methods)
        extra = f" --runs {given.runs} --shapes {shape}"
        extra += f" --methods {' '.join(given.methods)}"
        record([{**figure, "command": command + extra} for figure in figures], given.out)


if __name__ == "__main__":
    main()
