"""Feature selection by gradient descent on an estimate of learnability."""

from featgrad.dataset.constraints import groups_by_origin
from featgrad.estimate import Estimate
from featgrad.held_out import Score
from featgrad.learnability import Learnability, learnability
from featgrad.online.selector import OnlineFeatureSelector
from featgrad.path import PathPoint
from featgrad.permutation import PermutationTest, permutation_test
from featgrad.readers import open_source
from featgrad.selector import FeatureGradientSelector

__all__ = [
    "Estimate",
    "FeatureGradientSelector",
    "Learnability",
    "OnlineFeatureSelector",
    "PathPoint",
    "PermutationTest",
    "Score",
    "groups_by_origin",
    "learnability",
    "open_source",
    "permutation_test",
]
