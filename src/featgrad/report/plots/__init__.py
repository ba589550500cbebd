"""Plots by the Display convention of scikit-learn; matplotlib is imported on drawing."""

from featgrad.report.plots.estimates import OrderDisplay, PathDisplay
from featgrad.report.plots.features import ComparisonDisplay, MaskDisplay, StabilityDisplay

__all__ = ["ComparisonDisplay", "MaskDisplay", "OrderDisplay", "PathDisplay", "StabilityDisplay"]
