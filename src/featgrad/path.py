"""One point of the path over sizes."""

from typing import NamedTuple

from featgrad.arrays import Indices
from featgrad.estimate import Estimate
from featgrad.held_out import Score


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
    """

    size: int
    features: Indices
    learnability: Estimate | None
    score: Score | None
