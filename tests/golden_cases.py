"""Fits, estimates, streams and commands whose results are recorded, one for each way through.

Targets hold noise, and columns depend on each other, so that every number moves with its formula.
They are rounded, which keeps them the same whatever computes them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import TimeSeriesSplit

from everyday_files import BAD, GOOD, File
from featgrad import (
    FeatureGradientSelector,
    Knockoffs,
    Learnability,
    MiniBatch,
    OnlineFeatureSelector,
    WorkingSet,
    open_source,
    permutation_test,
)
from featgrad.cli import main
from golden_shapes import SHAPES


def numbers(n_rows: int, n_columns: int, n_active: int = 4, seed: int = 0):
    """Neighbouring columns depend on each other; the first ones make half of the target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    X[:, 1:] += 0.5 * X[:, :-1]
    X = (X * rng.uniform(0.5, 2, n_columns)).round(6)
    signal = X[:, :n_active] @ np.linspace(2, 1, n_active)
    return X, (signal + signal.std() * rng.standard_normal(n_rows)).round(6)


def classes(n_rows: int, n_columns: int, shares=(0.5, 0.5), seed: int = 0):
    X, y = numbers(n_rows, n_columns, seed=seed)
    return X, np.digitize(y, np.quantile(y, np.cumsum(shares)[:-1]))


def several(X, y):
    """Three outputs, of which two depend on other columns."""
    return np.column_stack([y, y + 3 * X[:, 8], X[:, 9] - X[:, 8] + y / 9]).round(6)


