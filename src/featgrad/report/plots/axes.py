"""Common parts of the displays."""

from collections.abc import Callable, Sequence
from typing import Any, Self

from featgrad.estimate import Estimate

# Ratio of the largest to the smallest size from which sizes are on a logarithmic scale.
LOG_RATIO = 20


class Display:
    """Base class of the displays."""

    ax_: Any
    figure_: Any
    _draw: Callable[..., None]

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **options
            Where features are listed, `max_features`, the number of features to show, 40 or 30 by
            default; elsewhere for matplotlib's `plot` or `imshow`.

        Returns
        -------
        self
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("Plots need matplotlib: pip install 'featgrad[plot]'.") from None
        self.ax_ = plt.subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(**options)
        return self


def feature_names(selector: Any) -> list[str]:
    default = [f"x{i}" for i in range(selector.n_features_in_)]
    return [str(name) for name in getattr(selector, "feature_names_in_", default)]


def draw_estimates(ax: Any, x: Sequence[float], estimates: Sequence[Estimate], **line: Any) -> Any:
    """A line through the estimates over a band of their intervals; returns both."""
    low, high = zip(*(estimate.interval for estimate in estimates), strict=True)
    values = [estimate.value for estimate in estimates]
    (drawn,) = ax.plot(x, values, **({"marker": "o"} | line))
    band = ax.fill_between(x, low, high, color=drawn.get_color(), alpha=0.2, linewidth=0)
    ax.set_ylabel("explained fraction")
    return drawn, band
