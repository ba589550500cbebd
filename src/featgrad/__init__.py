"""Feature selection by gradient descent on an unbiased estimate of learnability."""

from featgrad.learnability import Estimate, Learnability, learnability

__all__ = ["Estimate", "Learnability", "learnability"]