def entries(n_rows: int, n_columns: int, density: float = 0.1, seed: int = 0):
    """CSR; values hardly repeat, so that rounding orders no predictions."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_rows, n_columns), density=density, random_state=rng, format="csr")
    X.data = (4 * X.data).round(6)
    signal = X[:, :6] @ np.linspace(2, 1, 6)
    return X, (signal + signal.std() * rng.standard_normal(n_rows)).round(6)


def with_gaps(X, y):
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X, y


def with_outliers(X, y):
    X[::50] *= 100
    y[::70] *= 30
    return X, y


def selector(*size: Any, **options: Any) -> FeatureGradientSelector:
    return FeatureGradientSelector(*size, random_state=0, **options)


def fit(made: FeatureGradientSelector, X: Any, y: Any, **rows: Any) -> FeatureGradientSelector:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are recorded as `concerns_`
        return made.fit(X, y, **rows)


def of_source(made: FeatureGradientSelector, given: Any, **options: Any) -> FeatureGradientSelector:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.fit_source(open_source(given, **options))


def of_file(made: FeatureGradientSelector, name: str) -> FeatureGradientSelector:
    pd = pytest.importorskip("pandas")
    X, y = numbers(400, 20)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        frame = pd.DataFrame(X.round(6), columns=[f"c{i}" for i in range(20)]).assign(y=y.round(6))
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
        elif path.suffix == ".parquet":
            pytest.importorskip("pyarrow")
            frame.to_parquet(path, row_group_size=100)
        else:
            X, y = entries(400, 300)
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
            dump_svmlight_file(X, y, str(path))
        options = {} if path.suffix == ".svm" else {"target": "y"}
        return of_source(made, path, block_rows=150, **options)


def in_chunks(made: FeatureGradientSelector, X: Any, y: Any) -> FeatureGradientSelector:
    for start in range(0, X.shape[0], 170):
        made.partial_fit(X[start : start + 170], y[start : start + 170])
    return made.finalize()


def of_dask(made: FeatureGradientSelector, X: Any, y: Any) -> FeatureGradientSelector:
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    with dask.config.set(scheduler="synchronous"):
        return fit(made, da.from_array(X, chunks=(90, -1)), da.from_array(y, chunks=90))


def on_torch(made: FeatureGradientSelector, X: Any, y: Any) -> FeatureGradientSelector:
    pytest.importorskip("torch")
    return fit(made, X, y)


def estimates(X: Any, y: Any, **options: Any) -> dict[str, Any]:
    data = Learnability(X, y, **options)
    value, gradient = data.value_and_gradient(np.linspace(0, 1, X.shape[1]))
    few = [0, 1, 5]
    return {
        "all": data.estimate(),
        "few": data.estimate(few),
        "gains": data.gains(few),
        "alone": data.alone(few),
        "value": value,
        "gradient": gradient[:8],
    }


def stream(made: OnlineFeatureSelector, X: Any, y: Any, block: int) -> OnlineFeatureSelector:
    for start in range(0, X.shape[0], block):
        made.partial_fit(X[start : start + block], y[start : start + block])
    return made


def changing(n_rows: int, n_columns: int, seed: int = 0):
    """Other columns make the target from the middle on."""
    X, y = numbers(n_rows, n_columns, seed=seed)
    half = n_rows // 2
    noise = np.random.default_rng(seed).standard_normal(half)
    y[half:] = (X[half:, 9] + X[half:, 7] + noise).round(6)
    return X, y


def command(file: File, *arguments: str) -> dict[str, Any]:
    """What the command prints: JSON, or its error."""
    out, errors, before = io.StringIO(), io.StringIO(), os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            file.write(Path())
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
                code = main([arguments[0], file.name, *arguments[1:], *file.arguments])
        finally:
            os.chdir(before)
    if code == 0 and "--json" in arguments:
        return {key: v for key, v in json.loads(out.getvalue()).items() if key != "rows_per_second"}
    return {"code": code, "error": errors.getvalue()}


def drifting(n_rows: int, n_columns: int):
    """Rows that depend on those before."""
    X, y = numbers(n_rows, n_columns)
    return X.cumsum(axis=0).round(6), (y + 30 * np.sin(np.arange(n_rows) / 40)).round(6)


Case = Callable[[], Any]
# The shapes that the paper's own method serves, whose results may depend on batches.
OF_THE_PAPER = ("natural_size", "many_features")
FITS: dict[str, Case] = {
    **{name: made for name, made in SHAPES.items() if name not in OF_THE_PAPER},
    "numbers": lambda: fit(selector(4), *numbers(300, 40)),
    "numbers_auto": lambda: fit(selector(), *numbers(400, 30)),
    "two_classes": lambda: fit(selector(4), *classes(400, 30)),
    "rare_class": lambda: fit(selector(), *classes(500, 25, (0.93, 0.07))),
    "five_classes": lambda: fit(selector(5), *classes(500, 30, (0.4, 0.3, 0.15, 0.1, 0.05))),
    "ordinal": lambda: fit(selector(4, task="ordinal"), *classes(400, 30, (0.2,) * 5)),
    "multilabel": lambda: fit(
        selector(5), (X := numbers(400, 30)[0]), (several(X, X[:, 0]) > 0).astype(int)
    ),
    "outputs": lambda: fit(
        selector(path_sizes=[2, 4, 6]), *(lambda X, y: (X, several(X, y)))(*numbers(400, 30))
    ),
    "counts": lambda: fit(
        selector(),
        numbers(400, 20)[0],
        np.random.default_rng(0).poisson(np.exp(numbers(400, 20)[0][:, 1] / 3)),
    ),
    "noise": lambda: fit(selector(), numbers(200, 20)[0], numbers(200, 20, seed=1)[1]),
    "curved": lambda: fit(selector(2), (X := numbers(400, 10)[0]), X[:, 0] ** 2 + X[:, 1]),
    "repeated_rows": lambda: fit(
        selector(3), *(np.repeat(part, 4, axis=0) for part in numbers(100, 12))
    ),
    "dependent_rows": lambda: fit(selector(3), *drifting(400, 12)),
    "single_precision": lambda: fit(selector(4), *(part.astype("f") for part in numbers(300, 40))),
    "few_rows": lambda: fit(selector(3), *numbers(60, 400)),
    "few_rows_auto": lambda: fit(selector(), *classes(70, 300)),
    "wide": lambda: fit(selector(6), *numbers(200, 1300)),
    "sparse": lambda: fit(selector(6), *entries(500, 400)),
    "sparse_auto_classes": lambda: fit(
        selector(),
        *(lambda X, y: (X, np.digitize(y, np.quantile(y, [0.4, 0.8]))))(*entries(600, 60, 0.7)),
    ),
    "sparse_centred": lambda: fit(selector(6, preprocess="center"), *entries(500, 400)),
    "weights": lambda: fit(selector(4), *numbers(300, 40), sample_weight=np.arange(300) % 4),
    "groups_of_rows": lambda: fit(selector(), *numbers(400, 20), groups=np.arange(400) // 5),
    "splitter": lambda: fit(selector(cv=TimeSeriesSplit(3)), *numbers(400, 20)),
    "missing": lambda: fit(selector(4, missing="mean"), *with_gaps(*numbers(300, 40))),
    "robust": lambda: fit(selector(4, preprocess="robust"), *with_outliers(*numbers(400, 20))),
    "outliers": lambda: fit(selector(4), *with_outliers(*numbers(400, 20))),
    "constrained": lambda: fit(
        selector(6, keep=[19], exclude=[0], feature_groups=[[1, 2], [3, 4, 5]]), *numbers(400, 20)
    ),
    "costs_auto": lambda: fit(
        selector(costs={0: 3, 1: 2}, max_cost=6, keep=[8]), *numbers(400, 20)
    ),
    "path_sizes": lambda: fit(selector(3, path_sizes=[1, 2, 5, 8]), *numbers(400, 20)),
    "without_estimate": lambda: fit(selector(4, estimate=False), *numbers(400, 20)),
    "resamples": lambda: fit(selector(4, n_resamples=6), *numbers(200, 20)),
    "fdr": lambda: fit(selector(search=Knockoffs(0.2)), *numbers(500, 30, 12)),
    "fdr_p_values": lambda: fit(selector(search=Knockoffs(0.1)), *numbers(300, 30, 3)),
    "fdr_groups": lambda: fit(
        selector(search=Knockoffs(0.2), feature_groups=np.arange(40) // 2), *numbers(500, 40, 20)
    ),
    "fdr_classes": lambda: fit(selector(search=Knockoffs(0.2)), *classes(500, 30)),
    "order_and_filter": lambda: fit(
        selector(4, search=WorkingSet(order=6, filter="kong-valiant")), *numbers(300, 40)
    ),
    "source": lambda: of_source(selector(), (d := numbers(400, 20))[0], target=d[1], block_rows=90),
    "source_classes": lambda: of_source(
        selector(4), (d := classes(400, 20, (0.6, 0.3, 0.1)))[0], target=d[1], block_rows=90
    ),
    "source_sparse": lambda: of_source(
        selector(5), (d := entries(500, 1400))[0], target=d[1], block_rows=90
    ),
    "csv": lambda: of_file(selector(4), "rows.csv"),
    "parquet": lambda: of_file(selector(4), "rows.parquet"),
    "svmlight": lambda: of_file(selector(5), "rows.svm"),
    "chunks": lambda: in_chunks(selector(), *numbers(500, 20)),
    "chunks_sparse": lambda: in_chunks(selector(5), *entries(500, 400)),
    "chunks_classes": lambda: in_chunks(selector(4), *classes(500, 20)),
    "dask": lambda: of_dask(selector(4), *numbers(400, 20)),
    "dask_wide": lambda: of_dask(selector(4), *numbers(300, 1300)),
    "torch": lambda: on_torch(selector(4, device="cpu"), *numbers(300, 40)),
    "torch_sparse": lambda: on_torch(selector(5, device="cpu"), *entries(500, 400)),
}
MINI_BATCHES: dict[str, Case] = {
    **{name: SHAPES[name] for name in OF_THE_PAPER},
    "penalty": lambda: fit(selector(search=MiniBatch(0.5)), *numbers(300, 20)),
    "penalty_classes": lambda: fit(
        selector(search=MiniBatch(1.0, link="probit")), *classes(300, 20)
    ),
    "penalty_sparse": lambda: fit(selector(search=MiniBatch(1.0)), *entries(300, 60)),
    "penalty_batches": lambda: fit(
        selector(search=MiniBatch(1.0, batch_size=100, accumulate=2, n_epochs=2, max_iter=50)),
        *numbers(400, 20),
    ),
    "penalty_source": lambda: of_source(
        selector(search=MiniBatch(1.0)), (d := numbers(400, 20))[0], target=d[1], block_rows=90
    ),
    "stream": lambda: fit(selector(20, search=MiniBatch()), *numbers(400, 200, 20)),
    "stream_source": lambda: of_source(
        selector(20, search=MiniBatch()),
        (d := numbers(400, 200, 20))[0],
        target=d[1],
        block_rows=90,
    ),
    "stream_sparse": lambda: fit(selector(10, search=MiniBatch()), *entries(400, 300)),
}
ESTIMATES: dict[str, Case] = {
    "numbers": lambda: estimates(*numbers(300, 20)),
    "few_rows": lambda: estimates(*numbers(100, 150)),
    "filtered": lambda: estimates(*numbers(300, 20), filter="kong-valiant", order=3),
    "sparse": lambda: estimates(*entries(400, 30)),
    "sparse_few_rows": lambda: estimates(*entries(200, 300)),
    "classes": lambda: estimates(*classes(300, 20, (0.6, 0.3, 0.1))),
    "weights": lambda: estimates(*numbers(100, 120), sample_weight=1 + np.arange(100) % 3),
    "missing": lambda: estimates(*with_gaps(*numbers(300, 20)), missing="mean"),
    "permutations": lambda: permutation_test(
        selector(2), *numbers(80, 10), n_permutations=9, random_state=0
    ),
    "permuted_groups": lambda: permutation_test(
        selector(2),
        *(np.repeat(part, 2, axis=0) for part in numbers(60, 8)),
        groups=np.arange(120) // 2,
        n_permutations=9,
        random_state=0,
    ),
}
STREAMS: dict[str, Case] = {
    "numbers": lambda: stream(OnlineFeatureSelector(3, half_life=400), *changing(4000, 30), 300),
    "wide": lambda: stream(OnlineFeatureSelector(4, half_life=800), *numbers(3000, 500), 500),
    "classes": lambda: stream(OnlineFeatureSelector(3), *classes(2500, 20, (0.5, 0.3, 0.2)), 250),
    "sparse": lambda: stream(OnlineFeatureSelector(4, half_life=500), *entries(3000, 80), 200),
    "merged": lambda: stream(OnlineFeatureSelector(3), *numbers(1500, 20), 500).merge(
        stream(OnlineFeatureSelector(3), *numbers(1500, 20, seed=1), 500)
    ),
    "half_life": lambda: OnlineFeatureSelector(2).suggest_half_life(*changing(2000, 12)),
}
FILES: dict[str, Case] = {
    f"select {file.name}": lambda file=file: command(file, "select", "--json", "-k", "2")
    for file in GOOD
} | {
    f"{name} {GOOD[0].name}": lambda arguments=arguments: command(GOOD[0], *arguments)
    for name, arguments in {
        "select auto": ("select", "--json"),
        "info": ("info", "--json"),
        "score": ("score", "--json"),
        "path": ("path", "--json", "--sizes", "1", "2", "3"),
        "convert": ("convert", "out.arrow", "--json"),
    }.items()
}
ERRORS: dict[str, Case] = {
    f"{arguments[0]} {file.name}": lambda file=file, arguments=arguments: command(file, *arguments)
    for arguments in (("select", "-k", "2", "-q"), ("convert", "out.arrow", "-q"))
    for file in BAD
}
# By the file of tests/golden that holds what was recorded.
TABLES = {
    "fits": FITS,
    "mini_batches": MINI_BATCHES,
    "estimates": ESTIMATES,
    "streams": STREAMS,
    "files": FILES,
    "errors": ERRORS,
}
