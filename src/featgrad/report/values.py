"""Values of a feature, and the target over them, in a few bins."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from featgrad._support.types import Flags, Floats, Indices
from featgrad.math.targets import Encoding

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

    def take(self, rows: Any) -> "Series":
        return Series(self.names, self.values[rows], self.weights[rows])


class Profile(NamedTuple):
    """Rows and the target in bins of a feature's values."""

    bins: list[str]
    counts: Indices
    means: Floats  # shape (bins, series); NaN where rows are few
    errors: Floats  # standard errors of the means

    def take(self, places: Indices) -> "Profile":
        bins = [self.bins[i] for i in places]
        return Profile(bins, self.counts[places], self.means[places], self.errors[places])


def target_series(y: Any, task: str, name: str, weights: Floats) -> Series:
    """Numbers as they are, classes and labels by their share of the rows."""
    encoding = Encoding.of(y, task)
    columns = encoding.columns(y)
    if task == "ordinal":
        return Series([f"mean rank of {name}"], columns.sum(axis=1)[:, None], weights)
    if encoding.classes is not None:
        classes = encoding.classes[-1:] if task == "binary" else encoding.classes
        names = [f"share of {name} = {label_text(label)}" for label in classes]
    elif columns.shape[1] == 1:
        names = [f"mean of {name}"]
    else:
        names = [f"mean of output {i + 1}" for i in range(columns.shape[1])]
    # The most frequent classes and labels, or the first outputs.
    order = np.arange(len(names)) if task == "regression" else np.argsort(-columns.mean(axis=0))
    drawn = np.sort(order[:_MAX_SERIES])
    return Series([names[i] for i in drawn], columns[:, drawn], weights)


def label_text(label: Any) -> str:
    """Text files hold floats: class 1 is read as 1.0."""
    return f"{label:g}" if isinstance(label, np.floating) else str(label)


def number_text(value: float) -> str:
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def profiles(
    X: Any, target: Series, units: Sequence[Indices], names: Sequence[str]
) -> list[Profile | None]:
    """Profile of each unit, a feature or a group, on evenly spaced rows of positive weight."""
    used = np.flatnonzero(target.weights)
    used = used[:: -(-len(used) // _ROWS)]
    X, target = X[used], target.take(used)
    found: list[Profile | None] = []
    for features in units:
        columns = X[:, features]
        dense = np.asarray(columns.toarray() if sparse.issparse(columns) else columns, float)
        if len(features) == 1:
            found.append(_of_numbers(dense[:, 0], target))
        else:
            found.append(_of_categories(dense, target, [names[i] for i in features]))
    return found


def _of_numbers(x: Floats, target: Series) -> Profile | None:
    present = ~np.isnan(x)
    x, target = x[present], target.take(present)
    if len(x) == 0:
        return None
    distinct, counts = np.unique(x, return_counts=True)
    if len(distinct) <= max(2, _most_bins(len(x))):
        return _binned(list(map(number_text, distinct)), x[:, None] == distinct, target)
    # A value that most rows share, like the 0 of sparse columns, has a bin of its own.
    common = distinct[counts > len(x) / 2]
    others = ~np.isin(x, common)
    # Outer bins take what lies far out.
    low, high = np.quantile(x[others], [0.01, 0.99])
    edges = np.linspace(low, high, max(1, _most_bins(int(others.sum()))) + 1)
    of_row = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    inside = others[:, None] & (of_row[:, None] == np.arange(len(edges) - 1))
    bins = [f"{number_text(a)} to {number_text(b)}" for a, b in pairwise(edges)]
    own = x[:, None] == common
    return _binned([*map(number_text, common), *bins], np.hstack([own, inside]), target)


def _most_bins(n_rows: int) -> int:
    """Bins have some rows each, on average."""
    return min(_BINS, n_rows // _ROWS_PER_BIN)


def _of_categories(X: Floats, target: Series, names: list[str]) -> Profile | None:
    """Profile of indicator columns, of which at most one is 1 in a row."""
    if not np.isin(X, (0, 1)).all() or X.sum(axis=1).max() > 1:
        return None
    frequent = np.argsort(-X.sum(axis=0), kind="stable")[:_BINS]
    profile = _binned([names[i] for i in frequent], X[:, frequent] == 1, target)
    order = np.argsort(profile.means[:, 0], kind="stable")
    return profile.take(order)


def _binned(bins: list[str], inside: Flags, target: Series) -> Profile:
    """Means of the target in bins, and ``sum w^2 (y - mean)^2 / (sum w)^2``, their variance."""
    _, values, weights = target
    centre, w = values.mean(axis=0), weights[:, None]
    y = values - centre
    counts = np.count_nonzero(inside, axis=0)
    total = np.where(counts >= _LEAST_ROWS, weights @ inside, np.nan)[:, None]
    means = inside.T @ (w * y) / total
    squares = inside.T @ (w * y) ** 2 - 2 * means * (inside.T @ (w**2 * y))
    squares += means**2 * (inside.T @ w**2)
    return Profile(bins, counts, means + centre, np.sqrt(np.maximum(squares, 0.0)) / total)
