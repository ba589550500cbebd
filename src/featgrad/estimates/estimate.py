"""What is known of a set: explained fraction with its interval, score, and the path over sizes."""

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from featgrad._support import Floats, Indices
from featgrad._support.results import Result, table
from featgrad._support.wording import aligned, listed, name_of, percent
from featgrad.moments.least_squares import Gains
from featgrad.plan import PlanLine
from featgrad.search.units import Variables

# An estimate says nothing whose standard error is this large, or that is so far beyond 1.
_MOST_ERROR = 0.5
_NAMED = 8  # features of a line
# Why "auto" chooses no features.
NO_MODEL = "no linear model predicts held-out rows better than noise would"


@dataclass(frozen=True)
class Estimate:
    """Explained fraction of the target's variance, with its uncertainty.

    Attributes
    ----------
    value : float
        The estimate, at most 1; about 0, hence possibly below, where nothing can be learned. NaN
        where the rows do not suffice for one.
    standard_error : float
        Its standard error.
    n_features : int
        Number of features.
    order : int or None
        Order of the filter; None where none was needed.
    margin : float
        How much higher the truth may be for reasons that the standard error does not cover:
        directions that the filter misses, or sets found from fewer rows. Infinite for a lower
        bound.
    interval : tuple of float
        The 95% interval, within 0 and 1; it begins at the value where that is below 0.
    is_optimistic : bool
        Whether the features were chosen from the same rows, so that the estimate is too high.
    is_lower_bound : bool
        Whether the rows are too few to bound the truth from above.
    """

    value: float
    standard_error: float
    n_features: int
    order: int | None = None
    margin: float = 0.0
    is_optimistic: bool = False

    @property
    def interval(self) -> tuple[float, float]:
        if math.isnan(self.value):
            return 0.0, 1.0
        half = float(ndtri(0.975)) * self.standard_error
        low = max(min(self.value, 0.0), self.value - half)
        return low, min(1.0, self.value + half + self.margin)

    @property
    def is_lower_bound(self) -> bool:
        return math.isinf(self.margin)

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "unknown (too few independent rows)"
        low, high = self.interval
        bound = "at least " if self.is_lower_bound else ""
        caution = ", too high: from the rows that chose" if self.is_optimistic else ""
        return f"{bound}{percent(self.value)} ({100 * low:z.1f} to {percent(high)}{caution})"

    def _repr_html_(self) -> str:
        """The text and, between 0 and 1, the interval and the value in it."""
        if math.isnan(self.value):
            return f"<span>{self}</span>"
        low, high, value = (200 * max(end, 0.0) for end in (*self.interval, self.value))
        return (
            f'<span>{self}</span> <svg width="200" height="12" fill="currentColor" role="img" '
            f'aria-label="interval"><rect y="5" width="200" height="2" opacity="0.2"/>'
            f'<rect x="{low:.1f}" y="3" width="{high - low:.1f}" height="6" opacity="0.4"/>'
            f'<rect x="{value - 1:.1f}" width="3" height="12"/></svg>'
        )


def estimated(
    value: float, error: float, n_features: int, order: int | None = None, margin: float = 0.0
) -> Estimate:
    """An estimate within what is possible, or unknown where it would say nothing."""
    if max(error, abs(value) - 1) >= _MOST_ERROR:
        return unknown(n_features)
    return Estimate(max(-1.0, min(value, 1.0)), error, n_features, order, margin)


def unknown(n_features: int) -> Estimate:
    """What is known of features where rows do not suffice."""
    return Estimate(math.nan, math.inf, n_features, margin=math.inf)


class Score(NamedTuple):
    """How well a ridge model predicts held-out rows.

    Parameters
    ----------
    name : {"AUC", "R2"}
        Mean area under the curve of each class or label against the rest, or, for numbers, the
        fraction of the variance that is predicted.
    value : float
        Of sets that were found without the rows, hence from fewer of them.
    standard_error : float
        Of the score of new rows, predicted by a model of all rows on the chosen features.
    """

    name: str
    value: float
    standard_error: float

    def __str__(self) -> str:
        """An R^2 is a share of the variance, like all that is explained."""
        name, value, error = self
        if name == "R2":
            return f"R2 {percent(value)} +- {100 * error:.1f}"
        return f"{name} {value:.3f} +- {error:.3f}"


class Predictions(NamedTuple):
    """Outputs of some held-out rows less their mean, next to what a ridge model predicts of them.

    Each row is predicted by the models that have not seen it.
    """

    values: NDArray[np.float32]  # of shape (rows, outputs)
    outputs: NDArray[np.float32]


class PathPoint(NamedTuple):
    """The best set found for one size.

    Parameters
    ----------
    size : int
        Number of features.
    features : ndarray of int
        Their column indices, rising.
    learnability : Estimate or None
        Explained fraction of the target's variance by so many features, on rows that had no part in
        choosing them, with its interval. None without `estimate`.
    score : Score or None
        How well a ridge model on so many features predicts those rows.
    gains : Gains or None
        Explained fraction that those rows lose without each of the features, or without its group,
        with standard errors; nothing is lost where a feature was not found without the rows. None
        where the search is not repeated.
    predictions : Predictions or None
        Of those rows, or of some where these are many.
    """

    size: int
    features: Indices
    learnability: Estimate | None
    score: Score | None = None
    gains: Gains | None = None
    predictions: Predictions | None = None


