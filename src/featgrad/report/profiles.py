"""What the data of a report look like: a summary, correlations, the target over values."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from featgrad._support import Flags, Floats, Indices
from featgrad._support.array_api import dense
from featgrad._support.wording import percent, visible
from featgrad.columns.extremes import in_range
from featgrad.columns.sums import statistics
from featgrad.math.targets import Encoding
from featgrad.moments.least_squares import Weighted, ridge_coefficients
from featgrad.moments.rows import StandardisedRows
from featgrad.plan import HELD_OUT_RIDGE
from featgrad.readers.columns import EncodedColumn
from featgrad.report.text import label_text, number_text

# Correlation from which a chosen feature replaces a rejected one.
REDUNDANT = 0.7
# Number of chosen columns whose products with all candidates are in memory at once.
_BLOCK_COLUMNS = 64
# Number of rows for correlations: their standard error is then at most 0.01.
_CORRELATED_ROWS = 10_000
# Bins of a profile, at most, and rows for each of them.
_BINS = 12
_ROWS_PER_BIN = 8
# Rows on which profiles are drawn.
_ROWS = 5000
# Rows from which a bin has a mean.
_LEAST_ROWS = 5
# Outputs of the target that are drawn.
_MAX_SERIES = 4


class Series(NamedTuple):
    """What is drawn of the target: one column for each name; and the weights of the rows."""

    names: list[str]
    values: Floats
    weights: Floats
    places: Indices  # which outputs of the encoded target; of ranks all are added up
    classes: tuple[str, ...] = ()  # all of them, in order

    def take(self, rows: Any) -> "Series":
        return self._replace(values=self.values[rows], weights=self.weights[rows])


class Profile(NamedTuple):
    """Rows and the target in bins of a feature's values."""

    bins: list[str]
    counts: Indices
    means: Floats  # shape (bins, series); NaN where rows are few
    errors: Floats  # standard errors of the means
    labelled: bool = False  # whether bins are categories


def target_series(y: Any, task: str, name: str, weights: Floats) -> Series:
    """Numbers as they are, classes and labels by their share of the rows."""
    encoding = Encoding.of(y, task)
    columns = encoding.columns(y)
    if task == "ordinal":
        every, values = np.arange(columns.shape[1]), columns.sum(axis=1)[:, None]
        return Series([f"mean rank of {visible(name)}"], values, weights, every)
    labels: tuple[str, ...] = ()
    if encoding.classes is not None:
        labels = tuple(visible(label_text(label)) for label in encoding.classes)
        names = [f"share of {name} = {label}" for label in labels[-columns.shape[1] :]]
    elif columns.shape[1] == 1:
        names = [f"mean of {name}"]
    else:
        names = [f"mean of output {i + 1}" for i in range(columns.shape[1])]
    # The most frequent classes and labels, or the first outputs.
    order = np.arange(len(names)) if task == "regression" else np.argsort(-columns.mean(axis=0))
    drawn = np.sort(order[:_MAX_SERIES])
    return Series([visible(names[i]) for i in drawn], columns[:, drawn], weights, drawn, labels)


def profiles(
    X: Any,
    target: Series,
    units: Sequence[Indices],
    names: Sequence[str],
    encoded: Callable[[int], tuple[EncodedColumn, Floats] | None],
) -> dict[int, Profile]:
    """Of units, by their first feature, on evenly spaced rows of positive weight.

    Some features stand for columns of texts or dates.
    """
    used = drawn_rows(target)
    X, target = X[used], target.take(used)
    found: dict[int, Profile | None] = {}
    for features in units:
        first, columns = int(features[0]), np.asarray(dense(X[:, features]), float)
        if len(features) > 1:
            found[first] = _of_categories(columns, target, [names[i] for i in features])
        elif (one := encoded(first)) is not None:
            found[first] = _of_encoded(one[0], one[1][used], target)
        else:
            found[first] = _of_numbers(columns[:, 0], target)
    return {first: profile for first, profile in found.items() if profile is not None}


