"""What every display shares: axes to draw on, names of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from featgrad.arrays import Floats
from featgrad.learnability import Estimate


def drawing_axes(ax: Any) -> Any:
    """The axes given, or new ones."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("Plots need matplotlib: pip install 'featgrad[plot]'.") from None
    return plt.subplots()[1] if ax is None else ax


def feature_names(selector: Any) -> list[str]:
    default = [f"x{i}" for i in range(selector.n_features_in_)]
    return [str(name) for name in getattr(selector, "feature_names_in_", default)]


def draw_estimates(ax: Any, x: Sequence[float], estimates: Sequence[Estimate], **line: Any) -> Any:
    """A line through the estimates over a band of their intervals; returns both."""
    low, high = intervals(estimates)
    values = [estimate.value for estimate in estimates]
    (drawn,) = ax.plot(x, values, **({"marker": "o"} | line))
    band = ax.fill_between(x, low, high, color=drawn.get_color(), alpha=0.2, linewidth=0)
    ax.set_ylabel("explained fraction")
    return drawn, band


def intervals(estimates: Sequence[Estimate]) -> Floats:
    """Lower and upper ends, shape (2, estimates)."""
    return np.array([estimate.interval for estimate in estimates]).T
