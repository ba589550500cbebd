"""One point of the path over sizes."""

from typing import NamedTuple

from featgrad.arrays import Indices
from featgrad.estimate import Estimate
from featgrad.held_out import Score
from featgrad.moments.least_squares import Gains


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
        with standard errors, as far as it or near-copies were found without the rows. None where
        the search is not repeated.
    """

    size: int
    features: Indices
    learnability: Estimate | None
    score: Score | None = None
    gains: Gains | None = None
