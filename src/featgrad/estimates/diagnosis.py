"""Signs that what a fit says of held-out rows does not hold for new ones, or is not all there is.

Estimates are about new rows only where rows are independent, and about straight lines only. Tests
look at a bounded sample of rows, in their given order, and at the chosen and the next best columns:
for rows that are nearly copies of others, or like their neighbours, and for squares and products of
columns that explain what lines leave.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from warnings import warn

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from featgrad._support import Floats, Indices
from featgrad._support.array_api import is_dask, on_host
from featgrad._support.wording import listed, name_of, visible
from featgrad.math.targets import is_missing
from featgrad.math.tasks import ordered_labels
from featgrad.moments.least_squares import Weighted, ridge_coefficients

# Rows that are looked at, at most, in runs of neighbours where there are more.
_ROWS, _RUN = 2000, 100
# Entries that are compared, and rows that look for theirs.
_COMPARED, _QUERIES = 1 << 17, 200
# Nearest rows of a row at most, rows of a class that it takes, how much more than by chance
# distances have to rise after the nearest ones (in e-folds of probability, and as a ratio), and in
# which share of the rows.
_NEAREST, _FEWEST, _IMPROBABLE, _RISE, _SHARE = 50, 40, 8.0, 1.2, 0.2
# Autocorrelation from which rows are like their neighbours, and its standard errors.
_ALIKE, _ALIKE_ERRORS = 0.05, 4.0
# Fraction of all outputs that squares and products of columns have to add, and its standard errors.
_ADDED, _ADDED_ERRORS = 0.01, 3.5
# Parts of the rows that are predicted by models of the others, their ridge, linear columns at most,
# deviations at which columns are cut for products, and linear scores of classes that may bend.
_PARTS, _RIDGE, _LINEAR, _CUT, _SCORES = 4, 0.01, 50, 3.0, 6
_LISTED = 5  # features that are named


class DataWarning(UserWarning):
    """Something about the rows puts a limit to what was found in them."""


def with_targets(X: Any, y: Any, *others: Any, is_chunk: bool = False) -> tuple[Any, ...]:
    """Rows of X, y and others that have a target; a warning counts the rest.

    Nothing of a chunk of which no row has one.
    """
    is_lazy = is_dask(X) or sparse.issparse(y)
    targets = np.asarray(0 if is_lazy else ordered_labels(on_host(y)))
    missing = is_missing(targets) if targets.ndim in (1, 2) else np.zeros(0, bool)
    if not missing.any() or len(missing) != _num_samples(X):
        return X, y, *others
    if missing.all() and not is_chunk:
        raise ValueError("Input y contains NaN or None only: give the targets of some rows.")
    left_out = f"{int(missing.sum()):,} of {len(missing):,} rows"
    warn(f"{left_out} have no target and are left out.", DataWarning, stacklevel=4)
    rows, parts = np.flatnonzero(~missing), (X.tocsr() if sparse.issparse(X) else X, y, *others)
    found = (part if np.ndim(part) == 0 else _safe_indexing(part, rows) for part in parts)
    return tuple(found) if len(rows) else ()


class Concern(NamedTuple):
    """Something to check before a selection is trusted.

    Parameters
    ----------
    kind : str
        "leak", "duplicates", "drift", "dependence", "identifier", "outliers", "nonlinear" or
        "nothing to learn"; "estimate" for a limit of `learnability_` that it shows itself.
    title : str
        In a few words.
    text : str
        What was seen.
    advice : str
        What to do.
    features : tuple of str
        The features that it is about.
    """

    kind: str
    title: str
    text: str
    advice: str
    features: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.text} {self.advice}"


def with_names(concern: Concern, names: Sequence[str] | None) -> Concern:
    """Names of features in place of their numbers, and in the places of the text."""
    own = tuple(name_of(names, i) for i in concern.features)
    shown = list(map(visible, own))
    quoted = listed([f"“{name}”" for name in shown], _LISTED)
    text = concern.text.format(*shown, names=quoted)
    return concern._replace(text=text, features=tuple(dict.fromkeys(own)))


def runs(n_rows: int) -> Indices:
    """Rows to look at: all, or some in runs of neighbours."""
    if n_rows <= _ROWS:
        return np.arange(n_rows)
    starts = np.linspace(0, n_rows - _RUN, _ROWS // _RUN).astype(np.intp)
    return np.unique(starts[:, None] + np.arange(_RUN))


def of_rows(
    values: Floats, outputs: Floats, task: str, features: Indices, n_chosen: int
) -> list[Concern]:
    """Rows that depend on each other, or else a curve.

    Columns are standardised, the chosen ones first, and rows in their order. Those that depend on
    each other would confirm any product by chance.
    """
    rows = _Rows(values, outputs, task)
    return rows.dependence() or rows.curves(features, n_chosen)


class _Rows:
    """Standardised columns, the best first, and outputs of rows in their given order."""

    def __init__(self, values: Floats, outputs: Floats, task: str) -> None:
        self._values, self._outputs, self._task = values, outputs, task
        self._rng = np.random.default_rng(0)
        self._labels = np.zeros(len(values), np.intp)
        if task in ("binary", "multiclass"):
            self._labels = np.argmax(np.column_stack([np.zeros(len(values)), outputs]), axis=1)
        # Predictions of each part of the rows by a ridge model of the others.
        linear, self._predicted = values[:, : min(_LINEAR, len(values) // 10)], 0 * outputs
        every = Weighted(linear, outputs, np.ones(len(values)))
        parts = self._rng.permutation(len(values)) % _PARTS
        for part in range(_PARTS):
            of_others = ridge_coefficients(every.take(parts != part), _RIDGE * len(values))
            self._predicted[parts == part] = linear[parts == part] @ of_others
        self._residuals = outputs - self._predicted

    def dependence(self) -> list[Concern]:
        """Rows that are like others or like their neighbours; one sign is enough."""
        share = self._near_copies()
        if share > _SHARE:
            text = (
                f"About {share:.0%} of the rows have others that are nearly copies of them, much "
                "closer than independent rows would be."
            )
            advice = (
                "Where these are of one person, place or object, what is said of held-out rows is "
                "too good for new ones: give fit the groups (--group) that rows belong to."
            )
            return [Concern("dependence", "Rows belong together", text, advice)]
        if (alike := self._alike()) > 0:
            text = (
                "Rows are like their neighbours in their features, and in what a linear model "
                f"leaves of the target (autocorrelation {alike:.2f})."
            )
            advice = (
                "Where they are in order of time, or rows of one person or place follow each "
                "other, what is said of held-out rows is too good for new ones: use "
                "cv=TimeSeriesSplit() (in the command --in-order), or groups (--group)."
            )
            return [Concern("dependence", "Rows are like their neighbours", text, advice)]
        return []

    def _near_copies(self) -> float:
        """Share of rows with some near ones of their class, and then a gap.

        The distances r_1 < r_2 < ... from a row to independent ones rise such that k log(r_(k + 1)
        / r_k) is exponential, with the inverse of the local dimension as its mean.
        """
        n_rows, counts = len(self._values), np.bincount(self._labels)
        per_class = n_rows // int(np.count_nonzero(counts))
        ranks = self._ranks()
        if per_class < _FEWEST or ranks.shape[1] == 0:
            return 0.0
        count = min(_NEAREST, max(8, per_class // 8))
        some = self._rng.permutation(n_rows)[:_QUERIES]
        squares = np.sum(ranks**2, axis=1)
        distances = squares[some, None] + squares - 2 * ranks[some] @ ranks.T
        distances[self._labels[some, None] != self._labels] = np.inf
        distances[np.arange(len(some)), some] = np.inf
        nearest = np.sort(np.partition(distances, count, axis=1)[:, : count + 1], axis=1)
        nearest = nearest[np.isfinite(nearest[:, -1])]
        rises = np.diff(np.log(np.maximum(nearest, 1e-9 * squares.mean())) / 2, axis=1)
        exponential = np.arange(1, count + 1) * rises
        means = np.maximum(np.median(exponential, axis=1, keepdims=True) / np.log(2), 1e-12)
        is_gap = exponential / means > np.log(count) + _IMPROBABLE
        return float(np.mean(np.any(is_gap & (rises > np.log(_RISE)), axis=1)))

    def _ranks(self) -> Floats:
        """Ranks of columns with many values, ties in random order: equal values say nothing."""
        n_rows = len(self._values)
        columns, middle = self._values[:, : _COMPARED // n_rows].T, n_rows // 4
        shuffled = self._rng.permutation(n_rows)
        order = shuffled[np.argsort(columns[:, shuffled], axis=1, kind="stable")]
        ordered = np.take_along_axis(columns, order, axis=1)
        distinct = np.count_nonzero(np.diff(ordered, axis=1), axis=1)
        many = (distinct >= max(10, n_rows / 20)) & (ordered[:, middle] < ordered[:, -middle])
        ranks = np.empty((np.count_nonzero(many), n_rows), np.float32)
        np.put_along_axis(ranks, order[many], np.arange(n_rows)[None], axis=1)
        # Ranks of one column would lie on a grid.
        ranks += self._rng.random(ranks.shape, np.float32)
        return np.ascontiguousarray(ranks.T) / n_rows - 0.5

    def _alike(self) -> float:
        """Autocorrelation of residuals, where columns are like their neighbours as well.

        Rows sorted by the target have like residuals, rows sorted by a column like columns: only
        both together, without what the target says of the columns, speak for dependent rows.
        """
        n_rows, y = len(self._values), self._outputs[:, 0]
        bins, known = self._labels, []
        if not bins.any():  # numbers: means in bins of the target, along a line
            order = np.argsort(np.argsort(y, kind="stable"))
            bins, known = order * min(20, 1 + n_rows // 20) // n_rows, [y]
        known += [*(np.arange(bins.max() + 1)[:, None] == bins)]
        columns = _autocorrelation(_without(self._values[:, :50], known))
        residuals = _autocorrelation(self._residuals)
        least = max(_ALIKE, _ALIKE_ERRORS / np.sqrt(n_rows))
        return residuals if min(residuals, columns) > least else 0.0

    def curves(self, features: Indices, n_chosen: int) -> list[Concern]:
        """The product of two columns that explains most of the residuals of half of the rows.

        The other half has to confirm it: so no chance of the best of many products is left.
        """
        first, second = np.array_split(self._rng.permutation(len(self._values)), 2)
        cut = np.clip(self._values, -_CUT, _CUT)
        cut -= cut.mean(axis=0)
        residuals = self._residuals
        output = int(np.argmax(residuals.var(axis=0)))
        # Centred: squares of columns of two values are nearly constant.
        x, e = cut[first], residuals[first, output] - residuals[first, output].mean()
        variances = (x**2).T @ x**2 / len(x) - (x.T @ x / len(x)) ** 2
        prices = ((x.T * e) @ x) ** 2 / np.maximum(variances, 1e-6)
        i, j = np.unravel_index(np.argmax(np.triu(prices)), prices.shape)
        x, e, y = cut[second], residuals[second, output], self._outputs[second, output]
        known = [x[:, i], x[:, j], *self._values[second][:, [i, j]].T]
        known += [*x[:, : min(n_chosen, len(x) // 10)].T]
        if self._task != "regression":
            known += [*_bent(self._predicted)[second].T]
        product, e = _without(np.column_stack([x[:, i] * x[:, j], e]), known).T
        along, square = product @ e, product**2 @ e**2
        added = (along**2 - square) / max(product @ product * (y @ y), 1e-300)
        if added < _ADDED * residuals.shape[1] or along**2 < _ADDED_ERRORS**2 * square:
            return []
        what = "The square of {0}" if i == j else "The product of {0} and {1}"
        if i != j and features[i] == features[j]:
            what = "The product of two parts of {0}"
        of = "the target" if residuals.shape[1] == 1 else "one of the outputs"
        text = (
            f"{what} explains a further {added:.0%} of the variance of {of}: the relation is not "
            "linear."
        )
        advice = "Construct features (featgrad construct), or use a model that is not linear."
        pair = int(features[i]), int(features[j])
        return [Concern("nonlinear", "Curves and products", text, advice, pair)]


def _bent(predicted: Floats) -> Floats:
    """What classes make of linear scores: they bend at their ends, and some lie between others."""
    centred = predicted - predicted.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[0][:, :_SCORES] * np.sqrt(len(centred))
    rows, columns = np.triu_indices(axes.shape[1])
    return np.hstack([axes[:, rows] * axes[:, columns], axes**3])


def _autocorrelation(values: Floats) -> float:
    """Of neighbouring rows, the mean over columns."""
    centred = values - values.mean(axis=0)
    squares = np.maximum(np.sum(centred**2, axis=0), 1e-300)
    return float(np.mean(np.sum(centred[1:] * centred[:-1], axis=0) / squares))


def _without(values: Floats, known: Sequence[Floats]) -> Floats:
    """What least squares on known columns leaves."""
    basis = np.column_stack([np.ones(len(values)), *known])
    return np.asarray(values - basis @ np.linalg.lstsq(basis, values, rcond=None)[0])
