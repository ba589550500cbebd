"""Other ways to construct features, on the tables and splits of `python -m benchmarks.construct`.

    python -m benchmarks.construct_peers [--sets A,B] [--peers A,B] [--splits 1] [--limit 300]

In an environment of its own, as some need older versions than this library:
``pip install "numpy<2" pandas lightgbm fastcan interpret-core adelie``, and for two of them
``pip install "numpy<2" "scikit-learn<1.6" "pandas<3" "pyarrow<20" lightgbm matplotlib openfe
autofeat``.
Each gets the training rows of a split and chooses 20 columns for the same linear
judge. Each fit is a process of one thread; one that takes longer than the limit of
processor seconds counts as no result. Figures are added to `results/construct`.

- lasso: the lasso path over all columns, squares and products, to the last set of 20
- fastcan: `LazyFastCan` over the same, which are generated one at a time
- interpret: products of the 50 pairs that FAST finds, and all columns, then the lasso path
- openfe: the 50 features that it ranks first, and all columns, then the lasso path
- autofeat: one step of construction, and what it selects, then the lasso path
- adelie: glinternet, the group lasso of columns and pairs
- lightgbm: on all columns, the ceiling
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from functools import partial

import numpy as np
from scipy.stats import wilcoxon
from sklearn.linear_model import lasso_path
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

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

COLUMNS, CANDIDATES, MOST_PRODUCTS = 20, 50, 30_000
OVER = (-9, -24, 124)  # what ends a process that takes too long
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def outputs(y):
    """Centred columns: the numbers, or one of each class."""
    columns = y[:, None] if is_number(y) else (y[:, None] == np.unique(y)).astype(float)
    columns = columns[:, 1:] if columns.shape[1] == 2 else columns
    return columns - columns.mean(axis=0)


def on_path(X, y, number):
    """Columns of the last set of a lasso path that has no more than a number of them."""
    path = lasso_path(StandardScaler().fit_transform(X), outputs(y), n_alphas=60, eps=1e-3)[1]
    used = np.any(path != 0, axis=0)
    last = np.flatnonzero(used.sum(axis=0) <= number)[-1]
    return np.flatnonzero(used[:, last])


def chosen_of(X, X_test, y, number):
    columns = on_path(X, y, number)
    return X[:, columns], X_test[:, columns]


def products(X):
    if X.shape[1] * (X.shape[1] + 1) // 2 > MOST_PRODUCTS:
        raise ValueError(f"{X.shape[1]} columns have too many products")
    return PolynomialFeatures(2, include_bias=False).fit(X)


def lasso(X, X_test, y, number):
    terms = products(X)
    return chosen_of(terms.transform(X), terms.transform(X_test), y, number)


def fastcan(X, X_test, y, number):
    from fastcan import LazyFastCan
    from fastcan.narx import gen_poly_features, make_poly_features, make_poly_ids

    products(X)
    ids = make_poly_ids(X.shape[1], 2)
    generator = partial(gen_poly_features, ids=ids)
    fitted = LazyFastCan(number, feature_generator=generator).fit(X, outputs(y))
    return tuple(make_poly_features(each, ids[fitted.indices_]) for each in (X, X_test))


def interpret(X, X_test, y, number):
    from interpret.utils import measure_interactions

    count = min(CANDIDATES, X.shape[1] * (X.shape[1] - 1) // 2)
    pairs = [pair for pair, _ in measure_interactions(X, y, interactions=count)]
    first, second = np.array(pairs).T
    more = (np.hstack([each, each[:, first] * each[:, second]]) for each in (X, X_test))
    return chosen_of(*more, y, number)


def openfe(X, X_test, y, number):
    import pandas as pd
    from openfe import OpenFE

    train, test = (
        pd.DataFrame(each, columns=[f"x{i}" for i in range(X.shape[1])]) for each in (X, X_test)
    )
    test.index = test.index + len(train)
    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "rows.feather")
        task = "regression" if is_number(y) else "classification"
        label = pd.DataFrame({"y": y if is_number(y) else np.unique(y, return_inverse=True)[1]})
        model, known = OpenFE(), {"tmp_save_path": kept, "n_jobs": 1, "verbose": False}
        found = model.fit(train, label, task=task, **known)[:CANDIDATES]
        both = model.transform(train, test, found, n_jobs=1)
    built = [np.nan_to_num(each.to_numpy(float), posinf=0.0, neginf=0.0) for each in both]
    return chosen_of(*built, y, number)


def autofeat(X, X_test, y, number):
    from autofeat import AutoFeatClassifier, AutoFeatRegressor

    kind = AutoFeatRegressor if is_number(y) else AutoFeatClassifier
    model = kind(feateng_steps=1, n_jobs=1, max_gb=4, always_return_numpy=True)
    model.fit(X, y)
    built = [np.nan_to_num(np.asarray(model.transform(each), float)) for each in (X, X_test)]
    return chosen_of(*built, y, number)


def adelie(X, X_test, y, number):
    import adelie as ad

    products(X)
    if outputs(y).shape[1] > 1:
        raise ValueError("several classes")
    scaler, n = StandardScaler().fit(X), X.shape[1]
    Z = np.asfortranarray(scaler.transform(X))
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    later = {i: np.arange(i + 1, n) for i in range(n - 1)}
    every = ad.matrix.concatenate([ad.matrix.dense(Z), ad.matrix.interaction(Z, later)], axis=1)
    groups = np.append(np.arange(n), n + 3 * np.arange(len(pairs)))
    sizes = np.append(np.ones(n), np.full(len(pairs), 3.0))
    loss = ad.glm.gaussian(outputs(y)[:, 0])
    known = {"penalty": np.sqrt(sizes), "max_active_size": 4 * number, "progress_bar": False}
    state = ad.grpnet(every, loss, groups=groups, early_exit=True, **known)
    columns = [np.array([[i, -1]]) for i in range(n)]
    columns += [np.array([[i, -1], [j, -1], [i, j]]) for i, j in pairs]
    columns, best = np.concatenate(columns), np.zeros((0, 2), int)
    for coefficients in state.betas:
        own = np.unique(columns[coefficients.indices], axis=0)
        best = own if len(best) < len(own) <= number else best
    built = []
    for each in (Z, scaler.transform(X_test)):
        each = np.column_stack([each, np.ones(len(each))])
        built.append(each[:, best[:, 0]] * each[:, best[:, 1]])
    return built


PEERS = {
    "lasso": lasso,
    "fastcan": fastcan,
    "interpret": interpret,
    "openfe": openfe,
    "autofeat": autofeat,
    "adelie": adelie,
    "lightgbm": None,
}


def one(peer, name, seed):
    """Print the test score and processor seconds of one fit."""
    warnings.simplefilter("ignore")
    X, X_test, y, y_test = split(*table(name), seed)
    start = seconds()
    if peer == "lightgbm":
        score = boosted(X, X_test, y, y_test)
    else:
        built = PEERS[peer](X, X_test, y, COLUMNS)
        score = None if built[0].shape[1] == 0 else judge(built[0], y, built[1], y_test)
    print(json.dumps([score, seconds() - start, len(X)]))


def seconds():
    """Of processors, by this process and those that it started."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def measured(peer, name, seed, limit):
    """Score, seconds and rows, or None with the reason printed."""
    command = [sys.executable, "-m", "benchmarks.construct_peers", "--one", peer, name, str(seed)]
    # Of a pool that has lost a process the rest may wait for ever.
    in_all = f'ulimit -t {limit}; exec timeout {4 * limit} "$@"'
    limited = ["bash", "-c", in_all, "limited", *command]
    known = {"capture_output": True, "text": True, "env": {**os.environ, **ONE_THREAD}}
    done = subprocess.run(limited, check=False, **known)
    if done.returncode:
        error = (done.stderr.strip().splitlines() or ["no error"])[-1]
        print(f"{name} {peer}: none, {'over the limit' if done.returncode in OVER else error}")
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def over_tables(peer, command):
    """What all tables of a peer say, beside figures of `python -m benchmarks.construct tables`."""
    known = {}
    for entry in json.loads((FOLDER / "results.json").read_text()):
        known.setdefault((entry["data"], entry["rows"]), {})[entry["bar"]] = entry["measured"]
    bars = "constructed", f"{peer}, score", "time", f"{peer}, time"
    both = [[one[bar] for bar in bars] for one in known.values() if one.keys() >= {*bars}]
    ours, theirs, time, their_time = np.array(both).reshape(-1, 4).T
    gain, is_slow = ours - theirs, peer in ("openfe", "autofeat")
    figures = [
        Figure("mean gain over the peer", gain.mean(), "", "> 0"),
        Figure("median gain over the peer", np.median(gain), ""),
        Figure("p of gains over the peer", wilcoxon(gain, alternative="greater").pvalue, ""),
        Figure(
            "times as fast, median", np.median(their_time / time), "x", ">= 10" * is_slow or None
        ),
    ]
    print(peer, len(both), *(f"{f.bar} {f.measured:.4g}" for f in figures))
    record(f"{peer}, all its tables", len(both), command, figures, FOLDER, TITLE)


def main():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.construct_peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sets", default=",".join(DEVELOPMENT + CONFIRMATION))
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--limit", type=int, default=300, help="processor seconds of a fit")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        peer, name, seed = options.one
        one(peer, name, int(seed))
        return
    command = f"python -m benchmarks.construct_peers --splits {options.splits}"
    command += f" --limit {options.limit}"
    for name in filter(is_there, options.sets.split(",")):
        for peer in options.peers.split(","):
            found = [measured(peer, name, 0, options.limit)]
            for seed in range(1, options.splits):
                found += [measured(peer, name, seed, options.limit)] if found[-1] else []
            if any(each is None or each[0] is None for each in found):
                continue
            score, time, rows = np.mean(found, axis=0).tolist()
            print(f"{name:20} {peer:10} {score:.4f} {time:8.1f} s", flush=True)
            figures = [Figure(f"{peer}, score", score, ""), Figure(f"{peer}, time", time, "s")]
            record(name, round(rows), command, figures, FOLDER, TITLE)
    for peer in options.peers.split(","):
        over_tables(peer, command)


if __name__ == "__main__":
    main()
