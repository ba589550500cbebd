"""A selection described by rows: concerns, estimates, gains, and a plain table of them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from featgrad._support import Floats, Indices
from featgrad._support.array_api import dense
from featgrad._support.wording import aligned, visible
from featgrad.estimates.concerns import shared_labels
from featgrad.estimates.diagnosis import Concern, with_names
from featgrad.estimates.estimate import Estimate, PathPoint, gain_text, unknown
from featgrad.estimates.learnability import Learnability
from featgrad.math.targets import encode
from featgrad.moments.least_squares import Gains
from featgrad.readers.columns import EncodedColumn
from featgrad.report.text import feature_names, labels_of, titles_of

# Number of features that the row of a group names.
_MAX_NAMES = 3


class Row(NamedTuple):
    """A feature or a group of features, and the explained fraction that is lost without it."""

    name: str
    features: list[str]
    gain: float
    standard_error: float

    def __str__(self) -> str:
        if self.features == [self.name]:
            return visible(self.name)
        more = ", ..." if len(self.features) > _MAX_NAMES else ""
        return visible(f"{self.name} ({', '.join(self.features[:_MAX_NAMES])}{more})")


def summarise(
    selector: Any, X: Any, y: Any, *, sample_weight: Any = None, names: Sequence[str] | None = None
) -> str:
    """Describe a selection: the gain of each feature, and what all of them explain.

    Parameters
    ----------
    selector : FeatureGradientSelector
        Fitted on X and y.
    X, y, sample_weight
        What it was fitted on.
    names : sequence of str, default=None
        Names of all features; None takes those that the selector saw, or x0, x1, ...

    Returns
    -------
    str
        Lines of text; gains are in percent of the target's variance. A group of features has one
        row, with the explained fraction that is lost without all of it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from featgrad import FeatureGradientSelector
    >>> from featgrad.report import summarise
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> print(summarise(FeatureGradientSelector(2, random_state=0).fit(X, y), X, y))
    feature               gain
    --------------------  -------------
    worst concave points   8.7% +- 2.5
    worst radius           5.9% +- 1.7
    <BLANKLINE>
    explained by these 2 features: 68.7% (64.4 to 73.0%)
    ridge model on them:           AUC 0.985 +- 0.006
    explained by all 30 features:  76.2% (73.1 to 79.2%)
    """
    return str(Described(selector, X, y, sample_weight, names))


class Described:
    """A selection, the rows that it is described by, and names of all features."""

    def __init__(
        self, selector: Any, X: Any, y: Any, sample_weight: Any, names: Sequence[str] | None
    ) -> None:
        options = {name: getattr(selector, name) for name in ("preprocess", "missing")}
        options |= {"sample_weight": sample_weight, "task": selector.task_}
        self.matrix = selector._matrix(X)
        self.selector, self.data = selector, Learnability(self.matrix, y, **options)
        self.names = feature_names(selector) if names is None else names
        self._variables, self.layout = selector._variables, selector._layout
        # By variable, what it is encoded as and the columns of that.
        self.columns = {} if self.layout is None else self.layout.encoded
        self.labels = labels_of(selector)
        self._y = y
        self.place = [point.size for point in selector.path_].index(selector.n_features_)
        self.chosen: PathPoint = selector.path_[self.place]

    @cached_property
    def concerns(self) -> list[Concern]:
        """Those of the fit, and labels of rows, by names that the fit may not have seen."""
        found = list(self.selector._concerns[self.place])
        if all(concern.kind != "identifier" for concern in found):
            about = self.matrix, self.names, self.selector.plan_, self._variables
            found = [*shared_labels(*about), *found]
        return [with_names(concern, self.names) for concern in found]

    @cached_property
    def everything(self) -> Estimate:
        """What all features explain, which takes rows that are independent of each other."""
        is_known, count = self.selector.plan_.held_out_by == "rows", self.selector.n_features_in_
        found = replace(self.data.estimate(), n_features=count) if is_known else unknown(count)
        # Where columns are many, their lower bound may say less than the chosen ones do.
        is_less = found.is_lower_bound and found.value < self.estimate(self.chosen).value
        return unknown(count) if is_less else found

    @cached_property
    def univariate(self) -> Floats:
        """What each feature explains by itself."""
        alone = np.asarray(self.data.alone())
        if self._variables is None or self.layout is None:
            return alone
        found = np.asarray(self._variables.largest(alone, 0.0))
        for column in self.layout.columns:
            if column.width > 1:
                place = self.layout.variables.index(column.name)
                found[place] = self.data.estimate(self._columns(np.array([place]))).value
        return found

    @cached_property
    def values(self) -> Any:
        """One column for each feature: of one that stands for several, what it says of the target.

        Categories are the means of the target in them, dates their days.
        """
        if self._variables is None or self.layout is None:
            return self.matrix
        of_column = self._variables.of_column
        first, weights = np.unique(of_column, return_index=True)[1], np.zeros(len(of_column))
        weights[first], output = 1, encode(self._y, self.selector.task_)[0][:, 0]
        for column, features in self.columns.values():
            if column.kind == "one-hot":
                own = self.matrix[:, features]
                weights[features] = own.T @ output / np.maximum(own.sum(axis=0), 1)
        shape = len(of_column), self._variables.count
        columns = np.flatnonzero(weights)
        places = columns, of_column[columns]
        return self.matrix @ sparse.csc_array((weights[columns], places), shape)

    def encoded(self, feature: int) -> tuple[EncodedColumn, Any] | None:
        """What a feature that is not a number is encoded as, and the columns of that."""
        column, features = self.columns.get(self.names[feature], (None, None))
        if column is None or column.kind in ("number", "missing"):
            return None
        return column, np.asarray(dense(self.matrix[:, features]), np.float64)

    @property
    def is_in_time(self) -> bool:
        """Whether the rows are known to be in the order of time: by a date that never falls."""
        dates = (own[:1] for column, own in self.columns.values() if column.kind == "date")
        days = (self.matrix[:, date] for date in dates)
        return any(np.all(np.diff(np.asarray(dense(day)).ravel()) >= 0) for day in days)

    def has_direction(self, feature: int) -> bool:
        """Whether a feature is a number or a date: texts neither rise nor fall."""
        encoded = self.encoded(feature)
        return encoded is None or encoded[0].kind == "date"

    def _columns(self, features: Indices) -> Indices:
        """Of the matrix, that features stand for."""
        return features if self._variables is None else self._variables.columns(features)

    def estimate(self, point: PathPoint) -> Estimate:
        """Of held-out rows, or of those that chose where none were held out."""
        if point.learnability is not None:
            return point.learnability
        found = self.data.estimate(self._columns(point.features))
        return replace(found, is_optimistic=True, n_features=point.size)

    def gains(self, point: PathPoint) -> Gains:
        """In the same way."""
        if point.gains is not None:
            return point.gains
        columns = self._columns(point.features)
        of_column = columns if self._variables is None else self._variables.of_column[columns]
        gains = self.data.gains(columns, self.labels[of_column])
        _, first = np.unique(of_column, return_index=True)
        return Gains(*(part[first] for part in gains))

    @cached_property
    def rows(self) -> list[Row]:
        """One row for each chosen feature or group, the best first."""
        titles = titles_of(self.selector, self.names)
        rows: dict[int, Row] = {}
        for i, gain, error in zip(self.chosen.features, *self.gains(self.chosen), strict=True):
            row = rows.setdefault(self.labels[i], Row(titles[i], [], float(gain), float(error)))
            row.features.append(self.names[i])
        return sorted(rows.values(), key=lambda row: (row.gain, row.name), reverse=True)

    def __str__(self) -> str:
        """The rows aligned, and estimates below."""
        width = max([len("feature"), *(len(str(row)) for row in self.rows)])
        gains = (gain_text(row.gain, row.standard_error) for row in self.rows)
        rows = zip(map(str, self.rows), gains, strict=True)
        lines = [aligned(("feature", "gain"), ("-" * width, "-" * 13), *rows)]
        count, total = self.chosen.size, self.everything.n_features
        these, them = ("this feature", "it") if count == 1 else (f"these {count} features", "them")
        every = "the only feature" if total == 1 else f"all {total:,} features"
        labels = {
            f"explained by {these}": self.chosen.learnability,
            f"ridge model on {them}": self.chosen.score,
        }
        labels = (labels if count else {}) | {f"explained by {every}": self.everything}
        known = {label: value for label, value in labels.items() if value is not None}
        lines = lines if count else ["no features are chosen"]
        longest = max(map(len, known))
        lines += ["", *(f"{label + ':':<{longest + 1}} {value}" for label, value in known.items())]
        return "\n".join(lines)
