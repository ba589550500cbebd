"""Wild values in every storage and in the stream: refused by a clear error, or a finite result."""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from featgrad import FeatureGradientSelector, OnlineFeatureSelector, open_source

_N_ROWS, _N_COLUMNS, _WIDE = 150, 6, 1200
Case = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def cases(n_columns: int = _N_COLUMNS) -> Iterator[tuple[str, Case]]:
    """Rows, target and weights with something wild in them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((_N_ROWS, n_columns)).round(6)
    y = (2 * X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(_N_ROWS)).round(6)
    values = {"1e300": 1e300, "1e-300": 1e-300, "1e40": 1e40, "1e-40": 1e-40, "1e20": 1e20,
              "1e160": 1e160, "nan": np.nan, "inf": np.inf, "-inf": -np.inf, "smallest": 5e-324,
              "1e308": 1.7e308}  # fmt: skip
    for name, value in values.items():
        for place, where in (("a cell", (3, 0)), ("a row", (3, slice(None)))):
            wild = X.copy()
            wild[where] = value
            yield f"{place} of {name}", (wild, y, None)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for name, value in values.items():
            yield (
                f"a column times {name}",
                (X * np.where(np.arange(n_columns) == 0, value, 1), y, None),
            )
            yield f"all times {name}", (X * value, y, None)
            yield f"y times {name}", (X, y * value, None)
            wild = y.copy()
            wild[3] = value
            yield f"y with {name}", (X, wild, None)
    for offset in (1e6, 1e9, 1e12, 1e15, 1e300, -1e12):
        yield f"X + {offset:g}", (X + offset, y, None)
        yield f"y + {offset:g}", (X, y + offset, None)
        wild = X.copy()
        wild[:, 0] += offset
        yield f"a column + {offset:g}", (wild, y, None)
    for name, value in (("zero", 0.0), ("one", 1.0), ("1e300", 1e300), ("1e-300", 1e-300)):
        wild = X.copy()
        wild[:, 0] = value
        yield f"a constant column of {name}", (wild, y, None)
        yield f"all constant {name}", (np.full_like(X, value), y, None)
        yield f"constant y of {name}", (X, np.full_like(y, value), None)
    weights = {"one of 1e12": 1e12, "one of 1e300": 1e300, "one of inf": np.inf, "one nan": np.nan,
               "one negative": -1.0, "one of 1e-300": 1e-300}  # fmt: skip
    for name, value in weights.items():
        yield f"weights, {name}", (X, y, np.where(np.arange(_N_ROWS) == 3, value, 1.0))
    for value in (0.0, 1e308, 1e-308, 1e200, 5e-324):
        yield f"weights all {value:g}", (X, y, np.full(_N_ROWS, value))
    labels = {
        "two": y > 0,
        "three": np.digitize(y, [-1, 1]),
        "each": np.arange(_N_ROWS),
        "huge": np.where(y > 0, 2**60, 2**60 + 1),
        "one": np.ones(_N_ROWS, int),
        "rare": (np.arange(_N_ROWS) == 3).astype(int),
    }
    for name, classes in labels.items():
        yield f"classes, {name}", (X, classes, None)
        yield f"classes, {name}, constant X", (np.ones_like(X), classes, None)
        wild = X.copy()
        wild[3, 0] = 1e40
        yield f"classes, {name}, a cell of 1e40", (wild, classes, None)


def _selector(**more: Any) -> FeatureGradientSelector:
    return FeatureGradientSelector(2, random_state=0, **more)


def _dense(X: Any, y: Any, weight: Any) -> FeatureGradientSelector:
    return _selector().fit(X, y, sample_weight=weight)


def _single(X: Any, y: Any, weight: Any) -> FeatureGradientSelector:
    with np.errstate(over="ignore", under="ignore"):
        return _selector().fit(X.astype(np.float32), y, sample_weight=weight)


def _csr(X: Any, y: Any, weight: Any) -> FeatureGradientSelector:
    return _selector().fit(sparse.csr_array(X), y, sample_weight=weight)


def _frame(X: Any, y: Any, weight: Any) -> FeatureGradientSelector:
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    return _selector().fit(frame, y, sample_weight=weight)


def _source(X: Any, y: Any, weight: Any) -> FeatureGradientSelector:
    return _selector().fit_source(open_source(X, target=y, weight=weight, block_rows=40))


def _sparse_source(X: Any, y: Any, weight: Any) -> FeatureGradientSelector:
    return _source(sparse.csr_array(X), y, weight)


def _chunks(X: Any, y: Any, weight: Any) -> FeatureGradientSelector:
    selector, classes = _selector(), np.unique(y) if y.dtype.kind != "f" else None
    for start in range(0, len(y), 50):
        rows = slice(start, start + 50)
        part = None if weight is None else weight[rows]
        selector.partial_fit(X[rows], y[rows], sample_weight=part, classes=classes)
    return selector.finalize()


def _device(X: Any, y: Any, weight: Any) -> FeatureGradientSelector:
    return _selector(device="cpu").fit(X, y, sample_weight=weight)


def _dask(X: Any, y: Any, weight: Any) -> FeatureGradientSelector:
    import dask
    import dask.array as da

    parts = [None if part is None else da.from_array(part, chunks=50) for part in (y, weight)]
    with dask.config.set(scheduler="synchronous"):
        rows = da.from_array(X, chunks=(50, X.shape[1]))
        return _selector().fit(rows, parts[0], sample_weight=parts[1])


STORAGES: dict[str, Callable[[Any, Any, Any], FeatureGradientSelector]] = {
    "dense": _dense, "float32": _single, "CSR": _csr, "frame": _frame, "source": _source,
    "CSR source": _sparse_source, "chunks": _chunks, "device": _device, "dask": _dask,
}  # fmt: skip


def examine(fit: Callable[..., FeatureGradientSelector], case: Case) -> str:
    """What came of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            selector = fit(*case)
        except ValueError as error:
            return "refused" if _is_clear(str(error)) else f"FAILED: an obscure error, {error!r}"
        except Exception as error:
            return f"FAILED with {error!r}"
    noisy = [str(it.message) for it in caught if issubclass(it.category, RuntimeWarning)]
    if noisy:
        return f"FAILED: NumPy warns, {noisy[0]}"
    found = selector.learnability_
    numbers = [found.value, *found.interval, *selector.scores_]
    if not np.isfinite([number for number in numbers if number is not None]).all():
        return f"FAILED: not finite, {found.value}, {found.interval}, {selector.scores_[:6]}"
    return "finite"