def drawn_rows(target: Series) -> Indices:
    """Evenly spaced ones of positive weight."""
    used = np.flatnonzero(target.weights)
    return used[:: -(-len(used) // _ROWS)]


def _of_encoded(column: EncodedColumn, X: Floats, target: Series) -> Profile | None:
    """By texts, or by days."""
    if column.kind == "date":
        return _of_numbers(X[:, 0], target, lambda day, _: str(np.datetime64(round(day), "D")))
    if column.kind == "two":
        X = np.column_stack([X[:, 0] == 0, X[:, 0] == 1])
    return _of_categories(np.asarray(X, float), target, list(column.values))


def _of_numbers(
    x: Floats, target: Series, shown: Callable[[float, float], str] = number_text
) -> Profile | None:
    present = ~np.isnan(x)
    x, target = x[present], target.take(present)
    if len(x) == 0:
        return None
    distinct, counts = np.unique(x, return_counts=True)
    low, high = np.quantile(x, [0.01, 0.99])
    span = float(high - low)
    if len(distinct) <= max(2, _most_bins(len(x))):
        return binned([shown(value, span) for value in distinct], x[:, None] == distinct, target)
    # A value that most rows share, like the 0 of sparse columns, has a bin of its own.
    common = distinct[counts > len(x) / 2]
    others = ~np.isin(x, common)
    # Outer bins take what lies far out.
    low, high = np.quantile(x[others], [0.01, 0.99])
    edges = np.linspace(low, high, max(1, _most_bins(int(others.sum()))) + 1)
    of_row = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    inside = others[:, None] & (of_row[:, None] == np.arange(len(edges) - 1))
    bins = [f"{shown(a, span)} to {shown(b, span)}" for a, b in pairwise(edges)]
    own = x[:, None] == common
    return binned(
        [*(shown(value, span) for value in common), *bins], np.hstack([own, inside]), target
    )


def _most_bins(n_rows: int) -> int:
    """Bins have some rows each, on average."""
    return min(_BINS, n_rows // _ROWS_PER_BIN)


def _of_categories(X: Floats, target: Series, names: list[str]) -> Profile | None:
    """Profile of indicator columns, of which at most one is 1 in a row."""
    if not np.isin(X, (0, 1)).all() or X.sum(axis=1).max() > 1:
        return None
    frequent = np.argsort(-X.sum(axis=0), kind="stable")[:_BINS]
    profile = binned([names[i] for i in frequent], X[:, frequent] == 1, target)
    order = np.argsort(profile.means[:, 0], kind="stable")
    bins, counts, means, errors, _ = profile
    return Profile([bins[i] for i in order], counts[order], means[order], errors[order], True)


def binned(bins: list[str], inside: Flags, target: Series) -> Profile:
    """Means of the target in bins, and ``sum w^2 (y - mean)^2 / (sum w)^2``, their variance."""
    values, weights = target.values, target.weights
    centre, w = values.mean(axis=0), weights[:, None]
    y = values - centre
    counts = np.count_nonzero(inside, axis=0)
    total = np.where(counts >= _LEAST_ROWS, weights @ inside, np.nan)[:, None]
    means = inside.T @ (w * y) / total
    squares = inside.T @ (w * y) ** 2 - 2 * means * (inside.T @ (w**2 * y))
    squares += means**2 * (inside.T @ w**2)
    return Profile(bins, counts, means + centre, np.sqrt(np.maximum(squares, 0.0)) / total)


def summarise_data(X: Any, y: Any, task: str, missing: Indices) -> dict[str, str]:
    n_rows, n_columns = X.shape
    lines = {"Rows": f"{n_rows:,}", "Candidate features": f"{n_columns:,}"}
    if sparse.issparse(X):
        lines["Entries other than 0"] = percent(X.nnz / (n_rows * n_columns))
    constant = int(np.count_nonzero(statistics(scaled_down(X)).inverse_variance() == 0))
    share = missing.sum() / (n_rows * n_columns)
    lines["Missing values"] = percent(share) if share else "none"
    if constant:
        lines["Constant features"] = f"{constant:,}, never chosen"
    lines["Target"] = _target_summary(np.asarray(y), task)
    return lines


def _target_summary(y: NDArray[Any], task: str) -> str:
    if y.ndim == 2 and y.shape[1] > 1:
        return f"{y.shape[1]} outputs"
    if task == "regression":
        mean, low, high = (number_text(end, y.std()) for end in (y.mean(), y.min(), y.max()))
        return f"mean {mean}, standard deviation {number_text(y.std())}, {low} to {high}"
    labels, counts = np.unique(y, return_counts=True)
    largest = np.argsort(-counts, kind="stable")[:5]
    shares = [f"{label_text(labels[i])}: {percent(counts[i] / counts.sum())}" for i in largest]
    shares += [f"{len(labels) - len(largest)} more"] if len(labels) > len(largest) else []
    return f"{len(labels)} classes ({', '.join(shares)})"


def fingerprint(X: Any, y: Any) -> str:
    """A short hash of the values, their types and their shape."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (np.ascontiguousarray(X),)
    return str(joblib.hash((X.shape, *parts, np.asarray(y))))[:16]


def count_missing(X: Any) -> Indices:
    if X.dtype.kind != "f":
        return np.zeros(X.shape[1], dtype=np.intp)
    if sparse.issparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    return np.asarray(np.count_nonzero(np.isnan(X), axis=0))


def effects(X: Any, output: Floats, weights: Floats, columns: Indices) -> Floats:
    """Coefficients of some standardised columns in a ridge model of one output."""
    if len(columns) == 0:
        return np.zeros(0)
    rows = _some(np.flatnonzero(weights))
    values = _standardised(X[:, columns], rows, weights[rows]).values()
    centred = output[rows] - np.average(output[rows], axis=0, weights=weights[rows])
    model = ridge_coefficients(Weighted(values, centred, weights[rows]), HELD_OUT_RIDGE)
    return np.asarray(model[:, 0])


def correlations(X: Any, columns: Indices) -> Floats:
    """Correlations among some columns; missing entries count as the mean."""
    rows = _some(np.arange(X.shape[0]))
    values = _standardised(X[:, columns], rows, np.ones(len(rows))).values()
    return np.asarray(np.clip(values.T @ values / len(rows), -1, 1))


def nearest_chosen(X: Any, sets: Sequence[Indices]) -> list[tuple[Indices, Floats]]:
    """For each set of columns: the member that every column correlates with most, and how much.

    A member of the set is compared with the other members; the position is -1 if there is no
    correlation. The additional memory is linear in the rows and in the columns of X.
    """
    n_columns, some = X.shape[1], _some(np.arange(X.shape[0]))
    weights = np.ones(len(some)) / len(some)
    rows = _standardised(X, some, weights)
    scale = np.sqrt(rows.inverse_variance)
    found = [(np.full(n_columns, -1), np.zeros(n_columns)) for _ in sets]
    union = np.unique(np.concatenate(sets))
    for start in range(0, len(union), _BLOCK_COLUMNS):
        block = union[start : start + _BLOCK_COLUMNS]
        own = block, np.arange(len(block))
        units = np.zeros((n_columns, len(block)))
        units[own] = scale[block]
        correlation = scale[:, None] * rows.covariance_product(units, weights)
        correlation[own] = 0.0
        for columns, (nearest, best) in zip(sets, found, strict=True):
            _, of_block, position = np.intersect1d(block, columns, return_indices=True)
            if len(of_block):
                top = np.argmax(np.abs(correlation[:, of_block]), axis=1)
                values = correlation[np.arange(n_columns), of_block[top]]
                better = np.abs(values) > np.abs(best)
                nearest[better] = position[top[better]]
                best[better] = np.clip(values[better], -1, 1)
    return found


def _standardised(X: Any, rows: Indices, weights: Floats) -> StandardisedRows:
    return StandardisedRows.of(scaled_down(X), rows, weights, "zscore")


def scaled_down(X: Any) -> Any:
    """Columns of extreme magnitude multiplied by powers of two, so that squares are numbers."""
    with catch_warnings():  # the fit has warned of columns that vary little
        simplefilter("ignore")
        return in_range(X, "zscore")


def _some(rows: Indices) -> Indices:
    """Evenly spaced ones."""
    return rows[:: -(-len(rows) // _CORRELATED_ROWS)]
