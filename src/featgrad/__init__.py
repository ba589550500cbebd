"""Feature selection by gradient descent on an unbiased estimate of learnability."""

from featgrad.learnability import Estimate, Learnability, learnability
from featgrad.selector import FeatureGradientSelector

__all__ = ["Estimate", "FeatureGradientSelector", "Learnability", "learnability"]