def _is_clear(message: str) -> bool:
    """Not a word of the libraries below, who know of no argument."""
    first = message.strip().split("\n", 1)[0]
    return len(first) > 15 and not first.startswith(("array must not", "zero-size", "operands"))


def streams(seed: int = 0) -> Iterator[tuple[str, str]]:
    """Rows that a stream refuses leave its state as it was; those that it takes, finite results."""
    kinds: dict[str, Callable[[Any], Any]] = {
        "dense": np.asarray,
        "CSR": sparse.csr_array,
        "dicts": lambda X: [{f"x{i}": v for i, v in enumerate(row)} for row in X.tolist()],
    }
    for kind, stored in kinds.items():
        for name, (X, y, _) in cases():
            if name.startswith("weights"):
                continue
            rng = np.random.default_rng(seed)
            before = rng.standard_normal((400, X.shape[1]))
            known = before[:, 0] if y.dtype.kind == "f" else rng.choice(np.unique(y), 400)
            if len(np.unique(known)) < 2:
                continue
            selector = OnlineFeatureSelector(2)
            try:
                selector.partial_fit(stored(before), known, classes=_classes(y))
            except ValueError:
                continue  # a target that no stream begins with
            yield f"{kind}, {name}", _taken(selector, stored(X), y)
    for name, rows, target in _misfits():
        selector = OnlineFeatureSelector(2)
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((400, 6))
        selector.partial_fit(X, (X[:, 0] > 0).astype(int))
        yield name, _taken(selector, rows, target)


def _classes(y: Any) -> Any:
    return None if y.dtype.kind == "f" else np.unique(y)


def _misfits() -> Iterator[tuple[str, Any, Any]]:
    """Rows of another shape or kind, or of a class that is unknown."""
    X, y = np.ones((5, 6)), np.array([0, 1, 0, 1, 0])
    yield "too few columns", X[:, :5], y
    yield "too many columns", np.ones((5, 7)), y
    yield "an unknown class", X, y + 1
    yield "rows and targets of other numbers", X, y[:4]
    yield "text", X.astype(str).astype(object) + "a", y
    yield "text as target", X, np.array(list("abcde"))
    yield "no rows", X[:0], y[:0]
    yield "dicts after a table", [{"a": 1.0}] * 5, y
    yield "one dimension", X[0], y
    yield "a missing target", X, np.array([0, 1, 0, 1, np.nan])


def _taken(selector: OnlineFeatureSelector, X: Any, y: Any) -> str:
    before = pickle.dumps(selector.__dict__)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            selector.partial_fit(X, y)
        except (ValueError, TypeError) as error:
            if pickle.dumps(selector.__dict__) != before:
                return f"FAILED: the state has changed, {error!r}"
            return "refused" if _is_clear(str(error)) else f"FAILED: an obscure error, {error!r}"
        except Exception as error:
            return f"FAILED with {error!r}"
        found = selector.learnability_
        numbers = [found.value, *found.interval, *selector.scores_]
    noisy = [str(it.message) for it in caught if issubclass(it.category, RuntimeWarning)]
    if noisy:
        return f"FAILED: NumPy warns, {noisy[0]}"
    return "finite" if np.isfinite(numbers).all() else f"FAILED: not finite, {numbers}"


def run(storages: tuple[str, ...] = tuple(STORAGES), wide: bool = True) -> Counter[str]:
    """Every case in these storages, and in the stream."""
    outcomes: Counter[str] = Counter()

    def count(what: str, outcome: str) -> None:
        if "FAILED" in outcome:
            print(f"wild values, {what}: {outcome}"[:300])
            outcome = "FAILED"
        outcomes[f"wild values {outcome}"] += 1

    shapes = [(_N_COLUMNS, storages)] + [(_WIDE, ("dense", "CSR", "source"))] * wide
    for n_columns, names in shapes:
        for name, case in cases(n_columns):
            for storage in names:
                count(f"{storage} of {n_columns}, {name}", examine(STORAGES[storage], case))
    for name, outcome in streams():
        count(f"stream, {name}", outcome)
    return outcomes
