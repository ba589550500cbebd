"""Checks of arguments: each error names the argument, its value and the way out."""

import math
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import wraps
from numbers import Integral
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np

from featgrad._support import Floats, Indices
from featgrad._support.array_api import namespace
from featgrad._support.wording import existing
from featgrad.columns.sums import has_missing

P = ParamSpec("P")
T = TypeVar("T")

PREPROCESS = ("zscore", "center", "robust")
MISSING = ("error", "mean")
# Squares of larger weights, and sums of them, overflow.
_LARGEST_WEIGHT = 1e100
# Sum of squares of the rows' shares of the weight: one row has more than 95% of it.
_MOST_CONCENTRATED = 0.95**2
# What scikit-learn's validation lets through as X.
MATRIX = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": "allow-nan"}


def unchanged_by_errors(method: Callable[P, T]) -> Callable[P, T]:
    """Give the object of a method the attributes back that it had before an error."""

    @wraps(method)
    def guarded(*args: P.args, **options: P.kwargs) -> T:
        attributes: dict[str, Any] = args[0].__dict__
        before = attributes.copy()
        try:
            return method(*args, **options)
        except BaseException:
            attributes.clear()
            attributes.update(before)
            raise

    return guarded


def check_option(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name}={value!r} is unknown: use one of {list(allowed)}.")


def check_number(
    name: str, value: Any, kind: Any, *, at_least: float = -math.inf, above: float = -math.inf
) -> None:
    """A number of a kind (numbers.Integral or numbers.Real) within its bounds."""
    is_number = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if is_number and at_least <= value < math.inf and value > above:
        return
    bound = f"of at least {at_least}" if above == -math.inf else f"above {above}"
    noun = "whole number" if kind.__name__ == "Integral" else "number"
    raise ValueError(f"{name}={value!r} cannot be used: give a {noun} {bound}.")


def feature_indices(argument: str, given: Any, n_features: int, names: Any) -> Indices:
    """Columns of features that an argument gives by index or, where X has names, by name."""
    given = list(given)
    by_index = [isinstance(item, Integral) and not isinstance(item, bool) for item in given]
    places: dict[Any, int] = {}
    if names is not None and not all(by_index):
        # Of equal names the first counts.
        places = dict(zip(reversed(names), reversed(range(n_features)), strict=True))
    for item, is_index in zip(given, by_index, strict=True):
        if is_index and not 0 <= item < n_features:
            raise ValueError(
                f"{argument} contains {item} but X has {n_features} features: use 0 to "
                f"{n_features - 1}."
            )
        if not is_index and not (isinstance(item, Hashable) and item in places):
            hint = "X has no feature names: use column indices"
            if names is not None:
                hint = f"there are {existing(names, item)}"
            raise ValueError(f"{argument} contains {item!r}, which is not a feature of X: {hint}.")
    found = zip(given, by_index, strict=True)
    return np.array([item if is_index else places[item] for item, is_index in found], np.intp)


_TEXTS = "encode columns of text, with scikit-learn's OneHotEncoder, say"
_DATES = "convert dates and times to numbers, of days, say"


@contextmanager
def naming_columns() -> Iterator[None]:
    """Add to scikit-learn's errors about columns that hold no numbers what to do with them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        text = str(error)
        if "string" in text and ("convert" in text or "compatible" in text):
            hint = _TEXTS
        elif "DateTime" in text or "datetime" in text or "M8" in text:
            hint = _DATES
        else:
            raise
        raise ValueError(
            f"X holds something other than numbers ({text.rstrip('.')}): {hint}."
        ) from error


def check_missing(X: Any, missing: str) -> None:
    """Refuse dates, and NaN unless it is to count as its column's mean."""
    kind = getattr(X.dtype, "kind", "f")
    if kind in "MmOUS":
        raise ValueError(f"X holds {X.dtype}: {_DATES if kind in 'Mm' else _TEXTS}.")
    if missing != "mean" and has_missing(X):
        refuse_missing()


def refuse_missing() -> NoReturn:
    raise ValueError(
        "Input X contains NaN: pass missing='mean' to count missing values as their column's "
        "mean, or impute them first."
    )


def check_on_accelerator(X: Any) -> None:
    """What scikit-learn asks of X, without the copy to the host that its validation makes."""
    if X.ndim != 2 or X.shape[0] < 2 or X.shape[1] < 1:
        raise ValueError(
            f"X has shape {tuple(X.shape)}: give two dimensions, at least two rows and a column."
        )
    if namespace(X).isdtype(X.dtype, "complex floating"):
        raise ValueError("Complex data not supported: X is complex; pass its parts as columns.")


def check_source(source: Any) -> None:
    if not hasattr(source, "block_rows"):
        raise ValueError(
            f"source is of type {type(source).__name__}, which cannot be read block by block: "
            "pass what featgrad.open_source makes of it."
        )


def check_alike(here: Any, other: Any, names: tuple[str, ...]) -> None:
    """Refuse to merge what has other attributes, or is the same."""
    if other is here:
        raise ValueError("other is this selector, whose rows would count twice: merge another one.")
    for name in names:
        own, given = (getattr(one, name, None) for one in (here, other))
        if isinstance(own, np.ndarray) and isinstance(given, np.ndarray):
            # Of as many columns the first one that differs.
            differ = np.flatnonzero(own != given)[:1]
            own, given = own[differ].tolist(), given[differ].tolist()
        if (own is None) != (given is None) or own != given:
            raise ValueError(
                f"other has {name}={given!r} and this selector {own!r}: merge selectors of the "
                "same features, target, containers and parameters."
            )


def check_weights(sample_weight: Any, n_rows: int) -> Floats:
    """Weights that sum to one."""
    weights = check_raw_weights(sample_weight, n_rows)
    total = weights.sum()
    if total == 0:
        raise ValueError("sample_weight is zero for every row: give some row a positive weight.")
    weights = np.asarray(weights / total)
    check_spread(float(weights @ weights), int(np.count_nonzero(weights)))
    return weights


def check_spread(concentration: float, n_rows: int) -> None:
    """Refuse rows of which one has nearly all of the weight, by the sum of squares of shares."""
    if n_rows > 1 and concentration > _MOST_CONCENTRATED:
        raise ValueError(
            f"sample_weight gives one of {n_rows} rows {100 * concentration**0.5:.3g}% of the "
            "weight, and nothing can be learned from a single row: check the largest weight."
        )


def check_raw_weights(sample_weight: Any, n_rows: int) -> Floats:
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight holds no numbers ({error}): give one per row.") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape} but X has {n_rows} rows: give one weight per "
            "row."
        )
    if not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight contains NaN or infinity: give finite weights.")
    if weights.max(initial=0.0) > _LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight contains {weights.max():.3g}, of which sums overflow: divide all "
            "weights by their mean."
        )
    if np.any(weights < 0):
        raise ValueError(f"sample_weight contains {weights.min()}: give weights of zero or more.")
    return weights