def of_variables(point: PathPoint, variables: Variables | None) -> PathPoint:
    """In place of columns the variables that they belong to."""
    if variables is None:
        return point
    features, first = np.unique(variables.of_column[point.features], return_index=True)
    known, gains = point.learnability, point.gains
    return point._replace(
        size=len(features),
        features=features,
        learnability=known and replace(known, n_features=len(features)),
        gains=gains and Gains(*(part[first] for part in gains)),
    )


class SelectionPath(Result, list[PathPoint]):
    """The best sets found, by rising size; shown as a table of what enters and what leaves.

    `plot` draws what is explained over the size.

    Parameters
    ----------
    points : iterable of PathPoint
        The sets.
    names : sequence of str, default=None
        Names of all features, x0, x1, ... for None.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from featgrad import FeatureGradientSelector
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> FeatureGradientSelector(4, path_sizes=[1, 2], random_state=0).fit(X, y).path_
    features  explained              score            enter   leave
           1  34.2% (25.0 to 43.3%)  R2 33.9% +- 4.4  bmi
           2  45.5% (37.3 to 53.7%)  R2 45.3% +- 3.9  s5
           4  48.7% (40.8 to 56.6%)  R2 47.9% +- 3.7  bp, s3
    """

    _display = "PathDisplay"

    def __init__(self, points: Iterable[PathPoint] = (), names: Any = None) -> None:
        super().__init__(points)
        self.names = names

    @property
    def changes(self) -> list[tuple[list[str], list[str]]]:
        """Of each set the features that are not in the one before it, and those only there."""
        sets = [{int(feature): None for feature in point.features} for point in self]
        return [
            (self._only(here, before), self._only(before, here))
            for before, here in pairwise([{}, *sets])
        ]

    def _only(self, some: Iterable[int], others: Container[int]) -> list[str]:
        return [name_of(self.names, feature) for feature in some if feature not in others]

    def _rows(self) -> list[list[str]]:
        rows = [["features", "explained", "score", "enter", "leave"]]
        for point, (enter, leave) in zip(self, self.changes, strict=True):
            known = [str(part or "") for part in (point.learnability, point.score)]
            rows.append([f"{point.size:>8,}", *known, listed(enter, _NAMED), listed(leave, _NAMED)])
        return rows


@dataclass(frozen=True, repr=False)
class FeatureGains(Result):
    """What held-out rows lose without each chosen feature; shown as a table, the largest first.

    `plot` draws them as bars.

    Attributes
    ----------
    features : ndarray of int
        The chosen features.
    values, standard_errors : ndarray of float
        Explained fraction that is lost without each, and standard errors.
    names : sequence of str or None
        Names of all features.
    """

    features: Indices
    values: Floats
    standard_errors: Floats
    names: Any = None

    def _rows(self) -> list[tuple[str, ...]]:
        each = zip(self.features, self.values, self.standard_errors, strict=True)
        rows = [(name_of(self.names, i), gain_text(*gain)) for i, *gain in each]
        return [("feature", "gain"), *(rows[i] for i in np.argsort(-self.values, kind="stable"))]

    def _bars(self) -> dict[str, Any]:
        names = [name_of(self.names, i) for i in self.features]
        bars = {"names": names, "values": self.values, "errors": self.standard_errors}
        return bars | {"label": "share of the variance that is lost without it"}


def gain_text(gain: float, error: float) -> str:
    return "unknown" if math.isnan(gain) else f"{percent(gain):>5} +- {100 * error:.1f}"


class Sizes(NamedTuple):
    """The sizes that matter where held-out rows choose one; shown as a table of their sets.

    Parameters
    ----------
    smallest : PathPoint
        The chosen set: the smallest that held-out rows are predicted from about as well as from the
        best one, or the smallest allowed where none predicts them better than noise would.
    best : PathPoint or None
        The set that they are predicted best from; None where noise would do as well.
    cap : int or None
        The largest size that was tried, where that is the best: larger ones may be better.
    names : sequence of str or None
        Names of all features.
    """

    smallest: PathPoint
    best: PathPoint | None
    cap: int | None = None
    names: Any = None

    def _rows(self) -> list[list[str]]:
        head, *rows = SelectionPath(filter(None, self[:2]), self.names)._rows()
        return [["", *head], *([name, *row] for name, row in zip(self._fields, rows, strict=False))]

    def __repr__(self) -> str:
        return aligned(*self._rows())

    def _repr_html_(self) -> str:
        return table(self._rows())

    @property
    def decisions(self) -> tuple[PlanLine, ...]:
        """Lines of a plan."""
        if self.best is None:
            why = "no linear model predicts better than noise would"
            found = [("smallest", self.smallest, why)]
        else:
            largest = "the largest tried: more may be better" if self.cap else "of those tried"
            why = "predicts about as well as the best"
            found = [("smallest", self.smallest, why), ("best", self.best, largest)]
        return tuple(
            PlanLine(f"{which} size", f"{point.size}, explained {point.learnability}", reason)
            for which, point, reason in found
        )

    def __str__(self) -> str:
        return "\n".join("{}: {} ({})".format(*line) for line in self.decisions)
