"""Common parts of the displays."""

from collections.abc import Callable, Sequence
from typing import Any, Self

from featgrad.estimate import Estimate

# Ratio of the largest to the smallest size from which sizes are on a logarithmic scale.
LOG_RATIO = 20
# Features that are listed by default.
MAX_FEATURES = 20
# Inches of a new figure next to the names of features, and for each line of them.
_AXES_WIDTH, _LINE = 4.5, 0.22


class Display:
    """Base class of the displays."""

    ax_: Any
    figure_: Any
    _is_new: bool
    _draw: Callable[..., None]

    def plot(self, ax: Any = None, **options: Any) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Axes to draw on; None creates new ones.
        **options
            Where features are listed, `max_features`, the number of features to show, 20 by
            default; elsewhere for matplotlib's `plot` or `imshow`.

        Returns
        -------
        self
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("Plots need matplotlib: pip install 'featgrad[plot]'.") from None
        self._is_new = ax is None
        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(**options)
        return self

    def _list_features(self, names: Sequence[str]) -> None:
        """Name the rows from top to bottom; a new figure grows with the names."""
        self.ax_.set_yticks(range(len(names)), names, parse_math=False)
        self.ax_.invert_yaxis()
        if self._is_new and names:
            boxes = [label.get_window_extent() for label in self.ax_.get_yticklabels()]
            longest = max(box.width for box in boxes) / self.figure_.dpi
            width, height = self.figure_.get_size_inches()
            self.figure_.set_size_inches(
                max(width, longest + _AXES_WIDTH), max(height, 1 + _LINE * len(names))
            )


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
