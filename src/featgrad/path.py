"""One point of the path over sizes."""

from typing import NamedTuple

from featgrad.arrays import Indices
from featgrad.learnability import Estimate


class PathPoint(NamedTuple):
    """The best set found for one size.

    Parameters
    ----------
    size : int
        Number of features.
    features : ndarray of int
        Their column indices, rising.
    learnability : Estimate
        Explained fraction of the target's variance by these features, with its interval.
    """

    size: int
    features: Indices
    learnability: Estimate
