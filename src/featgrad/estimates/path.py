"""The path over sizes: its points, and which of them matter."""

from typing import NamedTuple

from featgrad._support.types import Indices
from featgrad.estimates.estimate import Estimate
from featgrad.estimates.held_out import Score
from featgrad.moments.least_squares import Gains
from featgrad.plan import PlanLine

# Why "auto" chooses no features.
NO_MODEL = "no linear model predicts held-out rows better than noise would"


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
    """

    size: int
    features: Indices
    learnability: Estimate | None
    score: Score | None = None
    gains: Gains | None = None


class Sizes(NamedTuple):
    """The sizes that matter where held-out rows choose one.

    Parameters
    ----------
    smallest : PathPoint
        The chosen set: the smallest that held-out rows are predicted from about as well as from the
        best one, or the smallest allowed where none predicts them better than noise would.
    best : PathPoint or None
        The set that they are predicted best from; None where noise would do as well.
    cap : int or None
        The largest size that was tried, where that is the best: larger ones may be better.
    """

    smallest: PathPoint
    best: PathPoint | None
    cap: int | None = None


def decisions_of(sizes: Sizes) -> tuple[PlanLine, ...]:
    """Lines of a plan."""
    if sizes.best is None:
        nothing = "no linear model predicts better than noise would"
        return (_decision("smallest", sizes.smallest, nothing),)
    largest = "the largest tried: more may be better" if sizes.cap else "of those tried"
    return (
        _decision("smallest", sizes.smallest, "predicts about as well as the best"),
        _decision("best", sizes.best, largest),
    )


def _decision(which: str, point: PathPoint, reason: str) -> PlanLine:
    return PlanLine(f"{which} size", f"{point.size}, explained {point.learnability}", reason)
