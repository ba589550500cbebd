"""Pictures by scikit-learn's Display convention; matplotlib is imported when one is drawn."""

from featgrad.report.plots.comparison import ComparisonDisplay
from featgrad.report.plots.mask import MaskDisplay
from featgrad.report.plots.order import OrderDisplay
from featgrad.report.plots.path import PathDisplay
from featgrad.report.plots.stability import StabilityDisplay

__all__ = [
    "ComparisonDisplay",
    "MaskDisplay",
    "OrderDisplay",
    "PathDisplay",
    "StabilityDisplay",
]
